/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The clock; and --time: what a command has spent its time on, and what its runs have used. */
#include "tools/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

uint64_t tool_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void tool_report_phase(const char *name, uint64_t ns, const char *what) {
  if (ns) fprintf(stderr, "%-10s %10.3f ms   %s\n", name, (double)ns / 1e6, what);
}

void tool_report_compile(const hia_function_stats *f) {
  tool_report_phase("parse", f->parse_ns, "text to syntax tree");
  tool_report_phase("check", f->check_ns, "names and types");
  tool_report_phase("build", f->build_ns, "function graphs");
  tool_report_phase("passes", f->passes_ns, "graph passes and tagging");
  tool_report_phase("flatten", f->flatten_ns, "static graph to image");
  tool_report_phase("open", f->open_ns, "loading the compiler");
  tool_report_phase("emit", f->emit_ns, "static graph to LLVM IR");
  tool_report_phase("optimize", f->optimize_ns, "LLVM's passes");
  tool_report_phase("codegen", f->codegen_ns, "machine code, linking");
  tool_report_phase("load", f->load_ns, "native code from the cache");
}

void tool_report_use(const hia_function_stats *f, const hia_run_stats *r) {
  fprintf(stderr, "nodes %" PRIu64 ", image %" PRIu64 " bytes, code %" PRIu64 " bytes", f->nodes,
          f->image_bytes, f->code_bytes);
  if (f->codegen_units > 1) fprintf(stderr, " in %" PRIu64 " units", f->codegen_units);
  fputc('\n', stderr);
  if (r->firings)
    fprintf(stderr,
            "firings %" PRIu64 ", frames %" PRIu64 ", at once %" PRIu64 ", steals %" PRIu64 "\n",
            r->firings, r->frames, r->peak_frames, r->steals);
  else if (r->steals)
    fprintf(stderr, "steals %" PRIu64 "\n", r->steals);
  if (r->is_fuelled) fprintf(stderr, "fuel %" PRIu64 " left\n", r->fuel_left);
  if (r->peak_bytes) fprintf(stderr, "peak %" PRIu64 " bytes\n", r->peak_bytes);
  if (r->heap_bytes)
    fprintf(stderr, "objects %" PRIu64 " bytes, %" PRIu64 " from the system\n", r->heap_bytes,
            r->system_bytes);
  if (r->batch_waves || r->batch_reused)
    fprintf(stderr,
            "batches: %" PRIu64 " rows in %" PRIu64 " waves, %" PRIu64
            " reused; planned in %.3f ms, gathered in %.3f ms, "
            "computed in %.3f ms\n",
            r->batch_rows, r->batch_waves, r->batch_reused, (double)r->batch_plan_ns / 1e6,
            (double)r->batch_gather_ns / 1e6, (double)r->batch_compute_ns / 1e6);
}
