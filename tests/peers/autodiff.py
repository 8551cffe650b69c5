# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Gradients of programs in NumPy, by reverse mode. A Value stands where an array would, and NumPy's functions take it
(NEPs 13 and 18), so models.py needs no change: what is computed of Values is recorded on one tape, which `backward`
runs through from its end. Only what those models use is here; anything else raises an error."""
import numpy as np

_tape = []

# Of y = f(x...): from the gradient g of y, those of x...
_UFUNCS = {
    np.add: lambda g, y, a, b: (g, g),
    np.subtract: lambda g, y, a, b: (g, -g),
    np.multiply: lambda g, y, a, b: (g * b, g * a),
    np.true_divide: lambda g, y, a, b: (g / b, -g * y / b),
    np.negative: lambda g, y, a: (-g,),
    np.exp: lambda g, y, a: (g * y,),
    np.log: lambda g, y, a: (g / a,),
    np.tanh: lambda g, y, a: (g * (1 - y * y),),
}


def _array(x):
    return x.x if isinstance(x, Value) else x


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, x, inputs=(), back=None):
        self.x, self.inputs, self.back = np.asarray(x, np.float64), inputs, back
        self.sum_of_gradients = np.zeros(self.x.shape)
        self.outer_products = []  # added up once, as one product of matrices
        _tape.append(self)

    @property
    def shape(self):
        return self.x.shape

    def add(self, g):
        while g.ndim > self.x.ndim:
            g = g.sum(axis=0)
        for axis, n in enumerate(self.x.shape):  # where x was broadcast
            if n == 1 and g.shape[axis] > 1:
                g = g.sum(axis=axis, keepdims=True)
        self.sum_of_gradients += g

    def gradient(self):
        if self.outer_products:
            left, right = zip(*self.outer_products)
            self.sum_of_gradients += np.array(left).T @ np.array(right)
            self.outer_products = []
        return self.sum_of_gradients

    # `v -= w` passes `out`, but binds what is returned: a new value.
    def __array_ufunc__(self, ufunc, method, *inputs, out=None):
        assert method == '__call__'
        if ufunc is np.matmul:
            return self.times_vector(*inputs)
        arrays = [_array(x) for x in inputs]
        y = ufunc(*arrays)
        return Value(y, inputs, lambda g: _UFUNCS[ufunc](g, y, *arrays))

    @staticmethod
    def times_vector(matrix, vector):
        assert len(matrix.shape) == 2 and len(vector.shape) == 1

        array = _array(vector)

        def back(g):
            matrix.outer_products.append((g, array))
            return (g @ matrix.x,)

        return Value(matrix.x @ array, (vector,), back)

    def __array_function__(self, function, types, args, kwargs):
        assert not kwargs
        return {np.concatenate: _concatenate, np.split: _split, np.einsum: _einsum}[function](*args)

    def __getitem__(self, at):
        def back(g):
            whole = np.zeros(self.x.shape)
            whole[at] = g
            return (whole,)

        return Value(self.x[at], (self,), back)

    def sum(self, axis, keepdims):
        assert keepdims
        return Value(self.x.sum(axis=axis, keepdims=True), (self,), lambda g: (np.broadcast_to(g, self.x.shape),))

    def max(self, axis, keepdims):
        """No Value: models.py subtracts it where that changes no result."""
        return self.x.max(axis=axis, keepdims=keepdims)


def _concatenate(parts):
    arrays = [_array(part) for part in parts]
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return Value(np.concatenate(arrays), parts, lambda g: np.split(g, ends))


def _split(x, n):
    size = len(x.x) // n
    return [x[i * size:(i + 1) * size] for i in range(n)]


def _einsum(spec, *inputs):
    """The gradient of an operand is the product of that of the result and of the other operands."""
    names, result = spec.split('->')
    names, arrays = names.split(','), [x.x for x in inputs]

    def but(things, i):
        return things[:i] + things[i + 1:]

    def back(g):
        return [np.einsum(','.join([result] + but(names, i)) + '->' + name, g, *but(arrays, i), optimize=True)
                for i, name in enumerate(names)]

    return Value(np.einsum(spec, *arrays, optimize=True), inputs, back)


def backward(y):
    """Ends the recording: the gradients of y are then those of the Values that it was computed from."""
    y.add(np.ones(()))
    for value in reversed(_tape):
        if value.back:
            for x, g in zip(value.inputs, value.back(value.gradient())):
                if isinstance(x, Value):
                    x.add(g)
    _tape.clear()
