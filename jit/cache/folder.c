/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The folder of a cache, for hosts (hiaton/cache.h). */
#include "jit/cache/store.h"
#include <hiaton/cache.h>
#include <unistd.h>

typedef struct visiting {
  hia_store *store;
  bool check;
  hia_cache_visit visit;
  void *user;
} visiting;

static void visit_file(void *user, const hia_store_file *file) {
  const visiting *v = user;
  const hia_cache_file f = {.size = sizeof f,
                            .name = file->name,
                            .bytes = file->size,
                            .used_at = file->used_at,
                            .is_checked = v->check,
                            .is_sound = file->is_sound};
  v->visit(v->user, &f);
}

static void remove_damaged(void *user, const hia_store_file *file) {
  const visiting *v = user;
  if (!file->is_sound) hiaJ_store_remove(v->store, file->name);
}

/* *store stays NULL if there is no such folder. */
static hia_status open_folder(const char *folder, hia_store **store, hia_error **error) {
  *store = NULL;
  if (error) *error = NULL;
  if (!folder) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no folder");
  if (access(folder, F_OK) != 0) return HIA_OK;
  return hiaJ_store_open(&hiaR_malloc, folder, UINT64_MAX, store, error);
}

static hia_status fail(const hia_store *store, hia_status status, hia_error **error) {
  if (status == HIA_OK) return HIA_OK;
  return hiaR_fail_text(&hiaR_malloc, error, status, NULL, "cannot read the cache %s",
                        hiaJ_store_path(store));
}

hia_status hia_cache_each(const char *folder, bool check, hia_cache_visit visit, void *user,
                          hia_error **error) {
  hia_store *store;
  hia_status status = open_folder(folder, &store, error);
  if (status != HIA_OK || !store) return status;
  if (!visit) {
    hiaJ_store_close(store);
    return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function to visit files");
  }
  visiting v = {store, check, visit, user};
  status = fail(store, hiaJ_store_each(store, check, visit_file, &v), error);
  hiaJ_store_close(store);
  return status;
}

hia_status hia_cache_clear(const char *folder, bool damaged, hia_error **error) {
  hia_store *store;
  hia_status status = open_folder(folder, &store, error);
  if (status != HIA_OK || !store) return status;
  visiting v = {.store = store};
  status = damaged ? hiaJ_store_each(store, true, remove_damaged, &v) : hiaJ_store_clear(store);
  status = fail(store, status, error);
  hiaJ_store_close(store);
  return status;
}
