/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/interchange: .npz. */
#include "runtime/interchange/npz.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- archives ---- */

/* Deflates without a head: *to is allocated. */
static size_t deflate_bytes(const void *bytes, size_t n, char **to) {
  void *library = dlopen("libz.so.1", RTLD_NOW);
  cr_assert_not_null(library, "these tests need zlib");
  int (*begin)(z_streamp, int, int, int, int, int, const char *, int);
  int (*run)(z_streamp, int), (*end)(z_streamp);
  *(void **)&begin = dlsym(library, "deflateInit2_");
  *(void **)&run = dlsym(library, "deflate");
  *(void **)&end = dlsym(library, "deflateEnd");
  z_stream s = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};
  size_t room = n + n / 100 + 64;
  *to = malloc(room);
  s.next_out = (Bytef *)*to;
  s.avail_out = (uInt)room;
  cr_assert_eq(begin(&s, 9, Z_DEFLATED, -15, 8, 0, ZLIB_VERSION, sizeof s), Z_OK);
  cr_assert_eq(run(&s, Z_FINISH), Z_STREAM_END);
  size_t len = room - s.avail_out;
  end(&s);
  return len;
}

static uint32_t crc_of(const void *bytes, size_t n) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < n; i++) {
    crc ^= ((const unsigned char *)bytes)[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

typedef enum form {
  PLAIN,
  IN_64 = 1,        /* sizes and offsets in extra fields, and a second end record */
  SIZES_BEHIND = 2, /* as when the archive is written to a pipe */
  DEFLATED = 4,
} form;

typedef struct archive {
  char bytes[4096];
  size_t len;
  size_t local[4], central[4], data[4], end64, end; /* where they are */
} archive;

static void put(archive *a, uint64_t x, int n) {
  for (int i = 0; i < n; i++) a->bytes[a->len++] = (char)(x >> 8 * i & 255);
}
static void put_bytes(archive *a, const void *bytes, size_t n) {
  cr_assert_lt(a->len + n, sizeof a->bytes);
  memcpy(a->bytes + a->len, bytes, n);
  a->len += n;
}

typedef struct member {
  const char *name;
  const char *bytes;
  size_t n;
  form form;
} member;

static void make_archive(archive *a, const member *members, size_t n) {
  *a = (archive){.len = 0};
  size_t packed[4];
  uint32_t crcs[4];
  bool is_64 = false;
  for (size_t i = 0; i < n; i++) {
    const member *m = &members[i];
    char *bytes = NULL;
    packed[i] = m->form & DEFLATED ? deflate_bytes(m->bytes, m->n, &bytes) : m->n;
    crcs[i] = crc_of(m->bytes, m->n);
    bool in_64 = m->form & IN_64, behind = m->form & SIZES_BEHIND;
    is_64 |= in_64;
    a->local[i] = a->len;
    put(a, 0x04034b50, 4);
    put(a, in_64 ? 45 : 20, 2);
    put(a, behind ? 8 : 0, 2);
    put(a, m->form & DEFLATED ? 8 : 0, 2);
    put(a, 0x00210000, 4);
    put(a, behind ? 0 : crcs[i], 4);
    put(a, in_64 ? 0xffffffff : behind ? 0 : packed[i], 4);
    put(a, in_64 ? 0xffffffff : behind ? 0 : m->n, 4);
    put(a, strlen(m->name), 2);
    put(a, in_64 ? 20 : 0, 2);
    put_bytes(a, m->name, strlen(m->name));
    if (in_64) put(a, 1, 2), put(a, 16, 2), put(a, m->n, 8), put(a, packed[i], 8);
    a->data[i] = a->len;
    put_bytes(a, bytes ? bytes : m->bytes, packed[i]);
    if (behind) put(a, 0x08074b50, 4), put(a, crcs[i], 4), put(a, packed[i], 4), put(a, m->n, 4);
    free(bytes);
  }
  size_t directory = a->len;
  for (size_t i = 0; i < n; i++) {
    const member *m = &members[i];
    bool in_64 = m->form & IN_64;
    a->central[i] = a->len;
    put(a, 0x02014b50, 4);
    put(a, in_64 ? 45 : 20, 2);
    put(a, in_64 ? 45 : 20, 2);
    put(a, m->form & SIZES_BEHIND ? 8 : 0, 2);
    put(a, m->form & DEFLATED ? 8 : 0, 2);
    put(a, 0x00210000, 4);
    put(a, crcs[i], 4);
    put(a, in_64 ? 0xffffffff : packed[i], 4);
    put(a, in_64 ? 0xffffffff : m->n, 4);
    put(a, strlen(m->name), 2);
    put(a, in_64 ? 37 : 0, 2);
    put(a, in_64 ? 2 : 0, 2);
    put(a, 0, 8);
    put(a, in_64 ? 0xffffffff : a->local[i], 4);
    put_bytes(a, m->name, strlen(m->name));
    if (in_64) { /* behind another field */
      put(a, 0x5455, 2), put(a, 5, 2), put(a, 0, 5);
      put(a, 1, 2), put(a, 24, 2);
      put(a, m->n, 8), put(a, packed[i], 8), put(a, a->local[i], 8);
      put_bytes(a, "hi", 2);
    }
  }
  size_t size = a->len - directory;
  a->end64 = a->len;
  if (is_64) {
    put(a, 0x06064b50, 4), put(a, 44, 8), put(a, 45, 2), put(a, 45, 2), put(a, 0, 8);
    put(a, n, 8), put(a, n, 8), put(a, size, 8), put(a, directory, 8);
    put(a, 0x07064b50, 4), put(a, 0, 4), put(a, a->end64, 8), put(a, 1, 4);
  }
  a->end = a->len;
  put(a, 0x06054b50, 4), put(a, 0, 4);
  put(a, is_64 ? 0xffff : n, 2), put(a, is_64 ? 0xffff : n, 2);
  put(a, is_64 ? 0xffffffff : size, 4), put(a, is_64 ? 0xffffffff : directory, 4), put(a, 0, 2);
}

/* A .npy of this dictionary. */
static size_t make_npy(const char *dictionary, const void *data, size_t n, char *to) {
  size_t len = strlen(dictionary);
  memcpy(to, "\x93NUMPY\1", 8);
  to[8] = (char)(len & 255);
  to[9] = (char)(len >> 8);
  memcpy(to + 10, dictionary, len);
  memcpy(to + 10 + len, data, n);
  return 10 + len + n;
}

static const char three_text[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}",
                  swapped_text[] = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3)}",
                  bools_text[] = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}",
                  scalar_text[] = "{'descr': '<f8', 'fortran_order': False, 'shape': ()}";
