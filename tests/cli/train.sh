#!/usr/bin/env bash
# Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
# hiaton train: what it learns, writes and prints; that a training which was stopped, however that happened, and has
# been resumed writes what one writes that was not stopped; and what it refuses.
#
#   train.sh HIATON SOURCE-DIR [--no-native]
#
# HIA_KILLS=100: a training is killed so many times (10).
set -u
export HIATON_CACHE=off # what a run compiles is what the test sees
hang=$((300 * ${HIA_TEST_SLOWNESS:-1})) # seconds after which a command is taken to hang
hiaton=$1
program=$(realpath "$2")/tests/cli/train.hia
[ "${3:-}" = --no-native ] && engine=interp || engine=jit
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

passed=0 failed=0
ok() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
  shift
  printf '  %s\n' "$@"
}
verdict() { # WHAT IS EXPECTED
  if [ "$2" = "$3" ]; then ok; else bad "$1" "is:  ${2:0:600}" "not: ${3:0:600}"; fi
}
same() { # WHAT FILE FILE
  if cmp "$2" "$3" >cmp.out 2>&1; then ok; else bad "$1" "$(cat cmp.out)"; fi
}
train() { timeout "$hang" "$hiaton" train "$program" --engine $engine "$@" >out 2>err </dev/null; }

# t WHAT STATUS PATTERN-OF-OUTPUT PATTERN-OF-ERRORS WORD...; '' is nothing at all, and . anything
t() {
  local what=$1 status=$2 out=$3 err=$4
  shift 4
  train "$@"
  fits "$what" $? "$status" "$out" "$err" "train $*"
}
fits() { # WHAT STATUS EXPECTED PATTERN-OF-OUTPUT PATTERN-OF-ERRORS COMMAND
  local got_out got_err
  got_out=$(<out)
  got_err=$(<err)
  if [ "$2" != "$3" ]; then
    bad "$1" "$6" "exit status $2 instead of $3" "${got_err:0:600}"
  elif [ "$4" != . ] && ! [[ $got_out =~ ${4:-^$} ]]; then
    bad "$1" "$6" "printed: ${got_out:0:600}" "no '$4' in it"
  elif [ "$5" != . ] && ! [[ $got_err =~ ${5:-^$} ]]; then
    bad "$1" "$6" "errors: ${got_err:0:600}" "no '$5' in it"
  else
    ok
  fi
}
holds() { # WHAT A < B
  if awk -v a="$2" -v b="$4" 'BEGIN { exit !(a != "" && b != "" && a + 0 < b + 0) }'; then ok; else bad "$1" "not $2 < $4"; fi
}
value() { sed -nE "s/^[^;]*[ ]$1 ([-0-9.e+]+).*/\1/p" out; } # of the last epoch, in the summary
logged() { sed -nE "s/.*\"$1\": ([^,}]+).*/\1/p" "$2"; }     # of all epochs
clear() { rm -f m.* n.*; }
# Log and plot without what takes time.
timeless() { sed -E 's/"(compile_seconds|seconds|examples_per_second)": [^,]*, //g; s/"run": "[0-9a-f]*"//' "$1"; }

# ---- the examples: phrases of two words, and those with `not` before them ----

for word in good fine bad poor; do
  case $word in good | fine) label=1 ;; *) label=0 ;; esac
  for noun in film plot cast; do
    phrase="($label ($label $word) ($label $noun))"
    printf '%s\n(%d (%d not) %s)\n' "$phrase" $((1 - label)) $((1 - label)) "$phrase"
  done
done >train.ptb
sed -n '2~3p' train.ptb >dev.ptb
printf '%s\n' good film not fine plot bad cast poor >words
on=(--data train.ptb --vocab words)
both=("${on[@]}" --dev dev.ptb --metric right)

# ---- what it learns ----

for optimizer in 'sgd --momentum 0.9 --lr 0.1' 'adagrad --lr 0.2' 'adam --lr 0.03' 'adamw --lr 0.03 --decay 0.001'; do
  # shellcheck disable=SC2086 # words
  t "it learns: $optimizer" 0 '^60 epochs, 360 steps: loss [^;]*$' '
epoch 60 of 60: loss .*examples/s' "${on[@]}" --epochs 60 --batch 4 --optimizer $optimizer
  holds "the loss falls below a tenth: $optimizer" "$(value loss)" '<' 0.069
