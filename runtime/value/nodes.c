/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as tables of nodes (hiaton/data.h), both ways. */
#include "runtime/heap/tensor.h"
#include "runtime/value/handle.h"
#include "runtime/value/walk.h"

/* ---- from a table ---- */

typedef struct building {
  const hia_allocator *allocator;
  hia_error **error;
  const hia_value_nodes *nodes;
  hia_value_types *types; /* the table of all types */
  hia_objects *objects;
  hia_word *refs; /* by node: its value */
  size_t word;    /* the next of nodes->words */
} building;

/* All types are of one program, so the newest of their tables has all of them. */
static hia_status find_types(building *b) {
  const hia_value_nodes *nodes = b->nodes;
  for (size_t i = 0; i < nodes->n_types; i++) {
    const hia_type_info *type = nodes->types[i];
    hia_type_kind kind = hia_type_info_kind(type);
    if (!hiaR_has_object(kind))
      return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                            "type %zu is no data, array or tensor type", i);
    if (b->types && b->types->first != type->types->first)
      return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                            "type %zu is of another program than type 0", i);
    if (!b->types || type->types->table.n_types > b->types->table.n_types) b->types = type->types;
  }
  return HIA_OK;
}

static hia_status wrong_word(const building *b, size_t node, hia_type type, const char *why) {
  char text[256];
  hia_type_info_format(hiaR_type_info(b->types, type), text, sizeof text);
  return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                        "node %zu, word %zu: %lld is no %s: %s", node, b->word,
                        (long long)b->nodes->words[b->word], text, why);
}

/* The value that a word names: of a node before, or a constructor without fields. */
static hia_status reference(const building *b, size_t node, hia_type type, int64_t word,
                            hia_word *value) {
  const hia_type_table *t = &b->types->table;
  if (word < 0) {
    uint64_t ctor = (uint64_t)(-1 - word);
    const hia_type_entry *entry = hiaR_type_entry(t, type);
    if (entry->kind == HIA_KIND_TENSOR) return wrong_word(b, node, type, "it needs a node");
    if (entry->kind == HIA_KIND_ARRAY) {
      *value = 0;
      return ctor == 0 ? HIA_OK
                       : wrong_word(b, node, type, "HIA_NODE_EMPTY is the one without elements");
    }
    if (ctor >= entry->n) return wrong_word(b, node, type, "there is no such constructor");
    if (t->ctors[entry->first + ctor].n)
      return wrong_word(b, node, type, "this constructor has fields, and needs a node");
    *value = ctor;
    return HIA_OK;
  }
  if ((uint64_t)word >= node)
    return wrong_word(b, node, type, "it is not the number of an earlier node");
  const hia_value_node *target = &b->nodes->nodes[word];
  if (b->nodes->types[target->type]->type != type)
    return wrong_word(b, node, type, "that node is of another type");
  *value = b->refs[word];
  return HIA_OK;
}

static hia_status put_words(building *b, size_t node, const hia_layout_word *layout_words,
                            uint32_t n, char *base) {
  if (n > b->nodes->n_words - b->word)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu needs %u words behind the first %zu: there are %zu in all",
                          node, n, b->word, b->nodes->n_words);
  for (uint32_t i = 0; i < n; i++, b->word++) {
    int64_t word = b->nodes->words[b->word];
    hia_type type = layout_words[i].type;
    hia_word value = (hia_word)word;
    bool fits = true;
    switch (hiaR_repr(type)) {
    case HIA_REPR_BOOL: fits = word == 0 || word == 1; break;
    case HIA_REPR_I32: fits = word == (int32_t)word; break;
    case HIA_REPR_F32: fits = word == (int64_t)(uint32_t)word; break;
    case HIA_REPR_REF: {
      hia_status status = reference(b, node, type, word, &value);
      if (status != HIA_OK) return status;
      break;
    }
    default: break;
    }
    if (!fits) return wrong_word(b, node, type, "it does not fit");
    hiaR_store((hia_repr)layout_words[i].repr, base + layout_words[i].at, value);
  }
  return HIA_OK;
}

