#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# The models that have no treebank learn what examples/models/generated.hia makes: the loss of all examples falls below a
# tenth of what it was. They are small here; docs/training.md trains them as they are.
#
#   learn.sh HIATON SOURCE-DIR [--no-native]
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hiaton=$(realpath "$1")
models=$(realpath "$2")/examples/models
[ "${3:-}" = --no-native ] && engine=interp || engine=jit
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0

loss() { # MODEL DATA OPTION...
  "$hiaton" run "$1.hia" --engine $engine --fn loss "@$2.hiav" "${@:3}"
}

# learns MODEL DATA EPOCHS OPTION...: 60 examples, from the same params
learns() {
  local before after
  sed -E 's/^const (HIDDEN|EMBEDDING) = [0-9]+/const \1 = 16/; s/^const TAGS = [0-9]+/const TAGS = 27/; s/^const WORDS = [0-9]+/const WORDS = 100/' \
    "$models/$1.hia" >"$1.hia"
  "$hiaton" run "$models/generated.hia" --engine $engine --fn "$2" 60 1 -o "$2.hiav" || failed=1
  rm -f "$1.safetensors"*
  before=$(loss "$1" "$2" --seed 7)
  "$hiaton" train "$1.hia" --engine $engine --data "$2.hiav" --per-example --epochs "$3" --batch 5 --optimizer adam --lr 0.02 \
    --seed 7 --save "$1.safetensors" "${@:4}" 2>err >out || cat err
  after=$(loss "$1" "$2" --params "$1.safetensors")
  printf '%s: the loss of %s was %s and is %s\n' "$1" "$2" "$before" "$after"
  awk -v a="$after" -v b="$before" 'BEGIN { exit !(a != "" && a + 0 >= 0 && a + 0 < b / 10) }' || failed=1
}

learns bilstm_tagger sentences 10
learns top_down_tree_lstm trees 20
learns character_tagger spelled 20
learns arc_hybrid_parser parses 20
learns arc_hybrid_parser parses 20 --loss explored
learns spinn brackets 20
learns attention translations 100
exit $failed
