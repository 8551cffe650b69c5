/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a training goes. Compiling is told from computing: a gradient takes the time of
 * its run, and what it takes beyond that, if its function has got another version meanwhile, was
 * compiling. */
#include "tools/train.h"

static void add_run(hia_run_stats *sum, const hia_run_stats *one) {
  sum->run_ns += one->run_ns;
  sum->firings += one->firings;
  sum->frames += one->frames;
  if (one->peak_frames > sum->peak_frames) sum->peak_frames = one->peak_frames;
  if (one->peak_bytes > sum->peak_bytes) sum->peak_bytes = one->peak_bytes;
  sum->steals += one->steals;
  sum->heap_bytes += one->heap_bytes;
  sum->system_bytes += one->system_bytes;
  sum->batch_rows += one->batch_rows;
  sum->batch_waves += one->batch_waves;
  sum->batch_plan_ns += one->batch_plan_ns;
  sum->batch_gather_ns += one->batch_gather_ns;
  sum->batch_compute_ns += one->batch_compute_ns;
  sum->batch_reused += one->batch_reused;
}

static uint32_t count_versions(const training *r) {
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  hia_trainer_get_stats(r->trainer, &cost);
  return cost.versions;
}

int train_gradient(training *r, hia_value *const *batch, double *loss) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  hia_error *error;
  run.stats = &used;
  run.timeline = r->timeline;
  uint32_t versions = count_versions(r);
  uint64_t start = tool_now();
  hia_status status = hia_trainer_gradient(r->trainer, batch, 1, &run, loss, &error);
  uint64_t ns = tool_now() - start;
  if (count_versions(r) != versions && ns > used.run_ns)
    r->state.compile_seconds += (double)(ns - used.run_ns) / 1e9;
  add_run(&r->times.used, &used);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

int train_call_on_dev(training *r, hia_function *f, hia_value **result) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  hia_error *error;
  run.stats = &used;
  run.timeline = r->timeline;
  hia_status status = hia_run(f, &r->args.values[1], 1, &run, result, &error);
  r->times.dev_ns += used.run_ns;
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

/* Adds the costs of a further function of the module. */
static void add_cost(hia_function_stats *sum, const hia_function *f) {
  hia_function_stats one = HIA_FUNCTION_STATS_INIT;
  if (!f) return;
  hia_function_get_stats(f, &one);
  sum->build_ns += one.build_ns;
  sum->passes_ns += one.passes_ns;
  sum->flatten_ns += one.flatten_ns;
  sum->open_ns += one.open_ns;
  sum->emit_ns += one.emit_ns;
  sum->optimize_ns += one.optimize_ns;
  sum->codegen_ns += one.codegen_ns;
  sum->nodes += one.nodes;
  sum->image_bytes += one.image_bytes;
  sum->code_bytes += one.code_bytes;
  sum->codegen_units += one.codegen_units;
}

void train_report_time(const training *r) {
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  hia_trainer_get_stats(r->trainer, &cost);
  add_cost(&cost, r->loss); /* as --dev calls it */
  add_cost(&cost, r->metric);
  tool_report_compile(&cost);
  tool_report_phase("run", r->times.used.run_ns, "losses and gradients");
  tool_report_phase("update", r->times.update_ns, "the optimizer");
  tool_report_phase("dev", r->times.dev_ns, "loss and metric of --dev");
  tool_report_phase("write", r->times.write_ns, "params and checkpoints");
  tool_report_use(&cost, &r->times.used);
}
