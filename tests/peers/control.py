# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Runs the models of examples/models/ whose control depends on values that they compute, and compares them with
programs in NumPy: values and gradients to 1e-5, and decisions. All engines print the same.

    control.py HIATON SOURCE-DIR SHARE [TITLE...]    all checks, or those whose titles begin like one of these"""
import os
import re

import numpy as np

import autodiff
import checking
import files
from checking import check, check_saved, example, near, saved, write
from control_models import CharacterTagger, Parser, Spinn, Translator
from nuts import Nuts


def resized(name, **constants):
    """The program, with other values of consts."""
    with open(example(name + '.hia'), encoding='utf-8') as f:
        text = f.read()
    for constant, size in constants.items():
        text, n = re.subn(r'^const %s = \d+' % constant, 'const %s = %d' % (constant, size), text, flags=re.M)
        assert n == 1
    return write(name + '.hia', text)


def nuts():
    """Draws of chains in 20 dimensions: they are alike to rounding, which no chain of some dozens of draws enlarges so
    that a decision differs. The sum of squares of L q has the mean 20."""
    dim, step, seed = 20, 0.15, 3
    factor = np.random.RandomState(50).standard_normal((dim, dim))
    params = os.path.join(checking.work, 'nuts.npz')
    np.savez(params, L=factor)
    program = resized('nuts', DIM=dim)
    words = [program, '--params', params]
    peer = Nuts(factor, step)

    def compare(expected):
        def wrong(printed):
            if len(printed) != len(expected):
                return '%d chains, not %d' % (len(printed), len(expected))
            for k, ((q, steps), (wanted, n)) in enumerate(zip(printed, expected)):
                if steps != n or not np.abs(np.array(q) - wanted).max() <= 1e-9 * np.abs(wanted).max():
                    return 'chain %d: %d steps to %s, not %d to %s' % (k, steps, q, n, wanted)
            return None

        return wrong

    for n_chains, n in (1, 0), (3, 1), (64, 12):
        expected = [peer.chain(k, n, seed) for k in range(n_chains)]
        check('nuts, %d chains, %d draws' % (n_chains, n), words + [str(n_chains), str(n), str(step), str(seed)],
              compare(expected))
    # One after the other, they are the same to the last bit.
    one = [checking.value(checking.hiaton(words + ['--fn', 'chain', str(k), '12', str(step), str(seed)]))
           for k in range(0, 64, 21)]
    check('nuts, chains alone', words + ['64', '12', str(step), str(seed)],
          lambda printed: None if printed[::21] == one else 'chain %s, not %s' % (printed[::21], one))

    def wrong_moments(printed):
        z = np.array([q for q, _ in printed]) @ factor.T
        mean, squares = np.abs(z.mean(axis=0)).max(), (z * z).sum(axis=1).mean()
        # Within four and a half standard deviations of what 256 independent draws have.
        if mean > 4.5 / 16 or abs(squares - dim) > 4.5 * np.sqrt(2 * dim) / 16:
            return 'means of up to %g; the mean sum of squares is %g' % (mean, squares)
        return None

    check('nuts, moments', words + ['256', '40', str(step), str(seed)], wrong_moments)


# ---- networks ----


def hia(x):
    """In hiaton's form, of tuples and lists: a word is a tuple with its constructor's name."""
    if isinstance(x, tuple) and isinstance(x[0], str):
        return '%s(%s)' % (x[0], ', '.join(hia(part) for part in x[1:]))
    if isinstance(x, tuple):
        return '(%s)' % ', '.join(hia(part) for part in x)
    return '[%s]' % ', '.join(hia(part) for part in x) if isinstance(x, list) else str(x)


def gradients_of(network, weights, sentences, loss):
    """Of the summed losses, of each param, by autodiff.py."""
    n = network({})
    n.w = {name: autodiff.Value(x) for name, x in weights.items()}
    autodiff.backward(sum(getattr(n, loss)(*s) for s in sentences))
    return [value.gradient() for value in n.w.values()]


def gradients(name, model, sentences, words, weights, loss):
    """A loss of the program and its gradients."""
    peer = model(weights)
    total = sum(float(getattr(peer, loss)(*s)) for s in sentences)
    check('%s, %s' % (name, loss), words + ['--fn', loss],
          lambda value: None if near(value, total) else '%r, not %r' % (value, total))
    with open(words[0], 'a', encoding='utf-8') as f:
        f.write('\nfn gradients_of_%s(sentences: %s) = grad(%s)(sentences)\n' % (loss, TYPES[name], loss))
    expected = gradients_of(model, weights, sentences, loss)

    def wrong(arrays):
        for param, got, right in zip(weights, arrays, expected):
            if not np.abs(got - right).max() <= 1e-5 * np.abs(right).max():
                return '%s: off by %g, and the largest is %g' % (param, np.abs(got - right).max(), np.abs(right).max())
        return None if len(arrays) == len(weights) else '%d gradients' % len(arrays)

    check_saved('%s, %s, gradients' % (name, loss), words + ['--fn', 'gradients_of_' + loss], wrong)


def network(name, model, sentences, of_hiaton, decisions, seed):
    """Losses, gradients of all params, and what main decides: `decisions(network, sentence)` is that of the peer."""
    weights = files.weights(model.SHAPES, seed)
    weights = {param: 3 * x if len(x.shape) > 1 else x for param, x in weights.items()}  # decisions are far apart
    peer, program = model(weights), resized(name)
    losses = [float(peer.loss(*s)) for s in sentences]
    wanted = [decisions(peer, *s) for s in sentences]
    given = write(name + '.value', hia([of_hiaton(*s) for s in sentences]))
    words = [program, '@' + given, '--params', saved(name, weights)]

    def wrong(printed):
        for i, (got, loss) in enumerate(zip(printed, losses)):
            if got[:-1] != wanted[i] or not near(got[-1], loss, max(loss, 1)):
                return 'sentence %d: %r, not %r, %r' % (i, got, wanted[i], loss)
        return None if len(printed) == len(losses) else 'sentences are missing'

    check(name, words, wrong)
    gradients(name, model, sentences, words, weights, 'loss')
    return words, weights


TYPES = {'character_tagger': '[([Word], i32[?])]', 'arc_hybrid_parser': '[(i32[?], i32[?], i32[?])]',
         'spinn': '[(i32[?], i32[?], i32)]', 'attention': '[(i32[?], i32[?])]'}


def character_tagger(random):
    def word():
        if random.randint(3) > 0:
            return int(random.randint(1000))
        return random.randint(0, 100, random.randint(0, 12)).tolist()

    sentences = [([word() for _ in range(n)], random.randint(0, 50, n).tolist()) for n in (1, 2, 5, 9, 30)]
    network('character_tagger', CharacterTagger, sentences,
            lambda words, tags: ([('Rare', w) if isinstance(w, list) else ('Known', w) for w in words], tags),
            lambda peer, words, tags: ([int(s.argmax()) for s in peer.run(words, tags)[0]],), 60)


def arc_hybrid_parser(random):
    def sentence(n):
        """Of n words, with the transitions of some tree."""
        stack, left, transitions = 0, n, []
        while stack or left:
            kinds = ['shift'] * (left > 0) + ['left'] * (stack > 0) + ['right'] * (stack > 1)
            kind = kinds[random.randint(len(kinds))]
            label = random.randint(9)
            transitions.append({'shift': 0, 'left': 1 + label, 'right': 10 + label}[kind])
            stack, left = (stack + 1, left - 1) if kind == 'shift' else (stack - 1, left)
        return random.randint(1, 1000, n).tolist(), random.randint(1, 20, n).tolist(), transitions

    sentences = [sentence(n) for n in (1, 2, 5, 9, 30)]
    words, weights = network('arc_hybrid_parser', Parser, sentences, lambda *s: s,
                             lambda peer, words, tags, _: peer.parse(words, tags), 61)
    short = sentences[:4] + [sentence(n) for n in (3, 4, 5, 6, 7)]  # the peer searches all that could follow
    words[1] = '@' + write('short.value', hia(short))
    gradients('arc_hybrid_parser', Parser, short, words, weights, 'explored')


def spinn(random):
    def sentence(n):
        stack, left, transitions = 0, n, []
        while left or stack > 1:
            joins = stack > 1 and (left == 0 or random.randint(2) == 0)
            transitions.append(int(joins))
            stack, left = (stack - 1, left) if joins else (stack + 1, left - 1)
        return random.randint(0, 1000, n).tolist(), transitions, int(random.randint(5))

    def decisions(peer, words, *_):
        made, _, scores = peer.run(words)
        return int(scores.argmax()), made

    network('spinn', Spinn, [sentence(n) for n in (1, 2, 5, 9, 30)], lambda *s: s, decisions, 62)


def attention(random):
    sentences = [(random.randint(1, 1000, n).tolist(), random.randint(1, 1000, m).tolist())
                 for n, m in ((1, 1), (2, 0), (5, 7), (9, 4), (12, 15))]
    network('attention', Translator, sentences, lambda *s: s, lambda peer, source, _: (peer.translate(source),), 63)


def main():
    checking.begin()
    nuts()
    for number, test in enumerate((character_tagger, arc_hybrid_parser, spinn, attention)):
        test(np.random.RandomState(70 + number))
    checking.end()


main()