done
t 'a batch of all' 0 '^3 epochs, 3 steps' '^the trained params are not kept: there is no --save' "${on[@]}" --epochs 3 --batch 1000
t 'a last batch that is smaller' 0 '^2 epochs, 10 steps' . "${on[@]}" --epochs 2 --batch 5
t 'one epoch of one step' 0 '^1 epoch, 1 step: ' . "${on[@]}" --epochs 1
"$hiaton" run "$program" --engine $engine --fn names @train.ptb --vocab words -o train.hiav
train "${on[@]}" --epochs 2 --batch 7
mv out expected
train --data train.hiav --epochs 2 --batch 7
same 'examples from a saved array' out expected
t 'a vocabulary that is made' 0 . . --data train.ptb --build-vocab made --epochs 1
verdict 'all its words' "$(sort made)" "$(sort words)"
t 'a loss that is a sum, per example' 0 . . "${on[@]}" --loss total --per-example --lr 1e-9 --epochs 1 --batch 5
mean=$(value loss)
t 'a loss that is a mean' 0 . . "${on[@]}" --lr 1e-9 --epochs 1 --batch 5
holds 'they are about the same' "$(awk -v a="$mean" -v b="$(value loss)" 'BEGIN { print (a - b) * (a - b) }')" '<' 1e-9

# ---- the best params ----

clear
t 'the best by a metric' 0 '^12 epochs, 36 steps: loss [0-9.e-]+, dev loss [0-9.e-]+, right [0-9]+; best: epoch [0-9]+, right [0-9]+$' \
  ', right [0-9]+, the best; ' "${both[@]}" --epochs 12 --batch 8 --lr 0.3 --seed 3 --save m.safetensors --log m.jsonl
best=$(logged metric m.jsonl | sort -g | tail -n 1)
verdict 'it is in the summary' "$(sed 's/.*right //' out)" "$best"
verdict 'and what was saved' "$("$hiaton" run "$program" --engine $engine --fn right @dev.ptb --vocab words --params m.safetensors)" "$best"
clear
t 'the best by the loss' 0 '; best: epoch [0-9]+, dev loss [0-9.e-]+$' . "${on[@]}" --dev dev.ptb --epochs 12 --batch 8 --lr 0.3 \
  --save m.safetensors --log m.jsonl
best=$(logged dev_loss m.jsonl | sort -g | head -n 1)
saved=$("$hiaton" run "$program" --engine $engine --fn loss @dev.ptb --vocab words --params m.safetensors)
holds 'it is what was saved' "$(awk -v a="$best" -v b="$saved" 'BEGIN { print (a - b) * (a - b) }')" '<' 1e-12
clear
t 'without --dev the last params' 0 . . "${on[@]}" --epochs 3 --batch 8 --save m.safetensors
t 'one epoch more' 0 '^4 epochs, 12 steps' . "${on[@]}" --epochs 4 --batch 8 --save m.safetensors --resume
mv m.safetensors n.safetensors
rm m.safetensors.checkpoint
t 'four epochs at once' 0 '^4 epochs, 12 steps' . "${on[@]}" --epochs 4 --batch 8 --save m.safetensors
same 'are the same' m.safetensors n.safetensors
t 'params to begin with' 0 . . "${on[@]}" --params m.safetensors --epochs 1 --lr 1e-9
begun=$(value loss)
t 'what a seed makes' 0 . . "${on[@]}" --seed 7 --epochs 1 --lr 1e-9
holds 'are better' "$begun" '<' "$(value loss)"
clear
t 'a metric of f64, an archive of NumPy' 0 ', share 0[.][0-9]+' . "${on[@]}" --dev dev.ptb --metric share --epochs 1 --save m.npz

# ---- rates ----

rates() { # WHAT EXPECTED WORD...
  local what=$1 expected=$2
  clear
  shift 2
  t "$what" 0 . . "${on[@]}" --batch 4 --epochs 2 --log m.jsonl "$@"
  verdict "its rates: $what" "$(logged rate m.jsonl | awk '{ printf "%.6f ", $1 }')" "$expected"
}
rates 'a constant rate' '0.120000 0.120000 ' --lr 0.12
rates 'one that falls' '0.070000 0.010000 ' --lr 0.12 --schedule linear
rates 'one that falls as a cosine' '0.075529 0.002044 ' --lr 0.12 --schedule cosine
rates 'one that rises' '0.051429 0.102857 ' --lr 0.12 --warmup 14 --schedule cosine
rates 'one that rises and falls' '0.093333 0.013333 ' --lr 0.12 --warmup 3 --schedule linear

