# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Treebanks and files of weights, for the programs next to hiaton's models. They share no code with hiaton."""
import json
import re
import struct

import numpy as np


class Random:
    """Numbers that are the same with every version of Python: a linear congruential generator (Knuth, MMIX)."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


# A tree is (label, word) or (label, left, right).


def generated_trees():
    """Sixty trees, of words t0 to t49: single leaves, balanced, linear in both directions, and random ones."""
    random = Random(1)

    def leaf():
        return (random.below(5), 't%d' % random.below(50))

    def node(left, right):
        return (random.below(5), left, right)

    def balanced(depth):
        return leaf() if depth == 0 else node(balanced(depth - 1), balanced(depth - 1))

    def linear(n, to_left):
        t = leaf()
        for _ in range(n):
            t = node(t, leaf()) if to_left else node(leaf(), t)
        return t

    def any_tree(n):  # of n leaves
        if n == 1:
            return leaf()
        k = 1 + random.below(n - 1)
        return node(any_tree(k), any_tree(n - k))

    trees = [leaf() for _ in range(4)] + [balanced(d) for d in (1, 2, 3, 4, 5)]
    trees += [linear(n, to_left) for n in (1, 5, 12, 40) for to_left in (False, True)]
    return trees + [any_tree(2 + random.below(24)) for _ in range(60 - len(trees))]


def brackets(t):
    return '(%d %s)' % (t[0], t[1] if len(t) == 2 else brackets(t[1]) + ' ' + brackets(t[2]))


def read_brackets(path):
    trees = []
    with open(path, encoding='utf-8') as f:
        text = f.read()
    stack = []
    for token in re.findall(r'[()]|[^\s()]+', text, re.ASCII):  # words have no-break spaces
        if token == '(':
            stack.append([])
        elif token != ')':
            stack[-1].append(token if stack[-1] else int(token))
        else:
            t = tuple(stack.pop())
            (stack[-1] if stack else trees).append(t)
    return trees


def words_of(trees):
    """All words, in the order in which they occur first."""
    words = {}

    def visit(t):
        if len(t) == 2:
            words.setdefault(t[1], len(words))
        else:
            visit(t[1])
            visit(t[2])

    for t in trees:
        visit(t)
    return list(words)


def numbered(t, vocabulary):
    """The tree with numbers in place of words."""
    if len(t) == 2:
        return (t[0], vocabulary[t[1]] if t[1] in vocabulary else vocabulary['<unk>'])
    return (t[0], numbered(t[1], vocabulary), numbered(t[2], vocabulary))


def weights(shapes, seed):
    """Uniform: words' vectors up to 0.5, biases up to 0.1, matrices by Glorot and Bengio; the tensor of the RNTN less,
    since a step that enlarges differences enlarges rounding errors."""
    random = np.random.RandomState(seed)

    def bound(name, shape):
        fixed = {'E': 0.5, 'V': 0.05}
        return fixed.get(name, 0.1 if len(shape) == 1 else (6 / (shape[-1] + shape[-2])) ** 0.5)

    return {name: random.uniform(-bound(name, shape), bound(name, shape), shape).astype(np.float32)
            for name, shape in shapes.items()}


def write_safetensors(path, tensors):
    """An 8-byte length, a JSON object of dtypes, shapes and places, and the elements."""
    header, at = {}, 0
    for name, x in tensors.items():
        assert x.dtype == np.float32
        header[name] = {'dtype': 'F32', 'shape': list(x.shape), 'data_offsets': [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for x in tensors.values():
            f.write(x.tobytes())


def read_safetensors(path):
    with open(path, 'rb') as f:
        data = f.read()
    (n,) = struct.unpack('<Q', data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + n]).items():
        if name != '__metadata__':
            begin, end = entry['data_offsets']
            dtype = {'F32': np.float32, 'F64': np.float64}[entry['dtype']]
            tensors[name] = np.frombuffer(data[8 + n + begin:8 + n + end], dtype).reshape(entry['shape'])
    return tensors
