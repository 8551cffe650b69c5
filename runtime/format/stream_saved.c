/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of saved arrays (.hiav).
 *
 * The array is the last object of its file, and the objects before it stand in the order of its
 * elements: those that an element refers to, and no earlier element, then the element itself. So
 * the objects form *groups*, one for each element that is not an object of an earlier one, and a
 * group is read without the others, but for *shared* objects: those of a group to which other
 * groups refer, or the array itself a second time. Shared objects are in memory as long as the
 * stream, with all that they refer to; without sharing between elements there are none.
 *
 * Opening reads the file three times, and those groups once more that have shared objects:
 *
 *   survey         the hash, the form of every object, and where the last one, the array, begins
 *   read_elements  the elements: so the groups are known by their last objects
 *   check_groups   where the groups begin; loads each one, which checks it, and finds what others
 *                  share
 *   load_shared    the objects that are shared
 *
 * What is kept is 16 bytes a group; 8 bytes an element if some of them have no group of their own;
 * and the shared objects, each with 24 bytes.
 */
#include "runtime/format/load.h"
#include "runtime/format/stream.h"
#include <stdio.h>
#include <stdlib.h>

/* The first object of a group is that behind the last one of the group before it. */
typedef struct group {
  uint64_t at;  /* where it begins in the file */
  uint64_t end; /* the number of its last object, + 1 */
} group;

typedef struct shared_object {
  uint64_t number;
  hia_type type;
  hia_word word; /* 0: it is not loaded yet */
} shared_object;

static const group *group_at(const hia_saved_stream *v, uint64_t i) {
  return (const group *)v->groups.data + i;
}
static uint64_t first_of(const hia_saved_stream *v, uint64_t i) {
  return i ? group_at(v, i - 1)->end : 0;
}

