#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# What README.md and docs/ refer to is there:
#
#   - links lead to files and headings, and docs/README.md has a link to every page;
#   - a file that is named in backquotes exists (`graph/pipeline/pass.c`, `graph/`, `pass.c`);
#   - an identifier of hiaton's that is named in backquotes occurs in the sources;
#   - every word that docs/glossary.md explains is used in the sources or in another page.
#
# And comments of the product have a subject.
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

# Processes take longer than what they look at, so each looks at all pages, and says which page has an offender.
#
# verdicts WHAT: standard input has lines PAGE<TAB>OFFENDER
verdicts() {
  local page offender
  local -A offenders=()
  while IFS=$'\t' read -r page offender; do offenders[$page]+=$offender$'\n'; done
  for page in "${pages[@]}"; do verdict "$page: $1" "${offenders[$page]:-}"; done
}

# The headings, as links name them: PAGE#HEADING.
declare -A headings
while IFS= read -r heading; do headings[$heading]=1; done < <(awk '
  /^##* / { heading = tolower($0); sub(/^#* /, "", heading); gsub(/[^a-z0-9 _-]/, "", heading); gsub(/ /, "-", heading)
            print FILENAME "#" heading }' "${pages[@]}")
links() {
  local page target path
  grep -oHE '\]\([^) ]+\)' "${pages[@]}" | sed 's/:\](/\t/; s/)$//' | while IFS=$'\t' read -r page target; do
    [[ $target =~ ^https?: ]] && continue
    path=${target%%#*}
    if [ -z "$path" ]; then
      path=$page
    elif [[ $page == */* ]]; then
      path=${page%/*}/$path
    fi
    if [ ! -e "$path" ]; then
      printf '%s\t%s: there is no such file\n' "$page" "$target"
    elif [[ $target == *'#'* ]]; then
      [[ $path == */../* ]] && path=$(realpath -s --relative-to=. "$path")
      [ "${headings["$path#${target#*'#'}"]:-}" ] || printf '%s\t%s: there is no such heading\n' "$page" "$target"
    fi
  done
}
verdicts links < <(links)
for page in docs/*.md; do
  [ "$page" = docs/README.md ] && continue
  verdict "docs/README.md has a link to $page" "$(grep -qF "](${page#docs/})" docs/README.md || echo none)"
done

# ---- names in backquotes ----

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
awk 'FNR == 1 { inside = 0 }
     /^```/ { inside = !inside; next }
     !inside { while (match($0, /`[^`]+`/)) { print FILENAME "\t" substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) } }' \
  "${pages[@]}" | sort -u >"$work/quoted"
# unknown LIST: the lines PAGE<TAB>NAME of standard input whose name is not in the list
unknown() { awk -F '\t' 'NR == FNR { known[$0] = 1; next } !($2 in known) && !seen[$0]++' "$1" -; }

# All files and folders by each of their suffixes: graph/pipeline/pass.c is pass.c too. These are not in the sources: files
# below build/, what install.md says is installed, and the reader's own files in aot.md and adding-a-pass.md. NAME
# stands for any name.
{
  find "${sources[@]}" docs README.md CHANGES.md LICENSE NOTICE -type f -print
  find "${sources[@]}" docs -type d -print -print | sed '2~2s,$,/,'
  printf '%s\n' note.c open.c fib.h graph/passes/strength.c tests/golden/strength.ir
} | awk '{ print; while (match($0, "/.")) { $0 = substr($0, RSTART + 1); print } }' >"$work/files"
tab=$'\t'
verdicts files < <(grep -E "$tab"'([A-Za-z0-9_./-]+\.(c|h|def|md|hpp|cpp|hia|ir|sh|cmake|txt)|[A-Za-z][A-Za-z0-9_./-]*/[A-Za-z_./-]*)$' \
  "$work/quoted" | grep -Ev "$tab.*NAME|${tab}build/|^docs/install.md$tab(bin|lib|share)/" | unknown "$work/files")

# `hia_build_NAME` and `hiaL_emit_NAME` are made from the rows of the op table, and so are kernels; an N or a `_`
# at the end stands for several names.
identifiers='hia[A-Z]?_[A-Za-z0-9_]+|HIA_[A-Z0-9_]+'
grep -rohIE "\\b($identifiers)" "${sources[@]}" | sort -u >"$work/identifiers"
verdicts identifiers < <(while IFS=$tab read -r page text; do
  while [[ $text =~ (^|[^A-Za-z0-9_])($identifiers)(.*)$ ]]; do
    printf '%s\t%s\n' "$page" "${BASH_REMATCH[2]}"
    text=${BASH_REMATCH[3]}
  done
done <"$work/quoted" | grep -Ev "$tab(hia_build_[a-z0-9]+|hiaR_k_[A-Z]+|.*_(NAME|N)?)$" | unknown "$work/identifiers")

# ---- comments ----

verdict 'comments have a subject: none begins with Of, The same or Its' "$(grep -rnE '^ *(/\*|//) (Of|The same|Its)\b' \
  --include='*.[chS]' --include='*.hpp' --include='*.def' frontend graph lower jit runtime include tools)"

# ---- the glossary ----

# All words in small letters, with single spaces between the parts of compound ones, so that a word is found without a
# regular expression: of eighty such expressions each took a tenth of a second.
find "${sources[@]}" docs README.md -type f -not -name glossary.md -print0 | xargs -0 cat | tr 'A-Z_-' 'a-z  ' >"$work/words"
unused() {
  local term
  grep '^| [A-Za-z]' docs/glossary.md | grep -v '^| word |' | cut -d'|' -f2 | tr ',' '\n' |
    sed 's/^ *//; s/ *$//' | tr 'A-Z_-' 'a-z  ' | while IFS= read -r term; do
      grep -aqF -e "$term" "$work/words" || echo "$term"
    done
}
verdict 'docs/glossary.md explains only words that are used' "$(unused)"
verdict 'docs/glossary.md gives each word one meaning' "$(grep '^| [A-Za-z]' docs/glossary.md | grep -v '^| word |' |
  cut -d'|' -f2 | tr ',' '\n' | sed 's/^ *//; s/ *$//' | sort | uniq -d)"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
