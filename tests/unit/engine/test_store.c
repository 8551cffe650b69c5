/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The folder of the cache: files are as they were written, or not there. */
#include "jit/cache/store.h"
#include <hiaton/cache.h>

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/hiaton-store-XXXXXX";

static hia_store *open_store(uint64_t max_bytes) {
  hia_store *store;
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, max_bytes, &store, NULL), HIA_OK);
  return store;
}

static hia_store *begin(uint64_t max_bytes) {
  cr_assert_not_null(mkdtemp(folder));
  return open_store(max_bytes);
}

static void end(hia_store *store) {
  hiaJ_store_clear(store);
  hiaJ_store_close(store);
  rmdir(folder);
}

static void name_of(unsigned i, char name[HIA_STORE_NAME + 1]) {
  hiaJ_digest(&i, sizeof i, name);
  cr_assert_eq(strlen(name), HIA_STORE_NAME);
}

static bool has(hia_store *store, unsigned i, const void *bytes, size_t size) {
  char name[HIA_STORE_NAME + 1];
  name_of(i, name);
  size_t n = 0;
  void *read = hiaJ_store_read(store, name, &n);
  if (!read) return false;
  cr_assert(n == size && memcmp(read, bytes, n) == 0, "what is read is what was written");
  hiaJ_store_free(store, read, n);
  return true;
}

static bool put(hia_store *store, unsigned i, const void *bytes, size_t size) {
  char name[HIA_STORE_NAME + 1];
  name_of(i, name);
  return hiaJ_store_write(store, name, bytes, size);
}

static const char *path_of(unsigned i) {
  static char path[256];
  char name[HIA_STORE_NAME + 1];
  name_of(i, name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void count(void *user, const hia_store_file *file) {
  (void)file;
  ++*(unsigned *)user;
}

static unsigned n_files(hia_store *store) {
  unsigned n = 0;
  cr_assert_eq(hiaJ_store_each(store, false, count, &n), HIA_OK);
  return n;
}

static unsigned n_temporary(void) {
  DIR *list = opendir(folder);
  unsigned n = 0;
  for (const struct dirent *e; (e = readdir(list));) n += strncmp(e->d_name, ".new.", 5) == 0;
  closedir(list);
  return n;
}

static void add_bytes(void *user, const hia_store_file *file) { *(uint64_t *)user += file->size; }

static uint64_t n_bytes(hia_store *store) {
  uint64_t n = 0;
  cr_assert_eq(hiaJ_store_each(store, false, add_bytes, &n), HIA_OK);
  return n;
}

Test(store, what_was_written_is_read) {
  hia_store *store = begin(1 << 20);
  char bytes[3000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
  cr_assert(!has(store, 1, bytes, 0));
  for (unsigned i = 1; i <= 20; i++) cr_assert(put(store, i, bytes, i * 149));
  for (unsigned i = 1; i <= 20; i++) cr_assert(has(store, i, bytes, i * 149));
  hia_store *other = open_store(1 << 20);
  for (unsigned i = 1; i <= 20; i++) cr_assert(has(other, i, bytes, i * 149));
  cr_assert_eq(n_files(other), 20);
  cr_assert(put(other, 3, bytes, 8)); /* in place of the first */
  cr_assert(has(store, 3, bytes, 8));
  cr_assert(!put(store, 4, bytes, 0));
  hiaJ_store_close(other);
  end(store);
}

/* Every byte of a file in turn is altered, and every length is tried. */
Test(store, damaged_files_are_not_there) {
  hia_store *store = begin(1 << 20);
  char bytes[200];
  memset(bytes, 'x', sizeof bytes);
  cr_assert(put(store, 1, bytes, sizeof bytes));
  struct stat s;
  cr_assert_eq(stat(path_of(1), &s), 0);
  char *file = malloc((size_t)s.st_size);
  FILE *f = fopen(path_of(1), "rb");
  cr_assert_eq(fread(file, 1, (size_t)s.st_size, f), (size_t)s.st_size);
  fclose(f);
  for (long at = 0; at < s.st_size; at++)
    for (unsigned bit = 0; bit < 8; bit++) {
      file[at] ^= (char)(1 << bit);
      f = fopen(path_of(1), "wb");
      fwrite(file, 1, (size_t)s.st_size, f);
      fclose(f);
      chmod(path_of(1), 0600);
      cr_assert(!has(store, 1, bytes, sizeof bytes), "byte %ld, bit %u", at, bit);
      cr_assert_neq(access(path_of(1), F_OK), 0, "it is removed");
      file[at] ^= (char)(1 << bit);
    }
  for (long size = 0; size <= s.st_size + 8; size++) {
    f = fopen(path_of(1), "wb");
    fwrite(file, 1, (size_t)s.st_size, f);
    fclose(f);
    chmod(path_of(1), 0600);
    cr_assert_eq(truncate(path_of(1), size), 0);
    cr_assert_eq(has(store, 1, bytes, sizeof bytes), size == s.st_size, "%ld bytes", size);
  }
  free(file);
  end(store);
}

Test(store, what_others_can_change_is_not_read) {
  hia_store *store = begin(1 << 20), *other;
  cr_assert(put(store, 1, "abc", 3));
  chmod(path_of(1), 0622);
  cr_assert(!has(store, 1, "abc", 3));
  chmod(path_of(1), 0600);
  cr_assert(has(store, 1, "abc", 3));
  char target[300];
  snprintf(target, sizeof target, "%s/target", folder);
  cr_assert_eq(rename(path_of(1), target), 0);
  cr_assert_eq(symlink(target, path_of(1)), 0);
  cr_assert(!has(store, 1, "abc", 3));
  unlink(path_of(1));
  cr_assert_eq(mkdir(path_of(1), 0700), 0);
  cr_assert(!has(store, 1, "abc", 3));
  cr_assert(!put(store, 1, "abc", 3)); /* it is no file */
  rmdir(path_of(1));
  cr_assert_eq(mkfifo(path_of(1), 0600), 0);
  cr_assert(!has(store, 1, "abc", 3));
  unlink(path_of(1));
  unlink(target);

  hia_error *error = NULL;
  chmod(folder, 0777);
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1000, &other, &error), HIA_UNSUPPORTED);
  cr_assert(strstr(hia_error_message(error, 0), "others can write"));
  hia_error_free(error);
  chmod(folder, 0700);
  char link[300];
  snprintf(link, sizeof link, "%s.link", folder);
  cr_assert_eq(symlink(folder, link), 0);
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, link, 1000, &other, &error), HIA_IO);
  hia_error_free(error);
  unlink(link);
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, "/proc/nowhere", 1000, &other, &error), HIA_IO);
  hia_error_free(error);
  end(store);
}