/* The group of an object, which some group has. */
static uint64_t find_group(const hia_saved_stream *v, uint64_t number) {
  uint64_t low = 0, high = v->n_groups - 1;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (number < group_at(v, middle)->end)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static shared_object *find_shared(const hia_saved_stream *v, uint64_t number) {
  shared_object *list = v->shared.data;
  uint64_t low = 0, high = v->n_shared;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (list[middle].number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < v->n_shared && list[low].number == number ? &list[low] : NULL;
}

/* ---- the bytes of the file, in order ---- */

typedef struct opening {
  hia_stream *s;
  const hia_type_table *types;
  hia_type array, element;
  uint64_t size, n_objects;    /* of the file; in it */
  uint64_t objects_at;         /* in the file */
  uint64_t array_at, words_at; /* the array: all of it; its elements */
  /* The file from `begin` on; what is before `keep` may be given up. */
  hia_block buffer;
  size_t at, n;
  uint64_t begin, keep, end; /* end: of what may be read */
  hia_file_hash *hash;       /* of all that is read, or NULL */
  uint64_t n_known;          /* of the shared objects, those that are sorted; the others may be
                                there twice */
  hia_objects *checking;     /* for groups that are checked */
  hia_value_error *error;
} opening;

static uint64_t offset_of(const opening *o) { return o->begin + o->at; }

static hia_status damaged(opening *o, const char *what) {
  return hiaR_load_damaged(o->error, offset_of(o), what);
}

/* A file that the loader takes, and hiaR_value_save does not write. */
static hia_status strange(opening *o, const char *what) {
  *o->error = (hia_value_error){.code = NULL};
  snprintf(o->error->message, sizeof o->error->message, "cannot be read in parts: %s", what);
  return HIA_UNSUPPORTED;
}

static void seek(opening *o, uint64_t at) {
  o->at = o->n = 0;
  o->begin = o->keep = at;
}

/* Reads on, so that there is a byte at least. */
static hia_status more(opening *o) {
  size_t from = o->keep < offset_of(o) ? (size_t)(o->keep - o->begin) : o->at, got, size;
  uint64_t left = o->end - (o->begin + o->n);
  if (!left) return damaged(o, "it ends early");
  if (from) memmove(o->buffer.data, (char *)o->buffer.data + from, o->n - from);
  o->begin += from;
  o->at -= from;
  o->n -= from;
  size_t portion = left < HIA_STREAM_PORTION ? (size_t)left : HIA_STREAM_PORTION;
  if (!hiaR_add(o->n, portion, &size) || !hiaR_block_grow(&o->buffer, &o->s->allocator, size))
    return HIA_MEMORY;
  char *to = (char *)o->buffer.data + o->n;
  hia_status status = hiaR_stream_read_at(o->s, o->begin + o->n, to, portion, &got);
  if (status != HIA_OK) return status;
  if (o->hash) hiaR_file_hash_add(o->hash, to, got);
  o->n += got;
  return got ? HIA_OK : damaged(o, "it ends early");
}

static hia_status skip(opening *o, uint64_t n) {
  while (n) {
    hia_status status = o->at < o->n ? HIA_OK : more(o);
    if (status != HIA_OK) return status;
    uint64_t some = o->n - o->at < n ? o->n - o->at : n;
    o->at += (size_t)some;
    n -= some;
  }
  return HIA_OK;
}

static hia_status read_number(opening *o, uint64_t *x) {
  *x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    hia_status status = o->at < o->n ? HIA_OK : more(o);
    if (status != HIA_OK) return status;
    unsigned char byte = ((const unsigned char *)o->buffer.data)[o->at++];
    uint64_t bits = byte & 0x7f;
    if (bits << shift >> shift != bits || (!byte && shift)) break;
    *x |= bits << shift;
    if (byte < 0x80) return HIA_OK;
  }
  return damaged(o, "a number is too large");
}

/* ---- objects, of which only the form is read ---- */

typedef struct seen_object {
  hia_type type;
  uint64_t n;        /* of an array: how many elements */
  uint64_t words_at; /* in the file */
} seen_object;

/* Reads n times the words of a layout. `is_needed`, if not NULL, has a flag for each object of a
 * group: those before number k to which the words refer get it. */
static hia_status see_words(opening *o, const hia_layout *layout, uint64_t n, char *is_needed,
                            uint64_t k) {
  const hia_layout_word *layout_words = o->types->layout_words + layout->first;
  hia_status status = HIA_OK;
  for (; n && status == HIA_OK; n--)
    for (uint32_t i = 0; i < layout->n && status == HIA_OK; i++) {
      hia_repr repr = hiaR_repr(layout_words[i].type);
      uint64_t x;
      if (repr != HIA_REPR_REF) {
        status = skip(o, hiaR_reprs[repr].size);
        continue;
      }
      status = read_number(o, &x);
      if (is_needed && status == HIA_OK && !(x & 1) && x && x / 2 <= k) is_needed[k - x / 2] = 1;
    }
  return status;
}

static hia_status see_tensor(opening *o, const hia_type_entry *entry) {
  uint32_t size = hiaR_reprs[entry->element].size;
  hia_dims shape = {.rank = entry->n};
  uint64_t dim, n;
  for (uint32_t i = 0; i < entry->n; i++) {
    hia_status status = read_number(o, &dim);
    if (status != HIA_OK) return status;
    shape.dims[i] = dim <= INT64_MAX ? (int64_t)dim : INT64_MAX;
  }
  if (!hiaR_shape_elements(&shape, size, &n) || n * size > o->end - offset_of(o))
    return damaged(o, "a tensor is longer than the file");
  return skip(o, n * size);
}

static hia_status see_object(opening *o, seen_object *object, bool *is_end, char *is_needed,
                             uint64_t k) {
  const hia_file_types *types = &o->s->saved.types;
  uint64_t number;
  hia_status status = read_number(o, &number);
  *is_end = status == HIA_OK && !number;
  if (status != HIA_OK || *is_end) return status;
  if (number > types->n_kinds) return damaged(o, "no such kind of object");
  hia_file_kind kind = ((const hia_file_kind *)types->kinds.data)[number - 1];
  *object = (seen_object){.type = kind.type, .n = 1};
  if (hiaR_type_kind(o->types, kind.type) == HIA_KIND_DATA) {
    object->words_at = offset_of(o);
    return see_words(o, &hiaR_ctor(o->types, kind.type, kind.ctor)->layout, 1, is_needed, k);
  }
  if (hiaR_type_kind(o->types, kind.type) == HIA_KIND_TENSOR) {
    object->words_at = offset_of(o);
    return see_tensor(o, hiaR_type_entry(o->types, kind.type));
  }
  const hia_layout *layout = &hiaR_type_entry(o->types, kind.type)->layout;
  status = read_number(o, &object->n);
  object->words_at = offset_of(o);
  if (status != HIA_OK) return status;
  if (object->n > (o->end - offset_of(o)) / layout->n)
    return damaged(o, "an array is longer than the file");
  return see_words(o, layout, object->n, is_needed, k);
}

/* ---- survey ---- */

static hia_status survey_types(opening *o, uint32_t n) {
  hia_file_types *types = &o->s->saved.types;
  hia_status status = hiaR_file_types_make(types, &o->s->allocator, o->types, o->array);
  if (status != HIA_OK) return status;
  status = skip(o, HIA_FILE_HEAD);
  if (status == HIA_OK && n > o->end - offset_of(o)) status = damaged(o, "it ends early");
  o->keep = offset_of(o);
  if (status == HIA_OK) status = skip(o, n);
  if (status != HIA_OK) return status;
  const char *bytes = (const char *)o->buffer.data + (o->keep - o->begin);
  o->keep = UINT64_MAX;
  return hiaR_load_check_types(types, o->array, bytes, n, o->error);
}

static hia_status survey_objects(opening *o) {
  seen_object last = {.n = 0};
  o->objects_at = offset_of(o);
  for (;;) {
    seen_object object;
    bool is_end;
    uint64_t at = offset_of(o), x;
    hia_status status = see_object(o, &object, &is_end, NULL, 0);
    if (status != HIA_OK) return status;
    if (!is_end) {
      o->n_objects++;
      o->array_at = at;
      last = object;
      continue;
    }
    /* The value: the last object, or the array without elements. */
    status = read_number(o, &x);
    if (status != HIA_OK) return status;
    bool is_none = x == 1 && !o->n_objects;
    if (!is_none && (x & 1 || x / 2 != 1 || last.type != o->array))
      return strange(o, "the array is not the last object");
    if (offset_of(o) != o->end) return damaged(o, "more than the value");
    o->s->head.array.n = is_none ? 0 : last.n;
    o->words_at = last.words_at;
    return HIA_OK;
  }
}

static hia_status survey(opening *o, const char *head, const char *tail) {
  hia_file_hash hash = {0};
  o->hash = &hash;
  o->end = o->size - HIA_FILE_TAIL;
  o->keep = UINT64_MAX;
  hia_status status = survey_types(o, hiaR_load_types_len(head));
  if (status == HIA_OK) status = survey_objects(o);
  if (status == HIA_OK && hiaR_load_n_objects(tail) != o->n_objects)
    status = damaged(o, "another number of objects");
  if (status != HIA_OK && status != HIA_ARGUMENT && status != HIA_UNSUPPORTED) return status;
  /* A file whose hash is wrong may have any other mistake in consequence. */
  hia_value_error mistake = *o->error;
  o->end = o->size - 8;
  o->keep = UINT64_MAX;
  hia_status whole = skip(o, o->end - offset_of(o));
  o->hash = NULL;
  if (whole == HIA_OK) whole = hiaR_load_check_hash(tail, &hash, o->error);
  if (whole != HIA_OK || status == HIA_OK) return whole;
  *o->error = mistake;
  return status;
}

/* ---- elements ---- */

/* Several may want the same object: now and then the list is made short. */
static int by_number(const void *a, const void *b) {
  const shared_object *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->type < y->type ? -1 : x->type > y->type;
}

static hia_status sort_shared(opening *o) {
  hia_saved_stream *v = &o->s->saved;
  shared_object *list = v->shared.data;
  uint64_t n = 0;
  if (v->n_shared) qsort(list, (size_t)v->n_shared, sizeof *list, by_number);
  for (uint64_t i = 0; i < v->n_shared; i++) {
    if (!n || list[n - 1].number != list[i].number)
      list[n++] = list[i];
    else if (list[n - 1].type != list[i].type)
      return damaged(o, "a reference to a value of another type");
  }
  v->n_shared = o->n_known = n;
  return HIA_OK;
}

static hia_status share(opening *o, uint64_t number, hia_type type) {
  hia_saved_stream *v = &o->s->saved;
  if (v->n_shared > 2 * o->n_known + 1000) {
    hia_status status = sort_shared(o);
    if (status != HIA_OK) return status;
  }
  size_t size;
  if (!hiaR_mul((size_t)v->n_shared + 1, sizeof(shared_object), &size) ||
      !hiaR_block_grow(&v->shared, &o->s->allocator, size))
    return HIA_MEMORY;
  ((shared_object *)v->shared.data)[v->n_shared++] = (shared_object){number, type, 0};
  return HIA_OK;
}

static hia_status add_group(opening *o, group g) {
  hia_saved_stream *v = &o->s->saved;
  size_t size;
  if (!hiaR_mul((size_t)v->n_groups + 2, sizeof g, &size) ||
      !hiaR_block_grow(&v->groups, &o->s->allocator, size))
    return HIA_MEMORY;
  ((group *)v->groups.data)[v->n_groups] = g;
  return HIA_OK;
}

static hia_status read_element(opening *o, uint64_t *element) {
  hia_saved_stream *v = &o->s->saved;
  const hia_type_entry *entry = hiaR_type_entry(o->types, o->element);
  uint64_t x, n_before = o->n_objects - 1;
  hia_status status = read_number(o, &x);
  *element = x;
  if (status != HIA_OK) return status;
  if (x & 1) {
    bool is_ctor = x / 2 < entry->n && !hiaR_ctor(o->types, o->element, (uint32_t)(x / 2))->n;
    return is_ctor ? HIA_OK : damaged(o, "no such constructor");
  }
  if (!x || x / 2 > n_before) return damaged(o, "a reference to nothing");
  uint64_t number = n_before - x / 2;
  *element = 2 * number;
  if (number >= first_of(v, v->n_groups)) {
    status = add_group(o, (group){0, number + 1});
    if (status == HIA_OK) v->n_groups++;
    return status;
  }
  bool is_last = group_at(v, find_group(v, number))->end == number + 1;
  return is_last ? HIA_OK : share(o, number, o->element);
}

/* The first i elements are those of the first i groups: usually all are, and no list is needed. */
static hia_status begin_list(opening *o, uint64_t i) {
  hia_saved_stream *v = &o->s->saved;
  size_t size;
  if (!hiaR_mul((size_t)o->s->head.array.n, sizeof(uint64_t), &size) ||
      !hiaR_block_grow(&v->elements, &o->s->allocator, size))
    return HIA_MEMORY;
  for (uint64_t k = 0; k < i; k++)
    ((uint64_t *)v->elements.data)[k] = 2 * (group_at(v, k)->end - 1);
  v->has_list = true;
  return HIA_OK;
}

static hia_status read_all_elements(opening *o) {
  hia_saved_stream *v = &o->s->saved;
  uint64_t n = o->s->head.array.n, element;
  seek(o, o->words_at);
  o->keep = UINT64_MAX;
  o->end = o->size - HIA_FILE_TAIL;
  for (uint64_t i = 0; i < n; i++) {
    hia_status status = read_element(o, &element);
    bool is_next =
        status == HIA_OK && v->n_groups == i + 1 && element / 2 + 1 == first_of(v, i + 1);
    if (status == HIA_OK && !v->has_list && !is_next) status = begin_list(o, i);
    if (status != HIA_OK) return status;
    if (v->has_list) ((uint64_t *)v->elements.data)[i] = element;
  }
  if (o->n_objects && first_of(v, v->n_groups) != o->n_objects - 1)
    return strange(o, "nothing refers to some of its objects");
  return add_group(o, (group){o->array_at, 0}); /* where the last group ends */
}

/* ---- groups ---- */

/* What a loader of a group needs, besides the loader: the number of its first object. */
typedef struct loading {
  opening *o;
  hia_stream *s;
  uint64_t first;
} loading;

/* While groups are checked: notes what others share. */
static hia_status note_earlier(hia_loader *l, uint64_t back, hia_type type, hia_word *word) {
  const loading *with = l->user;
  *word = 0;
  if (back > with->first)
    return hiaR_load_damaged(l->error, l->begin_at + (uint64_t)(l->at - l->begin),
                             "a reference to nothing");
  return share(with->o, with->first - back, type);
}

/* Finds a shared object. */
static hia_status take_earlier(hia_loader *l, uint64_t back, hia_type type, hia_word *word) {
  const loading *with = l->user;
  const shared_object *object =
      back <= with->first ? find_shared(&with->s->saved, with->first - back) : NULL;
  *word = object ? object->word : 0;
  if (object && object->word && object->type == type) return HIA_OK;
  return hiaR_load_damaged(l->error, l->begin_at + (uint64_t)(l->at - l->begin),
                           "a reference to nothing");
}

static hia_loader loader_of(hia_stream *s, loading *with, const char *text, size_t len, uint64_t at,
                            hia_value_error *error) {
  return (hia_loader){.read_object = hiaR_load_object,
                      .read_reference = hiaR_load_reference,
                      .types = &s->type->types->table,
                      .allocator = &s->allocator,
                      .begin = (const unsigned char *)text,
                      .at = (const unsigned char *)text,
                      .end = (const unsigned char *)text + len,
                      .begin_at = at,
                      .file_types = &s->saved.types,
                      .error = error,
                      .earlier = take_earlier,
                      .user = with};
}

static hia_status load_group(hia_loader *l) {
  hia_status status = HIA_OK;
  while (status == HIA_OK && l->at < l->end) status = hiaR_load_object(l, NULL);
  return status;
}

static hia_status check_loaded(opening *o, const hia_loader *l) {
  const hia_loaded_object *made = l->made.data;
  for (uint64_t i = 0; i + 1 < l->n_made; i++)
    if (!made[i].is_used) return strange(o, "nothing refers to some of its objects");
  if (made[l->n_made - 1].type != o->element)
    return damaged(o, "a reference to a value of another type");
  return HIA_OK;
}

/* The group's bytes are in the buffer, from o->keep on. */
static hia_status check_group(opening *o, uint64_t i) {
  hia_stream *s = o->s;
  const hia_allocator *a = &s->allocator;
  if (o->checking && hiaR_objects_bytes(o->checking) > HIA_STREAM_PORTION) {
    hiaR_objects_release(o->checking);
    o->checking = NULL;
  }
  if (!o->checking && !(o->checking = hiaR_objects_new(a, 0))) return HIA_MEMORY;
  const char *text = (const char *)o->buffer.data + (o->keep - o->begin);
  loading with = {o, s, first_of(&s->saved, i)};
  hia_loader l = loader_of(s, &with, text, (size_t)(offset_of(o) - o->keep), o->keep, o->error);
  l.objects = o->checking;
  l.earlier = note_earlier;
  hia_status status = load_group(&l);
  if (status == HIA_OK) status = check_loaded(o, &l);
  hiaR_block_free(&l.made, a);
  return status;
}

/* Reads the objects of a group; the buffer then has all of it. `offsets`, if not NULL, become those
 * of its objects, counted from where it begins. */
static hia_status see_group(opening *o, uint64_t i, uint64_t *offsets) {
  const hia_saved_stream *v = &o->s->saved;
  uint64_t n = group_at(v, i)->end - first_of(v, i);
  o->keep = offset_of(o);
  for (uint64_t k = 0; k < n; k++) {
    seen_object object;
    bool is_end;
    if (offsets) offsets[k] = offset_of(o) - o->keep;
    hia_status status = see_object(o, &object, &is_end, NULL, 0);
    if (status == HIA_OK && is_end) status = damaged(o, "it ends early");
    if (status != HIA_OK) return status;
  }
  return HIA_OK;
}

static hia_status check_groups(opening *o) {
  hia_saved_stream *v = &o->s->saved;
  hia_status status = HIA_OK;
  seek(o, o->objects_at);
  for (uint64_t i = 0; i < v->n_groups && status == HIA_OK; i++) {
    ((group *)v->groups.data)[i].at = offset_of(o);
    status = see_group(o, i, NULL);
    if (status == HIA_OK) status = check_group(o, i);
  }
  return status;
}

/* ---- shared objects ---- */

/* Loads the objects of a group that are needed; `is_needed` has a flag for each. */
static hia_status load_needed(opening *o, uint64_t i, const uint64_t *offsets,
                              const char *is_needed, shared_object *shared, uint64_t n_shared) {
  hia_stream *s = o->s;
  const char *text = (const char *)o->buffer.data + (o->keep - o->begin);
  uint64_t first = first_of(&s->saved, i), n = group_at(&s->saved, i)->end - first;
  loading with = {o, s, first};
  hia_loader l = loader_of(s, &with, text, (size_t)(o->begin + o->n - o->keep), o->keep, o->error);
  l.objects = s->objects;
  hia_status status = HIA_OK;
  for (uint64_t k = 0; k < n && status == HIA_OK; k++) {
    l.at = l.begin + offsets[k];
    if (is_needed[k]) {
      status = hiaR_load_object(&l, NULL);
      continue;
    }
    if (!hiaR_block_grow(&l.made, l.allocator, ((size_t)l.n_made + 1) * sizeof(hia_loaded_object)))
      status = HIA_MEMORY;
    else
      ((hia_loaded_object *)l.made.data)[l.n_made++] = (hia_loaded_object){.type = HIA_NONE};
  }
  for (uint64_t k = 0; k < n_shared && status == HIA_OK; k++) {
    hia_loaded_object made = ((hia_loaded_object *)l.made.data)[shared[k].number - first];
    shared[k].word = hiaR_word_of(made.object);
    if (made.type != shared[k].type) status = damaged(o, "a reference to a value of another type");
  }
  hiaR_block_free(&l.made, l.allocator);
  return status;
}

/* Loads the shared objects of one group, which are among these. */
static hia_status load_shared_of(opening *o, uint64_t i, shared_object *shared, uint64_t n_shared) {
  const hia_saved_stream *v = &o->s->saved;
  const hia_allocator *a = &o->s->allocator;
  uint64_t first = first_of(v, i), n = group_at(v, i)->end - first;
  hia_block offsets = {NULL, 0}, flags = {NULL, 0};
  size_t size;
  bool has_memory = hiaR_mul((size_t)n, sizeof(uint64_t), &size) &&
                    hiaR_block_grow(&offsets, a, size) && hiaR_block_grow(&flags, a, (size_t)n);
  hia_status status = has_memory ? HIA_OK : HIA_MEMORY;
  seek(o, group_at(v, i)->at);
  if (status == HIA_OK) status = see_group(o, i, offsets.data);
  char *is_needed = flags.data;
  if (status == HIA_OK) {
    memset(is_needed, 0, (size_t)n);
    for (uint64_t k = 0; k < n_shared; k++) is_needed[shared[k].number - first] = 1;
  }
  uint64_t end = offset_of(o);
  for (uint64_t k = n; status == HIA_OK && k-- > 0;) {
    seen_object object;
    bool is_end;
    o->at = (size_t)(o->keep + ((uint64_t *)offsets.data)[k] - o->begin);
    if (is_needed[k]) status = see_object(o, &object, &is_end, is_needed, k);
  }
  if (status == HIA_OK) {
    o->at = (size_t)(end - o->begin);
    status = load_needed(o, i, offsets.data, is_needed, shared, n_shared);
  }
  hiaR_block_free(&offsets, a);
  hiaR_block_free(&flags, a);
  return status;
}

static hia_status load_shared(opening *o) {
  hia_saved_stream *v = &o->s->saved;
  hia_status status = sort_shared(o);
  if (status != HIA_OK || !v->n_shared) return status;
  if (!(o->s->objects = hiaR_objects_new(&o->s->allocator, 0))) return HIA_MEMORY;
  shared_object *list = v->shared.data;
  for (uint64_t i = 0, n; i < v->n_shared && status == HIA_OK; i += n) {
    uint64_t group_number = find_group(v, list[i].number), end = group_at(v, group_number)->end;
    for (n = 1; i + n < v->n_shared && list[i + n].number < end;) n++;
    status = load_shared_of(o, group_number, &list[i], n);
  }
  return status;
}

/* ---- elements of a run ---- */

static hia_status load_local(hia_loader *l, hia_word *word) {
  hia_status status = load_group(l);
  if (status != HIA_OK) return status;
  const hia_loaded_object *last = (const hia_loaded_object *)l->made.data + (l->n_made - 1);
  *word = hiaR_word_of(last->object);
  hiaR_dup(*word, false);
  return HIA_OK;
}

/* Makes the last object of a group, with all that it refers to. */
static bool read_group(hia_stream *s, hia_local_heap *local, uint64_t i, hia_word *word) {
  const hia_saved_stream *v = &s->saved;
  uint64_t at = group_at(v, i)->at;
  char few[2048];
  size_t len = (size_t)(group_at(v, i + 1)->at - at);
  char *text = len <= sizeof few ? few : s->allocator.alloc(s->allocator.user, len);
  if (!text) return false;
  hia_value_error error;
  loading with = {NULL, s, first_of(v, i)};
  hia_loader l = loader_of(s, &with, text, len, at, &error);
  l.local = local;
  hia_status status = hiaR_stream_copy(s, at, text, len) ? load_local(&l, word) : HIA_IO;
  bool is_there = status == HIA_OK && l.n_made == group_at(v, i)->end - with.first;
  if (!is_there && status != HIA_MEMORY) atomic_store(&s->has_failed, true);
  hiaR_block_free(&l.made, &s->allocator);
  if (text != few) hiaR_free(&s->allocator, text, len);
  return is_there;
}

static bool read_one(hia_stream *s, hia_local_heap *local, uint64_t index, hia_word *word) {
  const hia_saved_stream *v = &s->saved;
  if (!v->has_list) return read_group(s, local, index, word);
  uint64_t element = ((const uint64_t *)v->elements.data)[index];
  *word = element / 2;
  if (element & 1) return true;
  uint64_t i = find_group(v, element / 2);
  if (group_at(v, i)->end == element / 2 + 1) return read_group(s, local, i, word);
  *word = find_shared(v, element / 2)->word;
  return true;
}

static bool read_elements(hia_stream_array *head, hia_local_heap *local, uint64_t first, uint64_t n,
                          hia_word *out) {
  hia_stream *s = (hia_stream *)head;
  const hia_type_table *types = &s->type->types->table;
  const hia_layout *layout = &hiaR_type_entry(types, s->type->type)->layout;
  hia_array *array = hiaR_stream_array_new(s, local, n);
  if (!array) return false;
  hia_repr repr = (hia_repr)types->layout_words[layout->first].repr;
  enum { LOOK = 64 };
  for (uint64_t i = 0; i < n; i++) {
    hia_word word;
    if (i % LOOK == LOOK - 1 && hiaR_heap_must_end(local->heap)) return false;
    if (!read_one(s, local, first + i, &word)) return false;
    hiaR_store(repr, array->data + i * layout->size, word);
  }
  *out = (uintptr_t)array;
  hiaR_stream_note(s, first + n);
  return true;
}

/* ---- hia_stream_open_saved ---- */

/* Reads the first and the last bytes. */
static hia_status read_ends(opening *o, char *head, char *tail, bool *are_there) {
  size_t got;
  *are_there = o->size >= HIA_FILE_HEAD + HIA_FILE_TAIL;
  if (!*are_there) return HIA_OK;
  hia_status status = hiaR_stream_read_at(o->s, 0, head, HIA_FILE_HEAD, &got);
  *are_there = got == HIA_FILE_HEAD;
  if (status != HIA_OK || !*are_there) return status;
  status = hiaR_stream_read_at(o->s, o->size - HIA_FILE_TAIL, tail, HIA_FILE_TAIL, &got);
  *are_there = got == HIA_FILE_TAIL;
  return status;
}

static hia_status open_array(opening *o) {
  char head[HIA_FILE_HEAD], tail[HIA_FILE_TAIL];
  bool are_there;
  hia_status status = hiaR_stream_size(o->s, &o->size);
  if (status == HIA_OK) status = read_ends(o, head, tail, &are_there);
  if (status == HIA_OK)
    status =
        hiaR_load_check_ends(are_there ? head : NULL, are_there ? tail : NULL, o->size, o->error);
  if (status == HIA_OK) status = survey(o, head, tail);
  if (status == HIA_OK) status = read_all_elements(o);
  if (status == HIA_OK) status = check_groups(o);
  return status == HIA_OK ? load_shared(o) : status;
}

static hia_status open_saved(hia_stream *s, hia_value_error *wrong) {
  const hia_type_table *types = &s->type->types->table;
  opening o = {.s = s,
               .types = types,
               .array = s->type->type,
               .element = hiaR_type_entry(types, s->type->type)->element,
               .error = wrong};
  hia_status status = open_array(&o);
  hiaR_block_free(&o.buffer, &s->allocator);
  hiaR_objects_release(o.checking);
  s->head.read = read_elements;
  return status;
}

hia_status hia_stream_open_saved(const hia_allocator *allocator, const hia_type_info *type,
                                 const char *path, hia_stream **stream, hia_error **error) {
  if (error) *error = NULL;
  if (stream) *stream = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  const char *missing = !type ? "type" : !path ? "path" : !stream ? "place for the stream" : NULL;
  if (missing) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no %s", missing);
  hia_stream *s;
  hia_value_error wrong = {.code = NULL};
  hia_status status = hiaR_stream_open(allocator, type, path, &s, error);
  if (status == HIA_OK) {
    status = open_saved(s, &wrong);
    if (status != HIA_OK) hiaR_stream_fail(s, status, &wrong, error);
  }
  if (status == HIA_OK)
    *stream = s;
  else
    hia_stream_free(s);
  return status;
}
