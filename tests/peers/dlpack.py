# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Values as NumPy sees them by DLPack, and NumPy's arrays as values: the runtime library alone, by its C API.

    dlpack.py LIBHIATON_RT
"""
import ctypes as c
import gc
import io
import sys
import weakref

import numpy as np

rt = c.CDLL(sys.argv[1])
python = c.pythonapi
python.PyCapsule_New.restype = c.py_object
python.PyCapsule_New.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]
python.PyCapsule_GetPointer.restype = c.c_void_p
python.PyCapsule_GetPointer.argtypes = [c.py_object, c.c_char_p]
python.PyCapsule_SetName.argtypes = [c.py_object, c.c_char_p]
rt.hia_value_elements.restype = c.c_void_p
for function in rt.hia_value_elements, rt.hia_value_free:
    function.argtypes = [c.c_void_p]
rt.hia_value_format.restype = c.c_size_t
rt.hia_value_format.argtypes = [c.c_void_p, c.c_char_p, c.c_size_t]
rt.hia_data_load_npy.argtypes = [c.c_void_p, c.c_void_p, c.c_char_p, c.c_char_p, c.c_size_t, c.c_void_p, c.c_void_p]
rt.hia_value_to_dlpack_unversioned.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p]
rt.hia_data_from_dlpack_unversioned.argtypes = [c.c_void_p] * 5


def format_value(value):
    text = c.create_string_buffer(200)
    rt.hia_value_format(value, text, len(text))
    return text.value.decode()


class Exported:
    """An object with the protocol that np.from_dlpack asks for."""

    def __init__(self, value):
        tensor = c.c_void_p()
        assert rt.hia_value_to_dlpack_unversioned(value, c.byref(tensor), None) == 0
        self.capsule = python.PyCapsule_New(tensor, b'dltensor', None)

    def __dlpack__(self, **unused):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def check(x, text):
    """From NumPy's file to a value to an array; and the array itself, without a copy if it is in row-major order."""
    file, value = io.BytesIO(), c.c_void_p()
    np.save(file, x)
    assert rt.hia_data_load_npy(None, None, b'x', file.getvalue(), len(file.getvalue()), c.byref(value), None) == 0
    array = np.from_dlpack(Exported(value))
    rt.hia_value_free(value)
    assert array.dtype == x.dtype and array.shape == x.shape and (array == x).all(), array
    del array

    alive = weakref.ref(x)
    address = x.ctypes.data if x.flags.c_contiguous and x.size else None
    capsule = x.__dlpack__()
    python.PyCapsule_SetName(capsule, b'used_dltensor')  # the value takes it over
    tensor = python.PyCapsule_GetPointer(capsule, b'used_dltensor')
    assert rt.hia_data_from_dlpack_unversioned(None, None, tensor, c.byref(value), None) == 0
    del x, capsule
    gc.collect()
    assert format_value(value) == text, format_value(value)
    if address:
        assert rt.hia_value_elements(value) == address and alive() is not None
    rt.hia_value_free(value)
    gc.collect()
    return alive


base = np.arange(1, 7, dtype='f4').reshape(2, 3)
for x, text in [(base.copy(), '[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]'), (base.T, '[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]'),
                (base[::-1, ::2], '[[4.0, 6.0], [1.0, 3.0]]'), (np.broadcast_to(base[1], (2, 3)).copy(), None),
                (np.array([-1, 2**40]), '[-1, 1099511627776]'), (np.array([[0.5]]), '[[0.5]]'),
                (np.zeros((0, 2), 'i4'), 'full(0, 0, 2)')]:
    check(x, text or '[[4.0, 5.0, 6.0], [4.0, 5.0, 6.0]]')
seen = [check(np.array([1.5, 2]), '[1.5, 2.0]')]
assert seen[0]() is None, 'the array is still held'
print('np.from_dlpack and values agree')
