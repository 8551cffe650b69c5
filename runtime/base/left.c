/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the machine has left for values and stacks, where nobody has set a limit.
 *
 * One would expect that a run reads a figure when it begins, and takes no more than that. But
 * several runs may be under way, of several engines; each of them would take all that is left. So
 * the process has one account. A heap, a stack or the interpreter's frames ask it for a *grant*
 * before they grow past HIA_FREE_GRANT bytes, and from then on each time they have used up what
 * they were granted; the grants of all of them together stay below seven eighths of what was left
 * when the account was opened, and each grant below what is left now. The last eighth is for what
 * does not ask: other processes, the compiler, the host.
 *
 * A grant is as large again as what its holder has, so a run that takes gigabytes asks some dozen
 * times. The system's files are read again when a second has passed, or when what was granted since
 * then is no longer small: reading takes some ten to a hundred microseconds.
 *
 * Memory in swap does not count as left: a run that is swapped out makes no headway, and takes the
 * machine with it. */
#include "runtime/base/left.h"
#include <errno.h>
#include <fcntl.h>
#include <hiaton/runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096, TEXT = 8 << 10 };

/* ---- files of the system ---- */

/* Where "/proc" and "/sys" are looked for; tests have trees of their own. */
static const char *files_of = "";

/* Reads the file into `text`, as far as it fits. False: it cannot be read, or is empty. */
static bool read_text(const char *path, char text[TEXT]) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  size_t len = 0;
  if (file < 0) return false;
  for (ssize_t n; len < TEXT - 1 && (n = read(file, text + len, TEXT - 1 - len)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    len += (size_t)n;
  }
  close(file);
  text[len] = 0;
  return len > 0;
}

/* The number at the beginning of `text`; `none` if there is none, as in "max". */
static uint64_t number_at(const char *text, uint64_t none) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  return end == text || errno ? none : number;
}

/* The number behind `key`, which begins a line of the text. */
static uint64_t number_of(const char *text, const char *key, uint64_t none) {
  size_t len = strlen(key);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, key, len) == 0) return number_at(line + len, none);
    if (!*line) break;
  }
  return none;
}

/* ---- memory of the machine, and of control groups ---- */

/* The two kinds of control groups. Files have the same meaning in both, and other names. */
typedef struct group_kind {
  const char *most, *used; /* bytes */
  const char *caches[2];   /* of memory.stat: files in memory, which the system gives up first */
} group_kind;

static const group_kind version_1 = {"memory.limit_in_bytes",
                                     "memory.usage_in_bytes",
                                     {"total_inactive_file ", "total_active_file "}};
static const group_kind version_2 = {
    "memory.max", "memory.current", {"inactive_file ", "active_file "}};

static uint64_t read_number(const char *folder, const char *name, uint64_t none, char text[TEXT]) {
  char path[PATH];
  int len = snprintf(path, sizeof path, "%s/%s", folder, name);
  return len > 0 && len < PATH && read_text(path, text) ? number_at(text, none) : none;
}

/* What one group has left; UINT64_MAX: it has no limit. */
static uint64_t left_in(const group_kind *kind, const char *folder, char text[TEXT]) {
  uint64_t most = read_number(folder, kind->most, UINT64_MAX, text), cache = 0;
  if (most >= INT64_MAX / 2) return UINT64_MAX; /* version 1 has a number that stands for none */
  uint64_t used = read_number(folder, kind->used, 0, text);
  char path[PATH];
  int len = snprintf(path, sizeof path, "%s/memory.stat", folder);
  if (len > 0 && len < PATH && read_text(path, text))
    for (size_t i = 0; i < HIA_LEN(kind->caches); i++) cache += number_of(text, kind->caches[i], 0);
  used -= cache < used ? cache : used;
  return used < most ? most - used : 0;
}

/* The least that the group at `mount` + `path` and those that it is in have left. */
static uint64_t least_in(const group_kind *kind, const char *mount, const char *path,
                         char text[TEXT]) {
  char folder[PATH];
  int len = snprintf(folder, sizeof folder, "%s%s%s", files_of, mount, path);
  if (len <= 0 || len >= PATH) return UINT64_MAX;
  size_t top = strlen(files_of) + strlen(mount);
  uint64_t least = UINT64_MAX;
  for (char *end = folder + len;; *end = 0) {
    uint64_t left = left_in(kind, folder, text);
    if (left < least) least = left;
    while (end > folder + top && *--end != '/');
    if (end <= folder + top && !*end) return least;
  }
}