Test(store, what_was_not_used_for_longest_goes_first) {
  hia_store *store = begin(16 << 10);
  char bytes[1000];
  memset(bytes, 'y', sizeof bytes);
  for (unsigned i = 0; i < 12; i++) {
    cr_assert(put(store, i, bytes, sizeof bytes));
    struct timespec old[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path_of(i), old, 0), 0);
  }
  cr_assert(has(store, 2, bytes, sizeof bytes)); /* which makes it the newest */
  for (unsigned i = 12; i < 16; i++) cr_assert(put(store, i, bytes, sizeof bytes));
  cr_assert(has(store, 2, bytes, sizeof bytes));
  cr_assert(!has(store, 0, bytes, sizeof bytes) && !has(store, 1, bytes, sizeof bytes));
  cr_assert(has(store, 15, bytes, sizeof bytes));
  cr_assert_leq(n_files(store), 16);
  char large[9000];
  memset(large, 0, sizeof large);
  cr_assert(!put(store, 99, large, sizeof large)); /* more than half of all */
  end(store);
}

/* ---- the estimate of how much there is ---- */

static const char *size_path(void) {
  static char path[256];
  snprintf(path, sizeof path, "%s/.size", folder);
  return path;
}

static long estimate(void) {
  struct stat s;
  return stat(size_path(), &s) == 0 ? (long)s.st_size : -1;
}

enum { UNIT = 16 << 10, MEBI = 1 << 20 };

/* Whether the folder is looked through depends on the estimate alone; that is set when it has been.
 */
Test(store, a_folder_is_looked_through_only_when_the_limit_may_be_reached) {
  hia_store *store = begin(4 * MEBI);
  static char bytes[UNIT];
  for (unsigned i = 0; i < 40; i++) cr_assert(put(store, i, bytes, sizeof bytes - 64));
  cr_assert_eq(estimate(), 40);
  for (unsigned i = 0; i < 5; i++) cr_assert(put(store, i, bytes, 10));
  cr_assert_eq(estimate(), 45, "it is too much: files were replaced");
  hiaJ_store_close(store);
  store = open_store(MEBI / 2); /* which there is more than */
  cr_assert_eq(truncate(size_path(), 3), 0);
  cr_assert(put(store, 50, bytes, 10));
  cr_assert_eq(n_files(store), 41, "nothing was looked at");
  cr_assert_eq(estimate(), 4);
  cr_assert_eq(truncate(size_path(), 32), 0);
  cr_assert(put(store, 51, bytes, 10));
  cr_assert_leq(n_bytes(store), MEBI / 2);
  cr_assert_lt(n_files(store), 41);
  cr_assert_eq(estimate(), (long)(n_bytes(store) - 10) / UNIT + 2, "it is %ld", estimate());
  cr_assert(has(store, 51, bytes, 10));
  end(store);
}

