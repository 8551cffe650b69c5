# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Runs the models of examples/models/ whose control depends on values that they compute, and compares them with
programs in NumPy: values and gradients to 1e-5, and decisions. All engines print the same.

    control.py HIATON SOURCE-DIR SHARE [TITLE...]    all checks, or those whose titles begin like one of these"""
import os
import re

import numpy as np

import checking
from checking import check, example, write
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

    check('nuts, moments', words + ['256', '100', str(step), str(seed)], wrong_moments)


def main():
    checking.begin()
    nuts()
    checking.end()


main()