# ---- the order of the examples ----

# Step by step w falls by 1, and the loss of example 1 is not a number once w is below a limit: so the error says where
# the example is.
cat >order.hia <<'END'
type N = N(x: i32, limit: f32)
param w: f32[1] = zeros()
fn one(n: N) -> f32 = match n { N(x, limit) => if x == 1 and w[0] < limit then log(w[0]) else w[0] }
fn loss(ns: [N]) -> f32 = sum([one(n) for n in ns])
END
order() { # SEED LIMIT WHERE
  printf 'N(%d, %s), ' 0 "$2" 1 "$2" 2 "$2" 3 "$2" 4 "$2" 5 "$2" 6 "$2" | sed "s/.*/[&N(7, $2)]/" >order.txt
  "$hiaton" train order.hia --data order.txt --batch 1 --optimizer sgd --lr 1 --epochs 3 --engine interp --seed "$1" >out 2>err
  fits "where an example is, seed $1" $? 1 '' "is not a number in $3" "--seed $1"
}
order 0 0.5 'epoch 1, batch 8' # 6 0 4 3 7 2 5 1
order 0 -7.5 'epoch 2, batch 7' # 2 5 7 3 4 6 1 0
order 7 0.5 'epoch 1, batch 6' # 7 4 3 2 5 1 6 0

# ---- log and plot ----

clear
t 'a log and a plot' 0 . . "${both[@]}" --epochs 5 --batch 8 --log m.jsonl --plot m.svg
if python3 -c '
import json, sys, xml.etree.ElementTree as tree
lines = [json.loads(line) for line in open("m.jsonl")]
names = ["epoch", "steps", "loss", "dev_loss", "metric", "best", "rate", "norm", "compile_seconds", "seconds", "examples_per_second", "run"]
assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5]
assert [line["steps"] for line in lines] == [3, 6, 9, 12, 15]
assert [line["compile_seconds"] > 0 for line in lines] == [True, False, False, False, False]
assert all(list(line) == names for line in lines) and lines[0]["best"] is True and lines[0]["rate"] == 0.001
svg = tree.parse("m.svg").getroot()
assert svg.tag == "{http://www.w3.org/2000/svg}svg"
assert len([p for p in svg if p.get("class") == "curve" and "L" in p.get("d")]) == 3
assert len([c for c in svg if c.tag.endswith("circle")]) == 15
assert "right" in [t.text for t in svg]' 2>python.err || ! command -v python3 >/dev/null; then
  ok
else
  bad 'what they have' "$(<python.err)" "$(<m.jsonl)"
fi
printf '{"epoch": 1}\nhalf' >m.jsonl
t 'a log that goes on, without a line that is half' 0 . . "${on[@]}" --epochs 2 --log m.jsonl
verdict 'its lines' "$(cut -c 1-12 m.jsonl)" "$(printf '{"epoch": %s\n' '1}' 1, 2,)"
t 'no metric, no dev: nulls' 0 . . "${on[@]}" --epochs 1 --log n.jsonl
verdict 'no numbers' "$(logged dev_loss n.jsonl) $(logged metric n.jsonl) $(logged best n.jsonl)" 'null null false'

# ---- where the time goes ----

clear
t 'the compiler, apart' 0 . '^epoch 1 of 2: [^
]* examples/s, and [0-9.]+ s to compile
epoch 2 of 2: [^
]* examples/s
parse  .*
run  .* losses and gradients
update .* the optimizer
dev  .* loss and metric of --dev
write  .* params and checkpoints
nodes [1-9]' "${both[@]}" --epochs 2 --batch 8 --save m.safetensors --time
clear
t 'a timeline' 0 . . "${on[@]}" --epochs 2 --batch 8 --trace m.json
if python3 -c '
import json
events = json.load(open("m.json"))["traceEvents"]
runs = [e for e in events if e["ph"] == "B" and e["name"] == "run"]
assert len(runs) == 6, len(runs)
assert any(e.get("cat") == "compile" for e in events)' 2>python.err || ! command -v python3 >/dev/null; then
  ok
else
  bad 'what it has' "$(<python.err)" "$(head -c 600 m.json)"
