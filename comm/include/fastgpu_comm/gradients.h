/* Gradients of one model: registered once, made ready in any order, exchanged in few large messages
 * while others are still being computed. */
#ifndef FASTGPU_COMM_GRADIENTS_H
#define FASTGPU_COMM_GRADIENTS_H

#include "collectives.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct fgc_gradients fgc_gradients;

/* Makes a set of gradients that the ranks of `comm` average; its other calls come between steps.
 * `settings` are as for fgc_init, which they overrule: FASTGPU_COMM_WIRE, _FUSION, _LANES,
 * _NANCHECK, and all others of gradients. FGC_USAGE for one that has an effect in fgc_init alone,
 * and where FASTGPU_COMM_MULTISTEP or _TOPOLOGY asks for another training than by gradients. */
fgc_status fgc_gradients_create(fgc_comm* comm, const char* const* settings,
                                fgc_gradients** gradients);
void fgc_gradients_free(fgc_gradients* gradients); /* Between steps; NULL is allowed. */

/* The memory of a gradient. */
typedef enum fgc_memory {
  FGC_HOST = 0,
  FGC_DEVICE = 1 /* The calling thread's current GPU's: see device.h. It has no view. */
} fgc_memory;

/* One gradient. A field that is 0 has its default. */
typedef struct fgc_gradient {
  size_t struct_size;    /* sizeof(fgc_gradient) */
  const char* name;      /* Different for each gradient. */
  void* data;            /* Stays at its address; NULL: the gradient is in its view only. */
  const uint64_t* shape; /* The lengths of its dimensions. */
  size_t dimensions;     /* 0: one element. */
  int32_t type;          /* An fgc_type. */
  int32_t priority;      /* Higher overtakes others on busy connections. */
  int32_t memory;        /* An fgc_memory. */
  int32_t reserved;      /* 0. */
} fgc_gradient;

/* Registers a gradient before the first step. Every rank registers the same ones, except for their
 * memory, in the same order; *id, which may be NULL, counts them from 0. */
fgc_status fgc_gradient_add(fgc_gradients* gradients, const fgc_gradient* gradient, size_t* id);

/* Gets the type of this gradient on the wire; FASTGPU_COMM_WIRE sets it for float32. */
fgc_status fgc_gradient_wire_type(fgc_gradients* gradients, size_t id, int* type);

/* Sets the operation of later steps; FGC_AVERAGE at first. Between steps, the same on all ranks. */
fgc_status fgc_gradients_use_op(fgc_gradients* gradients, int op);

/* The first call of the functions below begins the first step: a collective, in which FGC_USAGE
 * names the rank that has registered something else, and the difference. */

/* Gets the place of this gradient in the fusion buffer, as `*type`: from now on it is written and
 * read there, not copied. A step may move it with its content (have_views_moved); then ask again.
 */
fgc_status fgc_gradient_view(fgc_gradients* gradients, size_t id, void** view, int* type);

/* Marks the gradient complete (on a GPU: once the default stream has passed its present content).
 * It begins to travel, and is not touched before the step ends. From any thread, and in any order
 * on each rank. */
fgc_status fgc_gradient_ready(fgc_gradients* gradients, size_t id);

/* Does what fgc_gradient_ready does for a gradient of the host that is at `data` in this step, with
 * as many elements as `data` of fgc_gradient_add had, and gets its result there. It saves a copy
 * where each step has gradients in new memory. FGC_USAGE for a gradient that is in its view. */
fgc_status fgc_gradient_ready_at(fgc_gradients* gradients, size_t id, void* data);

typedef enum fgc_non_finite { FGC_FINITE = 0, FGC_NAN = 1, FGC_INFINITY = 2 } fgc_non_finite;

/* The common knowledge of all ranks about a step that has ended. */
typedef struct fgc_outcome {
  size_t struct_size;    /* Set by the caller: sizeof(fgc_outcome). */
  uint64_t step;         /* Counted from 0. */
  const size_t* skipped; /* Ready on no rank, left unchanged; valid until the next step ends. */
  size_t skipped_count;  /* Their number. */
  size_t non_finite_gradient;  /* The first of the lowest rank that has one. */
  uint64_t non_finite_index;   /* The index of its first element that is not finite. */
  int32_t non_finite_rank;     /* The rank that had it. */
  int32_t non_finite;          /* An fgc_non_finite: FGC_FINITE if nothing else was found. */
  int32_t is_applied;          /* 0: the step was skipped, and gradients have no results. */
  int32_t is_somebody_leaving; /* 1: this was the last step. */
  int32_t have_views_moved;    /* 1: ask for views again. */
} fgc_outcome;

/* Ends the step and waits for its results. FGC_USAGE if a gradient is ready on some ranks only,
 * naming those on which it is not; FGC_REMOTE for one that is not finite if FASTGPU_COMM_NANCHECK
 * is "stop". The next step may follow all the same. `outcome` may be NULL. A sum of finite numbers
 * that is too large for the type on the wire is infinity, and is not reported. */
fgc_status fgc_gradients_wait(fgc_gradients* gradients, fgc_outcome* outcome);

/* Ends the step likewise, and announces to all ranks that this one makes no further step. */
fgc_status fgc_gradients_leave(fgc_gradients* gradients, fgc_outcome* outcome);

/* The counts of this rank, since the first step began. */
typedef struct fgc_counters {
  size_t struct_size; /* Set by the caller: sizeof(fgc_counters). */
  uint64_t steps;
  uint64_t steps_without_results;
  uint64_t buckets;      /* All-reduces that were started. */
  uint64_t bucket_bytes; /* Bytes of gradients in them, on the wire. */
  uint64_t negotiation_messages;
  uint64_t negotiation_bytes;
  uint64_t late_ranks; /* Times that a rank was waited for too long. */
  double ready_seconds;
  double unpack_seconds;
  double wait_seconds;
} fgc_counters;

fgc_status fgc_gradients_counters(fgc_gradients* gradients, fgc_counters* counters);

/* Saves the order in which gradients travel, and the state of a codec (FASTGPU_COMM_WIRE=1bit, topk
 * or powersgd: the part of this rank's gradients that has not been sent yet; with momentum, its
 * velocities; the number of steps). Each rank saves its own with each checkpoint, between steps;
 * without a codec it is the same on all ranks. Gets its length into *bytes: 0 without a codec
 * before the first step. With `state` NULL that is all; otherwise FGC_USAGE if `room` is less. */
fgc_status fgc_gradients_save(fgc_gradients* gradients, void* state, size_t room, size_t* bytes);

/* Loads what the same rank has saved: between steps, after its gradients are registered. Gradients
 * are found by name and number of elements; others begin anew. No bytes change nothing. FGC_USAGE
 * for the state of another rank, whose part would count twice, for that of a job with more or fewer
 * ranks, some of whose parts would be lost, or a damaged one. Before the first call of a step the
 * order of rank 0 counts for all; after a view was asked for, all ranks load a state, and ask for
 * views again. A set that has made a step keeps its order. */
fgc_status fgc_gradients_load(fgc_gradients* gradients, const void* state, size_t bytes);

/* A handler of sentences about a rank that is late, or a gradient that is not finite: the latter on
 * the rank that has it, so that a job says it once. It is called within calls of the functions
 * above; it may call none of them. Without a handler the sentence goes to stderr; NULL drops it. */
typedef void (*fgc_warning_handler)(const char* sentence, void* user);
fgc_status fgc_gradients_on_warning(fgc_gradients* gradients, fgc_warning_handler handler,
                                    void* user);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
