#!/usr/bin/env python3
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Runs the tests against deliberate mistakes in the sources, one at a time (docs/testing.md, Mutants).

  mutants.py --check                 every mutant applies to the sources as they are
  mutants.py --list                  prints them
  mutants.py --since FILE...         prints the tests that `./dev test --since` runs for a change of these files
  mutants.py [OPTION...] [NAME...]   builds each mutant (or those whose names begin with NAME), and runs tests
     --all       all tests of the configuration, and prints each that fails; without it, the tests of
                 `./dev test --since` until one of them fails, and the others only if none does
     --quick     only the tests of `./dev test --since`
     --tests R   only the tests whose names match the regular expression R
     --jobs N    parallel jobs (the number of cores)

Mutants are built in build-mutants/, from a copy of the checkout. The exit status is 1 if a mutant was not found.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, 'tests', 'mutants')
WORK = os.path.join(ROOT, 'build-mutants')
TREE = os.path.join(WORK, 'tree')

# The CMake arguments of each configuration that a mutant can be looked for in; `dev` has the same.
CONFIGURATIONS = {
    'release': ['-DCMAKE_BUILD_TYPE=Release'],
    'asan': ['-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_C_COMPILER=clang-19', '-DHIA_SANITIZE=address;undefined',
             '-DHIA_STRESS=ON'],
    'tsan': ['-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_C_COMPILER=clang-19', '-DHIA_SANITIZE=thread'],
    'stress': ['-DCMAKE_BUILD_TYPE=Debug', '-DHIA_STRESS=ON'],
}
# As in `dev`.
os.environ.setdefault('ASAN_OPTIONS', 'malloc_context_size=1:intercept_strstr=0:detect_stack_use_after_return=0')
# The labels of the tests that `dev` runs in a configuration.
LABELS = {'release': None, 'asan': None, 'tsan': 'diff|stress|embed', 'stress': 'unit|diff|stress|embed'}


class Mutant:
    """A mistake: in `path` the lines `old` become `new`."""

    def __init__(self, name, path, configuration):
        self.name, self.path, self.configuration = name, path, configuration
        self.old, self.new = [], []

    def apply(self, text):
        """The text with the mistake in it; an error if the lines do not stand there exactly once."""
        lines, n = text.split('\n'), len(self.old)
        want = [line.strip() for line in self.old]
        places = [i for i in range(len(lines) - n + 1) if [line.strip() for line in lines[i:i + n]] == want]
        if not want or len(places) != 1:
            raise ValueError('%s: %s has these lines %d times' % (self.name, self.path, len(places)))
        return '\n'.join(lines[:places[0]] + self.new + lines[places[0] + n:])


def read_mutants():
    """The mutants of mutants.txt: `== NAME PATH CONFIGURATION`, then lines that begin with - and +."""
    mutants = []
    with open(os.path.join(HERE, 'mutants.txt'), encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip('\n')
            if not line or line.startswith('#'):
                continue
            if line.startswith('== '):
                words = line.split()
                if len(words) != 4 or words[3] not in CONFIGURATIONS or words[1] in [m.name for m in mutants]:
                    sys.exit('mutants.txt:%d: not `== NAME PATH CONFIGURATION`, or a name given twice' % number)
                mutants.append(Mutant(*words[1:]))
            elif mutants and line[0] in '-+':
                (mutants[-1].old if line[0] == '-' else mutants[-1].new).append(line[1:])
            else:
                sys.exit('mutants.txt:%d: a line begins with ==, -, + or #' % number)
    return mutants


def read_since():
    """The lines of since.txt: the pattern of a path, and that of the names of the tests that it can touch."""
    rows = []
    with open(os.path.join(HERE, 'since.txt'), encoding='utf-8') as file:
        for line in file:
            if line.strip() and not line.startswith('#'):
                path, tests = line.split(None, 1)
                rows.append((re.compile(path), tests.split()))
    return rows


def tests_since(paths):
    """A regular expression of the names of the tests that changes of these files can touch; '.' stands for all."""
    tests = set()
    for path in paths:
        found = [row[1] for row in read_since() if row[0].fullmatch(path)]
        if not found:
            return '.'
        for names in found:
            tests.update(names)
        unit = re.match(r'tests/unit/\w+/(test_\w+)\.c$', path)
        if unit:
            tests.add('unit.' + unit[1])
    tests.discard('-')
    return '^(%s)$' % '|'.join(sorted(name.replace('.', r'\.').replace('*', '.*') for name in tests)) if tests else ''


def check():
    """Every mutant applies, and every unit test that since.txt names exists: otherwise these lists would become stale
    without anyone's notice."""
    failed = 0
    mutants = read_mutants()
    units = ['unit.' + name[:-2] for _, _, names in os.walk(os.path.join(ROOT, 'tests', 'unit')) for name in names]
    for name in {name for _, names in read_since() for name in names if name.startswith('unit.')}:
        if not any(re.fullmatch(name.replace('.', r'\.').replace('*', '.*'), unit) for unit in units):
            print('FAILED: since.txt names the test %s, which is none' % name)
            failed += 1
    for mutant in mutants:
        try:
            with open(os.path.join(ROOT, mutant.path), encoding='utf-8') as file:
                mutant.apply(file.read())
        except (OSError, ValueError) as error:
            print('FAILED:', error)
            failed += 1
    print('%d passed, %d failed, 0 skipped' % (max(len(mutants) - failed, 0), failed))
    return failed


def copy_tree():
    """Brings the copy up to date, and touches only what differs: a build then compiles only that."""
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split('\n')
    wanted = {name for name in names if name and os.path.isfile(os.path.join(ROOT, name))}
    for folder, _, files in os.walk(TREE):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, TREE) not in wanted:
                os.unlink(path)
    for name in wanted:
        source, copy = os.path.join(ROOT, name), os.path.join(TREE, name)
        with open(source, 'rb') as file:
            text = file.read()
        if os.path.exists(copy):
            with open(copy, 'rb') as file:
                if file.read() == text:
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(source, copy)