fi
t 'a timeline that cannot be written' 1 '' 'error.io.: the trace no/m.json could not be written' "${on[@]}" --trace no/m.json
clear
t 'the timeline of a failure' 1 . 'error.div-zero' "${on[@]}" --loss fails --batch 3 --trace m.json
if [ -s m.json ]; then ok; else bad 'it is there' "$(ls)"; fi

# ---- the same bits ----

bits() { # NAME WORD...: two further epochs make more than the order of threads
  clear
  train "${both[@]}" --epochs 4 --batch 5 --lr 0.05 --clip 0.5 --save m.safetensors "${@:2}" || bad "a training: ${*:2}" "$(<err)"
  mv m.safetensors "$1"
  mv out "$1.out"
}
bits once --threads 1
bits threads --threads 2
same 'on two threads' once threads
same 'its summary' once.out threads.out
bits interp --engine interp
same 'in the interpreter' once interp
bits seeded --seed 1
if cmp -s once seeded; then bad 'another seed is the same'; else ok; fi

# ---- stopped and resumed ----

long=("${both[@]}" --batch 5 --lr 0.05 --seed 9 --epochs 40 --checkpoint-steps 2 --engine interp)
whole() { # WHAT: the files are those of a training that was not stopped
  same "$1: params" n.safetensors m.safetensors
  same "$1: plot" n.svg m.svg
  same "$1: summary" out m.out
  timeless m.jsonl >m.lines
  timeless n.jsonl >n.lines
  same "$1: log" n.lines m.lines
  if [ "$(echo n.*)" = 'n.jsonl n.lines n.safetensors n.safetensors.checkpoint n.svg' ]; then ok; else bad "$1: files are left" "$(echo n.*)"; fi
}
clear
n_files=(--save n.safetensors --log n.jsonl --plot n.svg)
start=$EPOCHREALTIME
t 'a training that is not stopped' 0 . . "${long[@]}" --save m.safetensors --log m.jsonl --plot m.svg
end=$EPOCHREALTIME
mv out m.out
t 'resumed from nothing' 0 . '^there is no checkpoint n.safetensors.checkpoint yet: the training begins' "${long[@]}" "${n_files[@]}" --resume
whole 'resumed from nothing'
t 'resumed at its end' 0 . '^$' "${long[@]}" "${n_files[@]}" --resume
whole 'resumed at its end'

rm n.*
for ((kill = 0; kill < ${HIA_KILLS:-10}; kill++)); do
  # From a moment after the begin on to a third of the whole.
  delay=$(awk -v s="${start/,/.}" -v e="${end/,/.}" -v r=$RANDOM 'BEGIN { printf "%.4f", 0.01 + (e - s) * r / 32768 / 3 }')
  timeout -s KILL "$delay" "$hiaton" train "$program" "${long[@]}" "${n_files[@]}" --resume >out 2>err </dev/null
done 2>/dev/null
t 'resumed after kills' 0 . . "${long[@]}" "${n_files[@]}" --resume
rm -f n.*.part # of a file system on which a file needs a name, or of the moment in which it gets one
whole 'resumed after kills'

for signal in TERM INT HUP; do
  rm n.*
  # The first checkpoint is there soon.
  timeout --preserve-status "$hang" "$hiaton" train "$program" "${long[@]}" --epochs 100000 "${n_files[@]}" >out 2>err </dev/null &
  for ((i = 0; i < 20 * hang; i++)); do [ -e n.safetensors.checkpoint ] && break; sleep 0.05; done
  kill -$signal $! # timeout passes it on
  wait $! 2>/dev/null
  verdict "SIG$signal" $? $((128 + $(kill -l $signal)))
  verdict "SIG$signal: no files are left" "$(echo n.*.part)" 'n.*.part'
  t "resumed after SIG$signal" 0 . . "${long[@]}" "${n_files[@]}" --resume --epochs 40
done

# ---- what fails, and what is then there ----

t 'a failure of the program' 1 '' 'train.hia:[0-9]+:[0-9]+: error.div-zero.: division by zero.*fn fails.*in fails at ' \
  "${on[@]}" --loss fails --batch 3
sed '4s/^(./(7/' train.ptb | head -6 >bad.ptb
t 'a failure in a batch' 1 '' 'error.range.*called from total at .*train.hia:[0-9:]+, element [0-5].*batch 1 of epoch 1 has the examples .* of the data' \
  --data bad.ptb --vocab words --batch 6
