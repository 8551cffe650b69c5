# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Writes programs that call every row of the op table, each with what NumPy computes: files of a corpus for hia_diff.

    op_table.py FOLDER SEED TABLE          TABLE: runtime/base/ops.def

A file has an op, at every dtype that its rule allows: on operands of several ranks that broadcast, with sizes of 0 and
1, with special numbers, and on operands that do not fit. What only comes close to NumPy is compared in the program. A
row for which this file has nothing is an error: give language.py an entry for it, or OTHERS a case."""
import os
import random
import re
import sys

from language import EXACT, FLOATS, INTS, NEAR, TYPES, Failure, converted, np, reduced, text

NUMBERS = INTS + FLOATS
RULES = {'NUM': NUMBERS, 'INT': INTS, 'FLOAT': FLOATS, 'CLASSIFY': FLOATS, 'BITS': ('bool',) + INTS, 'SHIFT': INTS,
         'COMPARE': tuple(TYPES), 'SELECT': tuple(TYPES), 'CAST': tuple(TYPES)}
RANKS = {1: [(1,), (2,), (3,)], 2: [(1, 1), (2, 1), (0, 2), (2, 2), (1, 3), (1, 0), (3, 2)],
         3: [(1, 1, 1), (2, 0, 1), (0, 1, 2), (1, 2, 0), (2, 2, 2)]}
NEAR_FUNCTION = '''fn near(a, b, most, least) =
  all(bor(a == b, bor(band(isnan(a), isnan(b)), abs(a - b) <= most * abs(b) + least)))
'''
NEAR_BY = {'f32': ('1e-6', '1e-37'), 'f64': ('4e-15f64', '1e-300f64')}
SPECIAL = {'i': [0, 1, -1, 2, -7, 7, 100],
           'f': [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.75, np.nan, np.inf, -np.inf]}


class File:
    """A program, and how its functions are called."""

    def __init__(self, seed, name):
        self.random = random.Random('%d %s' % (seed, name))
        self.lines, self.calls, self.n_functions = NEAR_FUNCTION.splitlines(), [], 0

    def shape(self, rank):
        return tuple(self.random.choice([1, 2, 3, 5]) for _ in range(rank))

    def array(self, dtype, shape, special=0.3):
        def one():
            if dtype == 'bool':
                return self.random.random() < 0.5
            if self.random.random() < special:
                more = [np.iinfo(TYPES[dtype]).min, np.iinfo(TYPES[dtype]).max] if dtype in INTS else []
                return self.random.choice(SPECIAL[dtype[0]] + more)
            return self.random.randint(-40, 40) / (1 if dtype in INTS else 8)
        return np.array([one() for _ in range(int(np.prod(shape)))], TYPES[dtype]).reshape(shape)

    def function(self, types, body, mark):
        """`types`: of the parameters a, b, ...; `mark`: what in the body stands where a failure is."""
        name, line = 'of%d' % self.n_functions, len(self.lines) + 1
        self.n_functions += 1
        head = 'fn %s(%s) = ' % (name, ', '.join('%s: %s' % (p, t) for p, t in zip('abcde', types)))
        self.lines.append(head + body)
        return name, '%s@%d:%d' % (name, line, len(head) + body.index(mark) + 1)

    def call(self, function, args, expected, element=None):
        """`expected`: a value, or the word of a failure, for this element of a comprehension."""
        name, place = function
        outcome = 'error %s %s%s' % (expected, place, '' if element is None else '[%d]' % element) if isinstance(expected, str) else text(expected)
        self.calls.append('# small: %s %s => %s' % (name, ' '.join(map(text, args)), outcome))

    def run(self, function, args, compute):
        try:
            expected = compute(*args)
        except Failure as e:
            expected = str(e)
        self.call(function, args, expected)

    def write(self, path):
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(self.lines + self.calls) + '\n')


def tensor(dtype, rank):
    return dtype + ('[%s]' % ', '.join('?' * rank) if rank else '')


def dims(result, rank):
    return ''.join(', shape(%s, %d)' % (result, i) for i in range(rank))


def with_dims(x):
    return (x,) + tuple(np.int64(d) for d in x.shape) if x.ndim else x


# ---- elementwise ----

def broadcasts(file, ranks):
    """Shapes that do."""
    whole = file.shape(max(ranks))
    return [tuple(1 if file.random.random() < 0.3 else d for d in whole[len(whole) - rank:]) for rank in ranks]


def elementwise(file, row, dtypes, compute, form, is_near, turn):
    """`dtypes`: of the operands; `form`: the text of the op on a, b, ..."""
    n = len(dtypes)
    mark = form[:form.index('(')] if not row['symbol'] else row['symbol'] if n == 2 else form.split('a')[0]
    for k in range(2):
        ranks = RANKS[n][(turn + k) % len(RANKS[n])]
        rank, types = max(ranks), [tensor(d, r) for d, r in zip(dtypes, ranks)]
        whole = file.function(types, '{ let r = %s; (r%s) }' % (form, dims('r', rank)), ' ' + mark if n == 2 and row[
            'symbol'] else mark)
        whole = (whole[0], place_of(file, whole[1], mark))
        near = is_near and file.function(types + [tensor(dtypes[0], rank)], 'near(%s, %s, %s, %s)' % (
            (form, 'abcde'[n]) + NEAR_BY[dtypes[0]]), mark)
        for _ in range(2):
            args = [file.array(d, s, 0.1 if is_near else 0.3) for d, s in zip(dtypes, broadcasts(file, ranks))]
            if is_near:
                file.call(near, args + [compute(*args)], np.bool_(True))
            else:
                file.run(whole, args, lambda *args: with_dims(np.asarray(compute(*args))))
        # No elements, in the last axis, which is 1 or 0 of the others; and in the first of the first operand.
        shapes = [s[:-1] + (0,) if s else s for s in broadcasts(file, ranks)]
        args = [file.array(d, s) for d, s in zip(dtypes, shapes)]
        file.run(whole, args, lambda *args: with_dims(np.asarray(compute(*args))))
        if ranks[0] == rank:
            of_none = file.function(types, '{ let r = %s; (r%s) }' % (
                re.sub(r'\ba\b', 'a[0..0]', form), dims('r', rank)), mark)
            shapes = broadcasts(file, ranks)
            shapes = [(1,) + s[1:] if len(s) == rank else s for s in shapes]
            args = [file.array(d, s) for d, s in zip(dtypes, shapes)]
            file.run(of_none, args, lambda a, *rest: with_dims(np.asarray(compute(a[:0], *rest))))
        if sum(r > 0 for r in ranks) > 1:
            shapes = [tuple(2 + i for _ in range(r)) for i, r in enumerate(ranks)]
            file.call(whole, [file.array(d, s) for d, s in zip(dtypes, shapes)], 'shape')


def place_of(file, place, mark):
    """The place of an operator is behind the space before it."""
    name, line, column = re.fullmatch(r'(\w+)@(\d+):(\d+)', place).groups()
    text_of = file.lines[int(line) - 1]
    column = int(column) + (text_of[int(column) - 1] == ' ')
    return '%s@%s:%d' % (name, line, column)


def write_elementwise(file, row):
    op, n = row['name'], row['ins']
    is_near, compute = op in NEAR, NEAR.get(op) or EXACT.get(op)
    names = 'abc'[:n]
    for turn, dtype in enumerate(RULES[row['rule']]):
        if op == 'cast':
            for k, to in enumerate(TYPES):
                elementwise(file, row, [dtype], lambda a, to=to: converted(a, to), '%s(a)' % to, False, turn + k)
            continue
        dtypes = [dtype] * n
        if row['rule'] == 'SELECT':
            dtypes[0] = 'bool'
        if row['rule'] == 'SHIFT':
            dtypes[1] = INTS[turn % 2]
        symbol = row['symbol']
        form = '%s(%s)' % (op, ', '.join(names)) if not symbol else symbol + 'a' if n == 1 else 'a %s b' % symbol
        elementwise(file, row, dtypes, compute, form, is_near, turn * 2 + file.random.randint(0, 6))


# ---- the others ----

OTHERS = {}


def other(*ops):
    def register(f):
        for op in ops:
            OTHERS[op] = f
        return f
    return register


@other('sum', 'prod', 'mean', 'max_of', 'min_of', 'argmax', 'argmin', 'any', 'all')
def write_reduction(file, op, dtypes=None):
    name = op.replace('_of', '')
    for dtype in FLOATS if op == 'mean' else ('bool',) if op in ('any', 'all') else NUMBERS:
        for rank in (1, 2, 3):
            for axis in [None] + list(range(rank)):
                left = 0 if axis is None else rank - 1
                reduction = '%s(a%s)' % (name, '' if axis is None else ', axis = %d' % axis)
                f = file.function([tensor(dtype, rank)], '{ let r = %s; (r%s) }' % (reduction, dims('r', left))
                                  if left else reduction, name)
                shapes = [file.shape(rank), (1,) * rank, file.shape(rank - 1) + (0,)]
                if rank == 1:
                    shapes.append((37,))
                for shape in shapes:
                    x = file.array(dtype, shape, 0.3 if shape != (37,) else 0)
                    file.run(f, [x], lambda x: with_dims(reduced(name, x, axis)))
                if rank > 1:
                    g = file.function([tensor(dtype, rank)], '{ let r = %s; (r%s) }' % (
                        reduction.replace('(a', '(a[0..0]'), dims('r', left)) if left else
                        reduction.replace('(a', '(a[0..0]'), name)
                    file.run(g, [file.array(dtype, file.shape(rank))], lambda x: with_dims(reduced(name, x[:0], axis)))


def shaped(file, types, form, mark, rank):
    """A function that gives the form's value, and its sizes."""
    body = '{ let r = %s; (r%s) }' % (form, dims('r', rank)) if rank else form
    return file.function(types, body, mark)


