/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* barrier: the bookkeeping of return barriers, with a model of a stack. Frames are words of memory;
 * the "code" calls and returns as a script says, and at each call and return does the same as
 * compiled code, the stubs and native.c. test_lower.c and tests/stress/deep.c test barriers with
 * compiled code. */
#include "runtime/native/context.h"
#include <criterion/criterion.h>
#include <stdlib.h>

#define INTERVAL HIA_BARRIER_INTERVAL
#define WORD     sizeof(uintptr_t)

enum { DEPTH = 512 }; /* intervals */

/* A call with the return address `pc` is in a frame of (pc - CODE) / 16 * 8 bytes, including that
 * address. */
#define CODE ((uintptr_t)1 << 20)
static uintptr_t pc_of(size_t size) { return CODE + size * 2; }

typedef struct model {
  hia_context *context;
  hia_unwinder unwinder;
  size_t refuse; /* allocations that succeed before one fails; SIZE_MAX: all do */
  hia_allocator allocator;
  char *sp;
  struct {
    uintptr_t pc; /* the frame's return address */
    size_t size;
  } *frames;
  size_t n;
  uint64_t n_down, n_up, n_moved; /* polls; barriers met; bytes moved up and down */
  size_t unasked, longest;        /* bytes returned since the last that was met */
} model;

static bool find(void *user, uintptr_t pc, hia_frame_row *row) {
  (void)user;
  if (pc < CODE || pc >= CODE + (1 << 24)) return false;
  *row = (hia_frame_row){.cfa = (uint32_t)((pc - CODE) / 2), .loc = HIA_NONE};
  return true;
}

static void *model_alloc(void *user, size_t size) { return (void)user, malloc(size); }
static void *model_resize(void *user, void *block, size_t old_size, size_t size) {
  model *m = user;
  (void)old_size;
  if (m->refuse == 0) return NULL;
  if (m->refuse != SIZE_MAX) m->refuse--;
  return realloc(block, size);
}
static void model_free(void *user, void *block, size_t size) {
  (void)user, (void)size, free(block);
}

static uintptr_t *return_word(const model *m) {
  return (uintptr_t *)(m->sp + m->frames[m->n - 1].size - WORD);
}

/* The newest frame has `size` bytes. Its safepoint has a row like its calls. */
static void call(model *m, size_t size) {
  size_t caller = m->n ? m->frames[m->n - 1].size : 0;
  m->sp -= size;
  m->frames[m->n].pc = caller ? pc_of(caller) : CODE - 1; /* the first returns to the runtime */
  m->frames[m->n++].size = size;
  *return_word(m) = m->frames[m->n - 1].pc;
  m->n_moved += size;
  m->unasked = 0; /* a poll without a request */
  if ((uintptr_t)m->sp >= m->context->depth.soft) return;
  m->n_down++;
  hiaR_barrier_descend(m->context, m->sp, pc_of(size));
}

static void ret(model *m) {
  uintptr_t *word = return_word(m), pc = m->frames[--m->n].pc;
  size_t size = m->frames[m->n].size;
  m->sp += size;
  m->n_moved += size;
  m->unasked += size;
  if (*word == (uintptr_t)hiaR_stub_return) {
    m->n_up++;
    cr_assert_eq(hiaR_barrier_ascend(m->context, (char *)word), pc);
    m->unasked = 0;
  }
  if (*word != pc) cr_assert_fail("a return address is wrong");
  if (m->unasked > m->longest) m->longest = m->unasked;
}

/* Checks that all frames, from the newest, have their return addresses. */
static void check(const model *m) {
  const char *end = m->sp;
  size_t n = 0;
  for (size_t i = m->n; i-- > 0;) {
    end += m->frames[i].size;
    uintptr_t word = *(const uintptr_t *)(end - WORD);
    n += word == (uintptr_t)hiaR_stub_return;
    if (hiaR_return_address(m->context, end - WORD) != m->frames[i].pc)
      cr_assert_fail("the return address of frame %zu is wrong", i);
  }
  const hia_barriers *b = &m->context->barriers;
  cr_assert_eq(b->n, n);
  for (uint32_t i = 1; i < b->n; i++) cr_assert_lt(b->list[i].word, b->list[i - 1].word);
  cr_assert_geq(m->context->depth.soft, m->context->depth.hard);
  cr_assert_leq(m->context->depth.soft, (uintptr_t)m->context->stack.top - HIA_STACK_KEEP);
}

