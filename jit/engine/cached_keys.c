/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Keys of the cache of native code, and entries that are found by them.
 *
 * A key describes everything that the code depends on, as text: what is not described must not
 * change the code.
 *
 * There are two keys. The first has the text of the program, and is known before anything is built.
 * The second has the graph of the function as it was built, without its positions: code is found by
 * it again after an edit of a comment, or of another function. Under the second key there is a
 * small file with the name of the entry. */
#include "jit/cache/machine.h"
#include "jit/engine/cached.h"
#include "jit/versions/speculate.h"

/* ---- keys ---- */

/* Code that has such externs calls them in another way if its runs may begin again. */
static bool has_effects(const hia_module *module) {
  bool has = false;
  for (uint32_t i = 0; i < module->externs.len; i++) has |= module->externs.data[i].is_impure;
  return has;
}

static void describe_engine(hia_text *key, const hia_module *module, hia_traits traits) {
  const hia_engine *engine = module->engine;
  const hia_engine_options *o = &engine->options;
  hiaR_text_addf(key, "abi %u %llx\n", HIA_RT_ABI, (unsigned long long)HIA_RT_ABI_HASH);
  hiaR_text_addf(key, "engine %d level %d flags %x batching %u parallel %u without %s\n",
                 has_effects(module) && o->kind == HIA_ENGINE_AUTO, o->opt_level,
                 o->flags & ~(uint32_t)HIA_SHOW_FLAGS, (unsigned)o->batching, o->threads > 1,
                 engine->disabled ? engine->disabled : "");
  hiaR_text_addf(key, "traits %x\n", hiaJ_exact_traits(traits));
}

/* Which gradients a function that differentiates for the host computes. */
static void describe_gradients(hia_text *key, const hia_function *f) {
  if (f->wanted) {
    hiaR_text_addf(key, " step ");
    for (uint32_t i = 0; i < f->module->params.n; i++) hiaR_text_addf(key, "%d", (int)f->wanted[i]);
  }
  for (uint32_t i = 0; i < f->n_wrt; i++)
    hiaR_text_addf(key, " wrt %d%d %u", (int)f->wrt[i].is_param, (int)f->wrt[i].is_sum,
                   f->wrt[i].i);
}

/* Host functions are called as their declarations and their registrations say. */
static void describe_hosts(hia_text *key, const hia_module *module) {
  for (uint32_t i = 0; i < module->externs.len; i++) {
    const hia_extern_info *x = &module->externs.data[i];
    const hia_host_target *target = hiaJ_bound(module, x->name);
    hiaR_text_addf(key, "host %s", x->declaration);
    if (target)
      hiaR_text_addf(key, " %d%d%d%d", target->function != NULL, (int)target->takes_user,
                     (int)target->returns_status, (int)target->is_safe);
    hiaR_text_addf(key, "\n");
  }
}

bool hiaJ_rest_of_key(hia_text *key, const hia_function *f, hia_traits traits) {
  const hia_module *module = f->module;
  if (!hiaJ_build_describe(key) || !hiaJ_machine_describe(key)) return false;
  describe_engine(key, module, traits);
  hiaR_text_addf(key, "function %s", f->loss ? f->loss->signature : f->signature);
  describe_gradients(key, f);
  hiaR_text_addf(key, "\n");
  if (!hiaJ_special_describe(key, f, traits)) return false;
  describe_hosts(key, module);
  return true;
}

bool hiaJ_first_key(hia_text *key, const hia_function *f, hia_traits traits) {
  const hia_module *module = f->module;
  if (!hiaJ_rest_of_key(key, f, traits)) return false;
  hiaR_text_addf(key, "source %zu %u %u\n", module->source.len, module->source.expr_at,
                 module->source.expr_line);
  hiaR_text_add(key, module->source.text, module->source.len);
  return true;
}

bool hiaJ_may_cache(const hia_function *f, hia_traits traits) {
  const hia_engine *engine = f->module->engine;
  return engine->store && f->module->program && hiaJ_is_native(engine, traits) &&
         !hiaJ_compile_options(engine).sanitize;
}

/* ---- entries ---- */

bool hiaJ_read_entry(hia_store *store, const char *name, const hia_text *key, hia_arena *arena,
                     hia_cached_file *file, hia_entry *e) {
  file->bytes = hiaJ_store_read(store, name, &file->size);
  return file->bytes && hiaJ_entry_read(file->bytes, file->size, arena, e) &&
         (!key || (e->key_size == key->len && memcmp(e->key, key->data, key->len) == 0)) &&
         hiaJ_files_are_same(e);
}

/* A file that is found by the second key: the name of the entry, and the key. */
typedef struct by_graph {
  char name[HIA_STORE_NAME + 8]; /* NULs behind it */
} by_graph;

/* True if the file is of this key; *name becomes that of the entry. */
static bool is_of_graph(const char *bytes, size_t size, const hia_text *key,
                        char name[HIA_STORE_NAME + 1]) {
  by_graph head;
  if (size != sizeof head + key->len) return false;
  memcpy(&head, bytes, sizeof head);
  memcpy(name, head.name, HIA_STORE_NAME + 1);
  return !name[HIA_STORE_NAME] && strspn(name, "0123456789abcdef") == HIA_STORE_NAME &&
         memcmp(bytes + sizeof head, key->data, key->len) == 0;
}

bool hiaJ_find_by_graph(hia_store *store, const hia_text *key, char name[HIA_STORE_NAME + 1]) {
  size_t size;
  hiaJ_digest(key->data, key->len, name);
  char *file = hiaJ_store_read(store, name, &size);
  if (!file) return false;
  bool is_it = is_of_graph(file, size, key, name);
  hiaJ_store_free(store, file, size);
  return is_it;
}

void hiaJ_store_by_graph(hia_store *store, const hia_text *key, const char *entry_name,
                         hia_arena *arena) {
  char name[HIA_STORE_NAME + 1];
  by_graph head = {0};
  memcpy(head.name, entry_name, HIA_STORE_NAME);
  hia_text file;
  hiaR_text_init(&file, arena);
  hiaR_text_add(&file, (const char *)&head, sizeof head);
  hiaR_text_add(&file, key->data, key->len);
  hiaJ_digest(key->data, key->len, name);
  hiaJ_store_write(store, name, file.data, file.len);
}

bool hiaJ_store_entry(const hia_engine *engine, hia_entry *e, const hia_text *key,
                      char name[HIA_STORE_NAME + 1]) {
  void *bytes;
  size_t size;
  e->key = key->data;
  e->key_size = key->len;
  hiaJ_digest(key->data, key->len, name);
  if (hiaJ_entry_write(e, &engine->allocator, &bytes, &size) != HIA_OK) return false;
  bool is_stored = hiaJ_store_write(engine->store, name, bytes, size);
  hiaR_free(&engine->allocator, bytes, size);
  return is_stored;
}

const hia_type *hiaJ_entry_types(hia_arena *arena, const hia_root_facts *root) {
  hia_type *words = HIA_NEW_ARRAY(arena, hia_type, (size_t)root->n_params + root->n_results + 1);
  for (uint32_t i = 0; i < root->n_params; i++) words[i] = root->params[i];
  for (uint32_t i = 0; i < root->n_results; i++) words[root->n_params + i] = root->results[i];
  return words;
}
