/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* See explore.h. */
#include "tests/unit/helpers/explore.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_SIZE  (64u << 10)
#define MAX_CHOICES 1000 /* of an execution: more is a participant that spins */
#define MAX_GONE    4

typedef enum state { READY, BLOCKED, DONE } state;

/* There is a switch for every operation, in a million executions. swapcontext would take a minute,
 * since it reads the signal mask from the kernel. It is only used to begin a stack; after that
 * these functions switch. Functions that jump, or to which they jump, must not be inlined, and a
 * sanitizer must not instrument them. */
typedef void *resumption[5];
#ifdef __clang__
#define APART __attribute__((noinline, no_sanitize("address", "undefined")))
#else
#define APART __attribute__((noipa, no_sanitize("address", "undefined")))
#endif

typedef struct participant {
  char *stack;
  resumption start, at; /* where its body begins; where it stopped */
  state state;
  const volatile void *word; /* BLOCKED: the word that it is blocked on */
  uint64_t seen;             /* hash of the values that it has read */
} participant;

/* A point at which a participant was chosen. */
typedef struct choice {
  uint8_t left; /* the set of participants that are still to be chosen here */
  uint8_t chosen;
} choice;

static struct {
  const explore_case *c;
  participant who[EXPLORE_MAX];
  uint32_t running; /* EXPLORE_MAX: none, or one before its first operation */
  resumption explorer;
  choice choices[MAX_CHOICES];
  uint32_t n_known, at; /* choices that this execution repeats; the next one */
  const char *problem;
  bool is_starting; /* participants run up to their first operations */
  bool is_seen;     /* the execution has reached a state that was seen before */
  struct {
    uintptr_t p;
    size_t size;
  } gone[MAX_GONE];
  uint32_t n_gone;

  uint64_t *states; /* a hash table */
  size_t n_states, capacity;
} e;

/* Other participants run, and may change everything, before `go` returns. */
static APART _Noreturn void jump(void **to) {
  __asm__ volatile("" ::: "memory");
  __builtin_longjmp(to, 1);
}
static APART void go(void **from, void **to) {
  if (__builtin_setjmp(from) == 0) jump(to);
}

/* ---- states ---- */

static uint64_t mix(uint64_t hash, uint64_t x) { /* Steele and Vigna's finalizer */
  hash = (hash ^ x) + 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  return hash ^ hash >> 31;
}

static uint64_t hash_state(void) {
  uint64_t hash = 1, x;
  const char *bytes = e.c->memory;
  for (size_t i = 0; i + sizeof x <= e.c->size; i += sizeof x) {
    memcpy(&x, bytes + i, sizeof x);
    hash = mix(hash, x);
  }
  for (uint32_t i = 0; i < e.c->n; i++) {
    hash = mix(hash, e.who[i].seen);
    hash = mix(hash, (uint64_t)e.who[i].state + 4 * e.n_gone);
  }
  return hash ? hash : 1;
}

static size_t find(uint64_t hash) {
  size_t i = hash & (e.capacity - 1);
  while (e.states[i] && e.states[i] != hash) i = (i + 1) & (e.capacity - 1);
  return i;
}

static void grow(void) {
  uint64_t *old = e.states;
  size_t n = e.capacity;
  e.capacity = n ? 2 * n : 1024;
  e.states = calloc(e.capacity, sizeof *e.states);
  if (!e.states) abort();
  for (size_t i = 0; i < n; i++)
    if (old[i]) e.states[find(old[i])] = old[i];
  free(old);
}

/* False if the state is already in the table. */
static bool add_state(uint64_t hash) {
  if (2 * e.n_states >= e.capacity) grow();
  size_t i = find(hash);
  if (e.states[i]) return false;
  e.states[i] = hash;
  e.n_states++;
  return true;
}

/* ---- an execution ---- */

/* No participant can continue. */
static void finish(void) {
  for (uint32_t i = 0; i < e.c->n; i++)
    if (e.who[i].state != DONE) e.problem = "somebody is never woken";
}

/* The participant to run next; EXPLORE_MAX if the execution ends here. */
static uint32_t choose(void) {
  if (e.problem) return EXPLORE_MAX;
  if (e.at == MAX_CHOICES) {
    e.problem = "it does not end";
    return EXPLORE_MAX;
  }
  choice *now = &e.choices[e.at];
  if (e.at == e.n_known) {
    e.is_seen = !add_state(hash_state());
    if (e.is_seen) return EXPLORE_MAX;
    now->left = 0;
    for (uint32_t i = 0; i < e.c->n; i++)
      if (e.who[i].state == READY) now->left |= (uint8_t)(1u << i);
    if (!now->left) {
      finish();
      return EXPLORE_MAX;
    }
    now->chosen = (uint8_t)__builtin_ctz(now->left);
    e.n_known++;
  }
  e.at++;
  return now->chosen;
}

