# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""The models of examples/models in PyTorch, eager: recursion over trees in Python, as the models' papers are mostly
reimplemented.

    models.py MODEL SIZE infer BATCH SENTENCES MIN_SECONDS REPEATS FOLDER

MODEL is treelstm, treernn, rntn, bilstm (nn.LSTM), bilstm_cell (a step at a time) or topdown. bench/networks.h
describes the files of FOLDER. BATCH is 1. With CHECK in the environment it prints the summed loss."""
import os
import sys
import time

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True  # beside the sources
from files import Files

MODEL, SIZE, _, _, N, SECONDS, REPEATS, FOLDER = sys.argv[1:9]
D, N, SECONDS, REPEATS = int(SIZE), int(N), float(SECONDS), int(REPEATS)
NAME = MODEL.replace('_cell', '') + SIZE
files = Files(FOLDER, NAME, N)
load, sections = files.load, files.sections
torch.set_num_threads(1)


class Node:
    def __init__(self, left, right, word, label):
        self.left, self.right = left, right
        self.word, self.label = torch.tensor([word]), torch.tensor([label])


def tree_of(rows):
    nodes = []
    for left, right, word, label in rows:
        is_leaf = left < 0
        nodes.append(Node(None if is_leaf else nodes[left], None if is_leaf else nodes[right], max(word, 0), label))
    return nodes[-1]


class TreeNetwork:
    def __init__(self):
        words, rows = sections('sst_train.txt')
        self.sentences = [tree_of(r) for r in rows]
        self.E = load('E', words, self.embedding())
        self.Wc, self.bc = load('Wc', 5, D), load('bc', 5)

    def embedding(self):
        return D

    def node_loss(self, h, node):
        return F.cross_entropy(F.linear(h, self.Wc, self.bc), node.label, reduction='sum')

    def loss(self, tree):
        return float(self.walk(tree)[-1])


class TreeRnn(TreeNetwork):
    def __init__(self):
        super().__init__()
        self.W, self.b = load('W', D, 2 * D), load('b', D)

    def compose(self, x):
        return torch.tanh(F.linear(x, self.W, self.b))

    def walk(self, node):
        if node.left is None:
            h = self.E[node.word]
            return h, self.node_loss(h, node)
        left, loss_left = self.walk(node.left)
        right, loss_right = self.walk(node.right)
        h = self.compose(torch.cat([left, right], 1))
        return h, loss_left + loss_right + self.node_loss(h, node)


class Rntn(TreeRnn):
    def __init__(self):
        super().__init__()
        self.V = load('V', D, 2 * D, 2 * D)

    def compose(self, x):
        return torch.tanh((self.V @ x[0]) @ x[0] + F.linear(x, self.W, self.b))


class TreeLstm(TreeNetwork):
    def __init__(self):
        super().__init__()
        self.Wx, self.bx = load('Wx', 3 * D, 300), load('bx', 3 * D)
        self.U, self.bu = load('U', 5 * D, 2 * D), load('bu', 5 * D)

    def embedding(self):
        return 300

    def walk(self, node):
        if node.left is None:
            i, o, u = F.linear(self.E[node.word], self.Wx, self.bx).chunk(3, 1)
            c = torch.sigmoid(i) * torch.tanh(u)
            h = torch.sigmoid(o) * torch.tanh(c)
            return h, c, self.node_loss(h, node)
        h_left, c_left, loss_left = self.walk(node.left)
        h_right, c_right, loss_right = self.walk(node.right)
        i, o, f_left, f_right, u = F.linear(torch.cat([h_left, h_right], 1), self.U, self.bu).chunk(5, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f_left) * c_left + torch.sigmoid(f_right) * c_right
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c, loss_left + loss_right + self.node_loss(h, node)


class Tagger:
    def __init__(self):
        words, rows = sections('tag.txt')
        self.sentences = [(torch.tensor([r[0] for r in s]), torch.tensor([r[1] for r in s])) for s in rows]
        self.E, self.Wc, self.bc = load('E', words, 200), load('Wc', 300, 2 * D), load('bc', 300)
        self.cells = [[self.cell(layer, way) for way in 'fb'] for layer in range(2)]
        self.lstm = torch.nn.LSTM(200, D, 2, bidirectional=True, batch_first=True)
        for layer in range(2):
            for (wx, wh, b), suffix in zip(self.cells[layer], ('', '_reverse')):
                end = '_l%d%s' % (layer, suffix)
                getattr(self.lstm, 'weight_ih' + end).copy_(wx)
                getattr(self.lstm, 'weight_hh' + end).copy_(wh)
                getattr(self.lstm, 'bias_ih' + end).copy_(b)
                getattr(self.lstm, 'bias_hh' + end).zero_()

    @staticmethod
    def cell(layer, way):
        name, inputs = '%d%s' % (layer, way), 2 * D if layer else 200
        return load('Wx' + name, 4 * D, inputs), load('Wh' + name, 4 * D, D), load('b' + name, 4 * D)

    @staticmethod
    def steps(x, cell, order):
        wx, wh, b = cell
        h = c = torch.zeros(1, D)
        out = [None] * len(x)
        for t in order:
            i, f, g, o = (F.linear(x[t:t + 1], wx, b) + F.linear(h, wh)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out[t] = h
        return torch.cat(out)

    def states(self, x):
        if MODEL == 'bilstm':
            return self.lstm(x.unsqueeze(0))[0][0]
        n = len(x)
        for forward, backward in self.cells:
            x = torch.cat([self.steps(x, forward, range(n)), self.steps(x, backward, range(n - 1, -1, -1))], 1)
        return x

    def loss(self, sentence):
        words, tags = sentence
        return float(F.cross_entropy(F.linear(self.states(self.E[words]), self.Wc, self.bc), tags, reduction='sum'))


class TopDown:
    LEFT, RIGHT, NX_LEFT, NX_RIGHT = range(4)

    def __init__(self):
        with open(os.path.join(FOLDER, 'roots.txt')) as f:
            self.depth = int(f.readline().split()[1])
            self.sentences = [int(line) for line in f][:N]
        self.E, self.Wo = load('E', 1000, D), load('Wo', 1000, D)
        self.W, self.b = load('W', 4, 4 * D, 2 * D), load('b', 4, 4 * D)
        self.A, self.a = load('A', 4, 2 * D), load('a', 4)

    def node(self, word, h, c, beside, depth):
        x = torch.cat([self.E[word], h])
        adds = (torch.mv(self.A, x) + self.a > 0).tolist()

        def has(edge):
            return depth > 0 and adds[edge]

        left = self.grow(self.LEFT, self.NX_LEFT, x, c, depth - 1) if has(self.LEFT) else None
        right = self.grow(self.RIGHT, self.NX_RIGHT, x, c, depth - 1) if has(self.RIGHT) else None
        after = self.grow(beside, beside, x, c, depth - 1) if beside >= 0 and has(beside) else None
        return (word, left, right, after)

    def grow(self, edge, beside, x, c, depth):
        i, f, g, o = (torch.mv(self.W[edge], x) + self.b[edge]).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return self.node(int(torch.argmax(torch.mv(self.Wo, h))), h, c, beside, depth)

    def loss(self, root):
        """The nodes and their words, summed: bench/models.c does the same."""

        def total(t):
            return 0 if t is None else 1 + t[0] + total(t[1]) + total(t[2]) + total(t[3])

        zero = torch.zeros(D)
        return total(self.node(root, zero, zero, -1, self.depth))


NETWORKS = {'treelstm': TreeLstm, 'treernn': TreeRnn, 'rntn': Rntn, 'bilstm': Tagger, 'bilstm_cell': Tagger,
            'topdown': TopDown}


def main():
    sys.setrecursionlimit(10000)
    network = NETWORKS[MODEL]()
    if os.environ.get('CHECK'):
        print('CHECK %s loss0=%.9g' % (NAME, sum(network.loss(s) for s in network.sentences)))
        return
    for s in network.sentences[:16]:
        network.loss(s)
    rates = []
    for _ in range(REPEATS):
        done, start = 0, time.perf_counter()
        while True:
            for s in network.sentences:
                network.loss(s)
            done += len(network.sentences)
            taken = time.perf_counter() - start
            if taken >= SECONDS:
                break
        rates.append(done / taken)
    rates.sort()
    print('%s med=%.1f sentences/s' % (NAME, rates[len(rates) // 2]))


with torch.no_grad():
    main()
