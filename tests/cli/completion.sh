#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Completion of hiaton's command line: the script for bash is sourced, and its function called as by bash;
# the script for zsh is run if zsh is installed, with the functions of zsh's own completion replaced.
#
#   completion.sh HIATON
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
verdict() { # WHAT IS EXPECTED
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n  is:  %s\n  not: %s\n' "$1" "$2" "$3"
  fi
}

mkdir "$work/files" "$work/files/folder"
touch "$work/files/a.hia" "$work/files/b c.hia" "$work/files/other.o" "$work/files/text"

# ---- bash ----

"$hiaton" completion bash >"$work/hiaton.bash" || exit 1
verdict 'bash reads it' "$(bash -n "$work/hiaton.bash" 2>&1)" ''
cd "$work/files" || exit 2
# shellcheck disable=SC1091
source "$work/hiaton.bash"
verdict 'it is what completes hiaton' "$(complete -p hiaton)" 'complete -F _hiaton hiaton'

# The completions of a line, in alphabetical order. Its words are split as by bash, and the last one is
# completed.
completions() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
  _hiaton hiaton "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | paste -sd' '
}
c() { # EXPECTED WORD...
  verdict "${*:2}<TAB>" "$(completions "${@:2}")" "$1"
}
commands=$("$hiaton" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
c "--help --version $(printf '%s\n' "$commands" | LC_ALL=C sort | paste -sd' ')" hiaton ''
c 'bench build' hiaton b
c '--version' hiaton --v
# For every command the options that --help lists are completed.
for command in $commands; do
  c "$("$hiaton" "$command" --help | grep -oE '^  -[^ ]+' | tr -d ' ' | LC_ALL=C sort | paste -sd' ')" hiaton "$command" -
done
c '--threads --time --timeout --trace --trap-nan' hiaton run --t
c '--threads --time --timeout --trace --trap-nan' hiaton run a.hia 5 --t
c 'interp' hiaton run --engine i
c 'jitdump map' hiaton run --perf ''
c 'auto expand interp jit' hiaton run --engine ''
c 'interp' hiaton run --engine = i
c 'auto expand interp jit' hiaton run --engine =
c 'jit,auto jit,expand jit,interp jit,jit' hiaton bench --engine jit,
c 'jit,expand,interp' hiaton bench --engine jit,expand,in
c 'llvm llvm-opt' hiaton dump a.hia --stage ll
c 'dot' hiaton dump --format d
c "$("$hiaton" dump --help | sed -n '/passes, in order/,$s/^  \([^ ]*\) .*/\1/p' | grep '^fold' | LC_ALL=C sort | paste -sd' ')" \
  hiaton dump --after fold
c 'all,tag all,tail' hiaton run --no-pass all,ta
c '0 1 2 3' hiaton build --opt ''
c 'a.hia b c.hia folder' hiaton run ''
c 'a.hia' hiaton run a
c 'b c.hia' hiaton run --engine interp b
c 'a.hia b c.hia folder' hiaton run --engine = interp ''
c 'a.hia b c.hia folder' hiaton run -- ''
c '' hiaton run -- -
c '' hiaton run a.hia ''
c '' hiaton run --fn ''
c '' hiaton check a.hia ''
c 'text' hiaton check t
c 'folder other.o' hiaton build a.hia --exe ''
c 'a.hia b c.hia folder folder other.o text' hiaton build -o ''
c 'a.hia b c.hia folder folder other.o text' hiaton run --trace ''
c 'bash zsh' hiaton completion ''
c 'bash' hiaton completion b
c "$(printf '%s\n' "$commands" | LC_ALL=C sort | paste -sd' ')" hiaton help ''
c '' hiaton help run ''
c 'E0301 E0302 E0303 E0304 E0305 E0306 E0307 E0308 E0309' hiaton explain E030
c 'div-overflow div-zero' hiaton explain div
c 'clear list size verify' hiaton cache ''
c '' hiaton nosuch -

# ---- zsh ----

"$hiaton" completion zsh >"$work/_hiaton" || exit 1
verdict 'it says what it completes' "$(head -n 1 "$work/_hiaton")" '#compdef hiaton'
zsh=$(command -v zsh) || zsh=
if [ -n "$zsh" ]; then
  verdict 'zsh reads it' "$("$zsh" -n "$work/_hiaton" 2>&1)" ''
  # The specifications that _arguments gets for a command.
  specifications() {
    "$zsh" -f -c '
      compdef() { print "compdef $*" }
      _arguments() { print -rl -- "$@" }
      _describe() { print -rl -- "${(P@)4}" }
      _values() { print -rl -- "${@:2}" }
      source $1
      words=("${@:2}") CURRENT=$(($# - 1))
      _hiaton' zsh "$work/_hiaton" "$@"
  }
  verdict 'commands in zsh' "$(specifications hiaton '' | sed -n 's/^\([a-z-]*\):.*/\1/p')" "$commands"
  verdict 'it registers itself' "$(specifications hiaton '' | head -n 1)" 'compdef _hiaton hiaton'
  for command in $commands; do
    verdict "options of $command in zsh" \
      "$(specifications hiaton "$command" '' | sed -nE 's/^(\*|\(- \*\))?(-[a-z0-9-]+)[=+]?\[.*/\2/p' | LC_ALL=C sort)" \
      "$("$hiaton" "$command" --help | grep -oE '^  -[^ ]+' | tr -d ' ' | LC_ALL=C sort)"
  done
  verdict 'an engine in zsh' "$(specifications hiaton run '' | grep -c -e '^--engine=\[.*\]:NAME:( jit interp expand auto)$')" 1
  verdict 'a program in zsh' "$(specifications hiaton run '' | grep -c -F '1:FILE:_files -g "*.hia"')" 1
else
  skipped=$((skipped + 1))
  echo 'skipped: completion in zsh, which is not installed'
fi

# ---- the command ----

wrong() { # PATTERN WORD...
  "$hiaton" completion "${@:2}" >"$work/out" 2>"$work/err"
  verdict "completion ${*:2}" "$? $(grep -c -e "$1" "$work/err") $(cat "$work/out")" '2 1 '
}
wrong 'SHELL is missing: bash or zsh'
wrong '`fish` should be bash or zsh' fish
wrong '`zsh` is one word too many' bash zsh

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
