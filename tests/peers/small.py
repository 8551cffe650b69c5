# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Prints what tests/programs/PROGRAM.hia computes, as lines of that file: small.py PROGRAM"""
import itertools
import sys

import numpy as np

import autodiff
import control_models
import models
import nuts


def weights(seed, *shape):
    i = np.arange(np.prod(shape))
    return ((((31 * i * i + 7919 * i + 104729 * seed) % 1009) - 504) / 1009).reshape(shape)


def line(fn, args, result):
    print('# small: %s %s => %s' % (fn, args, result))


def text(t):
    return 'Leaf(%d,%d)' % (t[1], t[0]) if len(t) == 2 else 'Node(%s,%s,%d)' % (text(t[1]), text(t[2]), t[0])


def printed(t):
    if isinstance(t, tuple):
        return '%s(%s)' % (t[0], ', '.join(printed(x) for x in t[1:]))
    return str(t)


def classified(t, classes):
    if len(t) == 2:
        return ('Leaf', t[1], classes.pop(0))
    left, right = classified(t[1], classes), classified(t[2], classes)
    return ('Node', left, right, classes.pop(0))


def outcome(peer, t):
    scores, loss = peer.run(t)
    return '(%d, %d)' % (scores[-1].argmax(), round(loss * 1e9))


def of_models():
    scored = {'Wc': weights(4, 5, 4), 'bc': weights(5, 5)}
    rnn = {'E': weights(1, 6, 4), 'W': weights(2, 4, 8), 'b': weights(3, 4), **scored}
    leaf = (3, 1)
    trees = [leaf, (0, (1, 5), (4, 2)), (2, (1, (0, 3), (3, 3)), (4, (2, 0), (1, (1, 4), (0, 5))))]
    for t in trees:
        line('tree_rnn', text(t), outcome(models.TreeRnn(rnn), t))
        line('classes', text(t), printed(classified(t, [int(s.argmax()) for s in models.TreeRnn(rnn).run(t)[0]])))
        line('rntn', text(t), outcome(models.Rntn({**rnn, 'V': weights(6, 4, 8, 8) / 2}), t))
        lstm = {'E': weights(1, 6, 6), 'Wx': weights(7, 12, 6), 'bx': weights(8, 12), 'U': weights(9, 20, 8),
                'bu': weights(10, 20)}
        line('tree_lstm', text(t), outcome(models.TreeLstm({**lstm, **scored}), t))
    outcomes = ', '.join(outcome(models.TreeRnn(rnn), t) for t in trees)
    line('tree_rnns', '[%s]' % ','.join(map(text, trees)), '[%s]' % outcomes)
    line('tree_rnns', '[]', '[]')

    tagger = {'E': weights(1, 6, 4), 'Wt': weights(60, 5, 8), 'bt': weights(61, 5)}
    for cell, seed, width in (('1f', 20, 4), ('1b', 30, 4), ('2f', 40, 8), ('2b', 50, 8)):
        tagger['Wx' + cell], tagger['Wh' + cell] = weights(seed, 16, width), weights(seed + 1, 16, 4)
        tagger['b' + cell] = weights(seed + 2, 16)
    for words, tags in (([2], [4]), ([0, 5, 5, 1, 3], [1, 0, 2, 3, 4])):
        scores, loss = models.Tagger(tagger).run(words, tags)
        line('bilstm', '%s %s' % (words, tags), '(%s, %d)' % ([int(s.argmax()) for s in scores], round(loss * 1e9)))
    line('bilstm', '[] []', '([], 0)')

    top_down = {'E': weights(1, 9, 4), 'W': weights(71, 4, 16, 8), 'b': weights(72, 4, 16), 'Wo': weights(73, 9, 4),
                'A': weights(74, 4, 8), 'a': weights(75, 4)}
    for root, depth in ((3, 0), (3, 2), (0, 4), (7, 5)):
        line('top_down', '%d %d' % (root, depth), printed(models.TopDown(top_down).grow(root, depth)))


# ---- tensor_programs ----


def billionths(x):
    return str(np.round(1e9 * np.asarray(x)).astype(int).tolist())


def child_sum(t):
    word, branches = t
    x, h, fc = weights(1, 5, 3)[word], np.zeros(3), np.zeros(3)
    for hk, ck in map(child_sum, branches):
        h = h + hk
        fc = fc + models.sigmoid(weights(2, 3, 3) @ x + weights(3, 3, 3) @ hk + weights(4, 3)) * ck
    i, o, u = np.split(weights(5, 9, 3) @ x + weights(6, 9, 3) @ h + weights(7, 9), 3)
    c = models.sigmoid(i) * np.tanh(u) + fc
    return models.sigmoid(o) * np.tanh(c), c


def rose(t):
    return 'Rose(%d,[%s])' % (t[0], ','.join(map(rose, t[1])))