static model *new_model(void) {
  model *m = calloc(1, sizeof *m);
  m->refuse = SIZE_MAX;
  m->allocator = (hia_allocator){model_alloc, model_resize, model_free, m};
  cr_assert_eq(hiaR_context_new(&m->allocator, &m->context), HIA_OK);
  size_t depth = HIA_STACK_KEEP + DEPTH * INTERVAL;
  cr_assert_eq(hiaR_context_reserve(m->context, depth + 65536), HIA_OK);
  hiaR_context_limits(m->context, depth);
  m->unwinder.find = find;
  m->context->run.unwinder = &m->unwinder;
  m->sp = m->context->stack.top;
  m->frames = calloc(depth / 16 + 1, sizeof *m->frames);
  return m;
}

static void free_model(model *m) {
  hiaR_context_free(m->context);
  free(m->frames);
  free(m);
}

static size_t depth(const model *m) { return (size_t)(m->context->stack.top - m->sp); }
static void go_down(model *m, size_t to, size_t size) {
  while (depth(m) + size <= to) call(m, size);
}
static void go_up(model *m, size_t to) {
  while (m->n && depth(m) > to) ret(m);
}

Test(barrier, down_and_back) {
  static const size_t sizes[] = {16, 48, 1024};
  for (size_t i = 0; i < HIA_LEN(sizes); i++) {
    model *m = new_model();
    for (int turn = 0; turn < 3; turn++) {
      m->n_down = m->n_up = 0;
      go_down(m, HIA_STACK_KEEP + 400 * INTERVAL, sizes[i]);
      check(m);
      m->longest = 0;
      go_up(m, 0);
      check(m);
      cr_assert_eq(m->context->barriers.n, 0);
      /* One barrier per interval; none in the part of the stack that needs none. */
      cr_assert_eq(m->n_down, m->n_up);
      cr_assert_geq(m->n_up, 400 * INTERVAL / (INTERVAL + sizes[i]) - 2);
      cr_assert_leq(m->n_up, 401);
      size_t most = HIA_STACK_KEEP + INTERVAL;
      cr_assert_leq(m->longest, most + 2 * sizes[i]);
      hiaR_barriers_reset(m->context); /* as the run's end does */
    }
    free_model(m);
  }
}

/* Code that goes up and down a little pays next to nothing, at any depth. */
Test(barrier, swings) {
  static const size_t widths[] = {
      32, 256, INTERVAL / 8, INTERVAL / 2, INTERVAL, 5 * INTERVAL / 2, 20 * INTERVAL};
  for (size_t i = 0; i < HIA_LEN(widths); i++) {
    if (widths[i] < 32) continue;
    model *m = new_model();
    size_t base = HIA_STACK_KEEP + 7 * INTERVAL;
    size_t turns = 40 * INTERVAL / widths[i];
    if (turns > 500) turns = 500;
    for (int shift = 0; shift < 36; shift++, base += INTERVAL / 12 + 16) {
      go_up(m, base);
      go_down(m, base, 16);
      m->n_down = m->n_up = m->n_moved = m->longest = 0;
      for (size_t turn = 0; turn < turns; turn++) {
        go_down(m, base + widths[i], 16);
        go_up(m, base);
      }
      check(m);
      uint64_t most = m->n_moved * 4 / INTERVAL + 70; /* two in twice REACH, and some to learn it */
      cr_assert_leq(m->n_down + m->n_up, most, "width %zu: %llu and %llu for %llu intervals",
                    widths[i], (unsigned long long)m->n_down, (unsigned long long)m->n_up,
                    (unsigned long long)(m->n_moved / INTERVAL));
      cr_assert_leq(m->longest, 5 * INTERVAL / 2 + 100, "width %zu", widths[i]);
    }
    free_model(m);
  }
}

/* A deep recursion that calls a function in each frame before the next level, and calls nothing
 * while it returns. */