static hia_status build_array(building *b, size_t node, const hia_type_entry *entry, uint64_t n,
                              hia_word *ref) {
  /* An element has a word or more, so that nothing is allocated which the words cannot fill. */
  if (n > b->nodes->n_words - b->word)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu has %llu elements, and there are %zu words left", node,
                          (unsigned long long)n, b->nodes->n_words - b->word);
  hia_array *array = hiaR_new_array(b->objects, &entry->layout, n);
  if (!array) return hiaR_fail_memory(b->allocator, b->error);
  *ref = (uintptr_t)array;
  const hia_layout_word *layout_words = b->types->table.layout_words + entry->layout.first;
  hia_status status = HIA_OK;
  for (uint64_t i = 0; status == HIA_OK && i < n; i++)
    status =
        put_words(b, node, layout_words, entry->layout.n, array->data + i * entry->layout.size);
  return status;
}

/* An element of a tensor is like a field of its dtype. */
static hia_status build_tensor(building *b, size_t node, const hia_type_entry *entry, uint64_t n,
                               hia_word *ref) {
  hia_dims shape = {.rank = entry->n};
  size_t left = b->nodes->n_words - b->word;
  uint64_t elements;
  if (entry->n > left || n > left - entry->n)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu needs %u sizes and %llu elements, and there are %zu words left",
                          node, entry->n, (unsigned long long)n, left);
  for (uint32_t i = 0; i < entry->n; i++) shape.dims[i] = b->nodes->words[b->word++];
  if (!hiaR_shape_elements(&shape, 1, &elements) || elements != n)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu has %llu elements, and sizes of another number", node,
                          (unsigned long long)n);
  hia_tensor *tensor = hiaR_new_tensor(b->objects, (hia_dtype)entry->element, &shape);
  if (!tensor) return hiaR_fail_memory(b->allocator, b->error);
  *ref = (uintptr_t)tensor;
  hia_layout_word layout_word = {.type = entry->element, .repr = (uint8_t)entry->element};
  uint32_t size = hiaR_dtype_size((hia_dtype)entry->element);
  hia_status status = HIA_OK;
  for (uint64_t i = 0; status == HIA_OK && i < n; i++)
    status = put_words(b, node, &layout_word, 1, tensor->data + i * size);
  return status;
}

static hia_status build_node(building *b, size_t i) {
  const hia_value_node *node = &b->nodes->nodes[i];
  if (node->type >= b->nodes->n_types)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu has type number %u: there are %zu", i, node->type,
                          b->nodes->n_types);
  const hia_type_table *t = &b->types->table;
  const hia_type_entry *entry = hiaR_type_entry(t, b->nodes->types[node->type]->type);
  bool is_data = entry->kind == HIA_KIND_DATA;
  if (is_data ? node->n != 0 : node->ctor != 0)
    return hiaR_fail_text(
        b->allocator, b->error, HIA_ARGUMENT, NULL,
        is_data ? "node %zu is data: `n` must be 0" : "node %zu is no data: `ctor` must be 0", i);
  if (entry->kind == HIA_KIND_TENSOR) return build_tensor(b, i, entry, node->n, &b->refs[i]);
  if (!is_data) return build_array(b, i, entry, node->n, &b->refs[i]);
  if (node->ctor >= entry->n)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "node %zu: %s has no constructor number %u: it has %u", i,
                          t->names + entry->name, node->ctor, entry->n);
  const hia_ctor *ctor = &t->ctors[entry->first + node->ctor];
  b->refs[i] = node->ctor;
  if (!ctor->n) return HIA_OK;
  hia_counted *object = hiaR_new_data(b->objects, ctor, node->ctor);
  if (!object) return hiaR_fail_memory(b->allocator, b->error);
  b->refs[i] = (uintptr_t)object;
  hia_status status =
      put_words(b, i, t->layout_words + ctor->layout.first, ctor->layout.n, (char *)object);
  hia_size_misfit misfit;
  if (status != HIA_OK || hiaR_sizes_fit(t, ctor, object, &misfit)) return status;
  char text[512];
  hiaR_size_misfit_print(t, ctor, &misfit, text, sizeof text);
  return hiaR_fail_text(b->allocator, b->error, HIA_SHAPE, NULL, "node %zu: %s", i, text);
}

