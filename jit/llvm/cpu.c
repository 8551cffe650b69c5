/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The names of the 64-bit x86 processors that LLVM compiles for. The list is here because LLVM has
 * no silent lookup: for an unknown name it prints a warning and takes another processor. */
#include "jit/llvm/backend.h"

static const char *const names[] = {"alderlake",
                                    "amdfam10",
                                    "arrowlake",
                                    "arrowlake-s",
                                    "athlon64",
                                    "athlon64-sse3",
                                    "atom",
                                    "barcelona",
                                    "bdver1",
                                    "bdver2",
                                    "bdver3",
                                    "bdver4",
                                    "bonnell",
                                    "broadwell",
                                    "btver1",
                                    "btver2",
                                    "cannonlake",
                                    "cascadelake",
                                    "clearwaterforest",
                                    "cooperlake",
                                    "core-avx-i",
                                    "core-avx2",
                                    "core2",
                                    "corei7",
                                    "corei7-avx",
                                    "emeraldrapids",
                                    "goldmont",
                                    "goldmont-plus",
                                    "gracemont",
                                    "grandridge",
                                    "graniterapids",
                                    "graniterapids-d",
                                    "haswell",
                                    "icelake-client",
                                    "icelake-server",
                                    "ivybridge",
                                    "k8",
                                    "k8-sse3",
                                    "knl",
                                    "knm",
                                    "lunarlake",
                                    "meteorlake",
                                    "nehalem",
                                    "nocona",
                                    "opteron",
                                    "opteron-sse3",
                                    "pantherlake",
                                    "penryn",
                                    "raptorlake",
                                    "rocketlake",
                                    "sandybridge",
                                    "sapphirerapids",
                                    "sierraforest",
                                    "silvermont",
                                    "skx",
                                    "skylake",
                                    "skylake-avx512",
                                    "slm",
                                    "tigerlake",
                                    "tremont",
                                    "westmere",
                                    "x86-64",
                                    "x86-64-v2",
                                    "x86-64-v3",
                                    "x86-64-v4",
                                    "znver1",
                                    "znver2",
                                    "znver3",
                                    "znver4"};

bool hiaJ_cpu_exists(const char *name) {
  for (size_t i = 0; i < HIA_LEN(names); i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* The processors of the list that lack fused multiply-add. */
static const char *const without_fma[] = {
    "amdfam10", "athlon64",      "athlon64-sse3", "atom",   "barcelona",   "bonnell",
    "btver1",   "btver2",        "core-avx-i",    "core2",  "corei7",      "corei7-avx",
    "goldmont", "goldmont-plus", "ivybridge",     "k8",     "k8-sse3",     "nehalem",
    "nocona",   "opteron",       "opteron-sse3",  "penryn", "sandybridge", "silvermont",
    "slm",      "tremont",       "westmere",      "x86-64", "x86-64-v2"};

bool hiaJ_cpu_has_fma(const char *name) {
  for (size_t i = 0; i < HIA_LEN(without_fma); i++)
    if (strcmp(without_fma[i], name) == 0) return false;
  return hiaJ_cpu_exists(name);
}

bool hiaJ_features_have_fma(const char *features) {
  static const char fma[] = "+fma";
  for (const char *at = features; (at = strstr(at, fma)); at++)
    if (at[sizeof fma - 1] == ',' || !at[sizeof fma - 1]) return true;
  return false;
}
