#!/usr/bin/env python3
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Writes the network of tree_rnn.hia, unrolled over one tree: a program without recursion, and another one for every
tree, as frameworks without control flow have it.

    python3 examples/models/unroll.py TREES.ptb VOCAB [N] >unrolled.hia     the tree of line N, the first is 1
    hiaton run unrolled.hia
"""
import os
import re
import sys


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='utf-8') as f:
        line = f.read().split('\n')[int(sys.argv[3]) - 1 if len(sys.argv) == 4 else 0]
    with open(sys.argv[2], encoding='utf-8') as f:
        vocabulary = {word: i for i, word in enumerate(f.read().split('\n'))}
    with open(os.path.join(os.path.dirname(__file__), 'tree_rnn.hia'), encoding='utf-8') as f:
        model = re.findall(r'^(?:const |param |fn compose\(|fn scores\().*$', f.read(), re.M)
    print('# The network of tree_rnn.hia over the tree\n#\n#   %s\n' % line)
    print('\n'.join(model) + '\n\nfn main() = {')

    open_brackets = []  # of each its label and the numbers of its subtrees
    n = 0
    for label, word, close in re.findall(r'\(\s*(\d+)|([^\s()]+)|(\))', line, re.ASCII):
        if label:
            open_brackets.append((label, []))
        elif word:
            vector = 'E[%d]' % vocabulary.get(word, vocabulary.get('<unk>', -1))
        elif close:
            label, children = open_brackets.pop()
            below = ''
            if children:
                vector = 'compose(h%d, h%d)' % tuple(children)
                below = 'loss%d + loss%d + ' % tuple(children)
            print('  let h%d = %s;' % (n, vector))
            print('  let loss%d = %scross_entropy(scores(h%d), %s);' % (n, below, n, label))
            if open_brackets:
                open_brackets[-1][1].append(n)
            n += 1
    print('  (argmax(scores(h%d)), loss%d)\n}' % (n - 1, n - 1))


main()