def index(x, i):
    if not 0 <= int(i) < len(x):
        raise Failure('range')
    return x[int(i)]


@other('row')
def write_row(file, op):
    for dtype in TYPES:
        for rank in (1, 2, 3):
            for of_index in INTS:
                f = shaped(file, [tensor(dtype, rank), of_index], 'a[b]', '[b', rank - 1)
                x = file.array(dtype, file.shape(rank))
                for i in (0, len(x) - 1, len(x), -1, np.iinfo(TYPES[of_index]).min):
                    file.run(f, [x, TYPES[of_index](i)], lambda x, i: with_dims(np.asarray(index(x, i))))
                file.call(f, [file.array(dtype, (0,) * rank), TYPES[of_index](0)], 'range')


@other('part')
def write_part(file, op):
    def part(x, i, j):
        if not 0 <= i <= j <= len(x):
            raise Failure('range')
        return with_dims(x[int(i):int(j)])
    for dtype in TYPES:
        for rank in (1, 2, 3):
            f = shaped(file, [tensor(dtype, rank), 'i64', 'i32'], 'a[b..c]', '[b', rank)
            x = file.array(dtype, file.shape(rank))
            n = len(x)
            for i, j in ((0, n), (0, 0), (n, n), (n // 2, n), (1, 0), (0, n + 1), (-1, 0), (n + 1, n + 1)):
                file.run(f, [x, np.int64(i), np.int32(j)], part)


@other('rows')
def write_rows(file, op):
    def rows(x, i):
        for k in i.ravel():
            index(x, k)
        return with_dims(x[i] if i.size else np.zeros(i.shape + x.shape[1:], x.dtype))
    for dtype in TYPES:
        for rank, of_index in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 3)):
            of = INTS[(rank + of_index) % 2]
            f = shaped(file, [tensor(dtype, rank), tensor(of, of_index)], 'a[b]', '[b', rank - 1 + of_index)
            x = file.array(dtype, (3,) + file.shape(rank - 1))
            for low, high in ((0, 2), (0, 2), (-1, 3), (2, 4)):
                shape = file.shape(of_index)
                i = np.array([file.random.randint(low, high) for _ in range(int(np.prod(shape)))], TYPES[of])
                file.run(f, [x, i.reshape(shape)], rows)
            none = np.zeros((2,) * (of_index - 1) + (0,), TYPES[of])
            file.run(f, [x, none], rows)
            file.run(f, [file.array(dtype, (0,) * rank), none], rows)