def meaning(t):
    if isinstance(t, int):
        return weights(10, 5, 2)[t], weights(11, 5, 2, 2)[t]
    (a, ma), (b, mb) = meaning(t[0]), meaning(t[1])
    return np.tanh(weights(12, 2, 4) @ np.hstack([mb @ a, ma @ b])), weights(13, 2, 4) @ np.vstack([ma, mb])


def pair(t):
    return 'Word(%d)' % t if isinstance(t, int) else 'Both(%s,%s)' % (pair(t[0]), pair(t[1]))


def decode(word, most):
    h, said = weights(24, 3), []
    while len(said) < most:
        x = weights(22, 7, 3)[word]
        r, z = np.split(models.sigmoid(weights(20, 6, 6) @ np.hstack([x, h])), 2)
        h = z * h + (1 - z) * np.tanh(weights(21, 3, 6) @ np.hstack([x, r * h]))
        word = int((weights(23, 7, 3) @ h).argmax())
        if word == 0:
            break
        said.append(word)
    return ''.join('Say(%d, ' % w for w in said) + 'End' + ')' * len(said)


def softmax(x):
    return np.exp(models.log_softmax(x))


def attends(n):
    x = weights(30, n, 4)
    q, k, v = x @ weights(31, 4, 2), x @ weights(32, 4, 2), x @ weights(33, 4, 4)
    x = x + softmax(q @ k.T / np.sqrt(2)) @ v
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def inside(words):
    binary, lexical = softmax(weights(40, 2, 4)).reshape(2, 2, 2), softmax(weights(41, 2, 5))

    def p(i, j):
        if j == i + 1:
            return lexical[:, words[i]]
        return sum(np.einsum('abc,b,c->a', binary, p(i, k), p(k, j)) for k in range(i + 1, j))

    return 1000 * p(0, len(words))


def forward(seen):
    """By all paths of states."""
    step, shown, start = softmax(weights(50, 3, 3)), softmax(weights(51, 3, 4)), softmax(weights(52, 3))
    total = 0.0
    for path in itertools.product(range(3), repeat=len(seen)):
        p = start[path[0]] * shown[path[0], seen[0]]
        for t in range(1, len(seen)):
            p *= step[path[t - 1], path[t]] * shown[path[t], seen[t]]
        total += p
    return np.log(total)


def edits(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))


def life(x, n):
    for _ in range(n):
        around = sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - x
        x = np.where(around == 3, 1, np.where(around == 2, x, 0))
    return x.tolist()


