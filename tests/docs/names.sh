#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# What README.md and docs/ refer to is there:
#
#   - links lead to files and headings, and docs/README.md has a link to every page;
#   - a file that is named in backquotes exists (`graph/pass.c`, `graph/`, `pass.c`);
#   - an identifier of hiaton's that is named in backquotes occurs in the sources;
#   - every word that docs/glossary.md explains is used in the sources or in another page.
#
#   names.sh SOURCE-DIR
# shellcheck disable=SC2016 # backquotes
set -u
export LC_ALL=C # sort, comm
cd "$1" || exit 2
passed=0 failed=0
verdict() { # WHAT OFFENDERS
  if [ -z "$2" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n%s\n' "$1" "$2"
  fi
}
pages=(README.md docs/*.md examples/embed/README.md)
sources=(frontend graph lower jit runtime include tools bench tests cmake examples CMakeLists.txt dev)

# ---- links ----

headings() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }
links() { # PAGE
  local target path anchor
  grep -oE '\]\([^) ]+\)' "$1" | sed 's/^](//; s/)$//' | grep -v '^https\?:' | while IFS= read -r target; do
    path=${target%%#*} anchor=
    [[ $target == *'#'* ]] && anchor=${target#*'#'}
    if [ -n "$path" ]; then path=$(dirname "$1")/$path; else path=$1; fi
    if [ ! -e "$path" ]; then
      echo "$target: there is no such file"
    elif [ -n "$anchor" ] && ! headings "$path" | grep -qxF -e "$anchor"; then
      echo "$target: there is no such heading"
    fi
  done
}
for page in "${pages[@]}"; do verdict "$page: links" "$(links "$page")"; done
for page in docs/*.md; do
  [ "$page" = docs/README.md ] && continue
  verdict "docs/README.md has a link to $page" "$(grep -qF "]($(basename "$page"))" docs/README.md || echo none)"
done

# ---- names in backquotes ----

quoted() { awk '/^```/ { inside = !inside; next } !inside' "$1" | grep -oE '`[^`]+`' | tr -d '`'; }

# All files and folders by each of their suffixes: graph/pass.c is pass.c too. These are not in the sources: files
# below build/, what install.md says is installed, and the reader's own files in aot.md and adding-a-pass.md. NAME
# stands for any name.
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
{
  find "${sources[@]}" docs README.md LICENSE NOTICE -type f -print
  find "${sources[@]}" docs -type d -print -print | sed '2~2s,$,/,'
  printf '%s\n' note.c open.c fib.h graph/opt_strength.c tests/golden/strength.ir
} | awk '{ print; while (match($0, "/.")) { $0 = substr($0, RSTART + 1); print } }' | sort -u >"$work/files"
files() { # PAGE
  local outside='NAME|^build/'
  [ "$1" = docs/install.md ] && outside="$outside|^(bin|lib|share)/"
  quoted "$1" | grep -E '^[A-Za-z0-9_./-]+\.(c|h|def|md|hpp|cpp|hia|ir|sh|cmake|txt)$|^[A-Za-z][A-Za-z0-9_./-]*/[A-Za-z_./-]*$' |
    grep -Ev "$outside" | sort -u | comm -23 - "$work/files"
}
for page in "${pages[@]}"; do verdict "$page: files" "$(files "$page")"; done

# `hia_build_NAME` and `hiaL_emit_NAME` are made from the rows of the op table, and so are kernels; an N or a `_`
# at the end stands for several names.
identifiers='hia[A-Z]?_[A-Za-z0-9_]+|HIA_[A-Z0-9_]+'
grep -rohE "\\b($identifiers)" "${sources[@]}" | sort -u >"$work/identifiers"
names() { # PAGE
  quoted "$1" | grep -oE "\\b($identifiers)" | grep -Ev '^hia_build_[a-z0-9]+$|^hiaR_k_[A-Z]+$|_(NAME|N)?$' | sort -u |
    comm -23 - "$work/identifiers"
}
for page in "${pages[@]}"; do verdict "$page: identifiers" "$(names "$page")"; done

# ---- the glossary ----

unused() {
  local term
  grep '^| [A-Za-z]' docs/glossary.md | grep -v '^| word |' | cut -d'|' -f2 | tr ',' '\n' |
    sed 's/^ *//; s/ *$//' | while IFS= read -r term; do
      grep -rqiE --exclude=glossary.md -e "${term// /[ _-]}" "${sources[@]}" docs README.md || echo "$term"
    done
}
verdict 'docs/glossary.md explains only words that are used' "$(unused)"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