static const int32_t three[] = {1, -2, 3};

/* 'a' is stored and 'b' deflated, both [1, -2, 3]; the third member is no array. */
static void make_two(archive *a, form how) {
  static char npy[256];
  size_t n = make_npy(three_text, three, sizeof three, npy);
  const member members[] = {
      {"a.npy", npy, n, how}, {"b.npy", npy, n, how | DEFLATED}, {"note.txt", "a note", 6, how}};
  make_archive(a, members, 3);
}

/* ---- reading ---- */

/* Reads all arrays of an archive that lies in a block of just its size. Returns the first failure,
 * with its error. `check`: what each array must be, or NULL. */
static hia_status read_all(const void *bytes, size_t n, hia_value_error *error,
                           void (*check)(const hia_file_tensor *t, const void *elements)) {
  char *exact = malloc(n ? n : 1);
  if (n) memcpy(exact, bytes, n);
  hia_npz_file file;
  hia_status status = hiaR_npz_read(&file, &hiaR_malloc, exact, n, error);
  if (status == HIA_OK) {
    for (size_t i = 0; i < file.n && status == HIA_OK; i++) {
      hia_file_tensor t;
      status = hiaR_npz_look(&file, i, &t, error);
      if (status != HIA_OK || t.size > 1 << 20) break;
      char *to = malloc(t.size ? t.size : 1);
      status = hiaR_npz_copy(&file, i, &t, (hia_dtype)t.dtype, to, error);
      if (status == HIA_OK && check) check(&t, to);
      free(to);
    }
    hiaR_npz_free(&file);
  }
  free(exact);
  return status;
}

static void check_three(const hia_file_tensor *t, const void *elements) {
  cr_assert_eq(t->dtype, HIA_I32);
  cr_assert_eq(t->shape.rank, 1);
  cr_assert_eq(t->shape.dims[0], 3);
  cr_assert_eq(t->name_len, 1);
  cr_assert(t->name[0] == 'a' || t->name[0] == 'b');
  cr_assert_eq(memcmp(elements, three, sizeof three), 0);
}

