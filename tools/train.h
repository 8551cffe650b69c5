/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton train, in parts: what a training is made of, its checkpoints, its log and its plot. */
#ifndef HIA_TOOL_TRAIN_H
#define HIA_TOOL_TRAIN_H

#include "tools/tool.h"
#include <pthread.h>
#include <time.h>

/* A complete epoch. A number that there is none of is NAN. */
typedef struct train_epoch {
  uint64_t steps; /* since the training began */
  double loss, dev_loss, metric;
  double rate;            /* of its last step */
  double norm;            /* of the gradients, before clipping: the mean over its steps */
  double compile_seconds; /* what compiling the step has taken in this epoch; it is not among: */
  double seconds, examples_per_second;
  bool is_best; /* better than all before it */
} train_epoch;

/* What a checkpoint holds beside the state of the trainer. */
typedef struct train_state {
  uint64_t run;        /* a number that other trainings do not have: lines of a log have it */
  train_epoch *epochs; /* complete ones */
  size_t n_epochs;
  /* The figures of the epoch after them: */
  uint64_t batch;                  /* its batches that are done */
  double loss, norm;               /* sums over these */
  double compile_seconds, seconds; /* as in a complete epoch */
} train_state;

/* The options that decide the bits of a training, as text. */
enum { MAX_DECIDING = 32, MAX_DECIDING_TEXT = 96 };
typedef struct train_deciding {
  size_t n;
  struct {
    const char *name;
    char value[MAX_DECIDING_TEXT]; /* "" where it is not given */
    bool is_hash;                  /* of what the option names */
  } options[MAX_DECIDING];
} train_deciding;

/* What the line on the terminal shows. */
typedef struct train_status {
  pthread_mutex_t lock;
  uint64_t epoch, batch;
  double loss;           /* of the epoch so far; NAN: not known */
  double done, to_do;    /* examples since the clock began, and from there to the end */
  struct timespec begin; /* of the clock, which is after the first step: it compiles */
  bool has_begun, is_on_dev;
} train_status;

/* What --time reports beside the costs of the functions. */
typedef struct train_times {
  hia_run_stats used; /* by all runs of the step together */
  uint64_t update_ns, dev_ns, write_ns;
} train_times;

typedef struct training {
  const tool_options *o;
  const tool_training *t;
  hia_engine *engine;
  hia_module *module;
  hia_function *loss, *metric; /* metric may be NULL */
  hia_trainer *trainer;
  tool_arguments args; /* two values: --data and --dev */
  uint32_t n, n_dev;   /* examples */
  uint32_t *order;     /* of this epoch */
  hia_value **batch;   /* elements of one */
  uint64_t n_batches;  /* of an epoch */
  train_deciding deciding;
  train_state state;
  train_status shown;
  hia_timeline *timeline; /* NULL: no --trace */
  train_times times;
} training;

/* ---- train_setup.c: what comes before the first step ---- */

/* Finds the functions and checks their types. Returns an exit status, as all of these. */
int train_find_functions(training *r);
int train_read_examples(training *r);
/* Fills r->deciding. */
int train_decide(training *r);

/* ---- train_show.c: what a training shows ---- */

/* As snprintf with %g, with as few digits as have all bits. */
void train_format(char text[32], double x);
double train_seconds_since(const struct timespec *start);
/* The loss of the epoch so far. */
double train_mean_loss(const training *r);
/* Notes where the training is; `examples` have been trained on since the last time. */
void train_note(training *r, uint32_t examples, bool is_on_dev);
void train_say(void *training, char *text, size_t size); /* a tool_say */
/* A line on standard error about the last epoch. */
void train_report_epoch(const training *r);
/* A line on standard output: the last epoch, and what decided which one was the best. */
void train_report(const training *r);

/* ---- train_time.c: where the time goes ---- */

/* Computes the loss and the gradient for a batch. Adds to the times, and to the seconds that the
 * epoch has compiled for. Returns an exit status. */
int train_gradient(training *r, hia_value *const *batch, double *loss);
/* Calls a function of the examples of --dev. */
int train_call_on_dev(training *r, hia_function *f, hia_value **result);
/* Prints the times on standard error. */
void train_report_time(const training *r);

/* ---- train_order.c: numbers that follow from the options alone ---- */

/* Fills `order` with the numbers below n in the order of an epoch, from 1 on. */
void train_shuffle(uint64_t seed, uint64_t epoch, uint32_t *order, uint32_t n);
/* The learning rate of a step, from 0 on, of n_steps. */
double train_rate(const tool_training *t, uint64_t step, uint64_t n_steps);

/* ---- train_state.c: the bytes of a checkpoint that are not the trainer's ---- */

/* What is said below an error of a checkpoint that is of another training. */
#define TRAIN_HINT                                                                                 \
  "      = hint: with the same options the training continues; without the checkpoint it begins "  \
  "anew\n"

/* Appends an epoch. Returns false if there is no memory. */
bool train_add_epoch(train_state *state, const train_epoch *epoch);
/* The last epoch that was better than all before it; NULL if there is none. */
const train_epoch *train_best(const train_state *state);
/* Writes the state as text. Returns NULL, with *size 0, if there is no memory; the caller frees it.
 */
char *train_encode(const train_state *state, const train_deciding *deciding, size_t *size);
/* Reads such a text; prints what is wrong with it: `path` is where it comes from, and `deciding` is
 * what the options are now. *state is to be freed in any case. Returns an exit status. */
int train_decode(const char *path, const char *text, size_t size, const train_deciding *deciding,
                 train_state *state);
void train_state_free(train_state *state);

/* ---- train_log.c: --log FILE ---- */

/* Prepares the file: if the training goes on, its lines of later epochs than the state's are
 * dropped. Returns an exit status. */
int train_log_begin(const char *path, const train_state *state);
/* Appends a line for the last epoch of the state. */
int train_log_epoch(const char *path, const train_state *state);

/* ---- train_plot.c: --plot FILE ---- */

/* Draws the epochs of the state, of which there is one at least. `title` stands above, `metric` is
 * the name of the metric or NULL.
 * Returns an exit status. */
int train_plot(const char *path, const train_state *state, const char *title, const char *metric);

#endif