element=$(sed -nE 's/.*called from total at .*, element ([0-9]+)$/\1/p' err)
examples=$(sed -nE 's/.*has the examples (.*) of the data.*/\1/p' err)
verdict 'which example that is' "$(cut -d, -f$((element + 1)) <<<"$examples" | tr -d ' ')" 3
clear
t 'a loss that is no number' 1 '' '^epoch 1 of 10: .*error.diverged.: the loss is not a number in epoch 2, batch 1
 *= hint: --trap-nan shows where NaN begins; a smaller --lr, or --clip, may help; the last checkpoint is kept: m.safetensors.checkpoint$' \
  "${on[@]}" --loss steep --optimizer sgd --lr 3 --save m.safetensors
clear
t 'which is found by a trap' 1 '' 'epoch 1 of 10: .*train.hia:[0-9]+:[0-9]+: error.nan.: NaN appeared.*in steep at .*train.hia:' \
  "${on[@]}" --loss steep --optimizer sgd --lr 3 --trap-nan
t 'a log on a full disk' 1 '' 'error.io.: cannot write /dev/full: No space left on device' "${on[@]}" --log /dev/full

# A disk that is full after the first checkpoints, which grow.
clear
(
  trap '' XFSZ
  ulimit -f 6
  train "${long[@]}" --save n.safetensors --resume
)
fits 'a full disk' $? 1 '' 'error.io.: ' 'a training on a full disk'
t 'what it has left goes on' 0 . '^epoch [1-9]' "${long[@]}" --save n.safetensors --resume
t 'one that has not been full' 0 . . "${long[@]}" --save m.safetensors
same 'are the same' m.safetensors n.safetensors

# ---- without checkpoints ----

clear
t 'no checkpoint' 0 . . "${on[@]}" --epochs 2 --batch 8 --save m.safetensors --no-checkpoint
verdict 'what is left' "$(echo m.*)" m.safetensors
t 'once more' 0 . . "${on[@]}" --epochs 2 --batch 8 --save n.safetensors
same 'the same params' m.safetensors n.safetensors
t 'over work that can be resumed' 2 '' 'there is a checkpoint already, n.safetensors.checkpoint' \
  "${on[@]}" --save n.safetensors --no-checkpoint
for word in --checkpoint=n.checkpoint --resume --checkpoint-steps=2; do
  t "$word" 2 '' "${word%%=*} is for a checkpoint, and --no-checkpoint leaves it out" "${on[@]}" --save m.safetensors --no-checkpoint $word
done
t 'nothing to leave out' 2 '' '--no-checkpoint has no effect: there is none without --save' "${on[@]}" --no-checkpoint

# ---- checkpoints that do not fit ----

clear
args=("${both[@]}" --batch 8 --epochs 2 --save m.safetensors)
t 'a checkpoint' 0 . . "${args[@]}"
cp m.safetensors.checkpoint before
t 'one that exists' 2 '' '^error.argument.: there is a checkpoint already, m.safetensors.checkpoint
 *= hint: --resume continues from it; to begin anew, remove it$' "${args[@]}"
made='error.argument.: the checkpoint m.safetensors.checkpoint was made with'
t 'another batch' 2 '' "$made --batch 8, not 9" "${args[@]}" --resume --batch 9
t 'another rate' 2 '' "$made --lr 0.001, not 0.01" "${args[@]}" --resume --lr 0.01
t 'another seed' 2 '' "$made --seed 0, not 1" "${args[@]}" --resume --seed 1
t 'another metric' 2 '' "$made --metric right, not share" "${args[@]}" --resume --metric share
t 'another schedule' 2 '' "$made --schedule constant, not cosine" "${args[@]}" --resume --schedule cosine
t 'other examples' 2 '' "$made other contents of --data" "${args[@]}" --resume --data dev.ptb
t 'without --dev' 2 '' "$made --dev
" "${on[@]}" --batch 8 --epochs 2 --save m.safetensors --resume
t 'another optimizer' 2 '' 'the checkpoint is of adam, the trainer.s optimizer is sgd
 *= hint: with the same options' "${args[@]}" --resume --optimizer sgd
