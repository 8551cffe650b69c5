# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""What docs/language.md says of scalars and tensors, in NumPy and Python: the ops of the table, and how values print.

Each function gets arrays of one dtype and gives what hiaton gives, to the last bit. Those of NEAR only come close: what
they give is right to some ulps."""
import math
import re
from fractions import Fraction

import numpy as np

TYPES = {'bool': np.bool_, 'i32': np.int32, 'i64': np.int64, 'f32': np.float32, 'f64': np.float64}
INTS, FLOATS = ('i32', 'i64'), ('f32', 'f64')
np.seterr(all='ignore')


class Failure(Exception):
    """A run-time error: its word in tests/programs, and of what fails the place that the caller knows."""


def dtype_of(x):
    return {'b': 'bool', 'i': 'i%d' % (8 * x.dtype.itemsize), 'f': 'f%d' % (8 * x.dtype.itemsize)}[x.dtype.kind]


def number(x):
    """The text of a scalar: floats have the fewest digits that read back, laid out as Python's repr does."""
    if x.dtype.kind == 'b':
        return 'true' if x else 'false'
    if x.dtype.kind == 'i':
        return str(int(x))
    if np.isnan(x):
        return 'nan'
    if np.isinf(x):
        return 'inf' if x > 0 else '-inf'
    sign, digits, exponent = re.fullmatch(r'(-?)([\d.]+)e([+-]\d+)', np.format_float_scientific(x)).groups()
    digits, exponent = digits.replace('.', '').rstrip('0') or '0', int(exponent)
    if digits == '0':
        return sign + '0.0'
    if -4 <= exponent < 16:
        if exponent < 0:
            return sign + '0.' + '0' * (-exponent - 1) + digits
        digits = digits.ljust(exponent + 2, '0')
        return sign + digits[:exponent + 1] + '.' + digits[exponent + 1:]
    return '%s%s%se%s%02d' % (sign, digits[0], '.' + digits[1:] if digits[1:] else '', '-' if exponent < 0 else '+',
                              abs(exponent))


def text(x):
    """A value as it is printed and read: an array, or a tuple of values."""
    if isinstance(x, tuple):
        return '(%s)' % ', '.join(map(text, x))
    x = np.asarray(x)
    if hides_sizes(x.shape):
        head = {'f': 'zeros(', 'i': 'full(0, ', 'b': 'full(false, '}[x.dtype.kind]
        return '%s%s)' % (head, ', '.join(map(str, x.shape)))
    return '[%s]' % ', '.join(map(text, x)) if x.ndim else number(x[()])


def hides_sizes(shape):
    """Whether lists do not show these sizes, or would be many."""
    if 0 not in shape:
        return False
    first = shape.index(0)
    return any(shape[first + 1:]) or np.prod(shape[:first], initial=1) > 1000


# ---- scalar ops, lifted ----

def each(f):
    """Lifts a function of Python's numbers. It may fail: the first element in row-major order that does."""
    def lifted(*operands):
        operands = np.broadcast_arrays(*operands)
        values = [f(*map(lambda e: e.item(), elements)) for elements in zip(*(x.ravel() for x in operands))]
        bits = 8 * operands[0].dtype.itemsize
        if operands[0].dtype.kind == 'i':
            values = [(v + 2 ** (bits - 1)) % 2 ** bits - 2 ** (bits - 1) for v in values]
        return np.array(values, operands[0].dtype).reshape(operands[0].shape)
    return lifted


def by_kind(ints, floats):
    return lambda a, *rest: (floats if a.dtype.kind == 'f' else ints)(a, *rest)


def divides(f):
    def checked(a, b, low):
        if b == 0:
            raise Failure('div-zero')
        if a == low and b == -1:
            raise Failure('div-overflow')
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return f(a, b, quotient)
    return lambda a, b: each(lambda x, y: checked(x, y, np.iinfo(a.dtype).min))(a, b)


def smaller(a, b):
    is_first = (a < b) | ((a == b) & np.signbit(a))
    return np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), np.where(is_first, a, b))


def larger(a, b):
    return -smaller(-a, -b)


def converted(x, to):
    """`to(x)`: between integers wraps; of floats toward zero, saturating, NaN to 0."""
    if to == 'bool':
        return x != 0
    if x.dtype.kind != 'f' or to in FLOATS:
        return x.astype(TYPES[to])
    low, high = np.iinfo(TYPES[to]).min, np.iinfo(TYPES[to]).max

    def one(v):
        return 0 if math.isnan(v) else low if v <= low else high if v >= high else int(v)
    return np.array([one(v.item()) for v in x.ravel()], TYPES[to]).reshape(x.shape)


def width(a):
    return 8 * a.dtype.itemsize


def shifted(f):
    return lambda a, k: each(lambda x, n: f(x, n % width(a), width(a)))(a, k.astype(np.int64))


def bits_of(f):
    return lambda a: each(lambda x: f(x % 2 ** width(a), width(a)))(a)


def same(f):
    """NumPy's function, of which f32 stays f32."""
    return lambda *operands: np.asarray(f(*operands), operands[0].dtype)


