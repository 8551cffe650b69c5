# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Files that NumPy writes and reads: elements that are converted, and results with the names of params.

numpy_files.py HIATON"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

hiaton = sys.argv[1]
failed = 0
passed = 0


def verdict(what, holds, more=''):
    global failed, passed
    if holds:
        passed += 1
    else:
        failed += 1
        print('FAILED: %s\n  %s' % (what, more))


def run(what, text, *words, status=0, error=''):
    """Runs a program; returns what it prints."""
    with open('p.hia', 'w', encoding='utf-8') as f:
        f.write(text)
    done = subprocess.run([hiaton, 'run', 'p.hia', '--engine', 'interp', *words], stdin=subprocess.DEVNULL, timeout=60,
                          capture_output=True, text=True, check=False)
    fits = done.returncode == status and (error in done.stderr if error else not done.stderr)
    verdict(what, fits, 'exit status %d: %s' % (done.returncode, done.stderr))
    return done.stdout


# ---- conversion: all pairs ----

SOURCES = ['?', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8']
TARGETS = {'bool': np.bool_, 'i32': np.int32, 'i64': np.int64, 'f32': np.float32, 'f64': np.float64}


def elements(source, target):
    """Elements of the dtype that the other one can have, its limits among them."""
    if source == '?' or target == 'bool':
        return np.array([[0, 1, 1], [1, 0, 1]]).astype(source)
    if source[0] != 'f' and target[0] == 'f':
        info = np.iinfo(source)
        return np.array([[0, 1, info.max], [info.min, 100, info.max - 1]], source)
    if source[0] == 'f' and target[0] == 'f':
        return np.array([[0.1, -0.0, np.inf], [-np.inf, 65504 / 3, 1e-7]], source)
    low, high = np.iinfo(TARGETS[target]).min, np.iinfo(TARGETS[target]).max
    if source[0] == 'f':
        return np.array([[0, -3, 60000], [2048, -60000, 7]], source)
    info = np.iinfo(source)
    return np.array([[0, 1, min(high, info.max)], [max(low, info.min), 100, 7]], source)


def conversions():
    for target, dtype in TARGETS.items():
        arrays = [elements(source, target) for source in SOURCES]
        wanted = [a.astype(dtype) for a in arrays]
        big = [a.astype(a.dtype.newbyteorder('>')) for a in arrays]
        fortran = [np.asfortranarray(a) for a in arrays]
        program = 'fn main(a: (%s)) = a' % ', '.join(['%s[2, 3]' % target] * len(arrays))
        for write, given in ((np.savez, arrays), (np.savez_compressed, big), (np.savez_compressed, fortran)):
            write('in.npz', *given)
            run('to %s' % target, program, '@in.npz', '--convert', '-o', 'out.npz')
            with np.load('out.npz') as out:
                for i, source in enumerate(SOURCES):
                    a = out['arr_%d' % i]
                    verdict('%s to %s' % (source, target),
                            a.dtype == dtype and a.tobytes() == wanted[i].tobytes(), '%s\n%s' % (a, wanted[i]))
    # Every half.
    halves = np.arange(65536, dtype='u2').view('f2')
    np.save('in.npy', halves)
    for target in ('f32', 'f64'):
        run('halves to %s' % target, 'fn main(a: %s[?]) = a' % target, '@in.npy', '--convert', '-o', 'out.npy')
        out = np.load('out.npy')
        numbers = ~np.isnan(halves)
        verdict('halves to %s' % target, (np.isnan(out) == ~numbers).all() and
                out[numbers].tobytes() == halves[numbers].astype(TARGETS[target]).tobytes())
    np.save('in.npy', np.array([[1, 2], [3, 300]], 'u2'))
    run('not asked for', 'fn main(a: i32[?, ?]) = a', '@in.npy', status=2,
        error="expected i32[?, ?], the file's tensor is u16[2, 2]\n")
    run('without a type', 'fn main(a) = a', '@in.npy', '--convert', status=2,
        error="the dtype of the file's tensor is u16, which is none of bool, i32, i64, f32 and f64")
    run('too large', 'fn main(a: bool[?, ?]) = a', '@in.npy', '--convert', status=2,
        error="element [0, 1] of the file's tensor is 2, which no bool is, at byte 130")


# ---- params ----

PARAMS = 'param W: f32[2, 3] = zeros()\nparam s: f64 = 0\nfn main() = (sum(W), s)'


def write_safetensors(tensors):
    header, data = {}, b''
    for name, dtype, shape, some in tensors:
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(some)]}
        data += some
    text = json.dumps(header).encode()
    with open('x.safetensors', 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + data)