/* Finds in /proc/self/cgroup the group of this process: a line "N:memory:PATH", or "0::PATH". */
static bool find_path(const char *groups, bool is_version_1, char path[PATH]) {
  for (const char *line = groups; *line;) {
    const char *end = line + strcspn(line, "\n"), *first = memchr(line, ':', (size_t)(end - line));
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (second) {
      bool is_it = !is_version_1 && second == first + 1;
      for (const char *at = first + 1; is_version_1 && at < second; at++) {
        size_t len = strcspn(at, ",:");
        is_it |= len == 6 && memcmp(at, "memory", 6) == 0;
        at += len;
      }
      size_t len = (size_t)(end - second - 1);
      if (is_it && len < PATH) {
        memcpy(path, second + 1, len);
        path[len] = 0;
        return true;
      }
    }
    line = *end ? end + 1 : end;
  }
  return false;
}

/* What the groups of one kind have left, which are mounted at `mount`; the mount shows the part of
 * the tree from `root` on, as in a container. A path that is not in that part, or that the
 * container must not see, is replaced by the top of the part. */
static uint64_t left_under(const group_kind *kind, const char *mount, const char *root,
                           char path[PATH], char text[TEXT]) {
  size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
  bool is_in = strncmp(path, root, len) == 0 && (path[len] == '/' || !path[len]);
  if (!is_in || strstr(path, "/..")) return least_in(kind, mount, "", text);
  const char *rest = path + len;
  return least_in(kind, mount, strcmp(rest, "/") == 0 ? "" : rest, text);
}

/* One line of /proc/self/mountinfo: "ID PARENT DEVICE ROOT MOUNT OPTIONS... - TYPE SOURCE SUPER".
 */
static uint64_t left_of_mount(char *line, const char *groups, char text[TEXT]) {
  char *behind = strstr(line, " - "), *fields[5], *save = NULL, path[PATH];
  if (!behind) return UINT64_MAX;
  *behind = 0;
  uint32_t n = 0;
  for (char *f = strtok_r(line, " ", &save); f && n < HIA_LEN(fields);
       f = strtok_r(NULL, " ", &save))
    fields[n++] = f;
  const char *type = behind + 3, *super = type + strcspn(type, " ");
  bool is_1 = strncmp(type, "cgroup ", 7) == 0, is_2 = strncmp(type, "cgroup2 ", 8) == 0;
  const char *controller = is_1 ? strstr(super, "memory") : NULL;
  if (n < HIA_LEN(fields) || (!is_2 && !controller) || !find_path(groups, is_1, path))
    return UINT64_MAX;
  return left_under(is_1 ? &version_1 : &version_2, fields[4], fields[3], path, text);
}

/* The list of mounts may be long: it is read in parts, and lines that are longer than a part are
 * passed over. */
static uint64_t least_of_mounts(int mounts, const char *groups, char text[TEXT]) {
  char part[PATH];
  size_t len = 0;
  uint64_t least = UINT64_MAX;
  for (bool is_cut = false;;) {
    ssize_t n = read(mounts, part + len, sizeof part - 1 - len);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return least;
    len += (size_t)n;
    part[len] = 0;
    char *line = part;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
      *end = 0;
      uint64_t left = is_cut ? UINT64_MAX : left_of_mount(line, groups, text);
      if (left < least) least = left;
      is_cut = false;
    }
    len -= (size_t)(line - part);
    is_cut |= line == part && len == sizeof part - 1;
    if (is_cut) len = 0;
    memmove(part, line, len);
  }
}

static uint64_t least_of_groups(char text[TEXT]) {
  char groups[TEXT], path[PATH];
  int len = snprintf(path, sizeof path, "%s/proc/self/cgroup", files_of);
  if (len <= 0 || len >= PATH || !read_text(path, groups)) return UINT64_MAX;
  len = snprintf(path, sizeof path, "%s/proc/self/mountinfo", files_of);
  int mounts = len > 0 && len < PATH ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (mounts < 0) return UINT64_MAX;
  uint64_t least = least_of_mounts(mounts, groups, text);
  close(mounts);
  return least;
}

/* Kibibytes under such a key of /proc/self/status or /proc/meminfo, in bytes. */
static uint64_t bytes_of(const char *file, const char *key, uint64_t none, char text[TEXT]) {
  char path[PATH];
  int len = snprintf(path, sizeof path, "%s%s", files_of, file);
  uint64_t number = UINT64_MAX;
  if (len > 0 && len < PATH && read_text(path, text)) number = number_of(text, key, UINT64_MAX);
  return number > UINT64_MAX >> 10 ? none : number << 10;
}

/* ---- address space ---- */

