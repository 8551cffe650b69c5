/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions as IR: their bodies, calls, forks and entries, and calls of the host. */
#ifndef HIA_LOWER_FUNCTION_H
#define HIA_LOWER_FUNCTION_H

#include "lower/ops/ops.h"

/* ---- body.c ---- */

void hiaL_body(hia_emit *e); /* builds all nodes of emit->fn, behind the builder's position */

/* True if an arm has no instructions (constants are none). */
bool hiaL_is_hollow(const hia_fn *fn, hia_region_id r);

/* ---- skips.c ---- */

void hiaL_find_skips(hia_emit *e); /* sets hia_flow.skip in emit->fn */
/* Returns the block to which the edge of the branch's hollow side leads; it has flow.skip. */
LLVMBasicBlockRef hiaL_skip_block(hia_emit *e, hia_region_id then);

/* ---- call.c ---- */

void hiaL_declare(hia_emit *e, hia_fn_id id);
/* Gives each function of another unit that the unit's functions call a cell. */
void hiaL_declare_cells(hia_emit *e);
/* open_args begins e->local.args with the hidden argument; build_call builds the call of
 * e->unit.fns[callee] with e->local.args. */
void hiaL_open_args(hia_emit *e);
LLVMValueRef hiaL_build_call(hia_emit *e, hia_fn_id callee);
/* The call of a site in emit->fn, whose arguments are in e->local.args. */
LLVMValueRef hiaL_call_site(hia_emit *e, const hia_site *site);
/* Result i of the n that a call returns. */
LLVMValueRef hiaL_result(hia_emit *e, LLVMValueRef all, uint32_t n, uint32_t i);

/* ---- entry.c ---- */

/* Builds the hia_native_entry of a function, through which the runtime calls it. */
void hiaL_entry(hia_emit *e, hia_fn_id id);
/* Builds the module's own entries, after all functions. */
void hiaL_write_own_entries(hia_emit *e);

/* ---- each.c ---- */

/* The call of a site in emit->fn, whose callee computes elements that may be frozen. */
LLVMValueRef hiaL_call_each(hia_emit *e, const hia_site *site);

/* ---- leaf.c ---- */

void hiaL_open_leaf(hia_emit *e); /* emit->fn */
void hiaL_close_leaf(hia_emit *e);
void hiaL_compare_fuel(hia_emit *e); /* behind node emit->local.fuel_at */

/* ---- fork.c ---- */

void hiaL_open_forks(hia_emit *e); /* in the entry block of emit->fn */
void hiaL_record_forks(
    hia_emit *e); /* before everything in region emit->local.check that may poll */
void hiaL_close_forks(hia_emit *e); /* at the function's end */
void hiaL_write_forks(hia_emit *e); /* the module's table */
/* True if the loop calls or forks, in a function whose forks thieves can take. */
bool hiaL_has_calls(const hia_emit *e, hia_region_id head);
/* Writes into the frame which forks are open during a loop. */
void hiaL_keep_number(hia_emit *e, uint32_t number);
/* Writes into the frame that none are open, from here to the end of region r, unless it already has
 * a number. Polls of safepoints without a column read it (finish/rounds.c). */
void hiaL_keep_none(hia_emit *e, hia_region_id r);

/* ---- fork_pays.c ---- */

void hiaL_pays(hia_emit *e,
               hia_fn_id id); /* builds the hia_fork_pays of a function that is forked */

/* ---- extern.c ---- */

void hiaL_open_hosts(hia_emit *e); /* in the entry block of emit->fn */
/* The hia_image_hosts of an object whose externs are symbols, which the interpreter calls through
 * libffi. Null if it has none. */
LLVMValueRef hiaL_image_hosts(hia_emit *e);

#endif
