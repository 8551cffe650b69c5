# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Writes random programs on tensors, each with what NumPy computes: files of a corpus for hia_diff.

    random_programs.py FOLDER SEED COUNT

All numbers are i64, so results are exact. A program has some recursive functions, and three that are run. The shape
of every expression is chosen before the expression is, so programs fit; `fail` and indices out of range are behind
conditions on computed numbers, and the first failure in sequential order is the one that is expected. Values have
names, and are used again, while others are changed: that is where an implementation that changes tensors in place
goes wrong.

An expression is its text, and a function from the values of variables to its value."""
import operator
import os
import random
import sys

import numpy as np

HEAD = '''type Either = Vector(x: i64[?]) | Matrix(m: i64[?, ?])
type Tree = Leaf(x: i64[?]) | Node(left: Tree, right: Tree)
fn build(k: i64, x: i64[?]) -> Tree = if k == 0 then Leaf(x) else Node(build(k - 1, x + k), build(k - 1, x * 2))
fn fold(t: Tree) -> i64[?] = match t { Leaf(x) => x, Node(l, r) => fold(l) * 3 + fold(r) }
'''
COMPARISONS = {'<': operator.lt, '<=': operator.le, '==': operator.eq, '!=': operator.ne, '>': operator.gt}
OPERATORS = {'+': operator.add, '-': operator.sub, '*': operator.mul}
FUNCTIONS = {'min': np.minimum, 'max': np.maximum, 'bxor': operator.xor}
REDUCTIONS = ('sum', 'max', 'min', 'prod')


def i64(x):
    return np.asarray(x, dtype=np.int64)


def dims(shape):
    return ', '.join(map(str, shape))


def before(text):
    """The expression, where an index follows."""
    return text if text.replace('_', '').isalnum() else '(%s)' % text


class Failure(Exception):
    pass


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n_names = 0
        self.budget = 0  # expressions that may still have parts
        self.functions = []  # (name, shapes of parameters, shape, function)

    # ---- choices ----

    def chance(self, p):
        return self.random.random() < p

    def number(self, low, high):
        return self.random.randint(low, high)

    def choice(self, of):
        return self.random.choice(of)

    def shape(self):
        return tuple(self.number(1, 4) for _ in range(self.choice([0, 1, 1, 1, 2, 2, 3])))

    def name(self):
        self.n_names += 1
        return 'v%d' % self.n_names

    def type(self, shape):
        return 'i64[%s]' % ', '.join('?' if self.chance(0.6) else str(d) for d in shape) if shape else 'i64'

    # ---- expressions ----

    def expression(self, shape, scope, depth):
        """`scope`: the shapes of the variables."""
        self.budget -= 1
        if depth <= 0 or self.budget < 0:
            return self.leaf(shape, scope)
        forms = [self.fails, self.element, self.operator, self.operator, self.operator, self.leaf_at, self.branch,
                 self.let, self.let, self.let, self.let_tuple, self.loop, self.call, self.bnot, self.select]
        if shape:
            forms += [self.set, self.set, self.set, self.set_in_loop, self.set_in_loop, self.row, self.slice,
                      self.slice, self.gather, self.reshape, self.reshape, self.concat, self.concat, self.stacked,
                      self.comprehension, self.over_rows, self.reduction, self.array]
        else:
            forms += [self.reduced, self.reduced, self.product, self.match, self.tree, self.length]
        if len(shape) in (1, 2):
            forms.append(self.product)
        if len(shape) == 2:
            forms += [self.transpose, self.outer]

        def part(of, more=None):
            return self.expression(of, {**scope, **more} if more else scope, depth - 1)

        return self.choice(forms)(shape, scope, part)

    def leaf(self, shape, scope):
        names = [name for name, of in scope.items() if of == shape]
        if names and self.chance(0.85):
            name = self.choice(names)
            return name, lambda e: e[name]
        if shape == ():
            k = self.number(-3, 9)
            return '(%di64)' % k, lambda e: i64(k)
        n, a, b = int(np.prod(shape)), self.number(1, 9), self.number(-5, 5)
        if self.chance(0.2):
            return 'full(%di64, %s)' % (a, dims(shape)), lambda e: np.full(shape, a, np.int64)
        numbers = i64(np.arange(n) * a + b).reshape(shape)
        return 'reshape(iota(%d) * %d + %d, %s)' % (n, a, b, dims(shape)), lambda e: numbers

    def leaf_at(self, shape, scope, _part):
        return self.leaf(shape, scope)

    def condition(self, part, of=tuple(COMPARISONS)):
        (a, fa), (b, fb), op = part(()), part(()), self.choice(of)
        return '%s %s %s' % (a, op, b), lambda e: bool(COMPARISONS[op](fa(e), fb(e)))

    def fails(self, shape, _scope, part):
        self.n_names += 1
        code, (c, fc), (a, fa) = self.n_names, self.condition(part, ('==',)), part(shape)

        def run(e):
            if fc(e):
                raise Failure('failed(%d)' % code)
            return fa(e)

        return '(if %s then fail(%d) else %s)' % (c, code, a), run

    def element(self, shape, _scope, part):
        n = self.number(2, 4)
        (a, fa), (i, fi), m = part((n,) + shape), part(()), n + self.chance(0.1)

        def run(e):
            x, k = fa(e), (int(fi(e)) & (2**63 - 1)) % m
            if k >= n:
                raise Failure('range')
            return i64(x[k])

        return '%s[band(%s, 0x7fff_ffff_ffff_ffff) %% %d]' % (before(a), i, m), run

    def operator(self, shape, _scope, part):
        op, other = self.choice(list(OPERATORS) + list(FUNCTIONS)), shape
        if shape and self.chance(0.4):  # broadcast
            other = self.choice([(), shape[1:], tuple(1 if self.chance(0.5) else d for d in shape)])
        operands = [part(shape), part(other)]
        self.random.shuffle(operands)
        (a, fa), (b, fb) = operands
        f = OPERATORS.get(op) or FUNCTIONS[op]
        text = '(%s %s %s)' % (a, op, b) if op in OPERATORS else '%s(%s, %s)' % (op, a, b)
        return text, lambda e: i64(f(fa(e), fb(e)))

    def bnot(self, shape, _scope, part):
        a, fa = part(shape)
        return 'bnot(%s)' % a, lambda e: ~fa(e)

    def select(self, shape, _scope, part):
        (a, fa), (b, fb), (c, fc), (d, fd) = part(shape), part(()), part(shape), part(shape if self.chance(0.7) else ())

        def run(e):
            is_less = fa(e) < fb(e)
            return i64(np.where(is_less, fc(e), fd(e)))

        return 'select(%s < %s, %s, %s)' % (a, b, c, d), run

    def branch(self, shape, _scope, part):
        (c, fc), (a, fa), (b, fb) = self.condition(part), part(shape), part(shape)
        return '(if %s then %s else %s)' % (c, a, b), lambda e: fa(e) if fc(e) else fb(e)

    def let(self, shape, _scope, part):
        v, of = self.name(), self.choice([shape, self.shape()])
        (a, fa), (b, fb) = part(of), part(shape, {v: of})
        return '{ let %s = %s; %s }' % (v, a, b), lambda e: fb({**e, v: fa(e)})

    def let_tuple(self, shape, _scope, part):
        v, w, of_v, of_w = self.name(), self.name(), self.shape(), self.shape()
        (a, fa), (b, fb), (c, fc) = part(of_v), part(of_w), part(shape, {v: of_v, w: of_w})

        def run(e):
            x = fa(e)
            return fc({**e, v: x, w: fb(e)})

        return '{ let (%s, %s) = (%s, %s); %s }' % (v, w, a, b, c), run

    def loop(self, shape, _scope, part):
        v, w, i, result, of = self.name(), self.name(), self.name(), self.name(), self.shape()
        rounds, (a, fa), (b, fb) = self.number(0, 3), part(shape), part(of)
        names = {v: shape, w: of, i: ()}
        (x, fx), (y, fy) = part(shape, names), part(of, names)

        def run(e):
            p = fa(e)
            q = fb(e)
            for k in range(rounds):
                inner = {**e, v: p, w: q, i: i64(k)}
                p = fx(inner)
                q = fy(inner)
            return p

        return '{ let (%s, _, _) = loop (%s = %s, %s = %s, %s = 0i64) while %s < %d { (%s, %s, %s + 1) }; %s }' % (
            result, v, a, w, b, i, i, rounds, x, y, i, result), run

    def set_in_loop(self, shape, _scope, part):
        v, i, result, rounds = self.name(), self.name(), self.name(), self.number(1, 5)
        (a, fa), (x, fx) = part(shape), part(shape[1:], {v: shape, i: ()})

        def run(e):
            p = fa(e)
            for k in range(rounds):
                row = fx({**e, v: p, i: i64(k)})
                p = p.copy()
                p[k % shape[0]] = row
            return p

        return '{ let (%s, _) = loop (%s = %s, %s = 0i64) while %s < %d { (set(%s, %s %% %d, %s), %s + 1) }; %s }' % (
            result, v, a, i, i, rounds, v, i, shape[0], x, i, result), run

    def call(self, shape, scope, part):
        functions = [f for f in self.functions if f[2] == shape]
        if not functions:
            return self.leaf(shape, scope)
        name, shapes, _, f = self.choice(functions)
        n, args = self.number(0, 3), [part(of) for of in shapes]
        return '%s(%s)' % (name, ', '.join([str(n)] + [a for a, _ in args])), lambda e: f(n, [fa(e) for _, fa in args])

    def set(self, shape, _scope, part):
        i, (a, fa), (b, fb) = self.number(0, shape[0] - 1), part(shape), part(shape[1:])

        def run(e):
            x = fa(e)
            row = fb(e)
            x = x.copy()
            x[i] = row
            return x

        return 'set(%s, %d, %s)' % (a, i, b), run

    def row(self, shape, _scope, part):
        n = self.number(1, 3)
        i, (a, fa) = self.number(0, n - 1), part((n,) + shape)
        return '%s[%d]' % (before(a), i), lambda e: fa(e)[i]

    def slice(self, shape, _scope, part):
        first, behind = self.number(0, 2), self.number(0, 2)
        last = first + shape[0]
        a, fa = part((last + behind,) + shape[1:])
        return '%s[%d..%d]' % (before(a), first, last), lambda e: fa(e)[first:last]

    def gather(self, shape, _scope, part):
        n = self.number(1, 4)
        rows, (a, fa) = [self.number(0, n - 1) for _ in range(shape[0])], part((n,) + shape[1:])
        return '%s[%s]' % (before(a), rows), lambda e: fa(e)[rows]

    def reshape(self, shape, _scope, part):
        n = int(np.prod(shape))
        a, fa = part(self.choice([(n,), (1, n), (n, 1)] + ([(2, n // 2)] if n % 2 == 0 else [])))
        return 'reshape(%s, %s)' % (a, dims(shape)), lambda e: fa(e).reshape(shape)

    def concat(self, shape, scope, part):
        axis = self.number(0, len(shape) - 1)
        if shape[axis] == 1:
            return self.leaf(shape, scope)
        k = self.number(1, shape[axis] - 1)
        (a, fa), (b, fb) = (part(shape[:axis] + (n,) + shape[axis + 1:]) for n in (k, shape[axis] - k))
        return 'concat(%s, %s, axis = %d)' % (a, b, axis), lambda e: np.concatenate([fa(e), fb(e)], axis)

    def stacked(self, shape, _scope, part):
        rows = [part(shape[1:]) for _ in range(shape[0])]
        return '[%s]' % ', '.join(a for a, _ in rows), lambda e: np.stack([fa(e) for _, fa in rows])

    def comprehension(self, shape, _scope, part):
        i = self.name()
        a, fa = part(shape[1:], {i: ()})
        text = '[%s for %s in 0i64..%d]' % (a, i, shape[0])
        return text, lambda e: np.stack([fa({**e, i: i64(k)}) for k in range(shape[0])])

    def over_rows(self, shape, _scope, part):
        v, of = self.name(), self.shape()
        (a, fa), (b, fb) = part((shape[0],) + of), part(shape[1:], {v: of})
        return '[%s for %s in %s]' % (b, v, a), lambda e: np.stack([fb({**e, v: row}) for row in fa(e)])

    def array(self, shape, _scope, part):
        """An array of pairs, of which one is set, and one is taken apart."""
        i, xs, x, y, of, n = self.name(), self.name(), self.name(), self.name(), self.shape(), self.number(1, 3)
        to, at = self.number(0, n - 1), self.number(0, n - 1)
        (a, fa), (b, fb), (c, fc), (d, fd) = part(shape, {i: ()}), part(of, {i: ()}), part(shape), part(of)
        z, fz = part(shape, {x: shape, y: of})

        def run(e):
            pairs = []
            for k in range(n):
                left = fa({**e, i: i64(k)})
                pairs.append((left, fb({**e, i: i64(k)})))
            left = fc(e)
            pairs[to] = (left, fd(e))
            return fz({**e, x: pairs[at][0], y: pairs[at][1]})

        return '{ let %s = set([(%s, %s) for %s in 0i64..%d], %d, (%s, %s)); let (%s, %s) = %s[%d]; %s }' % (
            xs, a, b, i, n, to, c, d, x, y, xs, at, z), run

    def reduction(self, shape, _scope, part):
        axis, op = self.number(0, len(shape)), self.choice(REDUCTIONS)
        a, fa = part(shape[:axis] + (self.number(1, 3),) + shape[axis:])
        return '%s(%s, axis = %d)' % (op, a, axis), lambda e: i64(getattr(np, op)(fa(e), axis=axis))

    def reduced(self, _shape, _scope, part):
        op, (a, fa) = self.choice(REDUCTIONS), part(self.shape())
        return '%s(%s)' % (op, a), lambda e: i64(getattr(np, op)(fa(e)))

    def product(self, shape, _scope, part):
        n = self.number(1, 4)
        (a, fa), (b, fb) = part(shape[:1] + (n,)), part((n,) + shape[1:])
        return '(%s @ %s)' % (a, b), lambda e: i64(fa(e) @ fb(e))

    def outer(self, shape, _scope, part):
        (a, fa), (b, fb) = part(shape[:1]), part(shape[1:])
        return 'outer(%s, %s)' % (a, b), lambda e: np.outer(fa(e), fb(e))

    def transpose(self, shape, _scope, part):
        a, fa = part(shape[::-1])
        return 'transpose(%s)' % a, lambda e: fa(e).T

    def length(self, _shape, _scope, part):
        n = self.number(1, 3)
        a, fa = part((n,) + self.shape()[:2])

        def run(e):
            fa(e)  # may fail
            return i64(n)

        return 'len(%s)' % a, run

    def match(self, shape, _scope, part):
        v, m = self.name(), self.name()
        (c, fc), (a, fa), (b, fb) = self.condition(part), part((2,)), part((2, 2))
        (x, fx), (y, fy) = part(shape, {v: (2,)}), part(shape, {m: (2, 2)})
        return 'match (if %s then Vector(%s) else Matrix(%s)) { Vector(%s) => %s, Matrix(%s) => %s }' % (
            c, a, b, v, x, m, y), lambda e: fx({**e, v: fa(e)}) if fc(e) else fy({**e, m: fb(e)})

    def tree(self, _shape, _scope, part):
        k, (a, fa) = self.number(0, 3), part((2,))

        def folded(k, x):  # fold(build(k, x))
            return x if k == 0 else folded(k - 1, x + k) * 3 + folded(k - 1, x * 2)

        return 'sum(fold(build(%d, %s)))' % (k, a), lambda e: i64(np.sum(folded(k, fa(e))))

    # ---- functions ----

    def function(self):
        """Calls itself, in a third of all cases at the end."""
        name, shape = 'f%d' % len(self.functions), self.shape()
        shapes = [self.shape() for _ in range(self.number(1, 3))]
        parameters = {'p%d' % k: of for k, of in enumerate(shapes)}
        self.budget = 60
        base, run_base = self.expression(shape, parameters, 3)
        args = [self.expression(of, parameters, 2) for of in shapes]
        step, run_step = self.expression(shape, {**parameters, 'rest': shape, 'n': ()}, 3)
        is_tail = self.chance(0.33)

        def run(n, values):
            e = dict(zip(parameters, values))
            if n <= 0:
                return run_base(e)
            rest = run(n - 1, [f(e) for _, f in args])
            return rest if is_tail else run_step({**e, 'rest': rest, 'n': i64(n)})

        call = '%s(%s)' % (name, ', '.join(['n - 1'] + [a for a, _ in args]))
        self.functions.append((name, shapes, shape, run))
        return 'fn %s(n: i64, %s) -> i64%s =\n  if n <= 0 then %s\n  else %s\n' % (
            name, ', '.join('%s: %s' % (p, self.type(of)) for p, of in parameters.items()),
            '[%s]' % ', '.join('?' for _ in shape) if shape else '', base,
            call if is_tail else '{ let rest = %s; %s }' % (call, step))

    def main(self, k):
        """A function without recursion, and how it is run."""
        self.budget = 120
        shape, shapes = self.shape(), [self.shape() for _ in range(self.number(1, 3))]
        parameters = {'a%d' % i: of for i, of in enumerate(shapes)}
        text, run = self.expression(shape, parameters, 5)
        values = [i64([self.number(-9, 9) for _ in range(int(np.prod(of)))]).reshape(of) for of in shapes]
        try:
            outcome = str(i64(run(dict(zip(parameters, values)))).tolist())
        except Failure as e:
            outcome = 'error %s ...' % e
        signature = ', '.join('%s: %s' % (p, self.type(of)) for p, of in parameters.items())
        args = ' '.join(str(x.tolist()) for x in values)
        return 'fn main%d(%s) = %s\n' % (k, signature, text), '# small: main%d %s => %s\n' % (k, args, outcome)

    def text(self):
        functions = [self.function() for _ in range(self.number(1, 4))]
        mains = [self.main(k) for k in range(3)]
        return HEAD + ''.join(functions) + ''.join(text for text, _ in mains) + ''.join(line for _, line in mains)


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    np.seterr(all='ignore')  # integers wrap
    os.makedirs(folder, exist_ok=True)
    for i in range(seed, seed + count):
        with open(os.path.join(folder, 'seed_%d.hia' % i), 'w', encoding='utf-8') as f:
            f.write(Program(i).text())


main()