static uint64_t left_of_limit(const struct rlimit *limit, const char *key, char text[TEXT]) {
  if (limit->rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  uint64_t used = bytes_of("/proc/self/status", key, 0, text);
  return used < limit->rlim_cur ? limit->rlim_cur - used : 0;
}

static uint64_t left_of_space(char text[TEXT]) {
  struct rlimit of_space = {RLIM_INFINITY, RLIM_INFINITY}, of_data = of_space;
  getrlimit(RLIMIT_AS, &of_space); /* without one there is no limit */
  getrlimit(RLIMIT_DATA, &of_data);
  uint64_t space = left_of_limit(&of_space, "VmSize:", text),
           data = left_of_limit(&of_data, "VmData:", text);
  return space < data ? space : data;
}

uint64_t hiaR_space_left(void) {
  int error = errno; /* the host's errno must not change */
  char text[TEXT];
  uint64_t left = left_of_space(text);
  errno = error;
  return left;
}

hia_left hiaR_left_read(void) {
  int error = errno;
  char text[TEXT];
  /* Old and foreign kernels do not say what is available: there the allocator's word is all. */
  hia_left left = {.memory = bytes_of("/proc/meminfo", "MemAvailable:", UINT64_MAX, text)};
  uint64_t groups = least_of_groups(text);
  if (groups < left.memory) left.memory = groups;
  left.space = left_of_space(text);
  errno = error;
  return left;
}

/* ---- the account ---- */

static struct {
  pthread_mutex_t lock;
  bool is_open;
  uint64_t granted;    /* to all that hold a grant */
  hia_left base;       /* what was left, and granted, when last nothing was, or a minute ago */
  uint64_t based_at;   /* when that was read */
  hia_left left;       /* as it was read last */
  uint64_t read_at;    /* when that was */
  uint64_t granted_at; /* what was granted then */
  uint64_t taken;      /* since then, by what asks without holding a grant */
} account = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const uint64_t second = 1000000000, minute = 60 * second;

/* A child that is forked while another thread holds the lock would wait for it for ever: so the
 * thread that forks holds it meanwhile. */
static void hold(void) { pthread_mutex_lock(&account.lock); }
static void unlock(void) { pthread_mutex_unlock(&account.lock); }
static void prepare_forks(void) { pthread_atfork(hold, unlock, unlock); }

static void lock(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare_forks);
  hold();
}

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static uint64_t sum_of(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* What may still be granted of one kind, of which there was `left`, and `base` before. */
static uint64_t may_grant_of(uint64_t left, uint64_t base) {
  uint64_t since = sum_of(minus(account.granted, account.granted_at), account.taken);
  if (left == UINT64_MAX) return UINT64_MAX;
  uint64_t now = minus(left, since), all = minus(base, account.granted);
  return minus(now < all ? now : all, base / 8);
}

/* What is left as far as it is known without reading files. */
static uint64_t may_grant(bool is_mapped) {
  uint64_t memory = may_grant_of(account.left.memory, account.base.memory),
           space = may_grant_of(account.left.space, account.base.space);
  return is_mapped || memory < space ? memory : space;
}

/* What may still be granted to something that asks for `more`. */
static uint64_t can_grant(uint64_t more, bool is_mapped) {
  uint64_t now = hiaR_now();
  bool is_new = account.is_open && now - account.read_at < second;
  if (is_new && more <= may_grant(is_mapped) / 8) return may_grant(is_mapped);
  account.left = hiaR_left_read();
  account.read_at = now;
  account.granted_at = account.granted;
  account.taken = 0;
  /* What the holders of grants have not touched yet is not missed in what was read; so the base
     stays while there are any. But what others have given back since then should count, too. */
  if (!account.is_open || !account.granted || now - account.based_at > minute) {
    account.base.memory = sum_of(account.left.memory, account.granted);
    account.base.space = sum_of(account.left.space, account.granted);
    account.based_at = now;
  }
  account.is_open = true;
  return may_grant(is_mapped);
}

size_t hiaR_grant(size_t granted, size_t wanted, bool is_mapped) {
  if (wanted <= granted) return granted;
  size_t more = wanted - granted;
  lock();
  uint64_t most = can_grant(more, is_mapped);
  if (more > most) {
    more = 0;
  } else {
    size_t ample = most / 4 < wanted ? (size_t)(most / 4) : wanted;
    if (more < ample && wanted <= SIZE_MAX / 4) more = ample;
    account.granted += more;
  }
  unlock();
  return granted + more;
}

void hiaR_grant_end(size_t granted) {
  if (!granted) return;
  lock();
  account.granted -= granted;
  if (account.granted_at > account.granted) account.granted_at = account.granted;
  unlock();
}

bool hiaR_may_take(size_t size) {
  if (size <= HIA_FREE_GRANT) return true;
  lock();
  bool may = size <= can_grant(size, false);
  if (may) account.taken = sum_of(account.taken, size);
  unlock();
  return may;
}

void *hiaR_take_large(const hia_allocator *allocator, size_t size) {
  return hiaR_may_take(size) ? hiaR_alloc_large(allocator, size) : NULL;
}

size_t hia_memory_left(void) {
  lock();
  uint64_t left = can_grant(UINT64_MAX, false);
  unlock();
  return left < SIZE_MAX ? (size_t)left : SIZE_MAX;
}

void hiaR_left_from(const char *files) {
  lock();
  files_of = files ? files : "";
  account.is_open = false;
  unlock();
}