@other('with')
def write_with(file, op):
    def changed(x, i, v):
        index(x, i)
        if v.shape != x.shape[1:]:
            raise Failure('shape')
        x = x.copy()
        x[int(i)] = v
        return with_dims(x)
    for dtype in TYPES:
        for rank in (1, 2, 3):
            types = [tensor(dtype, rank), 'i64', tensor(dtype, rank - 1)]
            f = shaped(file, types, 'set(a, b, c)', 'set', rank)
            # The operand is used again: what is changed is a copy.
            g = file.function(types, '{ let x = a[0..len(a)]; let y = set(x, b, c); (x, y, a) }', 'set')
            x = file.array(dtype, file.shape(rank))
            for i in (0, len(x) - 1, len(x), -1):
                file.run(f, [x, np.int64(i), file.array(dtype, x.shape[1:])], changed)
            file.run(g, [x, np.int64(0), file.array(dtype, x.shape[1:])], lambda x, i, v: (x, changed(x, i, v)[0], x))
            if rank > 1:
                file.run(f, [x, np.int64(0), file.array(dtype, tuple(d + 1 for d in x.shape[1:]))], changed)


@other('cat', 'stack')
def write_joined(file, op):
    name, numpy = ('concat', np.concatenate) if op == 'cat' else ('stack', np.stack)

    def joined(axis):
        def compute(*parts):
            try:
                return with_dims(numpy(parts, axis=axis))
            except ValueError:
                raise Failure('shape') from None
        return compute
    for dtype in TYPES:
        for rank in (1, 2, 3) if op == 'cat' else (0, 1, 2):
            of_result = rank + (op == 'stack')
            for axis in range(of_result):
                f = shaped(file, [tensor(dtype, rank)] * 3, '%s(a, b, c, axis = %d)' % (name, axis), name, of_result)
                for k in range(3):
                    shape = file.shape(rank)
                    shapes = [shape] * 3
                    if k == 1 and op == 'cat':
                        shapes = [shape[:axis] + (n,) + shape[axis + 1:] for n in (0 if axis == rank - 1 else 1, 2, 3)]
                    if k == 2 and rank:
                        shapes = [shape, shape, tuple(d + 1 for d in shape)]
                    file.run(f, [file.array(dtype, s) for s in shapes], joined(axis))


