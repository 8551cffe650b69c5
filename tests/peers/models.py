# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""The models of examples/models/ in NumPy, from the equations of the papers that those files name. Everything is
computed in f64, from the f32 weights of the program that is compared."""
import itertools

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


class TreeRnn:
    HIDDEN, VECTOR = 300, 300

    @classmethod
    def shapes(cls, words):
        d = cls.HIDDEN
        return {'E': (words, cls.VECTOR), **cls.cell_shapes(d), 'Wc': (5, d), 'bc': (5,)}

    @staticmethod
    def cell_shapes(d):
        return {'W': (d, 2 * d), 'b': (d,)}

    def __init__(self, weights):
        self.w = {name: x.astype(np.float64) for name, x in weights.items()}

    # The state of a node is a tuple, of which the first part is scored.
    def leaf(self, word):
        return (self.w['E'][word],)

    def inner(self, left, right):
        return (np.tanh(self.w['W'] @ np.concatenate([left[0], right[0]]) + self.w['b']),)

    def run(self, tree):
        """The scores of all nodes, children before parents, and the loss."""
        scores, loss = [], 0.0

        def visit(t):
            nonlocal loss
            state = self.leaf(t[1]) if len(t) == 2 else self.inner(visit(t[1]), visit(t[2]))
            scores.append(self.w['Wc'] @ state[0] + self.w['bc'])
            loss -= log_softmax(scores[-1])[t[0]]
            return state

        visit(tree)
        return scores, loss


class Rntn(TreeRnn):
    HIDDEN, VECTOR = 25, 25

    @staticmethod
    def cell_shapes(d):
        return {'V': (d, 2 * d, 2 * d), 'W': (d, 2 * d), 'b': (d,)}

    def inner(self, left, right):
        x = np.concatenate([left[0], right[0]])
        return (np.tanh(np.einsum('i,kij,j->k', x, self.w['V'], x) + self.w['W'] @ x + self.w['b']),)


class TreeLstm(TreeRnn):
    HIDDEN, VECTOR = 150, 300

    @staticmethod
    def cell_shapes(d):
        return {'Wx': (3 * d, 300), 'bx': (3 * d,), 'U': (5 * d, 2 * d), 'bu': (5 * d,)}

    def leaf(self, word):
        i, o, u = np.split(self.w['Wx'] @ self.w['E'][word] + self.w['bx'], 3)
        c = sigmoid(i) * np.tanh(u)
        return sigmoid(o) * np.tanh(c), c

    def inner(self, left, right):
        i, o, fl, fr, u = np.split(self.w['U'] @ np.concatenate([left[0], right[0]]) + self.w['bu'], 5)
        c = sigmoid(i) * np.tanh(u) + sigmoid(fl) * left[1] + sigmoid(fr) * right[1]
        return sigmoid(o) * np.tanh(c), c


def lstm_step(gates, c):
    i, f, g, o = np.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


class Tagger:
    @staticmethod
    def shapes():
        h, shapes = 256, {'E': (1000, 200), 'Wt': (300, 512), 'bt': (300,)}
        for layer, width in ((1, 200), (2, 512)):
            for direction in 'fb':
                cell = '%d%s' % (layer, direction)
                shapes.update({'Wx' + cell: (4 * h, width), 'Wh' + cell: (4 * h, h), 'b' + cell: (4 * h,)})
        return shapes

    def __init__(self, weights):
        self.w = {name: x.astype(np.float64) for name, x in weights.items()}

    def layer(self, xs, number):
        both = []
        for direction in 'fb':
            w = [self.w[name + str(number) + direction] for name in ('Wx', 'Wh', 'b')]
            h, c, states = np.zeros(w[1].shape[1]), np.zeros(w[1].shape[1]), {}
            for t in range(len(xs)) if direction == 'f' else reversed(range(len(xs))):
                h, c = lstm_step(w[0] @ xs[t] + w[1] @ h + w[2], c)
                states[t] = h
            both.append(states)
        return [np.concatenate([both[0][t], both[1][t]]) for t in range(len(xs))]

    def run(self, words, tags):
        """The scores of all tokens, and the loss."""
        states = self.layer(self.layer([self.w['E'][w] for w in words], 1), 2)
        scores = [self.w['Wt'] @ x + self.w['bt'] for x in states]
        return scores, -sum(log_softmax(s)[tag] for s, tag in zip(scores, tags))


class TopDown:
    KINDS = LEFT, RIGHT, NX_LEFT, NX_RIGHT = range(4)

    @staticmethod
    def shapes():
        d, words = 150, 1000
        return {'E': (words, d), 'W': (4, 4 * d, 2 * d), 'b': (4, 4 * d), 'Wo': (words, d), 'A': (4, 2 * d), 'a': (4,)}

    def __init__(self, weights):
        self.w = {name: x.astype(np.float64) for name, x in weights.items()}

    def grow(self, root, depth):
        """The tree as Word(word, left, right, next) or None, from a list of edges that wait: no recursion."""
        made = []  # [word, {edge: place of the node}]
        zeros = np.zeros(self.w['E'].shape[1])
        waiting = [(None, None, root, zeros, zeros, depth)]
        while waiting:
            parent, edge, word, h, c, depth = waiting.pop(0)
            if parent is not None:
                x = np.concatenate([self.w['E'][word], h])
                h, c = lstm_step(self.w['W'][edge] @ x + self.w['b'][edge], c)
                word = int(np.argmax(self.w['Wo'] @ h))
                made[parent][1][edge] = len(made)
            adds = self.w['A'] @ np.concatenate([self.w['E'][word], h]) + self.w['a']
            edges = [self.LEFT, self.RIGHT]
            if edge in (self.LEFT, self.NX_LEFT):
                edges.append(self.NX_LEFT)
            if edge in (self.RIGHT, self.NX_RIGHT):
                edges.append(self.NX_RIGHT)
            if depth > 0:
                waiting += [(len(made), e, word, h, c, depth - 1) for e in edges if adds[e] > 0]
            made.append([word, {}])

        def form(place):
            if place is None:
                return None
            word, edges = made[place]
            beside = edges.get(self.NX_LEFT, edges.get(self.NX_RIGHT))
            return ('Word', word, form(edges.get(self.LEFT)), form(edges.get(self.RIGHT)), form(beside))

        return form(0)

    def loss(self, tree):
        """Of a tree (word, left, right, next), whose parts may be None, given its root; from a list, like grow."""
        zeros = np.zeros(self.w['E'].shape[1])
        waiting, total = [(None, tree[0], zeros, zeros, tree)], 0
        while waiting:
            edge, before, h, c, (word, left, right, beside) = waiting.pop()
            if edge is not None:
                h, c = lstm_step(self.w['W'][edge] @ np.concatenate([self.w['E'][before], h]) + self.w['b'][edge], c)
                total -= log_softmax(self.w['Wo'] @ h)[word]
            adds = self.w['A'] @ np.concatenate([self.w['E'][word], h]) + self.w['a']
            edges = [(self.LEFT, left), (self.RIGHT, right)]
            if edge is not None:
                edges.append((self.NX_LEFT if edge in (self.LEFT, self.NX_LEFT) else self.NX_RIGHT, beside))
            for e, node in edges:
                total += np.logaddexp(0, adds[e] if node is None else -adds[e])
                if node is not None:
                    waiting.append((e, word, h, c, node))
        return total


# Likelihoods of phylogenetic trees. A tree is (taxon, length) or (left, right, length).


def changes(rate, t):
    """P_ij of Jukes and Cantor: exp(Q t rate), as a power series."""
    q = np.full((4, 4), 1 / 3) - np.eye(4) * (4 / 3)
    p, term = np.eye(4), np.eye(4)
    for k in range(1, 200):
        term = term @ q * (rate * t / k)
        p = p + term
    return p


def likelihood_pruned(tree, columns, rate):
    """Of each column of the alignment; pruning, state by state."""

    def below(t):  # for each state at the node
        if len(t) == 2:
            return [np.where(columns[:, t[0]] == state, 1.0, 0.0) for state in range(4)]
        result = [1.0] * 4
        for child in t[:2]:
            p, part = cached(rate, child[-1]), below(child)
            result = [r * sum(p[i][j] * part[j] for j in range(4)) for i, r in enumerate(result)]
        return result

    return sum(below(tree)) / 4


_cache = {}


def cached(rate, t):
    if (rate, t) not in _cache:
        _cache[rate, t] = changes(rate, t).tolist()
    return _cache[rate, t]


def likelihood_summed(tree, columns, rate):
    """The same directly: the sum over all states of all inner nodes, of the probability that the sequences arise so."""
    return np.array([_summed(tree, column, rate) for column in columns])


def _summed(tree, column, rate):
    parents, lengths, states = [], [], []

    def visit(t, parent):
        me = len(parents)
        parents.append(parent)
        lengths.append(t[-1])
        states.append([int(column[t[0]])] if len(t) == 2 else range(4))
        if len(t) == 3:
            visit(t[0], me)
            visit(t[1], me)

    visit(tree, None)
    total = 0.0
    for chosen in itertools.product(*states):
        p = 0.25
        for me in range(1, len(parents)):
            p *= cached(rate, lengths[me])[chosen[parents[me]]][chosen[me]]
        total += p
    return total


def log_likelihood_scaled(tree, columns, counts, rates, lengths=None):
    """Pruning of trees of any size: the partial likelihoods of each node are divided by the largest, of each class of
    rates and column, of which logarithms are added. `lengths` stand in place of the tree's own, children before their
    parent, the left one first."""
    rates = np.asarray(rates)
    lengths = iter(lengths) if lengths is not None else None

    def above(t):  # at the upper end of its branch: [class, state, column]; the logarithms: [class, column]
        if len(t) == 2:
            part, logs = np.where(np.arange(4)[:, None] == columns[:, t[0]], 1.0, 0.0)[None], 0.0
        else:
            (left, left_logs), (right, right_logs) = above(t[0]), above(t[1])
            part = left * right
            largest = part.max(axis=1, keepdims=True)
            part, logs = part / largest, left_logs + right_logs + np.log(largest[:, 0])
        length = t[-1] if lengths is None else next(lengths)
        stays = np.exp(-4 / 3 * rates * length)[:, None, None]
        return stays * part + (1 - stays) / 4 * part.sum(axis=1, keepdims=True), logs

    part, logs = above(tree)
    logs = logs + np.log(part.mean(axis=1))
    largest = logs.max(axis=0)
    return float(counts @ (largest + np.log(np.exp(logs - largest).mean(axis=0))))


def log_likelihood(tree, columns, counts, rates, likelihood):
    return float(counts @ np.log(np.mean([likelihood(tree, columns, r) for r in rates], axis=0)))
