/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What an object file holds besides the code: the tables of its frames and source positions, the
 * image, the kernels that the image needs, and a `main`.
 *
 * Everything is a constant of the module, and refers to the runtime by name. Symbols that are not
 * for C are local, because several objects may be linked together. The frame tables can be made
 * only from the finished code; until then a word stands for them (jit/llvm/elf.c). */
#include "lower/object/object.h"
#include "lower/function/function.h"
#include "runtime/base/loc.h"
#include "runtime/native/module.h"
#include "runtime/native/tables.h"
#include "runtime/param/param.h"

static LLVMValueRef runtime_function(hia_emit *e, const char *name) {
  LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
  return f ? f : LLVMAddFunction(e->module, name, LLVMFunctionType(e->void_type, NULL, 0, false));
}

/* ---- frames ---- */

LLVMValueRef hiaL_object_unwinder(hia_emit *e, LLVMValueRef *locs) {
  const hia_graph *g = e->g;
  const hia_object_plan *plan = e->options->object;
  LLVMValueRef tables = hiaL_variable(e, "hia_tables", hiaL_number(e, 64, 0));
  LLVMSetSection(tables, HIA_TABLES_SECTION);
  LLVMSetAlignment(tables, 8);
  LLVMValueRef pair[2] = {tables, e->unit.fns[plan->roots[0].fn].entry};
  LLVMValueRef linked = hiaL_variable(e, "hia_linked", hiaL_structure(e, pair, 2));

  /* Names stand behind one another, in the order of their numbers. */
  hia_arena *scratch = &e->comp->scratch;
  hia_image_loc *rows = HIA_NEW_ARRAY(scratch, hia_image_loc, g->locs.len + 1);
  uint32_t *at = HIA_NEW_ARRAY(scratch, uint32_t, g->names.len + 1), next = 0;
  for (uint32_t i = 0; i < g->names.len; i++) {
    at[i] = next;
    next += (uint32_t)strlen(g->names.data[i]) + 1;
  }
  for (uint32_t i = 0; i < g->locs.len; i++) {
    const hia_loc *l = &g->locs.data[i];
    rows[i] =
        (hia_image_loc){l->line, l->col, hiaR_loc_is_mark(l->fn) ? l->fn : at[l->fn], l->parent};
  }
  *locs = hiaL_bytes(e, "hia_locs", rows, g->locs.len * sizeof *rows, sizeof(uint32_t));
  /* The size of the largest frame is known only from the finished code. */
  LLVMValueRef fields[4] = {runtime_function(e, "hiaR_tables_unwind"), linked, *locs,
                            hiaL_number(e, 64, 1)};
  return hiaL_structure(e, fields, 4);
}

LLVMValueRef hiaL_object_places(hia_emit *e, LLVMValueRef locs) {
  const hia_graph *g = e->g;
  hia_text names;
  hiaR_text_init(&names, &e->comp->scratch);
  for (uint32_t i = 0; i < g->names.len; i++)
    hiaR_text_add(&names, g->names.data[i], strlen(g->names.data[i]) + 1);
  if (!names.len) hiaR_text_add(&names, "", 1);
  const char *file = g->file ? g->file : "";
  LLVMValueRef zero = hiaL_number(e, 64, 0);
  LLVMValueRef fields[7] = {locs,
                            hiaL_bytes(e, "hia_names", names.data, names.len, 1),
                            hiaL_bytes(e, "hia_file", file, strlen(file) + 1, 1),
                            LLVMConstNull(e->ptr),
                            hiaL_number(e, 64, g->locs.len),
                            hiaL_number(e, 64, names.len),
                            zero};
  return hiaL_structure(e, fields, 7);
}

/* ---- the image ---- */

#define KERNEL_OWN(number, NAME) [number] = "hiaR_k_" #NAME,
#define KERNEL_OPERATION(number, NAME)
#define KERNEL_NONE(number, NAME)
#define OPERATION_OWN(number, NAME)       [number] = "hiaR_e_LIFT",
#define OPERATION_OPERATION(number, NAME) [number] = "hiaR_e_" #NAME,
#define OPERATION_NONE(number, NAME)
static const char *const operations[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  OPERATION_##KERNEL(number, NAME)
#include "runtime/base/ops.def"
};
static const char *const kernel_tables[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  KERNEL_##KERNEL(number, NAME)
#include "runtime/base/ops.def"
};

