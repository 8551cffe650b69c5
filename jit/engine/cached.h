/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The cache of native code, as cached.c, which has functions, and cached_sides.c, which has what
 * hosts call, use it: cached_keys.c. */
#ifndef HIA_ENGINE_CACHED_H
#define HIA_ENGINE_CACHED_H

#include "jit/engine/engine.h"

/* True if there is a cache for code of such a version. */
bool hiaJ_may_cache(const hia_function *f, hia_traits traits);

/* Writes the first key. False: the code must not be cached. */
bool hiaJ_first_key(hia_text *key, const hia_function *f, hia_traits traits);
/* Writes what a key has besides the program, with which the second key begins. False: likewise. */
bool hiaJ_rest_of_key(hia_text *key, const hia_function *f, hia_traits traits);

/* Reads the entry of a name; with a key, its key must be that one. `file` receives its bytes, into
 * which the entry points, and is the caller's also on failure. May throw. */
bool hiaJ_read_entry(hia_store *store, const char *name, const hia_text *key, hia_arena *arena,
                     hia_cached_file *file, hia_entry *e);
/* Stores an entry under a first key; *name becomes its name. False: it could not be stored. */
bool hiaJ_store_entry(const hia_engine *engine, hia_entry *e, const hia_text *key,
                      char name[HIA_STORE_NAME + 1]);
/* True if there is a file of this second key; *name becomes that of the entry. */
bool hiaJ_find_by_graph(hia_store *store, const hia_text *key, char name[HIA_STORE_NAME + 1]);
/* Makes the entry one that is found by this second key. May throw. */
void hiaJ_store_by_graph(hia_store *store, const hia_text *key, const char *entry_name,
                         hia_arena *arena);

/* The types of all words of a root, parameters first, as entries have them. */
const hia_type *hiaJ_entry_types(hia_arena *arena, const hia_root_facts *root);

#endif