def params():
    w, s = np.arange(1, 7, dtype='f4'), struct.pack('<d', 7)
    good = [('W', 'F32', [2, 3], w.tobytes()), ('s', 'F64', [], s)]
    write_safetensors(good + [('scaled_fp8', 'F8_E4M3', [0], b''), ('x', 'F4', [3], b'12'),
                              ('deep', 'BOOL', [1] * 20, b'\1')])
    verdict('tensors that no param asks for', run('others', PARAMS, '--params', 'x.safetensors') == '(21.0, 7.0)\n')
    write_safetensors([('W', 'F8_E4M3', [2, 3], b'123456'), good[1]])
    run('asked for', PARAMS, '--params', 'x.safetensors', '--convert', status=2,
        error="the dtype of the tensor 'W' is F8_E4M3, which is none of")
    for dtype, some in (('F16', w.astype('f2').tobytes()), ('F64', w.astype('f8').tobytes()),
                        ('BF16', (w.view('u4') >> 16).astype('u2').tobytes()), ('U8', w.astype('u1').tobytes())):
        write_safetensors([('W', dtype, [2, 3], some), ('s', 'I64', [], struct.pack('<q', 7))])
        verdict('params of %s' % dtype,
                run('of %s' % dtype, PARAMS, '--params', 'x.safetensors', '--convert') == '(21.0, 7.0)\n')
        run('%s, not asked for' % dtype, PARAMS, '--params', 'x.safetensors', status=2, error='--convert')
    np.savez('x.npz', W=w.astype('f2').reshape(2, 3), s=np.int8(7), others=np.array(['text']))
    verdict('params of an archive', run('an archive', PARAMS, '--params', 'x.npz', '--convert') == '(21.0, 7.0)\n')
    np.savez('x.npz', W=np.full((2, 3), 1e300), s=7.0)
    run('too large', PARAMS, '--params', 'x.npz', '--convert', status=2,
        error="element [0, 0] of the tensor 'W' is 1.0000000000000001e+300, which no f32 is")
    np.save('w.npy', w)
    run('an array without a name', PARAMS, '--params', 'w.npy', status=2, error='np.savez')


# ---- gradients ----

LOSS = '''param W: f64[2] = 0.5
param b: f64 = 0
fn loss(x: f64[2]) -> f64 = { let d = W @ x + b; d * d }
'''


def names_of(what, text, *words):
    run(what, LOSS + text, *words, '-o', 'g.npz')
    with np.load('g.npz') as file:
        return {name: file[name] for name in file.files}


def gradients():
    x = '[1, 2]'
    g = names_of('value and gradient', 'fn main(x: f64[2]) = value_and_grad(loss)(x)', x)
    verdict('names', list(g) == ['value', 'W', 'b'], list(g))
    verdict('values', g['value'] == 2.25 and (g['W'] == [3, 6]).all() and g['b'] == 3, g)
    verdict('they are params', run('params', LOSS + 'fn main() = (W, b)', '--params', 'g.npz') == '([3.0, 6.0], 3.0)\n')
    for what, text, names in (
            ('a gradient', 'fn main(x: f64[2]) = grad(loss)(x)', ['W', 'b']),
            ('of one param', 'fn main(x: f64[2]) = grad(loss, wrt = b)(x)', ['b']),
            ('of a parameter', 'fn main(x: f64[2]) = value_and_grad(loss, wrt = (x, W))(x)', ['value', 'arr_1.0', 'W']),
            ('by variables', 'fn main(x: f64[2]) = { let (l, g) = value_and_grad(loss)(x); (g.1, (x, g.0), l) }',
             ['b', 'arr_1.0', 'W', 'value']),
            ('by calls', 'fn f(n: i32, x: f64[2]) = if n == 0 then value_and_grad(loss)(x) else f(n - 1, x)\n'
             'fn main(x: f64[2]) = f(3, x)', ['value', 'W', 'b']),
            ('declared', 'fn main(x: f64[2]) -> (f64, (f64[2], f64)) = value_and_grad(loss)(x)', ['value', 'W', 'b']),
            ('of two', 'fn main(x: f64[2]) = if x[0] > 0.0 then (x, 1f64) else grad(loss)(x)', ['arr_0', 'arr_1']),
            ('twice', 'fn main(x: f64[2]) = (grad(loss)(x), grad(loss, wrt = b)(x))', ['W', 'arr_0.1.b', 'arr_1.b']),
            ('params themselves', 'fn main(x: f64[2]) = (W, b)', ['arr_0', 'arr_1']),
            ('other tuples', 'fn main(x: f64[2]) = (1, ((x, true), 2.0), x)',
             ['arr_0', 'arr_1.0.0', 'arr_1.0.1', 'arr_1.1', 'arr_2'])):
        g = names_of(what, text, x)
        verdict('names: %s' % what, list(g) == names, list(g))
    back = run('nested, read back', 'fn main(t: (i32, ((f64[?], bool), f32), f64[?])) = t', '@g.npz')
    verdict('as it was', back == '(1, (([1.0, 2.0], true), 2.0), [1.0, 2.0])\n', back)
    run('what is no tensor', 'type T = A | B\nfn main() = (1, (2.0, A))', '-o', 'no.npz', status=2,
        error='a result of type (i32, (f32, T)) cannot be in no.npz: .npz has tensors and scalars, one or those of a tuple')
    g = names_of('a param called value', 'param value: f64 = 2\nfn main(x: f64) = value_and_grad(g)(x)\n'
                 'fn g(x: f64) = value * x', '3')
    verdict('its name', list(g) == ['arr_0', 'value'] and g['value'] == 3, g)
    g = names_of('a param called as a place', 'param arr_0: f64 = 2\nfn main(x: f64) = value_and_grad(g)(x)\n'
                 'fn g(x: f64) = arr_0 * x', '3')
    verdict('its name', list(g) == ['value', 'arr_1.arr_0'], g)


with tempfile.TemporaryDirectory() as folder:
    hiaton = os.path.abspath(hiaton)
    os.chdir(folder)
    conversions()
    params()
    gradients()
print('%d passed, %d failed' % (passed, failed))
sys.exit(failed != 0)