def build(configuration, jobs):
    """True if it builds. A mutant that does not is a mistake in the list."""
    folder = os.path.join(WORK, configuration)
    with open(folder + '.log', 'w', encoding='utf-8') as log:
        for command in (['cmake', '-S', TREE, '-B', folder, '-G', 'Ninja', '-DHIA_BENCH=OFF'] +
                        CONFIGURATIONS[configuration], ['cmake', '--build', folder, '-j', str(jobs)]):
            if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                return False
    return True


def run(configuration, jobs, matching, but, stops):
    """The names of the tests that fail, of those that match."""
    folder = os.path.join(WORK, configuration)
    command = ['ctest', '--test-dir', folder, '-j', str(jobs), '--timeout', str(200 * int(os.environ.get('HIA_TEST_SLOWNESS', '1')))]  # a mistake may make a test hang
    if LABELS[configuration]:
        command += ['-L', LABELS[configuration]]
    if matching:
        command += ['-R', matching]
    command += ['-E', '|'.join(filter(None, [but, r'^mutants\.', r'^docs\.names']))]
    if stops:
        command += ['--stop-on-failure']
    output = subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return re.findall(r'Test +#\d+: (\S+) \.*\**(?:Failed|Timeout|Exception|Subprocess|Not Run)', output)


def try_mutant(mutant, options):
    """Builds and tests one mutant, and returns a line that says what found it; and whether anything did."""
    path = os.path.join(TREE, mutant.path)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    begin = time.time()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(mutant.apply(text))
    try:
        if not build(mutant.configuration, options.jobs):
            return 'DOES NOT BUILD', False
        built = time.time()
        since = tests_since([mutant.path])
        if options.all or options.tests:
            found = run(mutant.configuration, options.jobs, options.tests, '', False)
            how = ', '.join(found)
        else:
            # The unit tests first, which take seconds.
            found = run(mutant.configuration, options.jobs, since, '^[^u]', True) if since else []
            if not found and since:
                found = run(mutant.configuration, options.jobs, since, r'^unit\.', True)
            how = ', '.join(found)
            if not found and since != '.' and not options.quick:
                found = run(mutant.configuration, options.jobs, '', since, True)
                how = 'NOT BY --since, but by ' + ', '.join(found) if found else ''
        return '%-60s %4.0f s to build, %4.0f s' % (how or 'NOT FOUND', built - begin, time.time() - built), bool(found)
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--since', nargs='*')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--tests', default='')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    if options.check:
        return 1 if check() else 0
    if options.since is not None:
        print(tests_since(options.since))
        return 0
    mutants = [m for m in read_mutants() if not options.names or any(m.name.startswith(n) for n in options.names)]
    if options.list:
        for mutant in mutants:
            print('%-36s %-8s %s' % (mutant.name, mutant.configuration, mutant.path))
        return 0
    if not mutants:
        sys.exit('mutants.py: there is no such mutant')
    os.makedirs(TREE, exist_ok=True)
    copy_tree()
    missed = []
    for configuration in CONFIGURATIONS:
        chosen = [m for m in mutants if m.configuration == configuration]
        if chosen and not build(configuration, options.jobs):
            sys.exit('mutants.py: %s does not build without a mistake: see %s.log' %
                     (configuration, os.path.join(WORK, configuration)))
        for mutant in chosen:
            how, is_found = try_mutant(mutant, options)
            print('%-36s %-8s %s' % (mutant.name, configuration, how), flush=True)
            if not is_found:
                missed.append(mutant.name)
    print('%d of %d mutants were found%s' % (len(mutants) - len(missed), len(mutants),
                                             '; not ' + ', '.join(missed) if missed else ''))
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
