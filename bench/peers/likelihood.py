# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The log likelihood of a phylogenetic tree (examples/models/felsenstein.hia) in NumPy: an array of all
# classes of rates, patterns and states for each node, children first.
#
#   likelihood.py MIN_SECONDS FILE
#
# bench/likelihood.c describes the file.
import os
import sys
import time

import numpy as np

words = iter(open(sys.argv[2]).read().split())
n_taxa, n_patterns, n_rates = (int(next(words)) for _ in range(3))
rates = np.array([float(next(words)) for _ in range(n_rates)])
counts = np.array([float(next(words)) for _ in range(n_patterns)])
states = np.array([[int(next(words)) for _ in range(n_patterns)] for _ in range(n_taxa)])
nodes = [(int(next(words)), int(next(words)), int(next(words)), float(next(words))) for _ in range(2 * n_taxa - 1)]
SAME = np.eye(4)


def transitions(t):
    stays = np.exp(-4 * t / 3 * rates)[:, None, None]
    return stays * SAME + (1 - stays) / 4


def log_likelihood():
    partials = []
    for left, right, taxon, length in nodes:
        P = transitions(length)
        partials.append(P[:, states[taxon]] if left < 0 else (partials[left] * partials[right]) @ P)
    return np.sum(counts * np.log(partials[-1].mean(axis=2).mean(axis=0)))


if os.environ.get("CHECK"):
    print(repr(float(log_likelihood())))
    sys.exit()
n, start = 0, time.perf_counter()
while True:
    log_likelihood()
    n += 1
    seconds = time.perf_counter() - start
    if seconds >= float(sys.argv[1]):
        break
print(n / seconds, "evaluations a second")
