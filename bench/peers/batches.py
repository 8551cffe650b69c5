# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Models of examples/models in PyTorch, in batches, as a user who wants speed writes them: a TreeLSTM level by level, all
nodes of one height in all trees at once, and a tagger as nn.LSTM of all sentences, which have one length.

    batches.py MODEL SIZE infer|train BATCH SENTENCES MIN_SECONDS REPEATS FOLDER

MODEL is treelstm_level or bilstm_batch. bench/networks.h describes the files of FOLDER, bench/peers.h what is printed.
There is one thread."""
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True  # beside the sources
from files import Files

MODEL, SIZE, MODE, BATCH, N, SECONDS, REPEATS, FOLDER = sys.argv[1:9]
D, BATCH, N, SECONDS, REPEATS = int(SIZE), int(BATCH), int(N), float(SECONDS), int(REPEATS)
NAME = MODEL.split('_')[0] + SIZE
files = Files(FOLDER, NAME, N)
load, sections = files.load, files.sections
RATE = 1e-4
torch.set_num_threads(1)


class TreeLstmByLevel(torch.nn.Module):
    """What a level is depends on the batch, so that is found for each batch anew."""

    def __init__(self):
        super().__init__()
        words, self.sentences = sections('sst_train.txt')
        self.E = torch.nn.Embedding(words, 300, sparse=True, _weight=load('E', words, 300))
        for name, *dims in (('Wx', 450, 300), ('bx', 450), ('U', 750, 300), ('bu', 750), ('Wc', 5, D), ('bc', 5)):
            setattr(self, name, torch.nn.Parameter(load(name, *dims)))

    @staticmethod
    def levels(batch):
        """For each level its words, or the places of its children, and the labels, all in order."""
        words, lefts, rights, labels = [], [[]], [[]], [[]]
        count = []
        for rows in batch:
            places = []
            for left, right, word, label in rows:
                height = 0 if left < 0 else 1 + max(places[left][0], places[right][0])
                if height == len(count):
                    count.append(0)
                    if height:
                        lefts.append([])
                        rights.append([])
                        labels.append([])
                if height:
                    lefts[height].append(places[left])
                    rights[height].append(places[right])
                else:
                    words.append(word)
                labels[height].append(label)
                places.append((height, count[height]))
                count[height] += 1
        first = np.concatenate(([0], np.cumsum(count)))
        return words, lefts, rights, labels, first

    def loss(self, batch):
        words, lefts, rights, labels, first = self.levels(batch)
        i, o, u = F.linear(self.E(torch.tensor(words)), self.Wx, self.bx).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        H, C = [h], [c]
        for k in range(1, len(lefts)):
            lowest = min(level for level, _ in lefts[k] + rights[k])
            below_h, below_c = torch.cat(H[lowest:]), torch.cat(C[lowest:])
            left, right = (torch.tensor([first[level] + at - first[lowest] for level, at in side])
                           for side in (lefts[k], rights[k]))
            x = torch.cat([below_h.index_select(0, left), below_h.index_select(0, right)], 1)
            i, o, f_left, f_right, u = F.linear(x, self.U, self.bu).chunk(5, 1)
            c = torch.sigmoid(i) * torch.tanh(u)
            c = c + torch.sigmoid(f_left) * below_c.index_select(0, left)
            c = c + torch.sigmoid(f_right) * below_c.index_select(0, right)
            H.append(torch.sigmoid(o) * torch.tanh(c))
            C.append(c)
        scores = F.linear(torch.cat(H), self.Wc, self.bc)
        return F.cross_entropy(scores, torch.tensor(sum(labels, [])), reduction='sum')


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        words, rows = sections('tag.txt')
        self.sentences = [(torch.tensor([r[0] for r in s]), torch.tensor([r[1] for r in s])) for s in rows]
        self.E = torch.nn.Embedding(words, 200, sparse=True, _weight=load('E', words, 200))
        self.Wc, self.bc = (torch.nn.Parameter(load(*x)) for x in (('Wc', 300, 2 * D), ('bc', 300)))
        self.lstm = torch.nn.LSTM(200, D, 2, bidirectional=True, batch_first=True)
        for layer, inputs in ((0, 200), (1, 2 * D)):
            for way, suffix in (('f', ''), ('b', '_reverse')):
                end, name = '_l%d%s' % (layer, suffix), '%d%s' % (layer, way)
                getattr(self.lstm, 'weight_ih' + end).data = load('Wx' + name, 4 * D, inputs)
                getattr(self.lstm, 'weight_hh' + end).data = load('Wh' + name, 4 * D, D)
                getattr(self.lstm, 'bias_ih' + end).data = load('b' + name, 4 * D)
                getattr(self.lstm, 'bias_hh' + end).data.zero_()
                getattr(self.lstm, 'bias_hh' + end).requires_grad_(False)  # it would be added twice

    def loss(self, batch):
        words, tags = (torch.stack(side) for side in zip(*batch))
        scores = F.linear(self.lstm(self.E(words))[0], self.Wc, self.bc)
        return F.cross_entropy(scores.flatten(0, 1), tags.flatten(), reduction='sum')


def epoch(network, optimizer):
    """The summed losses of all batches; without an optimizer it makes no steps."""
    total = 0.0
    for at in range(0, len(network.sentences), BATCH):
        batch = network.sentences[at:at + BATCH]
        if not optimizer:
            with torch.no_grad():
                total += float(network.loss(batch))
            continue
        optimizer.zero_grad(set_to_none=True)
        loss = network.loss(batch)
        loss.backward()
        optimizer.step()
        total += float(loss.detach())
    return total


def main():
    network = {'treelstm_level': TreeLstmByLevel, 'bilstm_batch': Tagger}[MODEL]()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=RATE)
    if os.environ.get('CHECK'):
        before = epoch(network, None)
        epoch(network, optimizer)
        print('CHECK %s loss0=%.9g after1epoch(B=%d)=%.9g' % (NAME, before, BATCH, epoch(network, None)))
        return
    if MODE != 'train':
        optimizer = None
    epoch(network, optimizer)
    rates = []
    for _ in range(REPEATS):
        done, start = 0, time.perf_counter()
        while True:
            epoch(network, optimizer)
            done += len(network.sentences)
            taken = time.perf_counter() - start
            if taken >= SECONDS:
                break
        rates.append(done / taken)
    rates.sort()
    print('%s med=%.1f sentences/s' % (NAME, rates[len(rates) // 2]))


main()
