/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* left: what is read from the system's files, with control groups of both versions and without;
 * grants that together stay below it. */
#include "runtime/base/left.h"
#include "runtime/heap/heap.h"
#include "tests/unit/helpers/left.h"
#include "tests/unit/helpers/time.h"
#include <criterion/criterion.h>
#include <hiaton/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static uint64_t memory(void) { return hiaR_left_read().memory; }

static void group_v2(const char *folder, const char *most, const char *used, const char *stat) {
  char path[256];
  snprintf(path, sizeof path, "%s/memory.max", folder);
  left_file(path, most);
  snprintf(path, sizeof path, "%s/memory.current", folder);
  left_file(path, used);
  snprintf(path, sizeof path, "%s/memory.stat", folder);
  left_file(path, stat);
}

static void group_v1(const char *folder, const char *most, const char *used, const char *stat) {
  char path[256];
  snprintf(path, sizeof path, "%s/memory.limit_in_bytes", folder);
  left_file(path, most);
  snprintf(path, sizeof path, "%s/memory.usage_in_bytes", folder);
  left_file(path, used);
  snprintf(path, sizeof path, "%s/memory.stat", folder);
  left_file(path, stat);
}

static const char mount_v2[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
                               "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 "
                               "rw,nsdelegate,memory_recursiveprot\n";
static const char none[] = "9223372036854771712\n";

Test(left, this_machine_has_some) {
  cr_assert_gt(memory(), MIB);
  cr_assert_gt(hia_memory_left(), MIB);
}

static _Atomic bool is_over;
static void *ask_on(void *user) {
  while (!is_over) cr_assert_gt(hia_memory_left(), 0);
  return user;
}

/* The child may ask, whatever another thread of the parent was doing. */
Test(left, in_a_forked_child) {
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, ask_on, NULL), 0);
  for (int i = 0; i < 300; i++) {
    int how = 0;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
      alarm((unsigned)(20 * test_slowness()));
      _exit(hia_memory_left() > 0 ? 7 : 1);
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 7, "fork %d: %x", i, (unsigned)how);
  }
  is_over = true;
  pthread_join(thread, NULL);
}

Test(left, without_files_there_is_no_limit) {
  left_begin();
  cr_assert_eq(memory(), UINT64_MAX);
  cr_assert_eq(hia_memory_left() >= SIZE_MAX / 16, hiaR_space_left() == UINT64_MAX);
  left_file("/proc/meminfo", "MemTotal: 100 kB\n"); /* before Linux 3.14 */
  cr_assert_eq(memory(), UINT64_MAX);
  left_file("/proc/meminfo", "");
  cr_assert_eq(memory(), UINT64_MAX);
  left_file("/proc/meminfo", "MemAvailable: many kB\n");
  cr_assert_eq(memory(), UINT64_MAX);
  left_end();
}

Test(left, of_the_machine) {
  left_begin();
  left_available(300 * MIB);
  cr_assert_eq(memory(), 300 * MIB);
  left_file("/proc/self/cgroup", "0::/\n"); /* and no list of mounts */
  cr_assert_eq(memory(), 300 * MIB);
  left_end();
}

Test(left, of_a_group_of_version_2_and_those_around_it) {
  left_begin();
  left_available(1000 * MIB);
  left_file("/proc/self/mountinfo", mount_v2);
  left_file("/proc/self/cgroup", "0::/user/one/run\n");
  /* 100 MiB, of which 60 are used; 20 of these are files, of which 5 are mapped. */
  group_v2("/sys/fs/cgroup/user/one/run", "104857600\n", "62914560\n",
           "anon 41943040\nfile 20971520\nfile_mapped 5242880\ninactive_file 10485760\n"
           "active_file 10485760\nworkingset_activate_file 7\n");
  cr_assert_eq(memory(), 60 * MIB);
  group_v2("/sys/fs/cgroup/user/one", "max\n", "99999999999\n", "");
  cr_assert_eq(memory(), 60 * MIB);
  group_v2("/sys/fs/cgroup/user", "52428800\n", "20971520\n", "inactive_file 0\n");
  cr_assert_eq(memory(), 30 * MIB);
  group_v2("/sys/fs/cgroup/user", "20971520\n", "20971521\n", "inactive_file 0\n");
  cr_assert_eq(memory(), 0);
  left_end();
}

