/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "jit/cache/store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENTRY ((uint64_t)1 << 30)
/* The time of use is written when it is older than this: not at every use. */
enum { USE_SECONDS = 3600 };
/* What a writer that has died left is removed when it is as old as this. */
enum { STALE_SECONDS = 3600 };
#define TEMPORARY ".new."
/* A file whose length says how much there is in the folder: a byte for each begun unit of each
 * file. A writer appends to it before it stores, which needs no lock. It may say too much, since
 * files are removed and replaced; then the folder is looked through once, and the length is set. A
 * length of 0 says nothing. */
#define SIZE_NAME ".size"
enum { SIZE_UNIT = 16 << 10 };

struct hia_store {
  const hia_allocator *allocator;
  int folder;
  uint64_t max_bytes;
  char *path;
  size_t path_size;
};

typedef struct header {
  char magic[8];
  uint64_t size; /* of the bytes behind the header */
  uint64_t sum[2];
} header;

/* ---- checksums ---- */

static uint64_t load64(const unsigned char *at, size_t n) {
  uint64_t word = 0;
  memcpy(&word, at, n < 8 ? n : 8);
  return word;
}

/* Two sums that multiply and rotate words in different ways, as the finaliser of MurmurHash3 does.
 */
static void checksum(const void *bytes, size_t size, uint64_t sum[2]) {
  uint64_t a = size * HIA_MIX + 1, b = ~(uint64_t)size;
  const unsigned char *at = bytes;
  for (size_t left = size; left > 0;) {
    size_t n = left < 8 ? left : 8;
    uint64_t word = load64(at, n);
    a = (a ^ word) * UINT64_C(0xff51afd7ed558ccd);
    a ^= a >> 33;
    b = (b << 27 | b >> 37) + word * UINT64_C(0x87c37b91114253d5);
    b ^= (b >> 31) * UINT64_C(0x4cf5ad432745937f);
    at += n;
    left -= n;
  }
  a = (a ^ b >> 29) * UINT64_C(0xc4ceb9fe1a85ec53);
  sum[0] = a ^ a >> 32;
  b = (b ^ a >> 31) * UINT64_C(0xff51afd7ed558ccd);
  sum[1] = b ^ b >> 33;
}

void hiaJ_digest(const void *bytes, size_t size, char digits[HIA_STORE_NAME + 1]) {
  uint64_t sum[2];
  checksum(bytes, size, sum);
  snprintf(digits, HIA_STORE_NAME + 1, "%016llx%016llx", (unsigned long long)sum[0],
           (unsigned long long)sum[1]);
}

/* ---- the folder ---- */