@other('reshape')
def write_reshape(file, op):
    def reshaped(x, *sizes):
        if any(n < 0 for n in sizes) or np.prod([int(n) for n in sizes]) != x.size:
            raise Failure('shape')
        return with_dims(x.reshape([int(n) for n in sizes]))
    for dtype in TYPES:
        for rank, to in ((1, 2), (2, 1), (3, 2), (0, 2), (2, 3), (1, 1)):
            sizes = 'bcd'[:to]
            f = shaped(file, [tensor(dtype, rank)] + ['i64'] * to, 'reshape(a, %s)' % ', '.join(sizes), 'reshape', to)
            x = file.array(dtype, file.shape(rank))
            for shape in ((x.size,) + (1,) * (to - 1), (1,) * (to - 1) + (x.size,), (x.size + 1,) * to,
                          (-1,) * (to - 1) + (-x.size,), (0,) * to):
                file.run(f, [x] + [np.int64(n) for n in shape], reshaped)
            if rank:
                none = file.array(dtype, (3,) * (rank - 1) + (0,))
                for shape in ((0,) + (7,) * (to - 1), (5,) * (to - 1) + (0,), (1,) * to):
                    file.run(f, [none] + [np.int64(n) for n in shape], reshaped)


@other('transpose')
def write_transpose(file, op):
    for dtype in TYPES:
        f = shaped(file, [tensor(dtype, 2)], 'transpose(a)', 'transpose', 2)
        g = shaped(file, [tensor(dtype, 2)], 'transpose(a[0..0])', 'transpose', 2)
        for shape in (file.shape(2), file.shape(2), (1, 5), (3, 0), (9, 7)):
            file.run(f, [file.array(dtype, shape)], lambda x: with_dims(x.T))
        file.run(g, [file.array(dtype, file.shape(2))], lambda x: with_dims(x[:0].T))