static void expect_three(const archive *a) {
  hia_value_error error;
  hia_status status = read_all(a->bytes, a->len, &error, check_three);
  cr_assert_eq(status, HIA_OK, "%s", error.message);
  hia_npz_file file;
  cr_assert_eq(hiaR_npz_read(&file, &hiaR_malloc, a->bytes, a->len, &error), HIA_OK);
  cr_assert_eq(file.n, 2);
  cr_assert_str_eq(file.arrays[0].name, "a");
  cr_assert_str_eq(file.arrays[1].name, "b");
  cr_assert_eq(hiaR_npz_find(&file, "b", 1), 1);
  cr_assert_eq(hiaR_npz_find(&file, "note.txt", 8), 2);
  hiaR_npz_free(&file);
}

Test(npz, forms) {
  archive a;
  for (int f = 0; f < 4; f++) {
    make_two(&a, (form)f);
    expect_three(&a);
  }
  /* With a comment, which may look like an end record. */
  make_two(&a, PLAIN);
  a.bytes[a.end + 20] = 30;
  put_bytes(&a, "PK\5\6 0123456789012345678901234", 30);
  expect_three(&a);
  /* An archive of nothing. */
  make_archive(&a, NULL, 0);
  hia_value_error error;
  cr_assert_eq(read_all(a.bytes, a.len, &error, NULL), HIA_OK, "%s", error.message);
}

/* np.savez_compressed(file, a=np.array([[1.5, 2]], dtype='>f4')) of NumPy 1.24 and Python 3.11. */
static const char by_numpy[] =
    "PK\003\004\024\000\000\000\010\000\000\000!\000Kf\223,N\000\000\000\210\000\000\000\005\000"
    "\024\000a.npy\001\000\020\000\210\000\000\000\000\000\000\000N\000\000\000\000\000\000\000"
    "\233\354\027\352\033\020\311\310P\306P\255\236\222Z\234\134\244n\245\240n\227f\242\256\243"
    "\240\236\226_TR\224\230\027\237_\224\222\012\022wK\314)N\005\212\027g$\026\244\002\371\032"
    "\206:\012F\232:\012\265\012d\003.\373\003\014\014\016\014\014\014\000PK\001\002\024\003\024"
    "\000\000\000\010\000\000\000!\000Kf\223,N\000\000\000\210\000\000\000\005\000\000\000\000"
    "\000\000\000\000\000\000\000\200\001\000\000\000\000a.npyPK\005\006\000\000\000\000\001\000"
    "\001\0003\000\000\000\205\000\000\000\000\000";

static void check_numpy(const hia_file_tensor *t, const void *elements) {
  const float wanted[] = {1.5f, 2};
  cr_assert_str_eq(t->name, "a");
  cr_assert_eq(t->dtype, HIA_F32);
  cr_assert_eq(t->shape.rank, 2);
  cr_assert_eq(t->shape.dims[0], 1);
  cr_assert_eq(memcmp(elements, wanted, sizeof wanted), 0);
}

Test(npz, of_numpy) {
  hia_value_error error;
  hia_status status = read_all(by_numpy, sizeof by_numpy - 1, &error, check_numpy);
  cr_assert_eq(status, HIA_OK, "%s", error.message);
}

static void check_swapped(const hia_file_tensor *t, const void *elements) {
  const int32_t wanted[] = {0, 1, 2, 3, 4, 5};
  cr_assert_eq(t->shape.rank, 2);
  cr_assert_eq(memcmp(elements, wanted, sizeof wanted), 0);
}
static void check_scalar(const hia_file_tensor *t, const void *elements) {
  cr_assert_eq(t->shape.rank, 0);
  cr_assert_eq(memcmp(elements, &(double){2.5}, sizeof(double)), 0);
}

Test(npz, order_of_elements) {
  /* Of [[0, 1, 2], [3, 4, 5]] the columns, with the highest byte first. */
  static const char swapped[] = "\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\4\0\0\0\2\0\0\0\5";
  const double half = 2.5;
  char npy[256];
  archive a;
  hia_value_error error;
  for (int f = 0; f <= DEFLATED; f += DEFLATED) {
    member m = {"x.npy", npy, make_npy(swapped_text, swapped, 24, npy), (form)f};
    make_archive(&a, &m, 1);
    cr_expect_eq(read_all(a.bytes, a.len, &error, check_swapped), HIA_OK, "%s", error.message);
    m.n = make_npy(scalar_text, &half, sizeof half, npy);
    make_archive(&a, &m, 1);
    cr_expect_eq(read_all(a.bytes, a.len, &error, check_scalar), HIA_OK, "%s", error.message);
    /* A bool that is neither, and what is wrong with a .npy, by array and byte of the .npy. */
    m.n = make_npy(bools_text, "\1\2", 2, npy);
    make_archive(&a, &m, 1);
    cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
    cr_expect_str_eq(error.message, "array 'x': a bool is 2, neither 0 nor 1, at byte 66");
    m.n = make_npy(three_text, three, 8, npy);
    make_archive(&a, &m, 1);
    cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
    cr_expect_str_eq(error.message, "array 'x': the .npy file is damaged: its shape needs 12 bytes "
                                    "of elements, it has 8, at byte 60");
  }
}