/* Makes the folder, and those that it is in. Only the user may read what is made. */
static bool make_folders(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    bool is_made = mkdir(path, 0700) == 0 || errno == EEXIST;
    *at = '/';
    if (!is_made) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* True if it is the user's, and nobody else can write it. */
static bool is_ours(const struct stat *s) {
  return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

static hia_status cannot(const hia_allocator *allocator, hia_error **error, const char *what,
                         const char *path, int wrong) {
  char why[128];
  /* The GNU version of strerror_r, which may return a static text instead of `why`. */
  const char *reason = strerror_r(wrong, why, sizeof why);
  return hiaR_fail_text(allocator, error, HIA_IO, NULL, "cannot %s the cache %s: %s", what, path,
                        reason);
}

static hia_status open_folder(hia_store *store, hia_error **error) {
  if (!make_folders(store->path))
    return cannot(store->allocator, error, "make", store->path, errno);
  store->folder = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (store->folder < 0) return cannot(store->allocator, error, "open", store->path, errno);
  struct stat s;
  if (fstat(store->folder, &s) != 0)
    return cannot(store->allocator, error, "open", store->path, errno);
  if (is_ours(&s)) return HIA_OK;
  return hiaR_fail_text(store->allocator, error, HIA_UNSUPPORTED, NULL,
                        "the cache %s is not used: others can write it, or it is another user's",
                        store->path);
}

hia_status hiaJ_store_open(const hia_allocator *allocator, const char *path, uint64_t max_bytes,
                           hia_store **out, hia_error **error) {
  *out = NULL;
  if (!*path) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "the cache has no path");
  hia_store *store = hiaR_alloc(allocator, sizeof *store);
  if (!store) return hiaR_fail_memory(allocator, error);
  *store = (hia_store){.allocator = allocator, .folder = -1, .max_bytes = max_bytes};
  store->path_size = strlen(path) + 1;
  store->path = hiaR_alloc(allocator, store->path_size);
  hia_status status = HIA_OK;
  if (store->path) {
    memcpy(store->path, path, store->path_size);
    status = open_folder(store, error);
  } else {
    status = hiaR_fail_memory(allocator, error);
  }
  if (status == HIA_OK)
    *out = store;
  else
    hiaJ_store_close(store);
  return status;
}

void hiaJ_store_close(hia_store *store) {
  if (!store) return;
  if (store->folder >= 0) close(store->folder);
  if (store->path) hiaR_free(store->allocator, store->path, store->path_size);
  hiaR_free(store->allocator, store, sizeof *store);
}

const char *hiaJ_store_path(const hia_store *store) { return store->path; }

static bool is_entry(const char *name) {
  return strlen(name) == HIA_STORE_NAME && strspn(name, "0123456789abcdef") == HIA_STORE_NAME;
}

/* ---- reading ---- */

static bool read_all(int file, void *to, size_t n) {
  for (char *at = to; n > 0;) {
    ssize_t got = read(file, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

static bool is_our_file(const struct stat *s) { return S_ISREG(s->st_mode) && is_ours(s); }

/* Opens a file of ours; -1: there is none. `flags`: O_RDONLY, or what a writer needs. */
static int open_file(const hia_store *store, const char *name, int flags, struct stat *s) {
  int file = openat(store->folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return -1;
  if (fstat(file, s) == 0 && is_our_file(s)) return file;
  close(file);
  return -1;
}

/* Reads the bytes behind the header, if they are as that says. */
static void *read_sound(const hia_store *store, int file, const struct stat *s, size_t *size) {
  header h;
  if ((uint64_t)s->st_size < sizeof h || !read_all(file, &h, sizeof h)) return NULL;
  if (memcmp(h.magic, HIA_STORE_MAGIC, sizeof h.magic) != 0 || h.size > MAX_ENTRY ||
      h.size != (uint64_t)s->st_size - sizeof h || h.size == 0)
    return NULL;
  void *bytes = hiaR_alloc(store->allocator, (size_t)h.size);
  if (!bytes) return NULL;
  uint64_t sum[2] = {0};
  bool is_read = read_all(file, bytes, (size_t)h.size);
  if (is_read) checksum(bytes, (size_t)h.size, sum);
  if (is_read && memcmp(sum, h.sum, sizeof sum) == 0) {
    *size = (size_t)h.size;
    return bytes;
  }
  hiaR_free(store->allocator, bytes, (size_t)h.size);
  return NULL;
}

/* The host's errno stays as it is, here and where files are written. */
void *hiaJ_store_read(hia_store *store, const char name[HIA_STORE_NAME + 1], size_t *size) {
  int before = errno;
  struct stat s;
  void *bytes = NULL;
  int file = open_file(store, name, O_RDONLY, &s);
  if (file >= 0) {
    bytes = read_sound(store, file, &s, size);
    if (!bytes) unlinkat(store->folder, name, 0);
    if (bytes && time(NULL) - s.st_mtim.tv_sec > USE_SECONDS) futimens(file, NULL);
    close(file);
  }
  errno = before;
  return bytes;
}

void hiaJ_store_free(hia_store *store, void *bytes, size_t size) {
  hiaR_free(store->allocator, bytes, size);
}

/* ---- visiting and removing ---- */

/* Opens the folder once more, to list it. */
static DIR *list_folder(const hia_store *store) {
  int folder = openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = folder < 0 ? NULL : fdopendir(folder);
  if (!list && folder >= 0) close(folder);
  return list;
}

/* False: there is no such file of ours. */
static bool check_file(const hia_store *store, const char *name, struct stat *s, bool *is_sound) {
  int file = open_file(store, name, O_RDONLY, s);
  if (file < 0) return false;
  size_t size;
  void *bytes = read_sound(store, file, s, &size);
  *is_sound = bytes != NULL;
  if (bytes) hiaR_free(store->allocator, bytes, size);
  close(file);
  return true;
}

static bool look_at(const hia_store *store, const char *name, struct stat *s) {
  return fstatat(store->folder, name, s, AT_SYMLINK_NOFOLLOW) == 0 && is_our_file(s);
}

hia_status hiaJ_store_each(hia_store *store, bool checks, hia_store_visit *visit, void *user) {
  DIR *list = list_folder(store);
  if (!list) return HIA_IO;
  for (const struct dirent *e; (e = readdir(list));) {
    struct stat s;
    bool is_sound = false;
    if (!is_entry(e->d_name)) continue;
    if (checks ? !check_file(store, e->d_name, &s, &is_sound) : !look_at(store, e->d_name, &s))
      continue;
    hia_store_file f = {
        .size = (uint64_t)s.st_size, .used_at = s.st_mtim.tv_sec, .is_sound = is_sound};
    memcpy(f.name, e->d_name, sizeof f.name);
    visit(user, &f);
  }
  closedir(list);
  return HIA_OK;
}

void hiaJ_store_remove(hia_store *store, const char name[HIA_STORE_NAME + 1]) {
  unlinkat(store->folder, name, 0);
}

/* Removes all files that hiaton has made, and no others. */
hia_status hiaJ_store_clear(hia_store *store) {
  DIR *list = list_folder(store);
  if (!list) return HIA_IO;
  for (const struct dirent *e; (e = readdir(list));)
    if (is_entry(e->d_name) || strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
        strcmp(e->d_name, SIZE_NAME) == 0)
      unlinkat(store->folder, e->d_name, 0);
  closedir(list);
  return HIA_OK;
}

/* ---- the limit of size ---- */

typedef struct usage {
  const hia_allocator *allocator;
  hia_store_file *files;
  size_t n, room;
  uint64_t bytes;
} usage;

static void add_file(void *user, const hia_store_file *file) {
  usage *u = user;
  u->bytes += file->size;
  if (u->n == u->room) {
    size_t room = u->room ? 2 * u->room : 64;
    hia_store_file *files = hiaR_alloc(u->allocator, room * sizeof *files);
    if (!files) return; /* the others are removed first */
    if (u->n) memcpy(files, u->files, u->n * sizeof *files);
    hiaR_free(u->allocator, u->files, u->room * sizeof *files);
    u->files = files;
    u->room = room;
  }
  u->files[u->n++] = *file;
}

static int by_use(const void *a, const void *b) {
  const hia_store_file *x = a, *y = b;
  return (x->used_at > y->used_at) - (x->used_at < y->used_at);
}

static void remove_stale(const hia_store *store) {
  DIR *list = list_folder(store);
  if (!list) return;
  time_t now = time(NULL);
  for (const struct dirent *e; (e = readdir(list));) {
    struct stat s;
    if (strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 &&
        fstatat(store->folder, e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - s.st_mtim.tv_sec > STALE_SECONDS)
      unlinkat(store->folder, e->d_name, 0);
  }
  closedir(list);
}

/* Removes files if there are more than the limit with `size` bytes more: down to three quarters of
 * it, so that not every file has to remove one. Returns the bytes of the files that are left. */
static uint64_t evict(hia_store *store, uint64_t size) {
  usage u = {.allocator = store->allocator};
  hiaJ_store_each(store, false, add_file, &u);
  if (u.bytes + size > store->max_bytes) {
    uint64_t most = store->max_bytes - store->max_bytes / 4;
    if (u.n) qsort(u.files, u.n, sizeof *u.files, by_use);
    for (size_t i = 0; i < u.n && u.bytes + size > most; i++) {
      hiaJ_store_remove(store, u.files[i].name);
      u.bytes -= u.files[i].size;
    }
    remove_stale(store);
  }
  hiaR_free(u.allocator, u.files, u.room * sizeof *u.files);
  return u.bytes;
}

static uint64_t units_of(uint64_t size) { return size / SIZE_UNIT + (size % SIZE_UNIT != 0); }

static bool write_all(int file, const void *from, size_t n) {
  for (const char *at = from; n > 0;) {
    ssize_t put = write(file, at, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    n -= (size_t)put;
  }
  return true;
}

static bool append(int file, uint64_t n) {
  static const char zeros[SIZE_UNIT];
  for (; n > sizeof zeros; n -= sizeof zeros)
    if (!write_all(file, zeros, sizeof zeros)) return false;
  return write_all(file, zeros, (size_t)n);
}

/* Makes room for a file of `size` bytes, and counts it. Only when the limit may be reached is the
 * folder looked through; or each time, if the file with the size cannot be used. While one process
 * looks, what another one counts may be lost: so the files may have more than the limit by those
 * that are written at that moment, until the folder is looked through again. */
static void make_room(hia_store *store, uint64_t size) {
  struct stat s;
  int file = open_file(store, SIZE_NAME, O_RDWR | O_APPEND | O_CREAT, &s);
  uint64_t n = units_of(size), most = store->max_bytes / SIZE_UNIT;
  bool fits = file >= 0 && s.st_size > 0 && n <= most && (uint64_t)s.st_size <= most - n,
       is_counted = true;
  if (fits) {
    is_counted = append(file, n);
  } else {
    uint64_t left = units_of(evict(store, size));
    if (file >= 0) is_counted = ftruncate(file, (off_t)(left + n)) == 0;
  }
  if (!is_counted) unlinkat(store->folder, SIZE_NAME, 0);
  if (file >= 0) close(file);
}

/* ---- writing ---- */

/* It is not waited for that the bytes are on the disk. A machine that stops may leave a file
 * without them, which its checksum finds. */
static bool write_file(hia_store *store, const char *name, const header *h, const void *bytes) {
  char temporary[64];
  snprintf(temporary, sizeof temporary, TEMPORARY "%ld.%llx", (long)getpid(),
           (unsigned long long)hiaR_now());
  int file =
      openat(store->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool is_whole = write_all(file, h, sizeof *h) && write_all(file, bytes, (size_t)h->size);
  is_whole &= close(file) == 0;
  if (is_whole && renameat(store->folder, temporary, store->folder, name) == 0) return true;
  unlinkat(store->folder, temporary, 0);
  return false;
}

bool hiaJ_store_write(hia_store *store, const char name[HIA_STORE_NAME + 1], const void *bytes,
                      size_t size) {
  header h = {.magic = HIA_STORE_MAGIC, .size = size};
  if (size == 0 || size > MAX_ENTRY || size > store->max_bytes / 2) return false;
  int before = errno;
  checksum(bytes, size, h.sum);
  make_room(store, size + sizeof h);
  bool is_written = write_file(store, name, &h, bytes);
  errno = before;
  return is_written;
}