@other('full', 'iota', 'one_hot')
def write_made(file, op):
    def full(v, *sizes):
        if any(n < 0 for n in sizes):
            raise Failure('shape')
        return with_dims(np.full([int(n) for n in sizes], v))

    def one_hot(i, n):
        if n < 0:
            raise Failure('shape')
        x = np.zeros(int(n), np.float32)
        index(x, i)
        x[int(i)] = 1
        return with_dims(x)
    sizes = [(2, 3), (0, 3), (3, 0), (1, 1), (-1, 2), (2, -1)]
    if op == 'iota':
        f = shaped(file, ['i64'], 'iota(a)', 'iota', 1)
        for n in (0, 1, 5, 40, -1, np.iinfo(np.int64).min):
            file.run(f, [np.int64(n)], lambda n: with_dims(np.arange(full(np.int64(0), n)[1])))
    elif op == 'one_hot':
        f = shaped(file, ['i64', 'i32'], 'one_hot(a, b)', 'one_hot', 1)
        for i, n in ((0, 1), (2, 3), (3, 3), (-1, 3), (0, 0), (0, -1), (-1, -1)):
            file.run(f, [np.int64(i), np.int32(n)], one_hot)
        for dtype in FLOATS:
            g = file.function([dtype], 'a * one_hot(1, 3)', 'one_hot')
            file.call(g, [TYPES[dtype](2.5)], np.array([0, 2.5, 0], TYPES[dtype]))
    else:
        for dtype in TYPES:
            f = shaped(file, [dtype, 'i64', 'i32'], 'full(a, b, c)', 'full', 2)
            for n, m in sizes:
                file.run(f, [file.array(dtype, ()), np.int64(n), np.int32(m)], full)
        for name in ('zeros', 'ones'):
            f = shaped(file, ['i32', 'i64'], '%s(a, b)' % name, name, 2)
            for n, m in sizes:
                file.run(f, [np.int32(n), np.int64(m)], lambda n, m: full(np.float32(name == 'ones'), n, m))


def product(a, b):
    """Whole numbers: any order gives the same."""
    try:
        return with_dims(np.asarray(np.matmul(a, b)))
    except ValueError:
        raise Failure('shape') from None


@other('product', 'outer')
def write_product(file, op):
    def whole(dtype, shape):
        return np.array([file.random.randint(-9, 9) for _ in range(int(np.prod(shape)))], TYPES[dtype]).reshape(shape)
    for dtype in NUMBERS:
        if op == 'outer':
            f = shaped(file, [tensor(dtype, 1)] * 2, 'outer(a, b)', 'outer', 2)
            for n, m in ((2, 3), (1, 5), (0, 2), (2, 0), (0, 0), (9, 17)):
                file.run(f, [file.array(dtype, (n,)), file.array(dtype, (m,))],
                         lambda a, b: with_dims(EXACT['mul'](a[:, None], b[None, :])))
            continue
        for left, right, of_result in ((1, 1, 0), (2, 2, 2), (2, 1, 1), (1, 2, 1), (3, 1, 2), (1, 3, 2), (3, 2, 3),
                                       (2, 3, 3), (3, 3, 3), (4, 3, 4)):
            f = shaped(file, [tensor(dtype, left), tensor(dtype, right)], 'a @ b', '@', of_result)
            for n, m, k, batch in ((2, 3, 4, 2), (1, 1, 1, 1), (5, 7, 3, 2), (2, 3, 0, 2), (0, 3, 2, 1),
                                   (17, 9, 16, 1)):
                a = ((batch,) * max(0, left - 2) + (n, k))[-left:]
                b = ((batch if file.random.random() < 0.7 else 1,) * max(0, right - 2) + (k, m))[-right:]
                if right == 1:
                    b = (k,)
                file.run(f, [whole(dtype, a), whole(dtype, b)], product)
            file.call(f, [whole(dtype, (2,) * left), whole(dtype, (3,) * right)], 'shape')


