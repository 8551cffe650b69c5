/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are an image or are refused. An image that is accepted can be run by
 * both engines: the run succeeds, fails, or is ended, and accesses only its own memory.
 *
 * Nearly all inputs are refused for their hash. So each is loaded twice: as it is, and with a
 * corrected head. */
#include "runtime/image/loaded.h"
#include "runtime/interp/run.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends long runs: a thread that counts to 20 ms. */
typedef struct guard {
  pthread_mutex_t lock;
  pthread_cond_t over;
  bool is_over;
  uint32_t cancelled;
} guard;

static void *watch(void *user) {
  guard *g = user;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 20000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&g->lock);
  while (!g->is_over && pthread_cond_timedwait(&g->over, &g->lock, &until) == 0) {
  }
  pthread_mutex_unlock(&g->lock);
  __atomic_store_n(&g->cancelled, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void run(const hia_loaded *image, uint32_t entry) {
  const hia_export *export = hiaR_image_export(image, entry);
  hia_word *words = calloc((size_t)export->n_params + export->n_results + 1, sizeof *words);
  if (!words) return;
  /* In canonical form, small. */
  for (uint32_t i = 0; i < export->n_params; i++)
    words[i] = export->params[i] == HIA_BOOL ? 1 : export->params[i] == HIA_I32 ? 5 : 3;
  guard g = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, &g) == 0) {
    hia_heap heap;
    hia_limits limits = {.depth = 1 << 20, .memory = 4 << 20, .cancelled = &g.cancelled};
    hiaR_heap_init(&heap, &hiaR_malloc);
    limits.heap = &heap;
    hiaR_heap_begin(&heap, limits.memory);
    hia_failure failure;
    hia_usage usage;
    hiaR_interp_run(image, entry, words, words + export->n_params, &limits, &hiaR_malloc, &failure,
                    &usage);
    hiaR_heap_end(&heap);
    hiaR_heap_begin(&heap, limits.memory);
    hiaR_expand_run(image, entry, words, words + export->n_params, &limits, &hiaR_malloc, &failure,
                    &usage);
    hiaR_heap_free(&heap);
    pthread_mutex_lock(&g.lock);
    g.is_over = true;
    pthread_cond_signal(&g.over);
    pthread_mutex_unlock(&g.lock);
    pthread_join(thread, NULL);
  }
  free(words);
}

/* ---- a host for images with host functions: it has every function, of every signature ---- */

static void nothing(void) {}

/* Every third function may fail, which is refused unless the image also says so. */
static bool find_host(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)user;
  *target = (hia_host_target){.function = nothing, .returns_status = number % 3 == 2};
  return strlen(name) < 1000;
}

static size_t call_size(const hia_host_signature *signature) {
  return signature->n_params < 1000 ? sizeof *signature : 0;
}

static bool prepare_call(void *at, const hia_host_target *target, const hia_host_signature *s) {
  (void)target;
  memcpy(at, s, sizeof *s);
  return true;
}

/* Reads all of its arguments; the results are canonical. */
static hia_status call_host(const void *prepared, hia_word *slots, const uint32_t *ins,
                            const uint32_t *outs, const hia_allocator *allocator) {
  (void)allocator;
  const hia_host_signature *s = prepared;
  hia_word sum = 0;
  for (uint32_t i = 0; i < s->n_params; i++) sum += slots[ins[i]] + s->params[i];
  for (uint32_t i = 0; i < s->n_results; i++)
    slots[outs[i]] = s->results[i] == HIA_BOOL  ? sum & 1
                     : s->results[i] == HIA_I32 ? hiaR_from_i32((int32_t)(uint32_t)sum)
                                                : sum & 0xffff;
  return sum % 64 == 63 ? HIA_HOST : HIA_OK;
}

static void load(const void *bytes, size_t size) {
  static const hia_host_caller caller = {call_size, prepare_call, call_host};
  static const hia_image_hosts hosts = {&caller, find_host, NULL};
  hia_loaded *image = NULL;
  char error[256] = "";
  hia_status status = hiaR_image_load_hosted(bytes, size, hiaR_any_kernel, &hosts, &hiaR_malloc,
                                             &image, error, sizeof error);
  if ((status == HIA_OK) != (image != NULL) || (status == HIA_BAD_IMAGE) != (error[0] != 0)) {
    fprintf(stderr, "status %d, image %p, error %s\n", status, (void *)image, error);
    abort();
  }
  if (!image) return;
  for (uint32_t i = 0; i < hiaR_image_n_exports(image) && i < 4; i++) run(image, i);
  hiaR_image_free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load(data, size);
  size_t whole = size & ~(size_t)7;
  if (whole < sizeof(hia_image_header)) return 0;
  hia_image_header *h = malloc(whole);
  if (!h) return 0;
  memcpy(h, data, whole);
  memcpy(h->magic, HIA_IMAGE_MAGIC, sizeof h->magic);
  h->order = HIA_IMAGE_ORDER;
  h->version = HIA_IMAGE_VERSION;
  h->size = whole;
  size_t from = offsetof(hia_image_header, file);
  h->hash = hiaR_image_hash((const char *)h + from, whole - from);
  load(h, whole);
  free(h);
  return 0;
}
