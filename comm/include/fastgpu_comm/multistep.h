/* Steps of which only some are exchanged: gradients that are added over several steps, parameters
 * that are averaged every few steps, averages that travel while the next step is computed. Rounds
 * end alike on all ranks, also if one has fewer batches than another. */
#ifndef FASTGPU_COMM_MULTISTEP_H
#define FASTGPU_COMM_MULTISTEP_H

#include "gradients.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct fgc_multistep fgc_multistep;

/* Makes the steps of the ranks of `comm`, whose other calls come between steps. `mode` is the same
 * on all ranks; NULL: the setting FASTGPU_COMM_MULTISTEP.
 *
 *   "accumulate=N"  Not if memory has room for a batch N times as large: that batch is faster.
 *                   Gradients of N steps are added, and averaged over the ranks once.
 *   "local_steps=H" Not if the data of ranks differ in kind, and not for a few hundred steps.
 *                   Parameters are averaged every H steps; ",warmup=W": in each of the first W.
 *   "diloco=H"      Not on a network that keeps up with local_steps: it has two settings more.
 *                   The averaged difference is the gradient of an outer optimizer, SGD with
 *                   Nesterov momentum; ",rate=0.7,momentum=0.9,warmup=0" are its defaults.
 *   "delay=1"       Not with a learning rate near the highest that converges.
 *                   The averages of a step are applied in the next one, and travel meanwhile.
 *   "slices=S"      Not to save bytes: it sends those of local_steps=S, only evenly.
 *                   Each step averages one of S slices of the parameters; ",rate=R,momentum=M" are
 *                   those of an outer optimizer.
 *
 * `settings` are as for fgc_gradients_create. FGC_USAGE if FASTGPU_COMM_EXCHANGE is gossip. */
fgc_status fgc_multistep_create(fgc_comm* comm, const char* mode, const char* const* settings,
                                fgc_multistep** multistep);
/* Frees it, between the same steps on all ranks: a round of delay=1 that travels is waited for, as
 * long as a step waits. NULL is allowed. */
void fgc_multistep_free(fgc_multistep* multistep);

/* Returns 1 for modes that average gradients ("accumulate", "delay"), 0 for those that average
 * parameters; -1 for NULL. */
int fgc_multistep_takes_gradients(const fgc_multistep* multistep);

/* Adds a gradient, or a parameter, by the mode. It is memory of the host, of a floating-point type,
 * and its data is not NULL. Every rank adds the same ones in the same order; *id, which may be
 * NULL, counts them from 0. */
fgc_status fgc_multistep_add(fgc_multistep* multistep, const fgc_gradient* tensor, size_t* id);

/* Begins, after all were added and before the first step: a collective, in which FGC_USAGE names
 * the rank that has another mode or added something else. Parameters that were added become those
 * of rank 0; a mode that averages gradients has none: the program broadcasts them itself. */
fgc_status fgc_multistep_begin(fgc_multistep* multistep);

/* Sets the weight of this rank's next step in the means: above 0, such as the number of samples in
 * its batch. 1 without this call. */
fgc_status fgc_multistep_weigh(fgc_multistep* multistep, double weight);

/* Marks a gradient of this step complete, from any thread. With "accumulate" it begins to travel in
 * the last step of a round; in other modes this has no effect. Gradients without this call are
 * complete in fgc_multistep_step. */
fgc_status fgc_multistep_ready(fgc_multistep* multistep, size_t id);

/* The outcome of a step. */
typedef struct fgc_multistep_outcome {
  size_t struct_size;   /* Set by the caller: sizeof(fgc_multistep_outcome). */
  uint64_t round;       /* The round that has ended, counted from 0. */
  int32_t is_round_end; /* 1: a round has ended, and the other fields are about it. */
  int32_t has_results;  /* 1: gradients are averages now, for the optimizer to apply; or
                         * parameters that this round averages are the same on all ranks. */
  int32_t is_over;      /* 1: all ranks have finished. */
  int32_t reserved;
} fgc_multistep_outcome;

/* Ends a step of this rank: its gradients are computed, or its optimizer has moved the parameters.
 * Gradients are 0 afterwards, so that frameworks that add to them begin anew; or averages, if
 * there are results. `outcome` may be NULL for parameters. Fails as fgc_gradients_wait does. */
fgc_status fgc_multistep_step(fgc_multistep* multistep, fgc_multistep_outcome* outcome);

/* Ends a step of this rank that does not count, such as one with gradients that are not finite, in
 * place of fgc_multistep_step: the program has not moved the parameters. Rounds end where they
 * would with it, and the other ranks do not wait for one step more. If a rank leaves out all its
 * steps of a few rounds in a row, the warning handlers of all ranks are told which it is. */
fgc_status fgc_multistep_leave_out(fgc_multistep* multistep, fgc_multistep_outcome* outcome);

/* Returns 1 if FASTGPU_COMM_NANCHECK is skip, else 0; -1 for NULL. With a mode that averages
 * parameters the library sees no gradients: then the program looks at them itself, and leaves out
 * the steps in which one is not finite, before its optimizer has taken them into its momenta. */
int fgc_multistep_skips_non_finite(const fgc_multistep* multistep);

/* Takes part in one more round without a batch: called again and again after the last batch of this
 * rank, until is_over. Results are applied as after a step. A round that has begun ends with the
 * steps that were made in it. Each rank calls it, whatever the number of its batches; the
 * parameters of all ranks are the same in the end. */
fgc_status fgc_multistep_finish(fgc_multistep* multistep, fgc_multistep_outcome* outcome);

/* Gets the counts of this rank: a step is a round there. */
fgc_status fgc_multistep_counters(fgc_multistep* multistep, fgc_counters* counters);

/* Saves what this rank remembers between steps or after the last one, and the parameters that were
 * added, as fgc_gradients_save does. With a mode that averages gradients the program saves
 * parameters. */
fgc_status fgc_multistep_save(fgc_multistep* multistep, void* state, size_t room, size_t* bytes);

/* Loads what the same rank has saved, after fgc_multistep_begin: training goes on bit by bit, from
 * the same parameters.
 * FGC_USAGE for the state of another rank, number of ranks, mode or set of tensors, or a damaged
 * one; nothing has changed then. All ranks load the states of one checkpoint: otherwise the next
 * step is FGC_USAGE on all of them, naming a rank. Also after is_over: steps then follow. */
fgc_status fgc_multistep_load(fgc_multistep* multistep, const void* state, size_t bytes);

/* Sets a handler as fgc_gradients_on_warning does. */
fgc_status fgc_multistep_on_warning(fgc_multistep* multistep, fgc_warning_handler handler,
                                    void* user);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