@other('softmax', 'log_softmax', 'cross_entropy')
def write_softmax(file, op):
    def softmax(x, is_log):
        if not x.size:
            return x
        y = x.astype(np.float64)
        y = y - y.max(-1, keepdims=True)
        y = y - np.log(np.exp(y).sum(-1, keepdims=True))
        return (y if is_log else np.exp(y)).astype(x.dtype)

    def entropy(x, labels):
        if x.shape[:-1] != labels.shape:
            raise Failure('shape')
        if np.any((labels < 0) | (labels >= x.shape[-1])):
            raise Failure('range')
        picked = np.take_along_axis(-softmax(x, True), np.asarray(labels, np.int64)[..., None], -1)
        return picked[..., 0]
    for dtype in FLOATS:
        most = NEAR_BY[dtype][0]  # of 1: logarithms of what is almost 1 are almost 0
        for rank in (1, 2, 3):
            for of in INTS:
                is_labelled = op == 'cross_entropy'
                types = [tensor(dtype, rank)] + ([tensor(of, rank - 1)] if is_labelled else [])
                form = '%s(%s)' % (op, 'a, b' if is_labelled else 'a')
                f = file.function(types + [tensor(dtype, rank - is_labelled)], 'near(%s, %s, %s, %s)' % (
                    form, 'c' if is_labelled else 'b', most, most), op)
                g = shaped(file, types, form, op, rank - is_labelled)
                for _ in range(3):
                    shape = file.shape(rank)
                    args = [file.array(dtype, shape, 0)]
                    if is_labelled:
                        n = int(np.prod(shape[:-1]))
                        labels = [file.random.randint(0, shape[-1] - 1) for _ in range(n)]
                        args.append(np.array(labels, TYPES[of]).reshape(shape[:-1]))
                    right = entropy(*args) if is_labelled else softmax(args[0], op == 'log_softmax')
                    file.call(f, args + [right], np.bool_(True))
                if not is_labelled:
                    for shape in (file.shape(rank - 1) + (0,), (0,) * rank, (0,) + file.shape(rank - 1)):
                        x = file.array(dtype, shape)
                        file.call(g, [x], with_dims(x))
                    continue
                for n in (0, 2):  # rows without classes have no label; no rows need none
                    args = [file.array(dtype, (n,) * (rank - 1) + (0,)), np.zeros((n,) * (rank - 1), TYPES[of])]
                    file.call(g, args, with_dims(args[0][..., :0].sum(-1)) if n == 0 and rank > 1 else 'empty')
                x = file.array(dtype, (2,) * rank)
                for label in (-1, 2):
                    file.call(g, [x, np.full((2,) * (rank - 1), label, TYPES[of])], 'range')
                if rank > 1:
                    file.call(g, [x, np.zeros((3,) * (rank - 1), TYPES[of])], 'shape')


@other('dim', 'expect')
def write_sizes(file, op):
    for dtype in TYPES:
        for rank in (1, 2, 3):
            shapes = [(2, 3, 5)[:rank], (1,) * rank, (2,) * (rank - 1) + (0,)]
            if op == 'dim':
                f = file.function([tensor(dtype, rank)], '(len(a)%s)' % dims('a', rank), 'len')
                for shape in shapes:
                    file.call(f, [file.array(dtype, shape)], (np.int64(shape[0]),) + tuple(np.int64(d) for d in shape))
                continue
            wanted = dtype + '[%s]' % ', '.join(('b', '?', 'b + 3')[:rank])
            f = file.function([tensor(dtype, rank), 'i64'], '{ let r: %s = a; r }' % wanted, dtype + '[')
            for shape in shapes:
                for b in (2, 1, -1):
                    is_right = shape[0] == b and (rank < 3 or shape[2] == b + 3)
                    x = file.array(dtype, shape)
                    file.call(f, [x, np.int64(b)], x if is_right else 'shape')


