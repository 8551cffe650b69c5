/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Host functions: those that are registered, and those that a module's declarations are bound to.
 */
#include "graph/ir/build.h"
#include "jit/engine/engine.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

/* ---- registering ---- */

typedef struct declaring {
  hia_comp comp;
  const hia_host_function *host;
  hia_engine *engine;
  const char *name, *text;
  hia_status status;
  hia_error **error;
} declaring;

/* Reads the declaration, which is a program of one line. */
static void read_declaration(declaring *d) {
  hia_types types;
  hia_diags diags;
  hia_source source = {
      .name = "declaration", .text = d->host->declaration, .len = strlen(d->host->declaration)};
  hiaG_types_init(&types, &d->comp);
  hiaF_diags_init(&diags, &d->comp, &source);
  hia_program *program = hiaF_load(&d->comp, &types, &source, &diags);
  if (!program || diags.list.len)
    d->status = hiaJ_fail_diags(&d->engine->allocator, d->error, HIA_ARGUMENT, &diags);
  else if (!(d->text = hiaF_extern_text(program, &d->name)))
    d->status =
        hiaJ_fail(&d->engine->allocator, d->error, HIA_ARGUMENT,
                  "write, for instance: extern fn erf(x: f64) -> f64",
                  "not the declaration of one extern function: %.200s", d->host->declaration);
}

static void declare(void *arg) {
  declaring *d = arg;
  if (HIA_TRY(&d->comp)) read_declaration(d);
  d->comp.armed = false;
}

static hia_registered *host_new(const hia_allocator *allocator, const declaring *d) {
  size_t name_size = strlen(d->name) + 1, text_size = strlen(d->text) + 1;
  size_t size = sizeof(hia_registered) + name_size + text_size;
  hia_registered *host = hiaR_alloc(allocator, size);
  if (!host) return NULL;
  char *name = (char *)(host + 1), *text = name + name_size;
  memcpy(name, d->name, name_size);
  memcpy(text, d->text, text_size);
  *host = (hia_registered){.size = size, .name = name, .text = text};
  host->target = (hia_host_target){.function = d->host->function,
                                   .user = d->host->user,
                                   .takes_user = d->host->takes_user,
                                   .returns_status = d->host->returns_status,
                                   .is_safe = d->host->is_safe};
  return host;
}

static const hia_registered *find_host(const hia_registered *list, const char *name) {
  while (list && strcmp(list->name, name) != 0) list = list->next;
  return list;
}

static const hia_registered *hosts_of(hia_engine *engine) {
  pthread_mutex_lock(&engine->lock);
  const hia_registered *list = engine->hosts; /* elements are only added, at the front */
  pthread_mutex_unlock(&engine->lock);
  return list;
}

static hia_status add_host(hia_engine *engine, const declaring *d, hia_error **error) {
  const hia_allocator *allocator = &engine->allocator;
  hia_registered *host = host_new(allocator, d);
  if (!host) return hiaR_fail_memory(allocator, error);
  pthread_mutex_lock(&engine->lock);
  bool is_taken = find_host(engine->hosts, host->name) != NULL;
  if (!is_taken) {
    host->next = engine->hosts;
    engine->hosts = host;
  }
  pthread_mutex_unlock(&engine->lock);
  if (!is_taken) return HIA_OK;
  hia_status status = hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                                "a host function '%s' is registered already", host->name);
  hiaR_free(allocator, host, host->size);
  return status;
}

HIA_SIZED(hia_host_function, user);

hia_status hia_engine_register(hia_engine *engine, const hia_host_function *function,
                               hia_error **error) {
  if (error) *error = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  const hia_allocator *allocator = &engine->allocator;
  if (!function) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no host function");
  hia_host_function complete = HIA_HOST_FUNCTION_INIT;
  if (hiaR_copy_options(allocator, "a host function", &complete, sizeof complete, function, error))
    return HIA_ARGUMENT;
  if (!complete.declaration || !complete.function)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a host function without %s",
                     complete.declaration ? "a pointer" : "its declaration");
  declaring d = {.host = &complete, .engine = engine, .error = error};
  hiaR_comp_init(&d.comp, allocator);
  hia_status status = hiaJ_on_stack(engine, declare, &d);
  if (status != HIA_OK)
    hiaR_fail_memory(allocator, error);
  else
    status = d.comp.status ? hiaJ_fail_comp(allocator, error, &d.comp) : d.status;
  if (status == HIA_OK) status = add_host(engine, &d, error);
  hiaR_comp_free(&d.comp);
  return status;
}