static hia_status build(building *b, hia_value **value) {
  const hia_value_nodes *nodes = b->nodes;
  hia_status status = HIA_OK;
  for (size_t i = 0; status == HIA_OK && i < nodes->n_nodes; i++) status = build_node(b, i);
  if (status != HIA_OK) return status;
  if (b->word != nodes->n_words)
    return hiaR_fail_text(b->allocator, b->error, HIA_ARGUMENT, NULL,
                          "the nodes have %zu words, and there are %zu", b->word, nodes->n_words);
  size_t last = nodes->n_nodes - 1;
  const hia_type_info *type = hiaR_type_info(b->types, nodes->types[nodes->nodes[last].type]->type);
  hia_objects *objects = hiaR_objects_bytes(b->objects) ? b->objects : NULL;
  *value = hiaR_value_new(b->allocator, type, objects, &b->refs[last]);
  return *value ? HIA_OK : hiaR_fail_memory(b->allocator, b->error);
}

HIA_SIZED(hia_value_nodes, n_words);

hia_status hia_data_from_nodes(const hia_allocator *allocator, const hia_value_nodes *nodes,
                               hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  building b = {.allocator = allocator ? allocator : &hiaR_malloc, .error = error};
  hia_value_nodes complete = HIA_VALUE_NODES_INIT;
  if (nodes && hiaR_copy_options(b.allocator, "nodes", &complete, sizeof complete, nodes, error))
    return HIA_ARGUMENT;
  b.nodes = &complete;
  const char *missing = !nodes || !complete.n_nodes || !complete.nodes ? "nodes"
                        : !complete.n_types || !complete.types         ? "types"
                        : complete.n_words && !complete.words          ? "words"
                        : !value                                       ? "place for the value"
                                                                       : NULL;
  if (missing) return hiaR_fail_text(b.allocator, error, HIA_ARGUMENT, NULL, "no %s", missing);
  hia_status status = find_types(&b);
  if (status != HIA_OK) return status;
  size_t size;
  if (hiaR_mul(complete.n_nodes, sizeof *b.refs, &size)) {
    b.refs = b.allocator->alloc(b.allocator->user, size);
    b.objects = hiaR_objects_new(b.allocator, 0);
  }
  status = b.refs && b.objects ? build(&b, value) : hiaR_fail_memory(b.allocator, b.error);
  if (b.refs) hiaR_free(b.allocator, b.refs, size);
  hiaR_objects_release(b.objects);
  return status;
}

/* ---- to a table ---- */

typedef struct made_nodes {
  hia_value_nodes nodes; /* what the caller sees */
  hia_allocator allocator;
  hia_value_types *types; /* held */
  hia_block list, words, infos;
} made_nodes;

typedef struct listing {
  made_nodes *made;
  hia_walk walk;
  hia_block indices; /* uint32_t: by type its index in the infos, from 1 */
} listing;

/* The index of a type among those of the table. */
static bool add_type(listing *l, hia_type type, uint32_t *index) {
  made_nodes *m = l->made;
  uint32_t *index_at = (uint32_t *)l->indices.data + (type - HIA_FIRST_TYPE);
  if (!*index_at) {
    if (!hiaR_block_grow(&m->infos, &m->allocator,
                         (m->nodes.n_types + 1) * sizeof(const hia_type_info *)))
      return false;
    ((const hia_type_info **)m->infos.data)[m->nodes.n_types++] = hiaR_type_info(m->types, type);
    *index_at = (uint32_t)m->nodes.n_types;
  }
  *index = *index_at - 1;
  return true;
}

static bool add_node(listing *l, hia_type type, uint32_t ctor, uint64_t n) {
  made_nodes *m = l->made;
  hia_value_node node = {.ctor = ctor, .n = n};
  if (!add_type(l, type, &node.type) ||
      !hiaR_block_grow(&m->list, &m->allocator, (m->nodes.n_nodes + 1) * sizeof node))
    return false;
  ((hia_value_node *)m->list.data)[m->nodes.n_nodes++] = node;
  return true;
}

static bool add_words(listing *l, const hia_layout *layout, const char *base) {
  made_nodes *m = l->made;
  const hia_layout_word *layout_words = l->walk.types->layout_words + layout->first;
  if (!hiaR_block_grow(&m->words, &m->allocator, (m->nodes.n_words + layout->n) * sizeof(int64_t)))
    return false;
  int64_t *words = (int64_t *)m->words.data + m->nodes.n_words;
  for (uint32_t i = 0; i < layout->n; i++) {
    hia_word word = hiaR_load((hia_repr)layout_words[i].repr, base + layout_words[i].at);
    if (hiaR_is_scalar(layout_words[i].type))
      words[i] = (int64_t)word;
    else if (hiaR_has_words(l->walk.types, layout_words[i].type, word))
      words[i] = (int64_t)hiaR_walk_number(&l->walk, word);
    else
      words[i] = HIA_NODE_CTOR(hiaR_is_object(word) ? 0 : word);
  }
  m->nodes.n_words += layout->n;
  return true;
}