/* A container sees its group at the top, and may be told another path than that. */
Test(left, of_a_group_in_a_container) {
  const char *const paths[] = {"0::/\n", "0::/../../other\n", "0::/docker/elsewhere\n"};
  left_begin();
  left_available(1000 * MIB);
  left_file("/proc/self/mountinfo", mount_v2);
  group_v2("/sys/fs/cgroup", "104857600\n", "10485760\n", "");
  for (size_t i = 0; i < HIA_LEN(paths); i++) {
    left_file("/proc/self/cgroup", paths[i]);
    cr_assert_eq(memory(), 90 * MIB, "%s", paths[i]);
  }
  left_file("/proc/self/mountinfo",
            "30 22 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  const char *const inside[] = {"0::/docker/abc\n", "0::/docker/abc/\n", "0::/docker/abcd\n",
                                "0::/docker/abc/in\n"};
  for (size_t i = 0; i < HIA_LEN(inside); i++) {
    left_file("/proc/self/cgroup", inside[i]);
    cr_assert_eq(memory(), 90 * MIB, "%s", inside[i]);
  }
  group_v2("/sys/fs/cgroup/in", "1048576\n", "0\n", "");
  cr_assert_eq(memory(), MIB);
  left_end();
}

Test(left, of_groups_of_version_1) {
  left_begin();
  left_available(1000 * MIB);
  left_file("/proc/self/mountinfo",
            "30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
            "31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
            "34 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
            "40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  left_file("/proc/self/cgroup", "9:name=systemd:/memory\n5:cpu,cpuacct:/\n4:memory:/jobs/one\n"
                                 "0::/elsewhere\n");
  group_v1("/sys/fs/cgroup/memory", none, "0\n", "");
  group_v1("/sys/fs/cgroup/memory/jobs", none, "0\n", "");
  cr_assert_eq(memory(), 1000 * MIB);
  /* Its own files are not those of the groups in it. */
  group_v1("/sys/fs/cgroup/memory/jobs/one", "104857600\n", "62914560\n",
           "inactive_file 1\nactive_file 1\ntotal_inactive_file 10485760\n"
           "total_active_file 10485760\n");
  cr_assert_eq(memory(), 60 * MIB);
  group_v1("/sys/fs/cgroup/memory/jobs", "31457280\n", "0\n", "");
  cr_assert_eq(memory(), 30 * MIB);
  left_end();
}

Test(left, among_many_and_long_mounts) {
  left_begin();
  left_available(1000 * MIB);
  size_t size = 64 << 10, len = 0;
  char *text = malloc(size);
  for (int i = 0; i < 100; i++)
    len += (size_t)sprintf(text + len, "%d 22 0:%d / /mnt/of/some/name/%d rw - tmpfs tmpfs rw\n", i,
                           i, i);
  len += (size_t)sprintf(text + len, "200 22 0:200 / /mnt rw - overlay overlay lowerdir=");
  memset(text + len, 'x', 10000);
  len += 10000;
  len += (size_t)sprintf(text + len, "\n201 22 0:3 / /other rw - cgroup2 cgroup2 rw\n");
  left_file("/proc/self/mountinfo", text);
  left_file("/proc/self/cgroup", "0::/a\n");
  cr_assert_eq(memory(), 1000 * MIB);
  group_v2("/other/a", "1048576\n", "0\n", "");
  cr_assert_eq(memory(), MIB);
  free(text);
  left_end();
}

/* ---- grants ---- */

Test(left, grants_stay_below_what_is_left) {
  left_begin();
  left_available(800 * MIB);
  size_t one = hiaR_grant(0, MIB, true), more;
  cr_assert_geq(one, MIB);
  cr_assert_leq(one, 2 * MIB); /* no holder keeps others from what it does not use */
  cr_assert_eq(hiaR_grant(one, one, true), one);
  for (; (more = hiaR_grant(one, one + MIB, true)) != one; one = more)
    cr_assert_geq(more, one + MIB);
  cr_assert_leq(one, 700 * MIB);
  cr_assert_geq(one, 690 * MIB);
  cr_assert_eq(hiaR_grant(0, 20 * MIB, true), 0);
  hiaR_grant_end(one);
  one = hiaR_grant(0, 400 * MIB, true);
  cr_assert_geq(one, 400 * MIB);
  size_t two = hiaR_grant(0, 400 * MIB, true);
  cr_assert_eq(two, 0);
  two = hiaR_grant(0, 100 * MIB, true);
  cr_assert_geq(two, 100 * MIB);
  cr_assert_leq(one + two, 700 * MIB);
  hiaR_grant_end(one);
  hiaR_grant_end(two);
  cr_assert(hiaR_may_take(600 * MIB));
  left_end();
}