EXACT = {
    'add': same(np.add), 'sub': same(np.subtract), 'mul': same(np.multiply),
    'div': by_kind(divides(lambda a, b, q: q), np.divide),
    'rem': by_kind(divides(lambda a, b, q: a - b * q), np.fmod),
    'neg': same(np.negative), 'abs': same(np.abs),
    'relu': lambda a: EXACT['max'](a, np.zeros((), a.dtype)),
    'min': by_kind(np.minimum, smaller), 'max': by_kind(np.maximum, larger),
    'eq': np.equal, 'ne': np.not_equal, 'lt': np.less, 'le': np.less_equal, 'gt': np.greater, 'ge': np.greater_equal,
    'select': lambda c, a, b: np.where(c, a, b),
    'band': np.bitwise_and, 'bor': np.bitwise_or, 'bxor': np.bitwise_xor, 'bnot': np.invert,
    'shl': shifted(lambda x, n, w: x << n), 'shr': shifted(lambda x, n, w: x >> n),
    'shru': shifted(lambda x, n, w: x % 2 ** w >> n),
    'popcount': bits_of(lambda x, w: bin(x).count('1')), 'clz': bits_of(lambda x, w: w - x.bit_length()),
    'ctz': bits_of(lambda x, w: (x & -x).bit_length() - 1 if x else w),
    'floor': np.floor, 'ceil': np.ceil, 'round': np.rint, 'sqrt': np.sqrt, 'isnan': np.isnan, 'isinf': np.isinf,
}


def precise(f):
    """Of f32: computed in f64."""
    return lambda *operands: np.asarray(f(*(x.astype(np.float64) for x in operands)), operands[0].dtype)


NEAR = {name: precise(getattr(np, numpy)) for name, numpy in {
    'exp': 'exp', 'exp2': 'exp2', 'log': 'log', 'log2': 'log2', 'log10': 'log10', 'log1p': 'log1p', 'expm1': 'expm1',
    'sin': 'sin', 'cos': 'cos', 'tan': 'tan', 'asin': 'arcsin', 'acos': 'arccos', 'atan': 'arctan', 'sinh': 'sinh',
    'cosh': 'cosh', 'tanh': 'tanh', 'pow': 'power', 'atan2': 'arctan2', 'hypot': 'hypot'}.items()}
NEAR['sigmoid'] = precise(lambda x: 1 / (1 + np.exp(-x)))

# ---- what adds up: docs/tensors.md, "Rounding" ----


def folded(op, x, first):
    """Of a vector, in the order that its length decides."""
    if len(x) > 4096:
        return folded(op, np.array([folded(op, x[i:i + 4096], first) for i in range(0, len(x), 4096)], x.dtype), first)
    parts = np.full(16, first, x.dtype)
    for i, v in enumerate(x):
        parts[i % 16] = op(parts[i % 16], v)
    for half in (8, 4, 2, 1):
        parts[:half] = op(parts[:half], parts[half:2 * half])
    return parts[0]


def best(x, is_better):
    at = 0
    for i, v in enumerate(x):
        if np.isnan(v):
            return i
        if is_better(v, x[at]):
            at = i
    return at


def needs_one(f):
    def checked(x):
        if len(x) == 0:
            raise Failure('empty')
        return f(x)
    return checked


OF_VECTORS = {
    'sum': lambda x: folded(np.add, x, 0),
    'prod': lambda x: folded(np.multiply, x, 1),
    'mean': needs_one(lambda x: folded(np.add, x, 0) / x.dtype.type(len(x))),
    'max': needs_one(lambda x: x[best(x, operator_gt)]), 'min': needs_one(lambda x: x[best(x, operator_lt)]),
    'argmax': needs_one(lambda x: np.int64(best(x, operator_gt))),
    'argmin': needs_one(lambda x: np.int64(best(x, operator_lt))),
    'any': lambda x: np.bool_(x.any()), 'all': lambda x: np.bool_(x.all()),
}


def operator_gt(a, b):
    return a > b


def operator_lt(a, b):
    return a < b


def reduced(name, x, axis=None):
    """Fails only for an element of the result that would be of none."""
    f, result = OF_VECTORS[name], np.int64 if name.startswith('arg') else x.dtype
    if axis is None:
        return np.asarray(f(x.ravel()), result)
    rows = np.moveaxis(x, axis, -1)
    shape, rows = rows.shape[:-1], rows.reshape(-1, x.shape[axis]) if x.size else np.empty(
        (math.prod(rows.shape[:-1]), x.shape[axis]), x.dtype)
    return np.array([f(row) for row in rows], result).reshape(shape)


# ---- rounded once ----


def rounded(exact, dtype):
    """The nearest float of a Fraction that is not 0. Twice rounded is right if the first rounding is to odd."""
    try:
        x = float(exact)
    except OverflowError:
        return dtype(math.copysign(math.inf, exact))
    if dtype is np.float32 and Fraction(x) != exact and not np.float64(x).view(np.int64) & 1:
        x = math.nextafter(x, math.inf if exact > Fraction(x) else -math.inf)
    return dtype(x)


def fused(a, b, c):
    """a * b + c of scalars of a float dtype, rounded once."""
    if a == 0 or b == 0 or not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return a * b + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return rounded(exact, type(a)) if exact else type(a)(0)


def lifted_fma(*operands):
    operands = np.broadcast_arrays(*operands)
    values = [fused(*elements) for elements in zip(*(x.ravel() for x in operands))]
    return np.array(values, operands[0].dtype).reshape(operands[0].shape)


EXACT['fma'] = lifted_fma


def product(a, b):
    """`a @ b` of vectors and matrices: of floats one accumulator for each element."""
    if a.dtype.kind != 'f':
        return np.asarray(a @ b, a.dtype)
    rows, columns = a.reshape(-1, a.shape[-1]), (b if b.ndim == 2 else b[:, None]).T
    result = np.zeros((len(rows), len(columns)), a.dtype)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            for x, y in zip(row, column):
                result[i, j] = fused(x, y, result[i, j])
    return result.reshape(a.shape[:-1] + b.shape[1:])
