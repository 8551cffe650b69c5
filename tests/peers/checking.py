# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""What scripts share that compare a model of examples/models/ with a program in NumPy: runs of hiaton, in all engines,
and verdicts. A script calls `begin` first and `end` last."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import files

TOLERANCE = 1e-5
WAYS = '--engine interp', '--engine expand', '--threads 2'  # besides native code on one thread

passed = failed = 0


def begin():
    """Of the arguments HIATON SOURCE-DIR SHARE [TITLE...]: all checks, or those whose titles begin like one of these.
    Returns the share."""
    global program, sources, titles, work, folder
    program, sources, titles = sys.argv[1], sys.argv[2], tuple(sys.argv[4:])
    folder = tempfile.TemporaryDirectory()
    work = folder.name
    return int(sys.argv[3])


def end():
    folder.cleanup()
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    sys.exit(failed > 0)


def is_chosen(what):
    return not titles or what.startswith(titles)


def verdict(what, problem):
    global passed, failed
    if problem:
        failed += 1
        print('FAILED: %s\n%s' % (what, problem[:2000]))
    else:
        passed += 1


def near(x, y, scale=None):
    return abs(x - y) <= TOLERANCE * max(abs(y) if scale is None else scale, 1e-30)


def is_best(scores, chosen):
    return near(scores[chosen], scores.max(), np.abs(scores).max())


class Refused(Exception):
    pass


def hiaton(words):
    """What `hiaton run` prints."""
    command = [program, 'run', '--threads', '1'] + words
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Refused('%s\n%s' % (' '.join(command), result.stderr))
    return result.stdout.strip()


def value(text):
    """The same as values of Python. Constructors are tuples that begin with their names."""
    def constructor(name):
        return lambda *fields: (name,) + fields

    names = {name: constructor(name) for name in ('Leaf', 'Node', 'Word')}
    return eval(text, {'__builtins__': {}, **names, 'None': None, 'nan': float('nan'), 'inf': float('inf')})


def check(what, words, compare):
    """`compare` returns what is wrong with the value that is printed, or None. All engines print the same."""
    if not is_chosen(what):
        return
    try:
        text = hiaton(words)
        verdict(what, compare(value(text)))
        for way in WAYS:
            same = hiaton(words + way.split()) == text
            verdict('%s, %s' % (what, way), None if same else 'prints something else than native code on one thread')
    except Refused as e:
        verdict(what, str(e))


def check_saved(what, words, compare):
    """The same with a tuple of tensors and scalars, which is saved, since long tensors are not printed whole."""
    if not is_chosen(what):
        return
    path = os.path.join(work, 'result.npz')

    def run(way):
        hiaton(words + way + ['-o', path])
        with np.load(path) as arrays:
            return [arrays[name] for name in arrays.files]

    try:
        result = run([])
        verdict(what, compare(result))
        for way in WAYS:
            same = [x.tobytes() for x in run(way.split())] == [x.tobytes() for x in result]
            verdict('%s, %s' % (what, way), None if same else 'gives something else than native code on one thread')
    except Refused as e:
        verdict(what, str(e))


def saved(name, tensors):
    path = os.path.join(work, name + '.safetensors')
    files.write_safetensors(path, tensors)
    return path


def write(name, text):
    path = os.path.join(work, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def written(x):
    """In hiaton's form."""
    return str(x.tolist()) if isinstance(x, np.ndarray) else str(x)


def example(name):
    return os.path.join(sources, 'examples', 'models', name)