void hiaJ_hosts_free(hia_engine *engine) {
  while (engine->hosts) {
    hia_registered *host = engine->hosts;
    engine->hosts = host->next;
    hiaR_free(&engine->allocator, host, host->size);
  }
}

/* ---- binding ---- */

typedef struct binding {
  hia_module *module;
  const hia_registered *hosts; /* those registered when the module is loaded */
} binding;

/* Finds a function of the process. A symbol that is not a function is refused. */
static void *process_symbol(const char *name) {
  void *address = dlsym(RTLD_DEFAULT, name);
  if (!address) return NULL;
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  bool is_known = dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol;
  /* The type has the same position in both classes of ELF. */
  unsigned type = is_known ? ELF64_ST_TYPE(symbol->st_info) : STT_FUNC;
  return type == STT_FUNC || type == STT_GNU_IFUNC ? address : NULL;
}

static bool find(void *user, const char *name, hia_host_info *info) {
  binding *b = user;
  hia_module *module = b->module;
  hia_bound bound = {.name = name};
  const hia_registered *host = find_host(b->hosts, name);
  if (host) {
    bound.target = host->target;
    *info = (hia_host_info){host->text, host->target.returns_status};
  } else {
    void *address =
        hiaJ_has(module->engine, HIA_FLAG_PROCESS_SYMBOLS) ? process_symbol(name) : NULL;
    if (!address && !hiaJ_has(module->engine, HIA_FLAG_LINK_EXTERNS)) return false;
    memcpy(&bound.target.function, &address, sizeof address);
    *info = (hia_host_info){NULL, false};
  }
  hiaR_push(&module->comp.arena, &module->bound, bound);
  return true;
}

static const char *registered_name(void *user, size_t i) {
  const binding *b = user;
  const hia_registered *host = b->hosts;
  while (host && i--) host = host->next;
  return host ? host->name : NULL;
}

void hiaJ_bind_program(hia_module *module, hia_diags *diags) {
  binding b = {module, hosts_of(module->engine)};
  hiaF_link(module->program, &(hia_host_finder){&b, find, registered_name}, diags);
}

hia_status hiaJ_bind_graph(hia_module *module, const hia_graph *g, hia_error **error) {
  const hia_allocator *allocator = &module->engine->allocator;
  binding b = {module, hosts_of(module->engine)};
  for (uint32_t i = 0; i < g->externs.len; i++) {
    const hia_extern *e = &g->externs.data[i];
    hia_host_info info = {NULL, false};
    hia_text text;
    hiaR_text_init(&text, &module->comp.arena);
    if (!find(&b, e->name, &info)) {
      const char *similar =
          hiaF_similar_host(&(hia_host_finder){&b, find, registered_name}, e->name);
      hiaR_text_addf(&text, "the host has no function '%s' for this", e->name);
      if (similar) hiaR_text_addf(&text, "; did you mean '%s'?", similar);
      return hiaJ_fail_at(allocator, error, HIA_REJECTED, "E0601", &module->source, 0, 0,
                          text.data);
    }
    hiaG_extern_print(g->types, e->name, e->is_impure, e->sig_params, e->n_sig_params, e->result,
                      &text);
    bool agrees = !info.declaration || strcmp(info.declaration, text.data) == 0;
    if (!agrees && e->is_impure) { /* a pure function may be declared impure, as with fuel */
      hia_text pure;
      hiaR_text_init(&pure, &module->comp.arena);
      hiaG_extern_print(g->types, e->name, false, e->sig_params, e->n_sig_params, e->result, &pure);
      agrees = strcmp(info.declaration, pure.data) == 0;
    }
    if (agrees && (e->raises || !info.raises)) continue;
    const char *message = hiaR_arena_printf(
        &module->comp.arena,
        agrees
            ? "%s: this graph says that it cannot fail, but %s may, as the host has registered it"
            : "this is %s, but the host has registered %s",
        text.data, agrees ? "it" : info.declaration);
    return hiaJ_fail_at(allocator, error, HIA_REJECTED, "E0602", &module->source, 0, 0, message);
  }
  return HIA_OK;
}

const hia_host_target *hiaJ_bound(const hia_module *module, const char *name) {
  for (uint32_t i = 0; i < module->bound.len; i++)
    if (strcmp(module->bound.data[i].name, name) == 0) return &module->bound.data[i].target;
  return NULL;
}