/* ---- what is refused ---- */

typedef enum where { LOCAL, CENTRAL, END64, END, DATA } where;

/* `size` bytes at an offset of the header of member i become a value, or (is_more) that much more.
 */
typedef struct damage {
  where where;
  int i, offset, size;
  uint64_t value;
  bool is_more;
  form form;
  const char *message;
} damage;

static const damage damages[] = {
    {LOCAL, 0, 0, 1, 'Q', 0, PLAIN, "this is no .npz file, at byte 0"},
    {END, 0, 0, 1, 'Q', 0, PLAIN, "it has no end record"},
    {END, 0, 4, 2, 1, 0, PLAIN, "an archive in several files"},
    {END, 0, 8, 2, 2, 0, PLAIN, "an archive in several files"},
    {END, 0, 8, 4, 0x00020002, 0, PLAIN, "its directory has more members than it says"},
    {END, 0, 8, 4, 0x00040004, 0, PLAIN, "its directory has fewer members than it says"},
    {END, 0, 8, 4, 0xfffefffe, 0, PLAIN, "its directory has fewer members than it says"},
    {END, 0, 12, 4, 1, true, PLAIN, "its directory is not where it says"},
    {END, 0, 16, 4, 1, true, PLAIN, "its directory is not where it says"},
    {END, 0, 16, 4, 0xfffffff0, 0, PLAIN, "its directory is not where it says"},
    {END, 0, 20, 2, 1, 0, PLAIN, "it has no end record"},
    {END64, 0, 0, 1, 'Q', 0, IN_64, "its second end record is not where it says"},
    {END64, 0, 4, 8, 45, 0, IN_64, "its second end record has another length"},
    {END64, 0, 24, 8, 4, 0, IN_64, "an archive in several files"},
    {END64, 0, 24, 8, UINT64_MAX / 46, 0, IN_64, "an archive in several files"},
    {END64, 0, 40, 8, UINT64_MAX, 0, IN_64, "its directory is not where it says"},
    {END64, 0, 48, 8, UINT64_MAX, 0, IN_64, "its directory is not where it says"},
    {END64, 0, 56 + 8, 8, UINT64_MAX, 0, IN_64, "its second end record is not where it says"},
    {END64, 0, 56 + 16, 4, 2, 0, IN_64, "an archive in several files"},
    {END, 0, 12, 4, 7, 0, IN_64, "its end records differ"},
    {CENTRAL, 0, 0, 1, 'Q', 0, PLAIN, "its directory has fewer members than it says"},
    {CENTRAL, 0, 8, 2, 1, 0, PLAIN, "'a.npy' is encrypted"},
    {CENTRAL, 0, 8, 2, 0x2000, 0, PLAIN, "'a.npy' is encrypted"},
    {CENTRAL, 0, 8, 2, 0x20, 0, PLAIN, "'a.npy' has flags that are unknown: 0x0020"},
    {CENTRAL, 0, 8, 2, 0x800, 0, PLAIN, "the headers of a member differ"},
    {CENTRAL, 0, 10, 2, 14, 0, PLAIN, "'a.npy' is compressed by method 14; stored (0)"},
    {CENTRAL, 0, 10, 2, 8, 0, PLAIN, "the headers of a member differ"},
    {CENTRAL, 0, 16, 4, 1, true, PLAIN, "the headers of a member differ"},
    {CENTRAL, 0, 20, 4, 1, true, PLAIN, "a member that is stored has two sizes"},
    {CENTRAL, 0, 24, 4, 1, true, PLAIN, "a member that is stored has two sizes"},
    {CENTRAL, 1, 20, 4, 0x7fffffff, 0, PLAIN, "a member reaches into the directory"},
    {CENTRAL, 1, 24, 4, 0x7fffffff, 0, PLAIN, "'b.npy' would have 2147483647 bytes, inflated from"},
    {CENTRAL, 1, 24, 4, 1, true, PLAIN, "the headers of a member differ"},
    {CENTRAL, 1, 24, 4, 1, true, SIZES_BEHIND,
     "array 'b': the .npy file is damaged: its shape needs 12 bytes of elements, it has 13"},
    {CENTRAL, 1, 20, 4, 1, true, SIZES_BEHIND, "there are bytes behind what is deflated"},
    {CENTRAL, 1, 20, 4, UINT64_MAX, true, SIZES_BEHIND, "what is deflated ends early"},
    {CENTRAL, 0, 16, 4, 1, true, SIZES_BEHIND,
     "array 'a': the .npz file is damaged: the bytes have"},
    {CENTRAL, 1, 16, 4, 1, true, SIZES_BEHIND,
     "array 'b': the .npz file is damaged: the bytes have"},
    {CENTRAL, 0, 28, 2, 60000, 0, PLAIN, "the header of a member is longer than the directory"},
    {CENTRAL, 2, 32, 2, 9, 0, PLAIN, "the header of a member is longer than the directory"},
    {CENTRAL, 0, 34, 2, 1, 0, PLAIN, "an archive in several files"},
    {CENTRAL, 0, 42, 4, 1, true, PLAIN, "a member is not where it says"},
    {CENTRAL, 1, 42, 4, 0xfffffff0, 0, PLAIN, "a member is not where it says"},
    {CENTRAL, 1, 42, 4, 0, 0, PLAIN, "a member has two names"},
    {CENTRAL, 0, 46, 1, 0, 0, PLAIN, "a name has a NUL"},
    {CENTRAL, 0, 46, 1, 0xff, 0, PLAIN, "a name is no UTF-8"},
    {CENTRAL, 0, 46, 2, 0x9fc3, 0, PLAIN, "a name is neither ASCII nor marked to be UTF-8"},
    {CENTRAL, 0, 46, 1, 'z', 0, PLAIN, "a member has two names"},
    {CENTRAL, 0, 46 + 5 + 2, 2, 60000, 0, IN_64, "an extra field of a member is longer"},
    {CENTRAL, 0, 46 + 5 + 9 + 2, 2, 8, 0, IN_64, "a size of a member is missing"},
    {CENTRAL, 0, 46 + 5 + 9 + 4, 8, UINT64_MAX, 0, IN_64, "a member that is stored has two sizes"},
    {CENTRAL, 1, 46 + 5 + 9 + 12, 8, UINT64_MAX - 8, 0, IN_64,
     "a member reaches into the directory"},
    {CENTRAL, 0, 46 + 5 + 9 + 20, 8, UINT64_MAX - 8, 0, IN_64, "a member is not where it says"},
    {LOCAL, 1, 0, 1, 'Q', 0, PLAIN, "a member is not where it says"},
    {LOCAL, 0, 6, 2, 1, 0, PLAIN, "the headers of a member differ"},
    {LOCAL, 0, 8, 2, 8, 0, PLAIN, "the headers of a member differ"},
    {LOCAL, 0, 18, 4, 1, true, PLAIN, "the headers of a member differ"},
    {LOCAL, 0, 26, 2, 4, 0, PLAIN, "a member has two names"},
    {LOCAL, 0, 28, 2, 60000, 0, PLAIN, "a member reaches into the directory"},
    {LOCAL, 0, 30 + 5 + 4, 8, 1, true, IN_64, "the headers of a member differ"},
    {LOCAL, 0, 30 + 5 + 2, 2, 8, 0, IN_64, "a size of a member is missing"},
    {DATA, 0, 10, 1, 'x', 0, PLAIN, "array 'a': the .npy file is damaged: its header lacks a '{'"},
    {DATA, 0, 66, 1, 1, true, PLAIN,
     "array 'a': the .npz file is damaged: the bytes have another CRC"},
    {DATA, 1, 0, 1, 7, 0, PLAIN,
     "array 'b': the .npz file is damaged: what is deflated ends early or"},
};

