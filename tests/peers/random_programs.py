# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Writes random programs on tensors, each with what NumPy computes: files of a corpus for hia_diff.

    random_programs.py FOLDER SEED COUNT

All ops are among those whose bits NumPy shares, or that language.py defines to the last bit. A program has params, some
recursive functions, and three that are run. The type of every expression, with its sizes, is chosen before the
expression is, so programs fit; `fail`, divisions by zero, indices out of range and shapes that do not fit are behind
conditions on computed numbers. Of the first failure in sequential order the place is expected, and the chain of calls.
Values have names, and are used again, while others are changed: that is where an implementation that changes tensors in
place goes wrong.

An expression is its text, and a function from the values of variables to its value. Before what may fail, and before
calls, the text has a mark, a character of its own, which becomes a place when the program is whole."""
import os
import random
import sys

from language import (EXACT, FLOATS, INTS, TYPES, Failure, converted, dtype_of, np, number, product, reduced, text)

NUMBERS = INTS + FLOATS
HEAD = '''type Either = Vector(x: %(a)s[?]) | Matrix(m: %(b)s[?, ?])
type Tree = Leaf(x: %(c)s[?]) | Node(left: Tree, right: Tree)
fn build(k: i64, x: %(c)s[?]) -> Tree =
  if k == 0 then Leaf(x) else Node(build(k - 1, x + %(c)s(k)), build(k - 1, x * 2))
fn fold(t: Tree) -> %(c)s[?] = match t { Leaf(x) => x, Node(l, r) => fold(l) * 3 + fold(r) }
fn sized(n: i64) -> i64 = n
'''
COMPARISONS = {'<': 'lt', '<=': 'le', '==': 'eq', '!=': 'ne', '>': 'gt', '>=': 'ge'}
OPERATORS = {'+': 'add', '-': 'sub', '*': 'mul', '/': 'div', '%': 'rem'}
MARK = 0xe000  # the first character of Unicode's private use area
MOST = 20      # entries of a chain that are compared


def dims(shape):
    return ', '.join(map(str, shape))


def before(text_of):
    """The expression, where an index follows."""
    return text_of if text_of.replace('_', '').isalnum() else '(%s)' % text_of


def op(name, *operands):
    return np.asarray(EXACT[name](*operands))


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n_names = self.n_marks = 0
        self.budget = 0  # expressions that may still have parts
        self.functions = []  # (name, types of parameters, type, function)
        self.params = {}  # (type, value)
        # Few dtypes and sizes: then there are variables of the type that is needed.
        self.dtypes = self.random.sample(NUMBERS, 2) + ['bool'] * self.chance(0.4)
        self.sizes = self.random.sample([1, 2, 3, 4, 5, 17], 2)  # 17: more than the lanes of a vector

    # ---- choices ----

    def chance(self, p):
        return self.random.random() < p

    def number(self, low, high):
        return self.random.randint(low, high)

    def choice(self, of):
        return self.random.choice(of)

    def dtype(self, of=None):
        return self.choice(of or self.dtypes)

    def shape(self):
        return tuple(self.choice(self.sizes) for _ in range(self.choice([0, 1, 1, 1, 2, 2, 3])))

    def any_type(self):
        return self.dtype(), self.shape()

    def name(self):
        self.n_names += 1
        return 'v%d' % self.n_names

    def mark(self):
        self.n_marks += 1
        return chr(MARK + self.n_marks)

    def type_text(self, of):
        dtype, shape = of
        return dtype + ('[%s]' % ', '.join('?' if self.chance(0.6) else str(d) for d in shape) if shape else '')

    # ---- expressions ----

    def expression(self, of, scope, depth, is_tail=False):
        """`of`: its dtype and shape; `scope`: those of the variables."""
        self.budget -= 1
        if depth <= 0 or self.budget < 0:
            return self.leaf(of, scope)
        dtype, shape = of
        forms = [self.fails, self.element, self.operator, self.operator, self.operator, self.unary, self.branch,
                 self.let, self.let, self.let, self.let_tuple, self.chain, self.chain, self.loop, self.call, self.call, self.cast, self.select,
                 self.leaf_at]
        if dtype == 'bool':
            forms += [self.compare, self.compare, self.compare]
        if dtype in INTS:
            forms.append(self.divide)
        if shape:
            forms += [self.set, self.set, self.set, self.set_in_loop, self.set_in_loop, self.row, self.slice,
                      self.slice, self.gather, self.reshape, self.reshape, self.concat, self.concat, self.stacked,
                      self.comprehension, self.over_rows, self.array, self.misfit, self.sized, self.with_none]
        forms += [self.reduction] if shape else [self.reduced, self.reduced, self.match]
        if dtype == 'i64':
            forms += [self.best] if shape else [self.length, self.best]
        if dtype == self.of_tree and not shape:
            forms.append(self.tree)
        if dtype != 'bool' and len(shape) <= 2:
            forms.append(self.product)
        if len(shape) == 2:
            forms += [self.transpose] + [self.outer] * (dtype != 'bool')

        def part(of, more=None, is_last=False):
            return self.expression(of, {**scope, **more} if more else scope, depth - 1, is_tail and is_last)

        self.is_tail = is_tail
        return self.choice(forms)(of, scope, part)

    def leaf(self, of, scope):
        dtype, shape = of
        names = [name for name, its in scope.items() if its == of]
        if names and self.chance(0.85):
            name = self.choice(names)
            return name, lambda e: e[name]
        params = [name for name, its in self.params.items() if its[0] == of]
        if params and self.chance(0.7):
            value = self.params[params[0]][1]
            return params[0], lambda e: value
        if dtype == 'bool':
            value = np.full(shape, self.chance(0.5))
            word = number(value.flat[0])
            return 'full(%s, %s)' % (word, dims(shape)) if shape else word, lambda e: value
        k = np.asarray(self.number(-12, 36) / (1 if dtype in INTS else 4), TYPES[dtype])
        literal = number(k[()]) + dtype
        if shape == ():
            return '(%s)' % literal if literal[0] == '-' else literal, lambda e: k
        n, a = int(np.prod(shape)), self.number(1, 9)
        if self.chance(0.2):
            return 'full(%s, %s)' % (literal, dims(shape)), lambda e: np.full(shape, k)
        numbers = (np.arange(n).astype(TYPES[dtype]) * TYPES[dtype](a) + k).reshape(shape)
        iota = 'iota(%d)' % n if dtype == 'i64' else '%s(iota(%d))' % (dtype, n)
        return 'reshape(%s * %d + %s, %s)' % (iota, a, literal, dims(shape)), lambda e: numbers

    def leaf_at(self, of, scope, _part):
        return self.leaf(of, scope)

    def failing(self, word, mark, f, *args):
        """Calls f, which may fail."""
        try:
            return f(*args)
        except Failure as e:
            raise Failure(word or str(e), [mark]) from None

    def condition(self, part, of=tuple(COMPARISONS)):
        its = (self.dtype(), ())
        (a, fa), (b, fb), c = part(its), part(its), self.choice(of)
        return '%s %s %s' % (a, c, b), lambda e: bool(op(COMPARISONS[c], fa(e), fb(e)))

    def fails(self, of, _scope, part):
        self.n_names += 1
        code, mark = self.n_names, self.mark()
        (c, fc), (a, fa) = self.condition(part, ('==',)), part(of, is_last=True)

        def run(e):
            if fc(e):
                raise Failure('failed(%d)' % code, [mark])
            return fa(e)

        return '(if %s then %sfail(%d) else %s)' % (c, mark, code, a), run

    def index(self, part, n):
        """A number of which the program does not know much, from 0 to n - 1."""
        of = self.choice(INTS)
        i, fi = part((of, ()))
        mask = '0x7fff_ffff' if of == 'i32' else '0x7fff_ffff_ffff_ffff'
        most = np.iinfo(TYPES[of]).max
        return 'band(%s, %s) %% %d' % (i, mask, n), lambda e: (int(fi(e)) & int(most)) % n

    def element(self, of, _scope, part):
        n, mark = self.number(2, 4), self.mark()
        (a, fa), m = part((of[0], (n,) + of[1])), n + self.chance(0.1)
        i, fi = self.index(part, m)

        def run(e):
            x = fa(e)
            k = fi(e)
            if k >= n:
                raise Failure('range', [mark])
            return x[k]

        return '%s%s[%s]' % (before(a), mark, i), run

    def misfit(self, of, _scope, part):
        """Sizes that are known when the program runs; a few do not fit."""
        dtype, shape = of
        if dtype == 'bool' or shape[-1] == 1:  # which would broadcast
            return part(of)
        mark, more, n = self.mark(), 1 + self.chance(0.3), shape[-1]
        (a, fa), (k, fk) = part(of), self.index(part, more)
        literal = number(TYPES[dtype](1)) + dtype

        def run(e):
            x = fa(e)
            m = fk(e)
            if m:
                raise Failure('shape', [mark])
            return op('mul', x, np.ones(n + m, TYPES[dtype]))

        return '(%s %s* full(%s, sized(i64(%d + %s))))' % (a, mark, literal, n, k), run

    def sized(self, of, _scope, part):
        """A declared size, which the value has or has not."""
        dtype, shape = of
        v, mark, m = self.name(), self.mark(), 1 + self.chance(0.3)
        (a, fa), (k, fk), (b, fb) = part(of), self.index(part, m), part(of, {v: of})
        sizes = ['?'] * len(shape)
        axis = self.number(0, len(shape) - 1)
        w = self.name()
        sizes[axis] = '%d + %s' % (shape[axis], w)

        def run(e):
            extra = fk(e)
            x = fa(e)
            if extra:
                raise Failure('shape', [mark])
            return fb({**e, v: x, w: np.int64(extra)})

        return '{ let %s = i64(%s); let %s: %s%s[%s] = %s; %s }' % (w, k, v, mark, dtype, ', '.join(sizes), a, b), run

    def operator(self, of, _scope, part):
        dtype, shape = of
        other = shape
        if shape and self.chance(0.4):  # broadcast
            other = self.choice([(), shape[1:], tuple(1 if self.chance(0.5) else d for d in shape)])
        operands = [part((dtype, shape)), part((dtype, other))]
        self.random.shuffle(operands)
        (a, fa), (b, fb) = operands
        symbols = [] if dtype == 'bool' else ['+', '-', '*'] if dtype in INTS else list(OPERATORS)
        name = self.choice(symbols + (['band', 'bor', 'bxor'] if dtype in INTS + ('bool',) else []) +
                           (['min', 'max'] if dtype != 'bool' else []))
        text_of = '(%s %s %s)' % (a, name, b) if name in OPERATORS else '%s(%s, %s)' % (name, a, b)
        return text_of, lambda e: op(OPERATORS.get(name, name), fa(e), fb(e))

    def divide(self, of, _scope, part):
        """Fails for the first element that cannot be divided. The divisor is not 0 where it can be avoided."""
        (a, fa), (b, fb), symbol, mark = part(of), part(of), self.choice('/%'), self.mark()
        guard = '' if self.chance(0.1) else 'bor(%s, 1)' % b

        def run(e):
            x = fa(e)
            y = fb(e)
            return self.failing(None, mark, op, OPERATORS[symbol], x, op('bor', y, TYPES[of[0]](1)) if guard else y)

        return '(%s %s%s %s)' % (a, mark, symbol, guard or b), run

    def unary(self, of, _scope, part):
        (a, fa), dtype = part(of), of[0]
        name = self.choice((['abs', 'relu', 'neg'] if dtype != 'bool' else []) + (['bnot'] if dtype not in FLOATS else [
            'floor', 'ceil', 'round', 'sqrt']) + (['popcount', 'clz', 'ctz'] if dtype in INTS else []))
        return ('(-(%s))' % a if name == 'neg' else '%s(%s)' % (name, a)), lambda e: op(name, fa(e))

    def compare(self, of, _scope, part):
        dtype, shape = self.dtype(), of[1]
        other = self.choice([(), shape[1:], shape]) if shape else shape
        (a, fa), (b, fb), c = part((dtype, shape)), part((dtype, other)), self.choice(list(COMPARISONS))
        return '(%s %s %s)' % (a, c, b), lambda e: op(COMPARISONS[c], fa(e), fb(e))

    def cast(self, of, _scope, part):
        a, fa = part((self.dtype(), of[1]))
        return '%s(%s)' % (of[0], a), lambda e: converted(np.asarray(fa(e)), of[0])

    def select(self, of, _scope, part):
        its = self.dtype()
        (a, fa), (b, fb), (c, fc) = part((its, of[1])), part((its, ())), part(of)
        d, fd = part(of if self.chance(0.7) else (of[0], ()))

        def run(e):
            is_less = op('lt', fa(e), fb(e))
            x = fc(e)
            return op('select', is_less, x, fd(e))

        return 'select(%s < %s, %s, %s)' % (a, b, c, d), run

    def branch(self, of, _scope, part):
        (c, fc), (a, fa), (b, fb) = self.condition(part), part(of, is_last=True), part(of, is_last=True)
        return '(if %s then %s else %s)' % (c, a, b), lambda e: fa(e) if fc(e) else fb(e)

    def let(self, of, _scope, part):
        v, its = self.name(), self.choice([of, self.any_type()])
        (a, fa), (b, fb) = part(its), part(of, {v: its}, is_last=True)
        return '{ let %s = %s; %s }' % (v, a, b), lambda e: fb({**e, v: fa(e)})

    def let_tuple(self, of, _scope, part):
        v, w, of_v, of_w = self.name(), self.name(), self.any_type(), self.any_type()
        (a, fa), (b, fb), (c, fc) = part(of_v), part(of_w), part(of, {v: of_v, w: of_w}, is_last=True)

        def run(e):
            x = fa(e)
            return fc({**e, v: x, w: fb(e)})

        return '{ let (%s, %s) = (%s, %s); %s }' % (v, w, a, b, c), run

    def loop(self, of, _scope, part):
        v, w, i, result, its = self.name(), self.name(), self.name(), self.name(), self.any_type()
        rounds, (a, fa), (b, fb) = self.number(0, 3), part(of), part(its)
        names = {v: of, w: its, i: ('i64', ())}
        (x, fx), (y, fy) = part(of, names), part(its, names)

        def run(e):
            p = fa(e)
            q = fb(e)
            for k in range(rounds):
                inner = {**e, v: p, w: q, i: np.int64(k)}
                p = fx(inner)
                q = fy(inner)
            return p

        return '{ let (%s, _, _) = loop (%s = %s, %s = %s, %s = 0i64) while %s < %d { (%s, %s, %s + 1) }; %s }' % (
            result, v, a, w, b, i, i, rounds, x, y, i, result), run

    def set_in_loop(self, of, _scope, part):
        v, i, result, rounds = self.name(), self.name(), self.name(), self.number(1, 5)
        dtype, shape = of
        (a, fa), (x, fx) = part(of), part((dtype, shape[1:]), {v: of, i: ('i64', ())})

        def run(e):
            p = fa(e)
            for k in range(rounds):
                row = fx({**e, v: p, i: np.int64(k)})
                p = p.copy()
                p[k % shape[0]] = row
            return p

        return '{ let (%s, _) = loop (%s = %s, %s = 0i64) while %s < %d { (set(%s, %s %% %d, %s), %s + 1) }; %s }' % (
            result, v, a, i, i, rounds, v, i, shape[0], x, i, result), run

    def call(self, of, scope, part):
        functions = [f for f in self.functions if f[2] == of]
        is_tail, mark = self.is_tail, self.mark()
        if not functions:
            return self.leaf(of, scope)
        name, types, _, f = self.choice(functions)
        n, args = self.number(0, 3), [part(its) for its in types]

        def run(e):
            values = [fa(e) for _, fa in args]
            return self.called(mark, is_tail, f, n, values)

        return '%s%s(%s)' % (mark, name, ', '.join([str(n)] + [a for a, _ in args])), run

    def called(self, mark, is_tail, f, n, values):
        try:
            return f(n, values)
        except Failure as e:
            if not is_tail:
                e.args[1].append(mark)
            raise

    def set(self, of, _scope, part):
        dtype, shape = of
        i, (a, fa), (b, fb) = self.number(0, shape[0] - 1), part(of), part((dtype, shape[1:]))

        def run(e):
            x = fa(e)
            row = fb(e)
            x = x.copy()
            x[i] = row
            return x

        return 'set(%s, %d, %s)' % (a, i, b), run

    def row(self, of, _scope, part):
        n = self.number(1, 3)
        i, (a, fa) = self.number(0, n - 1), part((of[0], (n,) + of[1]))
        return '%s[%d]' % (before(a), i), lambda e: fa(e)[i]

    def slice(self, of, _scope, part):
        dtype, shape = of
        first, behind = self.number(0, 2), self.number(0, 2)
        last = first + shape[0]
        a, fa = part((dtype, (last + behind,) + shape[1:]))
        return '%s[%d..%d]' % (before(a), first, last), lambda e: fa(e)[first:last]

    def gather(self, of, _scope, part):
        dtype, shape = of
        n, mark = self.number(1, 4), self.mark()
        rows, (a, fa) = [self.number(0, n - 1) for _ in range(shape[0])], part((dtype, (n,) + shape[1:]))
        k, fk = self.index(part, 1 + self.chance(0.2))

        def run(e):
            x = fa(e)
            indices = np.array(rows) * (1 + fk(e) * 5)
            if np.any(indices >= n):
                raise Failure('range', [mark])
            return x[indices]

        return '%s%s[%s * (1 + 5 * i32(%s))]' % (before(a), mark, rows, k), run

    def reshape(self, of, _scope, part):
        dtype, shape = of
        n = int(np.prod(shape))
        a, fa = part((dtype, self.choice([(n,), (1, n), (n, 1)] + ([(2, n // 2)] if n % 2 == 0 else []))))
        return 'reshape(%s, %s)' % (a, dims(shape)), lambda e: fa(e).reshape(shape)

    def concat(self, of, scope, part):
        dtype, shape = of
        axis = self.number(0, len(shape) - 1)
        if shape[axis] == 1:
            return self.leaf(of, scope)
        k = self.number(1, shape[axis] - 1)
        (a, fa), (b, fb) = (part((dtype, shape[:axis] + (n,) + shape[axis + 1:])) for n in (k, shape[axis] - k))

        def run(e):
            x = fa(e)
            return np.concatenate([x, fb(e)], axis)

        return 'concat(%s, %s, axis = %d)' % (a, b, axis), run

    def with_none(self, of, _scope, part):
        """Joined with a part of itself that has no elements."""
        v, (a, fa), axis = self.name(), part(of), 0
        at = self.number(0, of[1][0])
        parts = ['%s[%d..%d]' % (v, at, at), v]
        self.random.shuffle(parts)
        return '{ let %s = %s; concat(%s, %s, axis = %d) }' % (v, a, parts[0], parts[1], axis), fa

    def stacked(self, of, _scope, part):
        rows = [part((of[0], of[1][1:])) for _ in range(of[1][0])]
        return '[%s]' % ', '.join(a for a, _ in rows), lambda e: np.stack([fa(e) for _, fa in rows])

    @staticmethod
    def in_element(k, f, e):
        """Element k of a comprehension. Of a failure in it the outermost place so far is in this function, and in it."""
        try:
            return f(e)
        except Failure as failure:
            chain = failure.args[1]
            mark, elements = chain[-1] if isinstance(chain[-1], tuple) else (chain[-1], ())
            chain[-1] = mark, (k,) + elements
            raise

    def comprehension(self, of, _scope, part):
        i, n = self.name(), of[1][0]
        a, fa = part((of[0], of[1][1:]), {i: ('i64', ())})
        text_of = '[%s for %s in 0i64..%d]' % (a, i, n)
        return text_of, lambda e: np.stack([self.in_element(k, fa, {**e, i: np.int64(k)}) for k in range(n)])

    def over_rows(self, of, _scope, part):
        v, its = self.name(), self.any_type()
        (a, fa), (b, fb) = part((its[0], (of[1][0],) + its[1])), part((of[0], of[1][1:]), {v: its})
        return '[%s for %s in %s]' % (b, v, a), lambda e: np.stack(
            [self.in_element(k, fb, {**e, v: row}) for k, row in enumerate(fa(e))])

    def array(self, of, _scope, part):
        """An array of pairs, of which one is set, and one is taken apart."""
        i, xs, x, y, its, n = self.name(), self.name(), self.name(), self.name(), self.any_type(), self.number(1, 3)
        to, at, index = self.number(0, n - 1), self.number(0, n - 1), {i: ('i64', ())}
        (a, fa), (b, fb), (c, fc), (d, fd) = part(of, index), part(its, index), part(of), part(its)
        z, fz = part(of, {x: of, y: its})

        def run(e):
            pairs = []
            for k in range(n):
                left = self.in_element(k, fa, {**e, i: np.int64(k)})
                pairs.append((left, self.in_element(k, fb, {**e, i: np.int64(k)})))
            left = fc(e)
            pairs[to] = (left, fd(e))
            return fz({**e, x: pairs[at][0], y: pairs[at][1]})

        return '{ let %s = set([(%s, %s) for %s in 0i64..%d], %d, (%s, %s)); let (%s, %s) = %s[%d]; %s }' % (
            xs, a, b, i, n, to, c, d, x, y, xs, at, z), run

    def reduction_of(self, dtype):
        return self.choice(['any', 'all'] if dtype == 'bool'
                           else ['sum', 'prod', 'max', 'min'] + ['mean'] * (dtype in FLOATS))

    def reduction(self, of, _scope, part):
        dtype, shape = of
        axis = self.number(0, len(shape))
        name = self.reduction_of(dtype)
        a, fa = part((dtype, shape[:axis] + (self.number(1, 3),) + shape[axis:]))
        return '%s(%s, axis = %d)' % (name, a, axis), lambda e: reduced(name, fa(e), axis)

    def reduced(self, of, _scope, part):
        dtype = of[0]
        name = self.reduction_of(dtype)
        a, fa = part((dtype, self.shape()))
        return '%s(%s)' % (name, a), lambda e: reduced(name, np.asarray(fa(e)))

    def best(self, of, _scope, part):
        shape, name = of[1], self.choice(['argmax', 'argmin'])
        axis = self.number(0, len(shape))
        a, fa = part((self.dtype(NUMBERS), shape[:axis] + (self.number(1, 3),) + shape[axis:]))
        return '%s(%s, axis = %d)' % (name, a, axis), lambda e: reduced(name, fa(e), axis)

    def chain(self, of, scope, part):
        """Operations on matrices with rows, columns and numbers, and reductions of these, by names: what native code
        computes in loops of rows (lower/fused/fused.h)."""
        dtype, n, m = self.dtype(NUMBERS), self.choice(self.sizes), self.choice(self.sizes)
        pool = {shape: [name for name, its in scope.items() if its == (dtype, shape)] for shape in ((n, m), (m,), (n,), ())}
        lets, new = [], {}

        def add(shape, text_of, f):
            name = self.name()
            lets.append((name, text_of, f))
            new[name] = (dtype, shape)
            pool[shape].append(name)

        for shape in pool:
            add(shape, *part((dtype, shape)))
        for _ in range(self.number(3, 8)):
            shape = self.choice([(n, m), (n, m), (n, m), (m,)])
            a, kind = self.choice(pool[shape]), self.choice(['matrix', 'row', 'column', 'number', 'one', 'reduce'])
            if kind == 'reduce':
                name, axis = self.reduction_of(dtype), self.choice([None, None if len(shape) == 1 else 1])
                add((n,) if axis else (), '%s(%s%s)' % (name, a, ', axis = 1' if axis else ''),
                    lambda e, name=name, axis=axis, a=a: np.asarray(reduced(name, np.asarray(e[a]), axis)))
                continue
            if kind == 'one':
                name = self.choice(['abs', 'relu', 'neg'] + ['floor', 'sqrt'] * (dtype in FLOATS))
                add(shape, '(-%s)' % a if name == 'neg' else '%s(%s)' % (name, a), lambda e, name=name, a=a: op(name, e[a]))
                continue
            is_column = kind == 'column' and len(shape) == 2
            b = self.choice(pool[{'row': (m,), 'number': ()}.get(kind, (n,) if is_column else shape)])
            name = self.choice(['+', '-', '*'] + ['/'] * (dtype in FLOATS))
            add(shape, '%s %s %s' % (a, name, 'reshape(%s, %d, 1)' % (b, n) if is_column else b),
                lambda e, name=name, a=a, b=b, is_column=is_column:
                op(OPERATORS[name], e[a], np.asarray(e[b])[:, None] if is_column else e[b]))
        c, fc = part(of, new, is_last=True)

        def run(e):
            e = dict(e)
            for name, _, f in lets:
                e[name] = f(e)
            return fc(e)

        return '{ %s %s }' % (' '.join('let %s = %s;' % (name, text_of) for name, text_of, _ in lets), c), run

    def product(self, of, _scope, part):
        dtype, shape = of
        n = self.number(1, 4)
        (a, fa), (b, fb) = part((dtype, shape[:1] + (n,))), part((dtype, (n,) + shape[1:]))

        def run(e):
            x = fa(e)
            return product(x, fb(e))

        return '(%s @ %s)' % (a, b), run

    def outer(self, of, _scope, part):
        dtype, shape = of
        (a, fa), (b, fb) = part((dtype, shape[:1])), part((dtype, shape[1:]))

        def run(e):
            x = fa(e)
            return op('mul', x[:, None], fb(e)[None, :])

        return 'outer(%s, %s)' % (a, b), run

    def transpose(self, of, _scope, part):
        a, fa = part((of[0], of[1][::-1]))
        return 'transpose(%s)' % a, lambda e: fa(e).T

    def length(self, _of, _scope, part):
        n = self.number(1, 3)
        a, fa = part((self.dtype(), (n,) + self.shape()[:2]))

        def run(e):
            fa(e)  # may fail
            return np.int64(n)

        return 'len(%s)' % a, run

    def match(self, of, _scope, part):
        v, m, of_v, of_m = self.name(), self.name(), (self.of_vector, (2,)), (self.of_matrix, (2, 2))
        (c, fc), (a, fa), (b, fb) = self.condition(part), part(of_v), part(of_m)
        (x, fx), (y, fy) = part(of, {v: of_v}, is_last=True), part(of, {m: of_m}, is_last=True)
        return 'match (if %s then Vector(%s) else Matrix(%s)) { Vector(%s) => %s, Matrix(%s) => %s }' % (
            c, a, b, v, x, m, y), lambda e: fx({**e, v: fa(e)}) if fc(e) else fy({**e, m: fb(e)})

    def tree(self, of, _scope, part):
        dtype = of[0]
        k, (a, fa) = self.number(0, 3), part((dtype, (2,)))
        number_of = TYPES[dtype]

        def folded(k, x):  # fold(build(k, x))
            if k == 0:
                return x
            return op('add', op('mul', folded(k - 1, op('add', x, number_of(k))), number_of(3)),
                      folded(k - 1, op('mul', x, number_of(2))))

        return 'sum(fold(build(%d, %s)))' % (k, a), lambda e: reduced('sum', folded(k, fa(e)))

    # ---- functions ----

    def function(self):
        """Calls itself, in a third of all cases at the end."""
        name, of = 'f%d' % len(self.functions), self.any_type()
        types = [self.any_type() for _ in range(self.number(1, 3))]
        parameters = {'p%d' % k: its for k, its in enumerate(types)}
        self.budget = 60
        base, run_base = self.expression(of, parameters, 3, True)
        args = [self.expression(its, parameters, 2) for its in types]
        step, run_step = self.expression(of, {**parameters, 'rest': of, 'n': ('i64', ())}, 3, True)
        is_tail, mark = self.chance(0.33), self.mark()

        def run(n, values):
            e = dict(zip(parameters, values))
            if n <= 0:
                return run_base(e)
            rest = self.called(mark, is_tail, run, n - 1, [f(e) for _, f in args])
            return rest if is_tail else run_step({**e, 'rest': rest, 'n': np.int64(n)})

        call = '%s%s(%s)' % (mark, name, ', '.join(['n - 1'] + [a for a, _ in args]))
        self.functions.append((name, types, of, run))
        return 'fn %s(n: i64, %s) -> %s =\n  if n <= 0 then %s\n  else %s\n' % (
            name, ', '.join('%s: %s' % (p, self.type_text(its)) for p, its in parameters.items()),
            of[0] + ('[%s]' % ', '.join('?' for _ in of[1]) if of[1] else ''), base,
            call if is_tail else '{ let rest = %s; %s }' % (call, step))

    def values(self, of):
        """An argument: small numbers, and now and then a special one."""
        dtype, shape = of

        def one():
            if dtype == 'bool':
                return self.chance(0.5)
            if self.chance(0.05):
                return self.choice([np.nan, np.inf, -np.inf, -0.0] if dtype in FLOATS else [
                    np.iinfo(TYPES[dtype]).min, np.iinfo(TYPES[dtype]).max])
            return self.number(-36, 36) / 4 if dtype in FLOATS else self.number(-9, 9)

        return np.array([one() for _ in range(int(np.prod(shape)))], TYPES[dtype]).reshape(shape)

    def main(self, k):
        """A function without recursion, its name, and its outcome, with arguments."""
        self.budget = 120
        of, types = self.any_type(), [self.any_type() for _ in range(self.number(1, 3))]
        parameters = {'a%d' % i: its for i, its in enumerate(types)}
        text_of, run = self.expression(of, parameters, 5, True)
        values = [self.values(its) for its in types]
        try:
            outcome = np.asarray(run(dict(zip(parameters, values))))
            assert outcome.shape == of[1] and dtype_of(outcome) == of[0], (outcome, of)
        except Failure as e:
            outcome = e
        signature = ', '.join('%s: %s' % (p, self.type_text(its)) for p, its in parameters.items())
        call = 'main%d %s' % (k, ' '.join(map(text, values)))
        return 'fn main%d(%s) = %s\n' % (k, signature, text_of), call, outcome

    def text(self):
        self.of_vector, self.of_matrix, self.of_tree = self.dtype(), self.dtype(), self.dtype(NUMBERS)
        head = HEAD % {'a': self.of_vector, 'b': self.of_matrix, 'c': self.of_tree}
        for k in range(self.number(0, 3)):
            of, value = (self.dtype(FLOATS), self.shape()), self.number(-8, 8) / 4
            self.params['w%d' % k] = of, np.full(of[1], value, TYPES[of[0]])
            sizes = '[%s]' % dims(of[1]) if of[1] else ''
            head += 'param w%d: %s%s = %s\n' % (k, of[0], sizes, number(np.float64(value)))
        functions = [self.function() for _ in range(self.number(1, 4))]
        mains = [self.main(k) for k in range(3)]
        marked, places = head + ''.join(functions) + ''.join(m[0] for m in mains), {}
        lines = marked.splitlines()
        function = ''
        for number_of, line in enumerate(lines):
            if line.startswith('fn '):
                function = line[3:line.index('(')]
            plain = ''
            for c in line:
                if ord(c) >= MARK:
                    places[c] = '%s@%d:%d' % (function, number_of + 1, len(plain) + 1)
                else:
                    plain += c
            lines[number_of] = plain

        def said(outcome):
            if not isinstance(outcome, Failure):
                return text(outcome)
            chain = [c if isinstance(c, tuple) else (c, ()) for c in outcome.args[1]]
            chain = [places[mark] + ''.join('[%d]' % k for k in elements) for mark, elements in chain]
            return ' '.join(['error', outcome.args[0]] + chain[:MOST] + ['...'] * (len(chain) > MOST))

        return '\n'.join(lines + ['# small: %s => %s' % (call, said(outcome)) for _, call, outcome in mains]) + '\n'


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    for i in range(seed, seed + count):
        with open(os.path.join(folder, 'seed_%d.hia' % i), 'w', encoding='utf-8') as f:
            f.write(Program(i).text())


main()
