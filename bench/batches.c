/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/batches.h"

const char *const bench_mode_names[2] = {"inference", "training"};

bench_batches bench_batches_open_with(const bench_network *network, const bench_options *options) {
  bench_batches b = {.program = bench_network_open_with(network, options)};
  b.trainer = bench_work_trainer(b.program.function);
  return b;
}

bench_batches bench_batches_open(const bench_network *network, unsigned threads, hia_batching batch,
                                 bool reuse) {
  const bench_options options = {
      .kind = HIA_ENGINE_JIT, .threads = threads, .batch = batch, .reuse = reuse};
  return bench_batches_open_with(network, &options);
}

static void clear(bench_batches *b) {
  for (size_t i = 0; i < b->n; i++) hia_value_free(b->of[i]);
  b->n = 0;
}

void bench_batches_close(bench_batches *b) {
  clear(b);
  hia_trainer_free(b->trainer);
  bench_close(&b->program);
}

void bench_batches_set(bench_batches *b, hia_value *one) {
  clear(b);
  b->of[b->n++] = one;
  b->size = 1;
}

void bench_batches_cut_of(bench_batches *b, const hia_value *all, unsigned size) {
  hia_value *trees[BENCH_MAX_BATCHES];
  const hia_type_info *type = hia_function_param_type(b->program.function, 0);
  size_t n = hia_value_len(all);
  clear(b);
  b->size = size;
  for (size_t i = 0; i < n; i += size) {
    size_t len = n - i < size ? n - i : size;
    hia_error *error;
    for (size_t k = 0; k < len; k++) trees[k] = hia_value_part(all, i + k);
    bench_check(hia_value_array(b->program.engine, type, trees, len, &b->of[b->n++], &error),
                &error);
    for (size_t k = 0; k < len; k++) hia_value_free(trees[k]);
  }
}

void bench_batches_cut(bench_batches *b, const bench_network *network,
                       const bench_treebank *treebank, unsigned size) {
  hia_value *all = bench_network_inputs(network, &b->program, treebank);
  bench_batches_cut_of(b, all, size);
  hia_value_free(all);
}

bench_work bench_batches_work(const bench_batches *b, bench_act act) {
  return (bench_work){.act = act,
                      .function = b->program.function,
                      .trainer = b->trainer,
                      .args = b->of,
                      .n = b->n,
                      .stride = 1,
                      .n_args = 1};
}

size_t bench_batches_sentences(const bench_batches *b) {
  size_t n = 0;
  for (size_t i = 0; i < b->n; i++) n += hia_value_len(b->of[i]);
  return n;
}

double bench_batches_rate(const bench_batches *b, bench_mode mode, size_t n_sentences) {
  bench_work w = bench_batches_work(b, mode == BENCH_TRAIN ? BENCH_STEP : BENCH_CALL);
  return bench_work_rate(&w, 0.3) * (double)n_sentences / (double)b->n;
}
