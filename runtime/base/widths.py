#!/usr/bin/env python3
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
"""Writes widths.def: the characters that terminals show on two columns, and those that take none.

    python3 runtime/base/widths.py > runtime/base/widths.def

The data are those of Python's unicodedata; the table names their version. Code points that are not
assigned join the ranges around them, so that the table is short."""
import unicodedata

LAST = 0x10FFFF
# Unassigned code points that are wide by UAX #11, and the blocks to which later versions add emoji.
WIDE_BLOCKS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x1F300, 0x1F64F),
               (0x1F6D0, 0x1F6FF), (0x1F900, 0x1F9FF), (0x1FA70, 0x1FAFF), (0x20000, 0x2FFFD),
               (0x30000, 0x3FFFD)]
# Format characters that are drawn: the soft hyphen, and signs that stand around a number.
DRAWN = {0xAD, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
# Vowels and final consonants of Hangul join the consonant before them.
JOINING = [(0x1160, 0x11FF), (0xD7B0, 0xD7FF)]


def within(ranges, c):
    return any(first <= c <= last for first, last in ranges)


def columns(c):
    """0, 1 or 2; None: no character."""
    kind = unicodedata.category(chr(c))
    if within(JOINING, c) or (kind in ("Mn", "Me", "Cf") and c not in DRAWN):
        return 0
    if kind == "Cn":
        return 2 if within(WIDE_BLOCKS, c) else None
    return 2 if unicodedata.east_asian_width(chr(c)) in "WF" else 1


def ranges(width):
    found, is_open = [], False
    for c in range(0x80, LAST + 1):
        w = columns(c)
        if w == width:
            if is_open:
                found[-1][1] = c
            else:
                found.append([c, c])
            is_open = True
        elif w is not None:
            is_open = False
    return found


print("/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */")
print("/* Made by widths.py of Unicode %s: HIA_COLUMNS(first, last, columns), in order. */"
      % unicodedata.unidata_version)
rows = sorted([(a, b, 0) for a, b in ranges(0)] + [(a, b, 2) for a, b in ranges(2)])
line = ""
for row in rows:
    text = "HIA_COLUMNS(0x%x, 0x%x, %d)" % row
    if len(line) + len(text) + 1 > 100:
        print(line)
        line = ""
    line += (" " if line else "") + text
print(line)
