# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Prints what tests/programs/models.hia computes, as lines of that file."""
import numpy as np

import models


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


scored = {'Wc': weights(4, 5, 4), 'bc': weights(5, 5)}
rnn = {'E': weights(1, 6, 4), 'W': weights(2, 4, 8), 'b': weights(3, 4), **scored}
leaf = (3, 1)
trees = [leaf, (0, (1, 5), (4, 2)), (2, (1, (0, 3), (3, 3)), (4, (2, 0), (1, (1, 4), (0, 5))))]
for t in trees:
    line('tree_rnn', text(t), outcome(models.TreeRnn(rnn), t))
    line('classes', text(t), printed(classified(t, [int(s.argmax()) for s in models.TreeRnn(rnn).run(t)[0]])))
    line('rntn', text(t), outcome(models.Rntn({**rnn, 'V': weights(6, 4, 8, 8) / 2}), t))
    lstm = {'E': weights(1, 6, 6), 'Wx': weights(7, 12, 6), 'bx': weights(8, 12), 'U': weights(9, 20, 8), 'bu': weights(10, 20)}
    line('tree_lstm', text(t), outcome(models.TreeLstm({**lstm, **scored}), t))
line('tree_rnns', '[%s]' % ','.join(map(text, trees)), '[%s]' % ', '.join(outcome(models.TreeRnn(rnn), t) for t in trees))
line('tree_rnns', '[]', '[]')

tagger = {'E': weights(1, 6, 4), 'Wt': weights(60, 5, 8), 'bt': weights(61, 5)}
for cell, seed, width in (('1f', 20, 4), ('1b', 30, 4), ('2f', 40, 8), ('2b', 50, 8)):
    tagger.update({'Wx' + cell: weights(seed, 16, width), 'Wh' + cell: weights(seed + 1, 16, 4), 'b' + cell: weights(seed + 2, 16)})
for words, tags in (([2], [4]), ([0, 5, 5, 1, 3], [1, 0, 2, 3, 4])):
    scores, loss = models.Tagger(tagger).run(words, tags)
    line('bilstm', '%s %s' % (words, tags), '(%s, %d)' % ([int(s.argmax()) for s in scores], round(loss * 1e9)))
line('bilstm', '[] []', '([], 0)')

top_down = {'E': weights(1, 9, 4), 'W': weights(71, 4, 16, 8), 'b': weights(72, 4, 16), 'Wo': weights(73, 9, 4),
            'A': weights(74, 4, 8), 'a': weights(75, 4)}
for root, depth in ((3, 0), (3, 2), (0, 4), (7, 5)):
    line('top_down', '%d %d' % (root, depth), printed(models.TopDown(top_down).grow(root, depth)))