/* The running participant stops here until it is chosen again. */
static void pass_on(participant *self) {
  e.running = choose();
  void **to = e.running == EXPLORE_MAX ? e.explorer : e.who[e.running].at;
  if (to != self->at) go(self->at, to);
}

void explore_check(bool ok, const char *what) {
  if (ok || e.problem) return;
  e.problem = what;
  if (e.running < EXPLORE_MAX) pass_on(&e.who[e.running]); /* which does not return */
}

void explore_before(const volatile void *p) {
  if (e.running == EXPLORE_MAX) return; /* begin, end */
  participant *self = &e.who[e.running];
  if (e.is_starting)
    go(self->at, e.explorer);
  else
    pass_on(self);
  for (uint32_t i = 0; i < e.n_gone; i++)
    explore_check((uintptr_t)p - e.gone[i].p >= e.gone[i].size,
                  "a word is touched after it was given back");
}

uint64_t explore_saw(uint64_t value) {
  if (e.running < EXPLORE_MAX) e.who[e.running].seen = mix(e.who[e.running].seen, value);
  return value;
}

void explore_block(const volatile void *p) {
  participant *self = &e.who[e.running];
  self->state = BLOCKED;
  self->word = p;
  pass_on(self);
  explore_saw(0); /* that it was woken: this makes a new state */
}

void explore_wake(const volatile void *p) {
  for (uint32_t i = 0; i < e.c->n; i++)
    if (e.who[i].state == BLOCKED && e.who[i].word == p) {
      e.who[i].state = READY;
      return;
    }
}

void explore_gone(const void *p, size_t size) {
  if (e.n_gone == MAX_GONE) abort();
  e.gone[e.n_gone].p = (uintptr_t)p;
  e.gone[e.n_gone++].size = size;
}

/* Each execution starts here again, with the stack below unchanged. */
static APART void run_body(void) {
  if (__builtin_setjmp(e.who[e.running].start) == 0) jump(e.explorer);
  e.c->body[e.running]();
  participant *self = &e.who[e.running];
  self->state = DONE;
  if (e.is_starting)
    go(self->at, e.explorer);
  else
    pass_on(self);
  abort();
}

static APART void begin_stack(uint32_t i) {
  ucontext_t context, unused;
  participant *p = &e.who[i];
  p->stack = malloc(STACK_SIZE);
  if (!p->stack || getcontext(&context)) abort();
  context.uc_stack.ss_sp = p->stack;
  context.uc_stack.ss_size = STACK_SIZE;
  context.uc_link = NULL;
  makecontext(&context, run_body, 0);
  e.running = i;
  if (__builtin_setjmp(e.explorer) == 0) swapcontext(&unused, &context);
}

static void execute(void) {
  e.problem = NULL;
  e.n_gone = 0;
  e.running = EXPLORE_MAX;
  memset(e.c->memory, 0, e.c->size);
  e.c->begin();
  /* The code before its first operation is independent of other participants. */
  e.is_starting = true;
  for (uint32_t i = 0; i < e.c->n; i++) {
    e.who[i].state = READY;
    e.who[i].seen = i;
    e.running = i;
    go(e.explorer, e.who[i].start);
  }
  e.is_starting = false;
  e.at = 0;
  e.is_seen = false;
  e.running = choose();
  if (e.running != EXPLORE_MAX) go(e.explorer, e.who[e.running].at);
  if (!e.problem && !e.is_seen && e.c->end) e.c->end();
}

/* The next schedule; false if there is none. */
static bool advance(void) {
  while (e.n_known) {
    choice *last = &e.choices[e.n_known - 1];
    last->left &= (uint8_t)~(1u << last->chosen);
    if (last->left) {
      last->chosen = (uint8_t)__builtin_ctz(last->left);
      return true;
    }
    e.n_known--;
  }
  return false;
}

void explore(const explore_case *c, explore_result *result) {
  *result = (explore_result){.executions = 0};
  if (c->n > EXPLORE_MAX || c->size % 8) abort();
  e.c = c;
  e.n_known = 0;
  for (uint32_t i = 0; i < c->n; i++) begin_stack(i);
  do {
    execute();
    result->executions++;
  } while (!e.problem && advance());
  if (e.problem) {
    snprintf(result->problem, sizeof result->problem, "%s", e.problem);
    for (uint32_t i = 0; i < e.at && i + 1 < sizeof result->schedule; i++)
      result->schedule[i] = (char)('0' + e.choices[i].chosen);
  }
  result->states = e.n_states;
  for (uint32_t i = 0; i < c->n; i++) free(e.who[i].stack);
  free(e.states);
  e.states = NULL;
  e.n_states = e.capacity = 0;
}