static bool add_tensor(listing *l, const hia_walk_object *o) {
  made_nodes *m = l->made;
  const hia_tensor *tensor = hiaR_tensor(o->word);
  uint32_t rank = hiaR_tensor_rank(tensor);
  uint64_t n = hiaR_tensor_len(tensor);
  if (n > SIZE_MAX / sizeof(int64_t) - m->nodes.n_words - rank || !add_node(l, o->type, 0, n) ||
      !hiaR_block_grow(&m->words, &m->allocator,
                       (m->nodes.n_words + rank + (size_t)n) * sizeof(int64_t)))
    return false;
  int64_t *words = (int64_t *)m->words.data + m->nodes.n_words;
  memcpy(words, tensor->dims, rank * sizeof *words);
  for (uint64_t i = 0; i < n; i++) words[rank + i] = (int64_t)hiaR_tensor_get(tensor, i);
  m->nodes.n_words += rank + (size_t)n;
  return true;
}

static bool add_object(listing *l, const hia_walk_object *o) {
  const void *object = (const void *)(uintptr_t)o->word;
  if (hiaR_type_kind(l->walk.types, o->type) == HIA_KIND_DATA)
    return add_node(l, o->type, o->ctor, 0) && add_words(l, o->layout, object);
  if (hiaR_type_kind(l->walk.types, o->type) == HIA_KIND_TENSOR) return add_tensor(l, o);
  const hia_array *array = object;
  if (!add_node(l, o->type, 0, array->n)) return false;
  for (uint64_t i = 0; i < array->n; i++)
    if (!add_words(l, o->layout, array->data + i * o->layout->size)) return false;
  return true;
}

/* True if there was memory. */
static bool list(listing *l, hia_type type, hia_word word) {
  size_t size = l->walk.types->n_types * sizeof(uint32_t);
  if (!hiaR_block_grow(&l->indices, &l->made->allocator, size)) return false;
  memset(l->indices.data, 0, size);
  if (!hiaR_has_words(l->walk.types, type, word))
    return add_node(l, type, hiaR_is_object(word) ? 0 : (uint32_t)word, 0);
  hiaR_walk_from(&l->walk, type, word);
  const hia_walk_object *o;
  while ((o = hiaR_walk_next(&l->walk))) {
    if (!add_object(l, o)) return false;
    hiaR_walk_done(&l->walk);
  }
  return !l->walk.is_out;
}

void hia_value_nodes_free(hia_value_nodes *nodes) {
  if (!nodes) return;
  made_nodes *m = (made_nodes *)(void *)nodes;
  hia_allocator allocator = m->allocator;
  hiaR_block_free(&m->list, &allocator);
  hiaR_block_free(&m->words, &allocator);
  hiaR_block_free(&m->infos, &allocator);
  hiaR_value_types_release(m->types);
  hiaR_free(&allocator, m, sizeof *m);
}

hia_status hia_value_to_nodes(const hia_value *value, hia_value_nodes **nodes, hia_error **error) {
  if (error) *error = NULL;
  if (nodes) *nodes = NULL;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!nodes) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no place for the nodes");
  hia_type_kind kind = hia_type_info_kind(value->type);
  if (!hiaR_has_object(kind))
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, "take it apart with hia_value_part",
                          "a scalar or a tuple is no node");
  made_nodes *m = hiaR_alloc(allocator, sizeof *m);
  if (!m) return hiaR_fail_memory(allocator, error);
  *m = (made_nodes){.nodes = HIA_VALUE_NODES_INIT,
                    .allocator = *allocator,
                    .types = hiaR_value_types_hold(value->type->types)};
  listing l = {.made = m, .walk = {.types = &m->types->table, .allocator = allocator}};
  bool has_memory = list(&l, value->type->type, value->words[0]);
  hiaR_walk_free(&l.walk);
  hiaR_block_free(&l.indices, allocator);
  m->nodes.types = m->infos.data;
  m->nodes.nodes = m->list.data;
  m->nodes.words = m->words.data;
  if (has_memory) {
    *nodes = &m->nodes;
    return HIA_OK;
  }
  hia_value_nodes_free(&m->nodes);
  return hiaR_fail_memory(allocator, error);
}