Test(npz, damages) {
  for (size_t i = 0; i < HIA_LEN(damages); i++) {
    const damage *d = &damages[i];
    archive a;
    make_two(&a, d->form);
    size_t at = (d->where == LOCAL     ? a.local[d->i]
                 : d->where == CENTRAL ? a.central[d->i]
                 : d->where == DATA    ? a.data[d->i]
                 : d->where == END64   ? a.end64
                                       : a.end) +
                (size_t)d->offset;
    uint64_t old = 0;
    for (int k = 0; k < d->size; k++)
      old |= (uint64_t)(unsigned char)a.bytes[at + (size_t)k] << 8 * k;
    uint64_t x = d->is_more ? old + d->value : d->value;
    for (int k = 0; k < d->size; k++) a.bytes[at + (size_t)k] = (char)(x >> 8 * k & 255);
    hia_value_error error = {.code = NULL};
    hia_status status = read_all(a.bytes, a.len, &error, NULL);
    cr_expect_eq(status, HIA_ARGUMENT, "%zu (%s): status %d", i, d->message, status);
    cr_expect(strstr(error.message, d->message) && strstr(error.message, ", at byte "),
              "%zu: %s, not %s", i, error.message, d->message);
    cr_expect_leq(error.at, a.len);
  }
}

Test(npz, members_that_overlap) {
  /* Two names for the same bytes, which a directory may well say. */
  archive a;
  hia_value_error error;
  char npy[256];
  size_t n = make_npy(three_text, three, sizeof three, npy);
  const member twice[] = {{"a.npy", npy, n, PLAIN}, {"a.npy", npy, n, PLAIN}};
  make_archive(&a, twice, 2);
  cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "a name is there twice"), "%s", error.message);
  memcpy(a.bytes + a.central[1] + 42, a.bytes + a.central[0] + 42, 4);
  cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "a member overlaps another"), "%s", error.message);
  /* A member within the bytes of another one. */
  archive inner;
  make_archive(&inner, twice, 1);
  const member nested[] = {{"b.npy", inner.bytes, inner.len, PLAIN}, {"a.npy", npy, n, PLAIN}};
  make_archive(&a, nested, 2);
  size_t within = a.data[0];
  for (int k = 0; k < 4; k++)
    a.bytes[a.central[1] + 42 + (size_t)k] = (char)(within >> 8 * k & 255);
  cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "a member overlaps another"), "%s", error.message);
}

