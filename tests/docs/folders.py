#!/usr/bin/env python3
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""The folders of the product: tests/docs/folders.txt against the sources, and against the table of docs/design.md.

  folders.py SOURCE-DIR     checks that
    - every folder with sources stands in the table once, and every folder of the table has sources;
    - what a folder includes, and only that, stands below it; what stands further down the table has a reason;
    - a type has one tag, and a tag is one type's: none is defined in two headers;
    - docs/design.md has the table as it is. With HIA_UPDATE=1 in the environment it is written there.
"""
import collections
import os
import re
import sys

ROOTS = ('graph', 'frontend', 'lower', 'jit', 'runtime', 'tools')
BEGIN, END = '<!-- tests/docs/folders.txt -->\n', '<!-- end -->\n'


def read_table(path):
    """The rows: {folder: (what is in it, {folder that it may include: why it stands below, or ''})}, in their order."""
    rows, errors, folder = {}, [], None
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith('#'):
                continue
            if not line.startswith(' '):
                folder, _, subject = line.partition(':')
                if folder in rows:
                    errors.append('folders.txt:%d: %s stands there twice' % (number, folder))
                rows[folder] = (subject.strip(), {})
            elif ' back: ' in line:
                name, _, reason = line.partition(' back: ')
                rows[folder][1][name.strip()] = reason.strip()
            else:
                for name in line.split():
                    rows[folder][1][name] = ''
    return rows, errors


def read_sources(root):
    """{folder: {folder that it includes: a file that does}}, and {tag: headers that define it}."""
    includes, tags = collections.defaultdict(dict), collections.defaultdict(set)
    for top in ROOTS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            own = os.path.relpath(folder, root)
            for name in names:
                if not name.endswith(('.c', '.h', '.S')):
                    continue
                includes[own]
                with open(os.path.join(folder, name), encoding='utf-8') as file:
                    text = file.read()
                for path in re.findall(r'^ *# *include *"([^"]+)"', text, re.M):
                    if os.path.dirname(path) != own:
                        includes[own][os.path.dirname(path)] = own + '/' + name
                if name.endswith('.h'):
                    for tag in re.findall(r'^(?:typedef )?((?:struct|enum|union) \w+) \{', text, re.M):
                        tags[tag.split()[1]].add(own + '/' + name)
    return includes, tags


def check(rows, includes, tags):
    order, errors = list(rows), []
    errors += ['folders.txt: %s is missing' % folder for folder in includes if folder not in rows]
    errors += ['folders.txt: %s has no sources' % folder for folder in rows if folder not in includes]
    for folder, (_, allowed) in rows.items():
        for name, file in includes.get(folder, {}).items():
            if name not in allowed:
                errors.append('%s includes a header of %s, which folders.txt does not allow' % (file, name))
        for name, reason in allowed.items():
            if name not in includes.get(folder, {}):
                errors.append('folders.txt: %s includes nothing of %s' % (folder, name))
            elif (order.index(name) > order.index(folder)) != bool(reason):
                errors.append('folders.txt: %s to %s: %s' % (folder, name, 'no arrow back: no reason' if reason else
                                                            'an arrow back: give its reason'))
    errors += ['%s is defined in %s' % (tag, ' and '.join(sorted(files)))
               for tag, files in sorted(tags.items()) if len(files) > 1]
    return errors


def table(rows):
    lines = ['| folder | what is in it | may include |\n', '| --- | --- | --- |\n']
    for folder, (subject, allowed) in rows.items():
        names = ['`%s`%s' % (name, ' (%s)' % reason if reason else '') for name, reason in allowed.items()]
        lines.append('| `%s` | %s | %s |\n' % (folder, subject, ', '.join(names)))
    return ''.join(lines)


def main():
    root = sys.argv[1]
    rows, errors = read_table(os.path.join(root, 'tests', 'docs', 'folders.txt'))
    errors += check(rows, *read_sources(root))
    path = os.path.join(root, 'docs', 'design.md')
    with open(path, encoding='utf-8') as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if text[begin:end] != table(rows):
        if os.environ.get('HIA_UPDATE'):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text[:begin] + table(rows) + text[end:])
        else:
            errors.append('docs/design.md has another table: HIA_UPDATE=1 writes it')
    for error in errors:
        print('FAILED:', error)
    print('%d passed, %d failed, 0 skipped' % (len(rows), len(errors)))
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
