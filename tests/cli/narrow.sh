#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# Casts to 8 and 16 bits. A size, a count or a place that is cut becomes another one, and the compiler is silent
# about it, because the cast says that it is meant. So numbers are narrowed by hiaR_u8 and hiaR_u16 (runtime/base/base.h),
# which let none pass that does not fit, and each cast that is left is in the list below, with the reason why it is
# right. Casts in places where the list says nothing make this test fail, and so do lines that no cast needs.
#
#   narrow.sh SOURCE-DIR
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
cd "$1" || exit 2
folders='runtime graph frontend lower jit tools'

# FILE, and how what is cast begins.
allowed=$(grep -Ev '^(#|$)' <<'END'
# The number of an op, of a kind, of a dtype or of another enum, all of which have fewer.
frontend/build/build.c op
frontend/build/draft.c kind
frontend/build/tensor.c op
frontend/syntax/lex.c d
frontend/syntax/lex.c HIA_TOK_NAME
frontend/syntax/lex.c (HIA_FIRST_KEYWORD + tok.symbol)
frontend/syntax/lex.c punctuation(
frontend/syntax/parse.c kind
frontend/syntax/parser.c kind
frontend/syntax/parse_expr.c (s->tok.kind - HIA_TOK_BOOL)
frontend/syntax/parse_type.c (s->tok.kind - HIA_TOK_BOOL)
graph/flatten/add.c kind
graph/flatten/image.c spec->dtype
graph/flatten/image.c spec->init
graph/flatten/op.c dtype
graph/grad/read_tape.c r.op
graph/ir/build.c kind
graph/ir/build.c op
graph/passes/fold.c op
graph/read/function.c kind
graph/passes/tag.c kind
graph/ir/type.c entry->repr
graph/ir/type.c type
graph/ir/type.c types->entries.data[type - HIA_FIRST_TYPE].repr
lower/ops/data.c hiaR_repr(
runtime/image/check_types.c repr
runtime/image/check_types.c type
runtime/image/decode.c hiaR_rule_result(
runtime/image/schedule.c op
runtime/heap/tensor.c kind
runtime/tensor/trap.c op_of(
runtime/value/nodes.c entry->element
runtime/format/read.c entry->element
runtime/format/save.c hiaR_repr(
runtime/value/scan.c d
# Bits, of which there are no others.
graph/analysis/effects.c (HIA_E_HOST
graph/analysis/effects.c all
graph/grad/sizes.c (node->op == HIA_OP_DIM
graph/analysis/sizes.c (1u << k)
jit/timeline/timeline.c flag
runtime/heap/tensor.h ((uint32_t)dtype << 8 | rank)
# Bytes and halves of what they are cut from.
jit/llvm/frames.c (how >> 16)
jit/llvm/frames.c (how >> 24)
jit/llvm/frames.c hiaJ_fixed(&header
jit/llvm/frames.c how
runtime/base/base.h number
runtime/base/type.h word
runtime/interchange/convert.c (uint16_t)bits
runtime/interchange/convert.c (uint8_t)bits
runtime/interchange/convert.c bits
runtime/interchange/npz.c (at[0] | at[1] << 8)
runtime/native/values.c to->data[k]
runtime/param/random.c *name
# A counter that was filled by hiaR_u8, in the interpreter's inner loop.
runtime/interp/interp.c (*missing - action->to)
runtime/interp/interp.c action->u.imm
# Compared before.
lower/function/call.c (*parent + more)
# The host's own number, of an object that the host writes itself.
runtime/value/maker.c ctor
END
)

casts=$(grep -rnoE '\((u?int8_t|u?int16_t)\) ?[^ );,}][^;,}]*' --include='*.[ch]' $folders)
passed=0 failed=0
complain() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
}
declare -A is_used=()
while IFS= read -r cast; do
  file=${cast%%:*} of=${cast#*(*)}
  of=${of# } is_allowed=
  while read -r in begin; do
    [ "$in" = "$file" ] && [ "${of:0:${#begin}}" = "$begin" ] || continue
    is_allowed=yes
    is_used["$in $begin"]=yes
  done <<<"$allowed"
  if [ $is_allowed ]; then
    passed=$((passed + 1))
  else
    complain "$cast: hiaR_u8 and hiaR_u16 narrow numbers; if this is right as it is, narrow.sh says why"
  fi
done <<<"$casts"
while read -r in begin; do
  [ "${is_used["$in $begin"]-}" ] || complain "narrow.sh allows a cast of $begin in $in, where there is none"
done <<<"$allowed"

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" 0
[ "$failed" -eq 0 ]