/* Whatever is cut off or altered: an error with a byte of the file, or the same elements. */
Test(npz, cut_and_altered) {
  static const unsigned char masks[] = {1, 0x80, 0xff};
  for (int f = 0; f < 4; f++) {
    archive a;
    hia_value_error error;
    make_two(&a, (form)f);
    for (size_t n = 0; n < a.len; n++) {
      cr_assert_eq(read_all(a.bytes, n, &error, NULL), HIA_ARGUMENT, "%zu of %zu", n, a.len);
      cr_assert(error.message[0] && error.at <= n, "%zu of %zu: %s", n, a.len, error.message);
    }
    for (size_t i = 0; i < a.len * HIA_LEN(masks); i++) {
      size_t at = i / HIA_LEN(masks);
      char old = a.bytes[at];
      a.bytes[at] = (char)(old ^ masks[i % HIA_LEN(masks)]);
      hia_status status = read_all(a.bytes, a.len, &error, check_three);
      cr_assert(status == HIA_OK || (status == HIA_ARGUMENT && error.message[0]), "byte %zu", at);
      a.bytes[at] = old;
    }
  }
}

/* ---- bombs ---- */

Test(npz, bombs) {
  /* A megabyte of zeros, which deflate makes a thousandth of. */
  enum { N = 1 << 18 };
  char *npy = calloc(1, 4 * N + 256);
  archive a;
  hia_value_error error;
  hia_file_tensor t;
  hia_npz_file file;
  char text[128];
  snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,)}", N);
  char *zeros = calloc(4, N);
  member m = {"z.npy", npy, make_npy(text, zeros, (size_t)4 * N, npy), DEFLATED | SIZES_BEHIND};
  make_archive(&a, &m, 1);
  cr_assert_lt(a.len, 1500);
  /* Looking at it, and refusing it, takes little memory: that of zlib and of the header. */
  test_heap heap;
  test_heap_init(&heap, 200000);
  cr_assert_eq(hiaR_npz_read(&file, &heap.allocator, a.bytes, a.len, &error), HIA_OK);
  cr_assert_lt(heap.bytes, 1000);
  cr_assert_eq(hiaR_npz_look(&file, 0, &t, &error), HIA_OK, "%s", error.message);
  cr_assert_eq(t.size, 4 * N);
  cr_assert_eq(hiaR_npz_copy(&file, 0, &t, (hia_dtype)t.dtype, npy, &error), HIA_OK, "%s",
               error.message);
  cr_assert_eq(memcmp(npy, zeros, 4 * N), 0);
  hiaR_npz_free(&file);
  cr_assert_eq(heap.blocks, 0);
  /* One that says to be small: header and directory agree, and more comes out. */
  make_npy(text, zeros, (size_t)4 * N, npy);
  char *shape = strstr(npy + 10, "(262144,)");
  memcpy(shape, "(     1,)", 9);
  make_archive(&a, &m, 1);
  uint32_t small = 10 + (uint32_t)strlen(text) + 4;
  for (int k = 0; k < 4; k++) a.bytes[a.central[0] + 24 + (size_t)k] = (char)(small >> 8 * k & 255);
  cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "array 'z': the .npz file is damaged: it inflates to more than"),
            "%s", error.message);
  /* A header of a megabyte. */
  memset(npy, ' ', 1 << 20);
  memcpy(npy, "\x93NUMPY\2\0\0\0\x0f\0{", 13);
  m.n = 1 << 20;
  make_archive(&a, &m, 1);
  cr_expect_eq(read_all(a.bytes, a.len, &error, NULL), HIA_ARGUMENT);
  cr_expect_str_eq(error.message, "array 'z': its header has more than 65546 bytes, at byte 8");
  free(zeros);
  free(npy);
}