def of_tensor_programs():
    for t in ((2, []), (1, [(0, []), (4, []), (3, [(2, [])])])):
        line('rose_root', rose(t), billionths(child_sum(t)[0]))
    for t in (3, (0, 4), ((1, (2, 0)), (3, 3))):
        line('vector_of', pair(t), '(%s, %s)' % tuple(map(billionths, meaning(t))))
    for word, most in ((1, 0), (1, 9), (4, 9)):
        line('decode', '%d %d' % (word, most), decode(word, most))
    for n in (1, 3):
        line('attends', n, billionths(attends(n)))
    for words in ([3], [0, 2], [1, 4, 0, 2, 2]):
        line('inside', words, billionths(inside(words)))
    for seen in ([2], [0, 3, 1, 1, 2]):
        line('forward', seen, billionths(forward(seen)))
    for a, b in (([], []), ([], [7]), ([1, 2, 3, 4, 4], [2, 3, 3, 4, 1]), ([1, 2, 3], [1, 2, 3])):
        line('edits', '%s %s' % (a, b), edits(a, b))
    for n in (1, 2, 5):
        line('solve', n, billionths(np.linalg.solve(weights(60, n, n), weights(61, n))))
    for n in (1, 2, 8):
        spectrum = np.fft.fft(weights(70, n))
        line('spectrum', n, billionths([spectrum.real, spectrum.imag]))
    for n in (0, 1, 9):
        line('scanned', n, np.cumsum(np.arange(n)**2 % 7).tolist())
        line('sorts', n, sorted(7919 * i % 101 for i in range(n)))
    glider = np.zeros((6, 5), int)
    glider[:3, :3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    for n in (0, 1, 7):
        line('life', '%s %d' % (glider.tolist(), n), life(glider, n))


# ---- control ----


def philox(counter):
    """Philox4x32-10 (Salmon and others, 2011) with the key 0: four words."""
    c, keys = counter, (0, 0)
    for _ in range(10):
        p, q = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = (q >> 32 ^ c[1] ^ keys[0], q & 0xffffffff, p >> 32 ^ c[3] ^ keys[1], p & 0xffffffff)
        keys = (keys[0] + 0x9e3779b9 & 0xffffffff, keys[1] + 0xbb67ae85 & 0xffffffff)
    return c


def random_param(name, shape, bound):
    """uniform(-bound, bound) of docs/params.md, in f64."""
    number = 0xcbf29ce484222325  # FNV-1a
    for byte in name.encode():
        number = (number ^ byte) * 0x100000001b3 % 2**64
    n, elements = int(np.prod(shape)), []
    for block in range((n + 1) // 2):
        w = philox((block, 0, number & 0xffffffff, number >> 32))
        elements += [(low | high << 32) >> 11 for low, high in (w[:2], w[2:])]
    return (-bound + 2 * bound * (np.array(elements[:n]) * 2.0**-53)).reshape(shape)


def of_network(network, fn, shapes, sentences, decisions, wrt, written=str):
    """`fn` of all sentences; the gradients of their summed losses."""
    weights = {name: random_param(name, shape, 3) for name, shape in shapes.items()}
    n = network(weights)
    results = ['(%s, %d)' % (', '.join(map(str, decisions(n, *s))), round(n.loss(*s) * 1e9)) for s in sentences]
    given = '[%s]' % ','.join('(%s)' % ','.join(written(part).replace(' ', '') for part in s) for s in sentences)
    line(fn, given, '[%s]' % ', '.join(results))
    slopes(n, 'slopes', n.loss, weights, given, sentences, wrt)
    return n, weights, given


def slopes(network, fn, loss, weights, given, sentences, wrt):
    network.w = {name: autodiff.Value(x) for name, x in weights.items()}
    autodiff.backward(sum(loss(*s) for s in sentences))
    line(fn, given, '(%s)' % ', '.join(str(round(network.w[name].gradient().sum() * 1e9)) for name in wrt))
    network.w = weights


def spelled(words):
    """What is no list of words, unchanged."""
    if not any(isinstance(w, list) for w in words):
        return str(words)
    return '[%s]' % ','.join('Rare(%s)' % w if isinstance(w, list) else 'Known(%d)' % w for w in words)


class SmallParser(control_models.Parser):
    LABELS = 2


def decided_classes(network, words, *_):
    made, _, scores = network.run(words)
    return int(scores.argmax()), made


def of_control():
    of_network(control_models.CharacterTagger, 'tagged',
               {'E': (6, 4), 'C': (5, 2), 'Uxf': (8, 2), 'Uhf': (8, 2), 'uf': (8,), 'Uxb': (8, 2), 'Uhb': (8, 2),
                'ub': (8,), 'Wxf': (8, 4), 'Whf': (8, 2), 'bf': (8,), 'Wxb': (8, 4), 'Whb': (8, 2), 'bb': (8,),
                'W': (3, 4), 'b': (3,), 'Wt': (4, 3), 'bt': (4,)},
               [([[1, 4]], [2]), ([3, [0, 2, 2], [1], 5, 0, [3, 4, 1, 0]], [0, 1, 2, 3, 0, 1])],
               lambda n, words, tags: ([int(s.argmax()) for s in n.run(words, tags)[0]],), ('Uhf', 'Whb', 'C'), spelled)
    sentences = [([4], [1], [0, 2]), ([4, 3, 5, 4, 3], [1, 1, 1, 1, 2], [0, 0, 3, 0, 1, 0, 2, 0, 4, 1]),
                 ([4, 3, 5, 4, 3, 5], [1, 1, 1, 1, 2, 2], [0, 1, 0, 2, 0, 2, 0, 0, 4, 0, 1, 1])]
    n, weights, given = of_network(
        SmallParser, 'parses',
        {'E': (6, 3), 'P': (3, 2), 'Wxf': (8, 5), 'Whf': (8, 2), 'bf': (8,), 'Wxb': (8, 5), 'Whb': (8, 2),
         'bb': (8,), 'nothing': (4,), 'W': (3, 16), 'b': (3,), 'Wt': (5, 3), 'bt': (5,)},
        sentences, lambda n, words, tags, _: n.parse(words, tags), ('Whf', 'W', 'nothing'))
    line('explorations', given, round(sum(n.explored(*s) for s in sentences) * 1e9))
    slopes(n, 'slopes_explored', n.explored, weights, given, sentences, ('Whf', 'W', 'nothing'))
    of_network(control_models.Spinn, 'brackets',
               {'E': (6, 3), 'Wx': (4, 3), 'bx': (4,), 'U': (10, 6), 'bu': (10,), 'T': (8, 8), 'bt': (8,), 'D': (2, 2),
                'bd': (2,), 'Wc': (3, 2), 'bc': (3,)},
               [([4], [0], 1), ([3, 1], [0, 0, 1], 0), ([5, 2, 2, 0, 3, 1], [0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1], 2)],
               decided_classes, ('U', 'T', 'E'))
    factor = random_param('L', (3, 3), 1)
    for n_chains, n, step, seed in (1, 0, 0.5, 1), (3, 4, 0.5, 1), (5, 3, 0.25, 2), (2, 3, 4.0, 3):
        peer = nuts.Nuts(factor, step)
        chains = [peer.chain(k, n, seed) for k in range(n_chains)]
        line('draws', '%d %d %r %d' % (n_chains, n, step, seed),
             '[%s]' % ', '.join('(%d, %s)' % (steps, billionths(q)) for q, steps in chains))


{'models': of_models, 'tensor_programs': of_tensor_programs, 'control': of_control}[sys.argv[1]]()
