# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""The files of a benchmark, as bench/networks.h describes them: weights and sentences."""
import os

import numpy as np
import torch


class Files:
    """Those of a network, with so many sentences."""

    def __init__(self, folder, network, sentences):
        self.folder, self.network, self.n = folder, network, sentences

    def load(self, name, *dims):
        path = '%s/w_%s_%s_%s.npy' % (self.folder, self.network, name, 'x'.join(map(str, dims)))
        return torch.from_numpy(np.load(path))

    def sections(self, name):
        """The number in the head of a file, and the rows of its sections."""
        with open(os.path.join(self.folder, name)) as f:
            head = int(f.readline().split()[1])
            rows = []
            while len(rows) < self.n:
                line = f.readline().split()
                if not line:
                    break
                rows.append([list(map(int, f.readline().split())) for _ in range(int(line[1]))])
        return head, rows
