/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How many columns of a terminal a text takes, in every locale alike.
 *
 * libc's wcwidth knows the characters of the present locale only, and a library may not change the
 * locale of its host. A sum over characters would also be wrong: an emoji of several characters
 * takes two columns in all (UAX #11), and so do the two letters of a flag. So the text is taken
 * cluster by cluster: a character, with all that is drawn onto it. These are the clusters of UAX
 * #29, except that there is no rule for scripts in which several letters become one sign. */
#include "runtime/base/excerpt.h"

#include <stdio.h>

#define ZERO_WIDTH_JOINER 0x200du
#define EMOJI_STYLE       0xfe0fu /* after a character that is a text and an emoji: the emoji */
#define MAX_CLUSTER       64u     /* characters; text that is worse is shown as several clusters */

typedef struct range {
  uint32_t first, last;
  uint32_t columns;
} range;

static const range ranges[] = {
#define HIA_COLUMNS(first, last, columns) {first, last, columns},
#include "runtime/base/widths.def"
#undef HIA_COLUMNS
};

static uint32_t columns_of(uint32_t c) {
  size_t from = 0, to = HIA_LEN(ranges);
  while (from < to) {
    size_t middle = (from + to) / 2;
    if (c < ranges[middle].first)
      to = middle;
    else if (c > ranges[middle].last)
      from = middle + 1;
    else
      return ranges[middle].columns;
  }
  return 1;
}

/* The valid UTF-8 character at `s`, and its length; 0 if there is none. */
static size_t decode(const unsigned char *s, size_t n, uint32_t *c) {
  if (n == 0) return 0;
  *c = s[0];
  if (s[0] < 0x80) return 1;
  size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
  if (len == 0 || len > n || s[0] > 0xf4) return 0;
  *c = s[0] & (0xffu >> (len + 1));
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    *c = *c << 6 | (s[i] & 0x3fu);
  }
  bool is_short = (len == 3 && *c < 0x800) || (len == 4 && *c < 0x10000);
  return is_short || (*c >= 0xd800 && *c < 0xe000) || *c > 0x10ffff ? 0 : len;
}

static bool is_between(uint32_t c, uint32_t first, uint32_t last) {
  return c >= first && c <= last;
}

/* Characters that would hide, or change the order of what is around them. */
static bool is_treacherous(uint32_t c) {
  return c == 0x061c || c == 0x200b || is_between(c, 0x200e, 0x200f) ||
         is_between(c, 0x2028, 0x202e) || is_between(c, 0x2060, 0x2069) || c == 0xfeff;
}

static bool is_flag_letter(uint32_t c) { return is_between(c, 0x1f1e6, 0x1f1ff); }
static bool is_skin(uint32_t c) { return is_between(c, 0x1f3fb, 0x1f3ff); }

static hia_cluster escaped(const unsigned char *bytes, size_t len, uint32_t c) {
  hia_cluster k = {.len = len == 0 ? 1 : len};
  if (len == 0 || c < 0x80)
    k.columns = (uint32_t)snprintf(k.escape, sizeof k.escape, "\\x%02x", bytes[0]);
  else
    k.columns = (uint32_t)snprintf(k.escape, sizeof k.escape, "\\u%04x", (unsigned)c);
  return k;
}

/* Adds to a cluster what follows its first character. */
static void extend(hia_cluster *k, const unsigned char *bytes, size_t n, uint32_t first) {
  uint32_t last = first, c;
  size_t len;
  bool is_flag = is_flag_letter(first);
  for (uint32_t i = 1; i < MAX_CLUSTER; i++) {
    if ((len = decode(bytes + k->len, n - k->len, &c)) == 0 || is_treacherous(c)) return;
    bool is_joined = last == ZERO_WIDTH_JOINER && c >= 0x80 && k->columns == 2;
    bool is_second = is_flag && is_flag_letter(c);
    if (!is_joined && !is_second && columns_of(c) != 0 && !(is_skin(c) && k->columns == 2)) return;
    if (is_second || (c == EMOJI_STYLE && k->columns == 1)) k->columns = 2;
    is_flag = is_flag && !is_second && !is_flag_letter(c);
    k->len += len;
    last = c;
  }
}

hia_cluster hiaR_cluster(const char *text, size_t n) {
  const unsigned char *bytes = (const unsigned char *)text;
  uint32_t c = 0;
  size_t len = decode(bytes, n, &c);
  if (c == '\t') return (hia_cluster){.len = 1, .columns = 1, .escape = " "};
  if (len == 0 || c < 0x20 || is_between(c, 0x7f, 0x9f) || is_treacherous(c))
    return escaped(bytes, len, c);
  hia_cluster k = {.len = len, .columns = columns_of(c)};
  extend(&k, bytes, n, c);
  return k;
}
