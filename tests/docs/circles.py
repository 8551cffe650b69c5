#!/usr/bin/env python3
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Circles of files: those whose functions call each other round, as their object files say.

  circles.py SOURCE-DIR BUILD-DIR [FOLDER]

A file that uses what another defines has an arrow to it. Three or more files that reach each other are a *circle*: none
of them can be read before the others. tests/docs/circles.txt lists those whose recursion is real, with its reason; any
other is an error, and so is one that is listed and is not there. With a FOLDER, only prints the circles that have files
in it, with the names that make each arrow.
"""
import collections
import os
import subprocess
import sys

ROOTS = ('graph', 'frontend', 'lower', 'jit', 'runtime', 'tools')
DEFINED = set('TDBRVWC')


def read_objects(sources, build):
    """{file: (names that it defines, names that it lacks)}"""
    paths, objects = {}, os.path.join(build, 'CMakeFiles')
    for folder, _, names in os.walk(objects):
        for name in names:
            path = os.path.join(folder, name)
            file = os.path.relpath(path, objects).partition('.dir' + os.sep)[2][:-2]
            # Those of a file that has moved are there still.
            if name.endswith('.o') and file.split(os.sep)[0] in ROOTS and os.path.exists(os.path.join(sources, file)):
                paths.setdefault(file, path)
    files = {file: (set(), set()) for file in paths}
    owner = {path: file for file, path in paths.items()}
    for line in subprocess.run(['nm', '-A', *owner], check=True, capture_output=True, encoding='utf-8').stdout.splitlines():
        path, _, row = line.partition(':')
        kind, name = row.split()[-2:]
        if kind in DEFINED or kind == 'U':
            files[owner[path]][kind == 'U'].add(name)
    return files


def arrows(files):
    """{file: {file that it uses: names}}"""
    owner = {name: file for file, (defined, _) in files.items() for name in defined}
    result = {file: collections.defaultdict(set) for file in files}
    for file, (_, lacking) in files.items():
        for name in lacking & owner.keys():
            if owner[name] != file:
                result[file][owner[name]].add(name)
    return result


def circles(graph):
    """The strongly connected components of three files or more. (Tarjan 1972.)"""
    sys.setrecursionlimit(10 * len(graph) + 1000)
    number, low, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in graph[file]:
            if other not in number:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 2:
                found.append(frozenset(stack[at:]))
            del stack[at:]

    for file in sorted(graph):
        if file not in number:
            visit(file)
    return found


def read_table(path):
    """{circle: reason}"""
    rows = {}
    with open(path, encoding='utf-8') as table:
        for line in table:
            if line.strip() and not line.startswith('#'):
                names, _, reason = line.partition(': ')
                rows[frozenset(names.split())] = reason.strip()
    return rows


def main():
    sources, build = sys.argv[1:3]
    graph = arrows(read_objects(sources, build))
    found = circles(graph)
    if len(sys.argv) > 3:
        for circle in found:
            if any(file.startswith(sys.argv[3]) for file in circle):
                print(len(circle), 'files:', ' '.join(sorted(circle)))
                for file in sorted(circle):
                    for other in sorted(circle & graph[file].keys()):
                        print('    %s to %s: %s' % (file, other, ' '.join(sorted(graph[file][other]))))
        return 0
    table = read_table(os.path.join(sources, 'tests', 'docs', 'circles.txt'))
    errors = ['a circle of %d files that circles.txt does not have: %s' % (len(circle), ' '.join(sorted(circle)))
              for circle in found if not table.get(circle)]
    errors += ['circles.txt has one that is not there: %s' % ' '.join(sorted(circle)) for circle in table
               if circle not in found and circle <= graph.keys()]  # files of another processor are not built
    if len(graph) < 100:
        errors.append('only %d object files are in %s' % (len(graph), build))
    for error in errors:
        print('FAILED:', error)
    print('%d passed, %d failed, 0 skipped' % (len(graph), len(errors)))
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
