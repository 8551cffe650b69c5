# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Algorithm 3 of M. Hoffman, A. Gelman, "The No-U-Turn Sampler", 2014, in NumPy, for a normal distribution with the
precision matrix L' L. Its random numbers are those of examples/models/nuts.hia, which are made from keys."""
import math

import numpy as np

MASK = 2**64 - 1
MAX_DEPTH, MAX_ERROR = 10, 1000


def split(key, i):
    """The output i of SplitMix64 that has begun at this key."""
    x = (key + (i + 1) * 0x9e3779b97f4a7c15) & MASK
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def uniform(key):
    return ((split(key, 0) >> 11) + 0.5) / 2**53


def normals(key, n):
    keys = [split(key, i) for i in range(n)]
    return np.array([math.sqrt(-2 * math.log(uniform(split(k, 0)))) * math.cos(2 * math.pi * uniform(split(k, 1)))
                     for k in keys])


class Nuts:
    def __init__(self, factor, step):
        self.precision, self.step = factor.T @ factor, step
        self.n_steps = 0

    def joint(self, q, p):
        return -0.5 * (q @ self.precision @ q + p @ p)

    def leapfrog(self, q, p, step):
        self.n_steps += 1
        p = p - 0.5 * step * (self.precision @ q)
        q = q + step * p
        return q, p - 0.5 * step * (self.precision @ q)

    def build(self, q, p, log_u, v, depth, key):
        """Returns q-, p-, q+, p+, q', n', s' of the paper."""
        if depth == 0:
            q, p = self.leapfrog(q, p, v * self.step)
            joint = self.joint(q, p)
            return q, p, q, p, q, int(log_u <= joint), joint > log_u - MAX_ERROR
        ql, pl, qr, pr, sample, n, s = self.build(q, p, log_u, v, depth - 1, split(key, 0))
        if s:
            if v < 0:
                ql, pl, _, _, other, m, s = self.build(ql, pl, log_u, v, depth - 1, split(key, 1))
            else:
                _, _, qr, pr, other, m, s = self.build(qr, pr, log_u, v, depth - 1, split(key, 1))
            if m and uniform(split(key, 2)) < m / (n + m):
                sample = other
            s = s and (qr - ql) @ pl >= 0 and (qr - ql) @ pr >= 0
            n += m
        return ql, pl, qr, pr, sample, n, s

    def draw(self, q, key):
        p = normals(split(key, 0), len(q))
        log_u = math.log(uniform(split(key, 1))) + self.joint(q, p)
        key = split(key, 2)
        ql, pl, qr, pr, sample, n, s, depth = q, p, q, p, q, 1, True, 0
        while s and depth < MAX_DEPTH:
            v = -1 if uniform(split(key, 0)) < 0.5 else 1
            if v < 0:
                ql, pl, _, _, other, m, s = self.build(ql, pl, log_u, v, depth, split(key, 1))
            else:
                _, _, qr, pr, other, m, s = self.build(qr, pr, log_u, v, depth, split(key, 1))
            if s and uniform(split(key, 2)) < m / n:
                sample = other
            n += m
            s = s and (qr - ql) @ pl >= 0 and (qr - ql) @ pr >= 0
            key, depth = split(key, 3), depth + 1
        return sample

    def chain(self, k, n, seed):
        """The last of n draws, and how many steps all of them took."""
        key, self.n_steps = split(seed, k), 0
        q = normals(split(key, 0), len(self.precision))
        for i in range(1, n + 1):
            q = self.draw(q, split(key, i))
        return q, self.n_steps