/* ---- writing ---- */

static value_buffer write_npz(const hia_file_tensor *tensors, size_t n) {
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_value_error error;
  cr_assert_eq(hiaR_npz_write(&hiaR_malloc, tensors, n, &sink, &error), HIA_OK, "%s",
               error.message);
  return file;
}

static hia_file_tensor tensor_three(const char *name) {
  return (hia_file_tensor){.name = name,
                           .name_len = strlen(name),
                           .dtype = HIA_I32,
                           .shape = {.rank = 1, .dims = {3}},
                           .data = three,
                           .size = sizeof three};
}

Test(npz, written) {
  const hia_file_tensor tensors[] = {tensor_three("b"), tensor_three("a")};
  value_buffer file = write_npz(tensors, 2), again = write_npz(tensors, 2);
  cr_assert_eq(file.len, again.len);
  cr_assert_eq(memcmp(file.data, again.data, file.len), 0);
  hia_value_error error;
  cr_assert_eq(read_all(file.data, file.len, &error, check_three), HIA_OK, "%s", error.message);
  /* The same headers as elsewhere: version, no flags, stored, the first of January 1980. */
  char npy[HIA_NPY_HEADER + sizeof three];
  size_t n = hiaR_npy_header(&tensors[0], npy);
  memcpy(npy + n, three, sizeof three);
  const member members[] = {{"b.npy", npy, n + sizeof three, PLAIN},
                            {"a.npy", npy, n + sizeof three, PLAIN}};
  archive a;
  make_archive(&a, members, 2);
  for (int i = 0; i < 2; i++) { /* made by Python, on Unix; readable by its owner */
    a.bytes[a.central[i] + 5] = 3;
    memcpy(a.bytes + a.central[i] + 38, "\0\0\x80\1", 4);
  }
  cr_assert_eq(file.len, a.len);
  cr_assert_eq(memcmp(file.data, a.bytes, a.len), 0);
  free(file.data);
  free(again.data);
  /* Without arrays, and with names of other letters. */
  file = write_npz(NULL, 0);
  cr_assert_eq(file.len, 22);
  cr_assert_eq(read_all(file.data, file.len, &error, NULL), HIA_OK);
  free(file.data);
  const hia_file_tensor other = tensor_three("gr\xc3\xb6\xc3\x9f"
                                             "e");
  file = write_npz(&other, 1);
  cr_assert_eq(file.data[7], 8, "is not marked to be UTF-8");
  cr_assert_eq(read_all(file.data, file.len, &error, NULL), HIA_OK, "%s", error.message);
  free(file.data);
}

typedef struct counted {
  uint64_t n, at; /* so many bytes; the last 256 of them */
  unsigned char last[256];
} counted;

static bool count_bytes(void *user, const char *bytes, size_t n) {
  counted *c = user;
  for (size_t i = n > 256 ? n - 256 : 0; i < n; i++)
    c->last[(c->n + i) % 256] = (unsigned char)bytes[i];
  c->n += n;
  return true;
}