Test(barrier, excursions) {
  static const size_t widths[] = {16, 64, INTERVAL / 16, INTERVAL / 8, INTERVAL / 2, 2 * INTERVAL};
  for (size_t i = 0; i < HIA_LEN(widths); i++) {
    if (widths[i] < 16) continue;
    for (int is_everywhere = 0; is_everywhere < 2; is_everywhere++) {
      model *m = new_model();
      uint32_t random = 1;
      size_t end = HIA_STACK_KEEP + 100 * INTERVAL, every = is_everywhere ? 48 : INTERVAL / 3;
      for (size_t at = 48; at < end; at += every) {
        go_down(m, at, 48);
        size_t width = widths[i];
        random = random * 1664525u + 1013904223u;
        if (width > INTERVAL / 8 && random >> 24) width = 16; /* long ones are rare */
        go_down(m, at + width, 16);
        go_up(m, at);
      }
      check(m);
      m->n_down = m->n_up = m->longest = 0;
      go_up(m, HIA_STACK_KEEP + INTERVAL);
      cr_assert_leq(m->longest, 5 * INTERVAL / 2 + 200, "width %zu, %d", widths[i], is_everywhere);
      cr_assert_leq(m->n_up, 100 * 2 + 8);
      cr_assert_eq(m->n_down, 0);
      go_up(m, 0);
      check(m);
      free_model(m);
    }
  }
}

Test(barrier, anything) {
  for (uint32_t seed = 1; seed < 20; seed++) {
    model *m = new_model();
    uint32_t random = seed;
    m->n_moved = m->n_down = m->n_up = 0;
    for (int i = 0; i < 400; i++) {
      random = random * 1664525u + 1013904223u;
      size_t size = 16 + (random >> 12) % 8 * 16, length = (size_t)1 << (random >> 24) % 14;
      if ((random >> 8) % 16 == 0) size = 3 * INTERVAL + 16;
      if ((random >> 9) % 20 < 11)
        go_down(m, depth(m) + length * 16 < DEPTH * INTERVAL ? depth(m) + length * 16 : 0, size);
      else
        go_up(m, depth(m) > length * 16 ? depth(m) - length * 16 : 0);
      if (i % 30 == 0) check(m);
      if (i % 97 == 96) { /* the frames below are abandoned */
        size_t n = m->n / 2;
        while (m->n > n) m->sp += m->frames[--m->n].size;
        hiaR_barriers_drop(m->context, m->sp);
        check(m);
      }
    }
    cr_assert_leq(m->n_down + m->n_up, m->n_moved / INTERVAL * 3 + 2000);
    go_up(m, 0);
    check(m);
    free_model(m);
  }
}

/* A function called in tail position takes the frame's place, and its return address. */
Test(barrier, tail_calls) {
  model *m = new_model();
  go_down(m, HIA_STACK_KEEP + 2 * INTERVAL, 16);
  call(m, 64);
  hiaR_barrier_descend(m->context, m->sp, pc_of(64));
  uint32_t n = m->context->barriers.n;
  m->sp += 32;
  m->frames[m->n - 1].size = 32;
  hiaR_barrier_descend(m->context, m->sp, pc_of(32));
  cr_assert_eq(m->context->barriers.n, n);
  check(m);
  go_up(m, 0);
  check(m);
  free_model(m);
}

/* Without memory there are fewer barriers, and everything continues. */
Test(barrier, without_memory) {
  for (size_t refuse = 0; refuse < 4; refuse++) {
    model *m = new_model();
    m->refuse = refuse;
    go_down(m, HIA_STACK_KEEP + 400 * INTERVAL, 32);
    check(m);
    cr_assert_eq(m->context->barriers.n == 0, refuse == 0);
    cr_assert_lt(m->context->barriers.n, 300);
    go_up(m, 0);
    check(m);
    free_model(m);
  }
}

/* Frames of unknown code, and of no code at all. */
Test(barrier, unknown_code) {
  model *m = new_model();
  m->context->run.unwinder = NULL;
  go_down(m, HIA_STACK_KEEP + 20 * INTERVAL, 32);
  cr_assert_eq(m->context->barriers.n, 0);
  cr_assert_leq(m->n_down, 21);
  go_up(m, 0);
  free_model(m);
}

/* At the depth limit the soft limit is the hard one. */
Test(barrier, at_the_limit) {
  model *m = new_model();
  go_down(m, HIA_STACK_KEEP + DEPTH * INTERVAL, 32);
  check(m);
  cr_assert_eq(m->context->depth.soft, m->context->depth.hard);
  go_up(m, 0);
  free_model(m);
}