/* One row for each op that the image has kernels of. */
static LLVMValueRef kernels(hia_emit *e, uint64_t *n) {
  const hia_object_plan *plan = e->options->object;
  *n = 0;
  if (!plan->image) return LLVMConstNull(e->ptr);
  const hia_image_header *h = plan->image;
  const hia_image_kernel *used = (const void *)((const char *)plan->image + h->kernels.at);
  const hia_image_node *nodes = (const void *)((const char *)plan->image + h->nodes.at);
  bool is_used[HIA_OP_LIMIT] = {false}, is_operation[HIA_OP_LIMIT] = {false};
  for (uint32_t i = 0; i < h->kernels.n; i++) is_used[used[i].op] = true;
  for (uint32_t i = 0; i < h->nodes.n; i++)
    if (nodes[i].kind == HIA_KIND_OPERATION) is_operation[used[nodes[i].what].op] = true;
  LLVMValueRef rows[HIA_OP_LIMIT];
  for (uint32_t op = 0; op < HIA_OP_LIMIT; op++) {
    if (!is_used[op]) continue;
    if (!kernel_tables[op] && !operations[op])
      HIA_BUG(e->comp, "the image has kernels of op %u, which has none", op);
    LLVMValueRef none = LLVMConstNull(e->ptr);
    LLVMValueRef row[4] = {hiaL_number(e, 32, op), hiaL_number(e, 32, 0),
                           kernel_tables[op] ? hiaL_of_runtime(e, kernel_tables[op]) : none,
                           is_operation[op] ? hiaL_of_runtime(e, operations[op]) : none};
    rows[(*n)++] = hiaL_structure(e, row, 4);
  }
  if (!*n) return LLVMConstNull(e->ptr);
  return hiaL_variable(e, "hia_kernels", LLVMConstArray2(LLVMTypeOf(rows[0]), rows, *n));
}

/* hia_param_spec. */
static LLVMValueRef param_spec(hia_emit *e, const hia_param_spec *spec) {
  _Static_assert(sizeof(hia_param_spec) == 168 && offsetof(hia_param_spec, a) == 16 &&
                     offsetof(hia_param_spec, shape) == 32 && offsetof(hia_dims, dims) == 8,
                 "specs are written in another order");
  LLVMValueRef dims[HIA_MAX_RANK];
  for (uint32_t i = 0; i < HIA_MAX_RANK; i++)
    dims[i] = hiaL_number(e, 64, (uint64_t)spec->shape.dims[i]);
  LLVMValueRef shape[] = {hiaL_number(e, 32, spec->shape.rank), hiaL_number(e, 32, 0),
                          LLVMConstArray2(e->types[HIA_I64], dims, HIA_MAX_RANK)};
  LLVMValueRef fields[] = {hiaL_bytes(e, "hia_param_name", spec->name, strlen(spec->name) + 1, 1),
                           hiaL_number(e, 32, spec->dtype),
                           hiaL_number(e, 32, spec->init),
                           hiaL_number(e, 64, hiaR_from_f64(spec->a)),
                           hiaL_number(e, 64, hiaR_from_f64(spec->b)),
                           hiaL_structure(e, shape, 3)};
  return hiaL_structure(e, fields, HIA_LEN(fields));
}

/* hia_params.embedded: constants, from which the params of all processes are read. */
static LLVMValueRef embedded(hia_emit *e) {
  const void *const *elements = e->options->object->embedded;
  uint32_t n = e->g->params.len;
  if (!elements) return LLVMConstNull(e->ptr);
  LLVMValueRef *params = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  for (uint32_t i = 0; i < n; i++) {
    const hia_param_spec *spec = &e->g->params.data[i];
    uint64_t len = 0;
    hiaR_shape_elements(&spec->shape, hiaR_dtype_size(spec->dtype), &len);
    size_t size = (size_t)len * hiaR_dtype_size(spec->dtype);
    params[i] = hiaL_bytes(e, "hia_param", size ? elements[i] : "", size ? size : 1,
                           HIA_TENSOR_ALIGN); /* of no elements it has an address all the same */
  }
  return hiaL_variable(e, "hia_embedded", LLVMConstArray2(e->ptr, params, n));
}

/* hia_params: a variable. */
static LLVMValueRef params_variable(hia_emit *e) {
  _Static_assert(sizeof(hia_params) == 56 && offsetof(hia_params, specs) == 8 &&
                     offsetof(hia_params, kit) == 24 && offsetof(hia_params, embedded) == 40 &&
                     offsetof(hia_params, seed) == 48,
                 "params are written in another order");
  uint32_t n = e->g->params.len;
  LLVMValueRef none = LLVMConstNull(e->ptr);
  if (!n) return none;
  LLVMValueRef *specs = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  for (uint32_t i = 0; i < n; i++) specs[i] = param_spec(e, &e->g->params.data[i]);
  LLVMValueRef list = LLVMConstArray2(LLVMTypeOf(specs[0]), specs, n);
  LLVMValueRef fields[] = {hiaL_number(e, 32, 0),
                           hiaL_number(e, 32, n),
                           hiaL_variable(e, "hia_param_specs", list),
                           none,
                           hiaL_of_runtime(e, "hiaR_param_kit"),
                           none,
                           embedded(e),
                           hiaL_number(e, 64, e->options->object->seed)};
  LLVMValueRef params = hiaL_variable(e, "hia_params", hiaL_structure(e, fields, HIA_LEN(fields)));
  LLVMSetGlobalConstant(params, false);
  return params;
}