/* More arrays than 16 bits count: a second end record. */
Test(npz, many_arrays) {
  enum { N = 65540 };
  hia_file_tensor *tensors = calloc(N, sizeof *tensors);
  char(*names)[8] = calloc(N, sizeof *names);
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof names[i], "%d", i);
    tensors[i] = (hia_file_tensor){
        .name = names[i], .name_len = strlen(names[i]), .dtype = HIA_BOOL, .data = "\1", .size = 1};
  }
  counted c = {0};
  hia_value_error error;
  const hia_sink count = {count_bytes, &c};
  cr_assert_eq(hiaR_npz_write(&hiaR_malloc, tensors, N, &count, &error), HIA_OK);
  cr_assert_eq(c.last[(c.n - 22) % 256], 'P');
  cr_assert_eq(c.last[(c.n - 22 + 10) % 256], 0xff);
  value_buffer file = write_npz(tensors, N);
  hia_npz_file npz;
  cr_assert_eq(hiaR_npz_read(&npz, &hiaR_malloc, file.data, file.len, &error), HIA_OK, "%s",
               error.message);
  cr_assert_eq(npz.n, N);
  cr_assert_str_eq(npz.arrays[N - 1].name, "65539");
  hiaR_npz_free(&npz);
  free(file.data);
  free(names);
  free(tensors);
}

static bool take_little(void *user, const char *bytes, size_t n) {
  size_t *left = user;
  (void)bytes;
  if (n > *left) return false;
  *left -= n;
  return true;
}

Test(npz, cannot_be_written) {
  hia_value_error error;
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_file_tensor tensors[] = {tensor_three("a"), tensor_three("b"), tensor_three("a")};
  cr_expect_eq(hiaR_npz_write(&hiaR_malloc, tensors, 3, &sink, &error), HIA_ARGUMENT);
  cr_expect_str_eq(error.message, "the array 'a' is there twice");
  tensors[2].name = "\xff";
  cr_expect_eq(hiaR_npz_write(&hiaR_malloc, tensors, 3, &sink, &error), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "has a name that is no UTF-8"));
  tensors[2].name = "\0";
  cr_expect_eq(hiaR_npz_write(&hiaR_malloc, tensors, 3, &sink, &error), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "has a name with a NUL"));
  char *name = calloc(1, 65536);
  memset(name, 'x', 65535);
  tensors[2].name = name;
  tensors[2].name_len = HIA_NPZ_MAX_NAME + 1;
  cr_expect_eq(hiaR_npz_write(&hiaR_malloc, tensors, 3, &sink, &error), HIA_ARGUMENT);
  cr_expect(strstr(error.message, "has a name of more than 65531 bytes"));
  cr_expect_eq(file.len, 0, "a part of it is written");
  tensors[2].name_len--;
  cr_expect_eq(hiaR_npz_write(&hiaR_malloc, tensors, 3, &sink, &error), HIA_OK);
  cr_expect_eq(read_all(file.data, file.len, &error, NULL), HIA_OK, "%s", error.message);
  free(name);
  /* Whenever there is no more room. */
  for (size_t n = 0, apart = 7; n < 600; n += apart) {
    size_t left = n;
    const hia_sink little = {take_little, &left};
    hia_status status = hiaR_npz_write(&hiaR_malloc, tensors, 2, &little, &error);
    cr_expect_eq(status, n < 474 ? HIA_IO : HIA_OK, "%zu bytes", n);
  }
  free(file.data);
}

/* ---- memory ---- */

static archive the_archive;
static hia_status use(const hia_allocator *allocator) {
  hia_npz_file file;
  hia_value_error error;
  hia_file_tensor t;
  int32_t elements[6];
  hia_status status = hiaR_npz_read(&file, allocator, the_archive.bytes, the_archive.len, &error);
  if (status != HIA_OK) return status;
  for (size_t i = 0; i < file.n && status == HIA_OK; i++) {
    status = hiaR_npz_look(&file, i, &t, &error);
    if (status == HIA_OK)
      status = hiaR_npz_copy(&file, i, &t, (hia_dtype)t.dtype, elements, &error);
  }
  hiaR_npz_free(&file);
  return status;
}

Test(npz, each_allocation_fails_once) {
  char npy[256];
  size_t n = make_npy(swapped_text, "\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\4\0\0\0\2\0\0\0\5", 24, npy);
  const member m = {"a.npy", npy, n, DEFLATED};
  make_archive(&the_archive, &m, 1);
  cr_assert_geq(fail_each_allocation(use), 6);
}