/* Without the file, or with something else in its place, the limit holds all the same. */
Test(store, the_estimate_may_be_lost) {
  hia_store *store = begin(MEBI);
  static char bytes[UNIT];
  for (unsigned round = 0; round < 6; round++) {
    unlink(size_path());
    rmdir(size_path());
    if (round == 1) cr_assert_eq(mkdir(size_path(), 0700), 0);
    if (round == 2) cr_assert_eq(symlink("/dev/zero", size_path()), 0);
    if (round == 3) cr_assert_eq(mkfifo(size_path(), 0600), 0);
    if (round == 4) fclose(fopen(size_path(), "w"));
    if (round == 5) cr_assert_eq(mknod(size_path(), S_IFREG | 0622, 0), 0);
    if (round == 5) cr_assert_eq(chmod(size_path(), 0622), 0);
    for (unsigned i = 0; i < 100; i++) {
      cr_assert(put(store, 100 * round + i, bytes, sizeof bytes - 32));
      if (i % 10 == 0) cr_assert_leq(n_bytes(store), MEBI);
    }
    cr_assert_geq(n_bytes(store), MEBI / 2, "round %u", round);
  }
  unlink(size_path());
  end(store);
}

/* Eight processes, while files are removed under them: at most the last file of each is too much,
 * and what one has counted while another looked. */
Test(store, the_limit_holds_for_eight_processes) {
  hia_store *store = begin(MEBI);
  static char bytes[UNIT];
  pid_t children[8];
  for (unsigned c = 0; c < 8; c++) {
    children[c] = fork();
    if (children[c]) continue;
    for (unsigned i = 0; i < 300; i++) {
      put(store, c * 1000 + i, bytes, 1000 + (i * 997) % 15000);
      if (i % 50 == 49) unlink(path_of(c * 1000 + i - 7));
      if (c == 0 && i == 150) hiaJ_store_clear(store);
    }
    _exit(0);
  }
  for (unsigned c = 0; c < 8; c++) {
    int status;
    waitpid(children[c], &status, 0);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  cr_assert_leq(n_bytes(store), MEBI + 16 * UNIT);
  cr_assert_geq(n_files(store), 20);
  /* Whatever was lost: the next time that it is looked through, the limit holds. */
  cr_assert_eq(truncate(size_path(), 0), 0);
  cr_assert(put(store, 9999, bytes, 100));
  cr_assert_leq(n_bytes(store), MEBI);
  cr_assert_eq(n_temporary(), 0);
  end(store);
}

Test(store, a_full_disk_is_no_error) {
  hia_store *store = begin(1 << 20);
  char bytes[5000];
  memset(bytes, 'z', sizeof bytes);
  pid_t child = fork();
  if (!child) {
    const struct rlimit limit = {2000, 2000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(put(store, 1, bytes, sizeof bytes) ? 1 : 0);
  }
  int status;
  waitpid(child, &status, 0);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cr_assert_eq(n_files(store), 0);
  cr_assert_eq(n_temporary(), 0); /* nothing half-written is left */
  end(store);
}

/* Writers that are killed at any moment, while others read. */
Test(store, writers_that_are_killed_leave_nothing_that_is_read) {
  hia_store *store = begin(1 << 20);
  static char bytes[60000];
  memset(bytes, 'k', sizeof bytes);
  for (unsigned round = 0; round < 40; round++) {
    pid_t children[8];
    for (unsigned c = 0; c < 8; c++) {
      children[c] = fork();
      if (children[c]) continue;
      for (unsigned i = 0;; i++) put(store, i % 4, bytes, 1000 + i % 50000);
    }
    usleep(1000 + round * 300);
    for (unsigned c = 0; c < 8; c++) kill(children[c], SIGKILL);
    for (unsigned c = 0; c < 8; c++) waitpid(children[c], NULL, 0);
    for (unsigned i = 0; i < 4; i++) {
      char name[HIA_STORE_NAME + 1];
      size_t size;
      name_of(i, name);
      void *read = hiaJ_store_read(store, name, &size);
      if (!read) continue;
      cr_assert(size >= 1000 && size < 51000 && memcmp(read, bytes, size) == 0);
      hiaJ_store_free(store, read, size);
    }
  }
  end(store);
}

static void visit(void *user, const hia_cache_file *file) {
  unsigned *n = user;
  n[0]++;
  n[1] += file->is_checked && !file->is_sound;
}

Test(store, hosts_can_list_and_clear_a_folder) {
  hia_store *store = begin(1 << 20);
  unsigned n[2] = {0};
  for (unsigned i = 0; i < 5; i++) cr_assert(put(store, i, "abcdef", 6));
  cr_assert_eq(truncate(path_of(3), 20), 0);
  cr_assert_eq(hia_cache_each(folder, true, visit, n, NULL), HIA_OK);
  cr_assert(n[0] == 5 && n[1] == 1);
  cr_assert_eq(hia_cache_clear(folder, true, NULL), HIA_OK);
  cr_assert_eq(n_files(store), 4);
  char other[300];
  snprintf(other, sizeof other, "%s/README", folder);
  fclose(fopen(other, "w"));
  cr_assert_eq(hia_cache_clear(folder, false, NULL), HIA_OK);
  cr_assert_eq(n_files(store), 0);
  cr_assert_eq(access(other, F_OK), 0, "it is not hiaton's");
  unlink(other);
  cr_assert_eq(hia_cache_each("/nowhere/at/all", false, visit, n, NULL), HIA_OK);
  cr_assert_eq(hia_cache_each(NULL, false, visit, n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_cache_each(folder, false, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_cache_clear(NULL, false, NULL), HIA_ARGUMENT);
  end(store);
}
