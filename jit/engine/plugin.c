/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding libhiaton_llvm. It lies beside this library, has the same version in its name, and is
 * never closed: LLVM cannot be unloaded. Where this code is not in a shared library of its own,
 * only a backend that is linked in is used: a plug-in would bring a second libhiaton with it. */
#include "jit/engine/engine.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

/* Linked in by a static build (-u hiaJ_backend) and by the tests; otherwise undefined. */
extern const hia_backend hiaJ_backend __attribute__((weak));

static hia_status check(const hia_allocator *allocator, const hia_backend *found,
                        const hia_backend **backend, hia_error **error) {
  if (strcmp(found->version, HIA_BUILD_VERSION) != 0) {
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "native compilation is of version %s, the engine of %s", found->version,
                     HIA_BUILD_VERSION);
  }
  *backend = found;
  return HIA_OK;
}

hia_status hiaJ_native_open(const hia_allocator *allocator, const hia_backend **backend,
                            hia_error **error) {
  *backend = NULL;
  if (&hiaJ_backend) return check(allocator, &hiaJ_backend, backend, error);

  /* Finds the path of the library that holds `anchor`, which is this library. */
  static const char anchor;
  Dl_info here;
  if (!dladdr(&anchor, &here) || !here.dli_fname) {
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "cannot find out where libhiaton was loaded from");
  }
  char path[PATH_MAX];
  const char *slash = strrchr(here.dli_fname, '/');
  int folder = slash ? (int)(slash - here.dli_fname) + 1 : 0;
  /* A packager may have extended the name: libhiaton-8f2c.so. */
  if (strncmp(here.dli_fname + folder, "libhiaton", 9) != 0 ||
      !strstr(here.dli_fname + folder, ".so")) {
    return hiaJ_fail(
        allocator, error, HIA_UNSUPPORTED, NULL,
        "this program is linked to libhiaton.a, and not to libhiaton_llvm.a (-u hiaJ_backend)");
  }
  int len = snprintf(path, sizeof path, "%.*slibhiaton_llvm.so.%s", folder, here.dli_fname,
                     HIA_BUILD_VERSION);
  if (len < 0 || (size_t)len >= sizeof path) {
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "the path of libhiaton is too long");
  }
  /* Lazy: binding all of LLVM's symbols at once takes longer than compiling a function of a
   * program. */
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "cannot open the compiler: %s",
                     dlerror());
  }
  const hia_backend *found = dlsym(library, "hiaJ_backend");
  if (!found) {
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "%s holds no compiler", path);
  }
  return check(allocator, found, backend, error);
}