sed 's/fn loss.*/fn loss(trees: [Tree]) -> f32 = 2.0 * total(trees)/' "$program" >other.hia
"$hiaton" train other.hia --engine $engine "${args[@]}" --resume >out 2>err
fits 'another program' $? 2 '' "$made other contents of FILE" 'another program'
{
  echo '# with a comment'
  cat "$program"
} >other.hia
"$hiaton" train other.hia --engine $engine "${args[@]}" --resume >out 2>err
fits 'the same with a comment' $? 0 . '^$' 'the same with a comment'
same 'nothing has changed' before m.safetensors.checkpoint
# The number of bytes of what `hiaton train` keeps stands before them: without the last line they are cut.
perl -0777 -pe 's/(.{8})(?=hiaton train \d)/pack("q<", unpack("q<", $1) - 4)/se' before >m.safetensors.checkpoint
if cmp -s before m.safetensors.checkpoint; then bad 'a checkpoint that is cut' 'perl' 'nothing was changed' ''; fi
t 'a checkpoint that is cut' 2 '' 'was not written by this version' "${args[@]}" --resume
echo nothing >m.safetensors.checkpoint
t 'one that is none' 2 '' 'm.safetensors.checkpoint' "${args[@]}" --resume
cp m.safetensors m.safetensors.checkpoint
t 'params that are no checkpoint' 2 '' 'm.safetensors.checkpoint' "${args[@]}" --resume

# ---- words that are wrong ----

clear
t 'no data' 2 '' '--data is missing'
t 'no such data' 2 '' 'cannot read nosuch.ptb' --data nosuch.ptb
: >empty.ptb
t 'no examples' 2 '' 'error.argument.: empty.ptb has no examples' --data empty.ptb
t 'no such loss' 2 '' 'there is no function .nosuch.*
 *= hint: --loss NAME names another function' "${on[@]}" --loss nosuch
t 'a loss of one example' 2 '' '^error.argument.: .of_one. takes Tree, not an array of examples
 *= hint: it is .of_one.t: Tree. -> f32.$' "${on[@]}" --loss of_one
t 'a loss of two arrays' 2 '' '.of_two. takes 2 arguments, not one array of examples' "${on[@]}" --loss of_two
t 'a generic loss' 2 '' '.generic. is generic: its parameter needs a type' "${on[@]}" --loss generic
t 'a loss that is no float' 2 '' '.right. returns i32, not f32 or f64' "${on[@]}" --loss right
t 'a metric that is no number' 2 '' '.names. returns .Tree., not a number' "${both[@]}" --metric names
t 'a metric of other examples' 2 '' '.of_others. takes other examples than .loss.' "${both[@]}" --metric of_others
t 'a metric without --dev' 2 '' '--metric is computed of the examples of --dev' "${on[@]}" --metric right
for word in --lr=0 --lr=x --momentum=1 --beta1=-1 --beta2=1 --epsilon=-1 --decay=inf --clip=0 --epochs=0 --batch=0 --warmup=x \
  --checkpoint-steps=0 --optimizer=sdg --schedule=sine --plot=m.png --save=m.txt --save=.npz --checkpoint=m.txt --data=@train.ptb; do
  t "$word" 2 '' "^hiaton train: ${word%%=*}: .${word#*=}. should be " "${on[@]}" $word
done
t 'momentum of adam' 2 '' '--momentum is for --optimizer sgd' "${on[@]}" --momentum 0.9
t 'betas of sgd' 2 '' '--beta1 is for --optimizer adam and adamw' "${on[@]}" --optimizer sgd --beta1 0.9
t 'epsilon of sgd' 2 '' '--epsilon has no effect with --optimizer sgd' "${on[@]}" --optimizer sgd --epsilon 1
t 'nothing to resume' 2 '' '--resume is for a checkpoint: there is neither --checkpoint nor --save' "${on[@]}" --resume
t 'words for no trees' 2 '' '--vocab is for trees: neither --data nor --dev is FILE.ptb' --data train.hiav --vocab words
t 'a file that is read' 2 '' '--save p.npz would replace the file of --params' "${on[@]}" --params p.npz --save p.npz
t 'two files that are one' 2 '' '--save and --checkpoint are one file' "${on[@]}" --save m.safetensors --checkpoint m.safetensors
t 'a folder that does not exist' 1 '' 'error.io.: cannot write no/m.safetensors' "${on[@]}" --save no/m.safetensors
t 'an argument' 2 '' '.3. is one word too many' "${on[@]}" 3

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