@other('pack', 'alike')
def write_pack(file, op):
    for dtype in TYPES:
        for rank in (1, 2, 3):
            f = shaped(file, [tensor(dtype, rank)], '[x for x in a]', '[x', rank)
            for shape in (file.shape(rank), (1,) * rank):
                file.run(f, [file.array(dtype, shape)], with_dims)
        g = shaped(file, [dtype, 'i64', 'i64'], '[full(a, if i == c then 2 else 1) for i in 0i64..b]', '[full', 2)
        for n, odd in ((3, 5), (1, 5), (0, 0), (1, 0), (3, 2), (3, 0)):
            v = file.array(dtype, ())
            sizes = {2 if i == odd else 1 for i in range(n)}
            rows = np.full((n, sizes.pop() if n else 0), v) if len(sizes) < 2 else 'shape'
            differs = isinstance(rows, str)
            file.call(g, [v, np.int64(n), np.int64(odd)], rows if differs else with_dims(rows),
                      (odd or 1) if differs else None)


@other('literal')
def write_literal(file, op):
    """Tensors that the program states; of these operations make others."""
    for dtype in TYPES:
        for shape in ((3,), (2, 3), (2, 1, 2)):
            x = file.array(dtype, shape, special=0)
            body = '{ let x: %s = %s; (x, set(x, 0, x[len(x) - 1]), [x, x]) }' % (tensor(dtype, len(shape)), text(x))
            f = file.function([dtype], body, '{')
            last = x.copy()
            last[0] = x[-1]
            file.call(f, [file.array(dtype, ())], (x, last, np.stack([x, x])))


@other('param')
def write_param(file, op):
    for dtype in FLOATS:
        file.lines += ['param P%s: %s[2, 3] = ones()' % (dtype, dtype), 'param Q%s: %s = 0.1' % (dtype, dtype)]
        x = TYPES[dtype]
        f = file.function([dtype], '(P%s * a, set(P%s, 0, P%s[1] + a), P%s, Q%s)' % ((dtype,) * 5), 'P')
        ones = np.ones((2, 3), x)
        file.call(f, [x(2)], (ones * x(2), np.array([[3] * 3, [1] * 3], x), ones, x(0.1)))


# ---- the table ----

# Which no program of this table can write: tests/programs/fuel_tensors.hia has what the first charges, tests/unit/runtime/test_tensor_gradient*.c and
# tests/programs/gradients.hia have the others.
UNNAMED = {'work', 'trap', 'defer', 'force', 'within', 'item', 'grad', 'collect', 'touched', 'collect_rows', 'zeros', 'fit', 'scatter', 'cut', 'product_at', 'product_bt', 'label_gradient', 'data.late', 'field.late', 'pack.late'}


def rows_of(path):
    for line in open(path, encoding='utf-8'):
        fields = re.match(r'HIA_OP\((\d+), \w+, "([^"]*)", "([^"]*)", (-?\d+), (-?\d+), (\w+), (\w+),', line)
        if fields:
            number, name, symbol, ins, _, rule, shape = fields.groups()
            yield {'number': int(number), 'name': name, 'symbol': symbol, 'ins': int(ins), 'rule': rule, 'shape': shape}


def main():
    folder, seed, table = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    os.makedirs(folder, exist_ok=True)
    n = 0
    for row in rows_of(table):
        if row['name'] in UNNAMED:
            continue
        file = File(seed, row['name'])
        if row['shape'] == 'ELEMENTWISE':
            is_known = row['name'] in NEAR or row['name'] in EXACT or row['name'] == 'cast'
            if row['rule'] not in RULES or not is_known:
                sys.exit('op_table.py: nothing for the op %s: EXACT or NEAR of language.py define it' % row['name'])
            write_elementwise(file, row)
        elif row['number'] >= 128:
            if row['name'] not in OTHERS:
                sys.exit('op_table.py: no cases for the op %s' % row['name'])
            OTHERS[row['name']](file, row['name'])
        else:
            continue
        n += 1
        file.write(os.path.join(folder, row['name'] + '.hia'))
    if n < 70:
        sys.exit('op_table.py: %s has only %d ops on tensors' % (table, n))


main()