Test(left, grants_follow_what_others_take) {
  left_begin();
  left_available(800 * MIB);
  size_t one = hiaR_grant(0, 100 * MIB, true);
  cr_assert_geq(one, 100 * MIB);
  left_available(150 * MIB); /* another process has taken the rest */
  size_t more = hiaR_grant(one, one + 140 * MIB, true);
  cr_assert_eq(more, one);
  hiaR_grant_end(one);
  cr_assert(hiaR_may_take(HIA_FREE_GRANT)); /* for which nobody asks */
  cr_assert_not(hiaR_may_take(140 * MIB));
  cr_assert(hiaR_may_take(100 * MIB));
  left_end();
}

Test(left, no_size_overflows) {
  left_begin();
  left_available(800 * MIB);
  cr_assert_eq(hiaR_grant(0, SIZE_MAX, true), 0);
  cr_assert_eq(hiaR_grant(0, SIZE_MAX / 2, false), 0);
  cr_assert_not(hiaR_may_take(SIZE_MAX));
  left_file("/proc/meminfo", "MemAvailable: 18446744073709551615 kB\n");
  cr_assert_eq(memory(), UINT64_MAX);
  size_t one = hiaR_grant(0, SIZE_MAX / 4, true), two = hiaR_grant(0, SIZE_MAX / 4, true);
  cr_assert_geq(one, SIZE_MAX / 4);
  cr_assert_geq(two, SIZE_MAX / 4);
  hiaR_grant_end(one);
  hiaR_grant_end(two);
  left_end();
}

/* Each heap alone would take all. */
Test(left, heaps_share_one_account) {
  enum { N = 3 };
  hia_heap heaps[N];
  hia_local_heap locals[N];
  left_begin();
  left_available(100 * MIB);
  for (int round = 0; round < 2; round++) { /* what ended heaps had is left again */
    for (int i = 0; i < N; i++) {
      if (!round) hiaR_heap_init(&heaps[i], &hiaR_malloc);
      hiaR_heap_begin(&heaps[i], 0);
      hiaR_local_begin(&locals[i], &heaps[i]);
    }
    size_t size[2] = {100, MIB - 100}, sum = 0;
    for (unsigned i = 0, n_full = 0; n_full < N; i++)
      n_full = hiaR_heap_alloc(&locals[i % N], size[i / N % 2]) ? 0 : n_full + 1;
    for (int i = 0; i < N; i++) sum += atomic_load(&heaps[i].peak);
    cr_assert_leq(sum, 100 * MIB / 8 * 7 + N * HIA_FREE_GRANT, "%zu", sum);
    cr_assert_geq(sum, 80 * MIB, "%zu", sum);
    for (int i = 0; i < N; i++) hiaR_heap_end(&heaps[i]);
  }
  hiaR_heap_begin(&heaps[0], 300 * MIB); /* what is set holds */
  hiaR_local_begin(&locals[0], &heaps[0]);
  cr_assert(hiaR_heap_alloc(&locals[0], 200 * MIB));
  hiaR_heap_end(&heaps[0]);
  hiaR_heap_begin(&heaps[0], SIZE_MAX);
  hiaR_local_begin(&locals[0], &heaps[0]);
  cr_assert(hiaR_heap_alloc(&locals[0], 400 * MIB));
  hiaR_heap_end(&heaps[0]);
  hiaR_heap_begin(&heaps[0], 0);
  hiaR_local_begin(&locals[0], &heaps[0]);
  cr_assert_null(hiaR_heap_alloc(&locals[0], 200 * MIB));
  cr_assert_null(hiaR_heap_alloc(&locals[0], SIZE_MAX - 100));
  for (int i = 0; i < N; i++) hiaR_heap_free(&heaps[i]);
  left_end();
}