/* hia_params *NAME(void) */
static void params_function(hia_emit *e, const char *name, LLVMValueRef params) {
  const hia_fn *fn = hiaG_fn(e->g, e->options->object->roots[0].fn);
  hiaL_host_function(e, fn, name, LLVMFunctionType(e->ptr, NULL, 0, false));
  LLVMBuildRet(e->b, params);
}

#define TEXT_OF(x)  TEXT_OF_(x)
#define TEXT_OF_(x) #x

void hiaL_object_rest(hia_emit *e, LLVMValueRef rest[HIA_RECORD_REST]) {
  const hia_object_plan *plan = e->options->object;
  uint64_t n_kernels;
  LLVMValueRef list = kernels(e, &n_kernels);
  rest[0] = plan->image ? hiaL_bytes(e, "hia_image", plan->image, plan->image_size, 8)
                        : LLVMConstNull(e->ptr);
  rest[1] = hiaL_number(e, 64, plan->image_size);
  rest[2] = list;
  rest[3] = hiaL_number(e, 64, n_kernels);
  rest[4] = plan->image ? runtime_function(e, "hiaR_interpret") : LLVMConstNull(e->ptr);
  _Static_assert(offsetof(hia_code_module, hosts) > offsetof(hia_code_module, abi_symbol),
                 "the record is written in another order");
  rest[5] = hiaL_of_runtime(e, TEXT_OF(HIA_RT_ABI_SYMBOL));
  rest[6] = hiaL_image_hosts(e);
  hiaL_object_types(e, &rest[7], &rest[8]);
  rest[9] = params_variable(e);
  if (plan->params) params_function(e, plan->params, rest[9]);
}

/* ---- a program ---- */

/* The number of a planned root in the record, which has the roots in the order of functions. */
static uint32_t root_number(const hia_emit *e, uint32_t planned) {
  if (planned == HIA_NONE) return HIA_NONE;
  uint32_t n = 0;
  for (hia_fn_id f = 0; f < e->options->object->roots[planned].fn; f++)
    n += !hiaG_fn(e->g, f)->is_removed && hiaG_fn(e->g, f)->is_root;
  return n;
}

/* What the program does with files of values (runtime/program/program.h). */
static const char *program_kit(const hia_emit *e, const hia_fn *fn) {
  if (!hiaG_exchanges_references(fn)) return "hiaR_program_scalars_kit";
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (hiaG_type_kind(e->g->types, fn->params[i]) == HIA_KIND_TENSOR)
      return "hiaR_program_tensors_kit";
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (hiaG_type_kind(e->g->types, fn->results[i]) == HIA_KIND_TENSOR)
      return "hiaR_program_tensors_kit";
  return "hiaR_program_kit";
}

/* The names of the parts of the result in files. */
static LLVMValueRef result_names(hia_emit *e) {
  const hia_object_plan *plan = e->options->object;
  if (!plan->result_names) return LLVMConstNull(e->ptr);
  LLVMValueRef *names = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, plan->n_results);
  for (uint32_t i = 0; i < plan->n_results; i++) {
    const char *name = plan->result_names[i];
    names[i] =
        name ? hiaL_bytes(e, "hia_result", name, strlen(name) + 1, 1) : LLVMConstNull(e->ptr);
  }
  return hiaL_variable(e, "hia_results", LLVMConstArray2(e->ptr, names, plan->n_results));
}

/* hia_program_parts. */
static LLVMValueRef program_parts(hia_emit *e, LLVMValueRef record) {
  const hia_object_plan *plan = e->options->object;
  LLVMValueRef none = LLVMConstNull(e->ptr);
  const hia_fn *fn = hiaG_fn(e->g, plan->roots[plan->program].fn);
  bool has_streams = plan->streams != HIA_NONE;
  LLVMValueRef fields[7] = {record,
                            hiaL_of_runtime(e, program_kit(e, fn)),
                            has_streams ? hiaL_of_runtime(e, "hiaR_program_streams") : none,
                            e->g->params.len ? hiaL_of_runtime(e, "hiaR_program_params") : none,
                            result_names(e),
                            hiaL_number(e, 32, root_number(e, plan->program)),
                            hiaL_number(e, 32, root_number(e, plan->streams))};
  return hiaL_variable(e, "hia_program", hiaL_structure(e, fields, 7));
}

void hiaL_object_main(hia_emit *e, LLVMValueRef record) {
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMTypeRef types[3] = {i32, e->ptr, e->ptr};
  LLVMTypeRef main_type = LLVMFunctionType(i32, types, 2, false),
              run_type = LLVMFunctionType(i32, types, 3, false);
  LLVMValueRef run = LLVMAddFunction(e->module, "hiaR_program", run_type);
  LLVMValueRef f = LLVMAddFunction(e->module, "main", main_type);
  LLVMSetSection(f, HIA_HOST_TEXT);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  hiaL_attribute(e, f, all, "uwtable", 1);
  e->function = f;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  LLVMValueRef args[3] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1), program_parts(e, record)};
  LLVMBuildRet(e->b, LLVMBuildCall2(e->b, run_type, run, args, 3, ""));
}
