/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* crew, team: a worker that was put aside for long ends the help of others, for some time. */
#include "runtime/native/context.h"
#include "runtime/native/team.h"
#include "runtime/threads/processor.h"
#include <criterion/criterion.h>

enum { MS = 1000000 };

static hia_pool pool;
static hia_team team;
static hia_context context;

/* A worker that began `all` before, and has slept or run all of it but `aside`. */
static void note(uint64_t all, uint64_t aside) {
  memset(&team, 0, sizeof team);
  memset(&pool, 0, sizeof pool);
  team.pool = &pool;
  atomic_store(&team.max_helpers, 1);
  atomic_store(&team.all_helpers, 1);
  context.run.team = &team;
  hia_presence p = {hiaR_now() - all, hiaR_thread_now(), all - aside};
  hiaR_presence_end(&context, &p);
}

static bool is_alone(void) {
  return !atomic_load(&team.max_helpers) && hiaR_now() < atomic_load(&pool.alone_until);
}

Test(presence, long_absences_end_help) {
  note(20 * MS, 10 * MS);
  cr_expect(is_alone() == !HIA_HELPS_ON_ONE);
  if (HIA_HELPS_ON_ONE) return; /* a build whose tests need helpers keeps them */
  uint64_t until = atomic_load(&pool.alone_until), now = hiaR_now();
  cr_expect(until > now + 100 * MS && until < now + 200 * MS, "%lld ms",
            (long long)(until - now) / MS);
  note(2000 * MS, 1000 * MS);
  cr_expect(atomic_load(&pool.alone_until) < hiaR_now() + 260 * MS, "not for longer");
}

Test(presence, short_absences_do_not) {
  note(20 * MS, 0);
  cr_expect_not(is_alone(), "it has slept");
  note(MS / 2, MS / 2);
  cr_expect_not(is_alone(), "for half a millisecond");
  note(1000 * MS, 20 * MS);
  cr_expect_not(is_alone(), "for a fiftieth of the time");
}
