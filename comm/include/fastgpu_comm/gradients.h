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

/* For gradients that the ranks of `comm` average; its other calls come between steps. `settings`
 * are as for fgc_init, which they overrule: FASTGPU_COMM_WIRE, _FUSION, _LANES, _NANCHECK, and all
 * others of gradients. */
fgc_status fgc_gradients_create(fgc_comm* comm, const char* const* settings,
                                fgc_gradients** gradients);
void fgc_gradients_free(fgc_gradients* gradients); /* Between steps; NULL is allowed. */

/* Where a gradient lies. */
typedef enum fgc_memory {
  FGC_HOST = 0,
  FGC_DEVICE = 1 /* A GPU's, of the calling thread's current one: see device.h. It has no view. */
} fgc_memory;

/* One gradient. What is 0 has its default. */
typedef struct fgc_gradient {
  size_t struct_size;    /* sizeof(fgc_gradient) */
  const char* name;      /* Not that of another one. */
  void* data;            /* Stays where it is; NULL: the gradient lies in its view only. */
  const uint64_t* shape; /* Lengths of its dimensions. */
  size_t dimensions;     /* 0: it has one element. */
  int32_t type;          /* An fgc_type. */
  int32_t priority;      /* Higher overtakes others on connections that are busy. */
  int32_t memory;        /* An fgc_memory. */
  int32_t reserved;      /* 0. */
} fgc_gradient;

/* Registers a gradient before the first step. Every rank registers the same ones, but for where
 * they lie, in the same order; *id, which may be NULL, counts them from 0. */
fgc_status fgc_gradient_add(fgc_gradients* gradients, const fgc_gradient* gradient, size_t* id);

/* What this gradient is on the wire; FASTGPU_COMM_WIRE says so, of float32. */
fgc_status fgc_gradient_wire_type(fgc_gradients* gradients, size_t id, int* type);

/* What the steps to come do; FGC_AVERAGE at first. Between steps, and on all ranks alike. */
fgc_status fgc_gradients_use_op(fgc_gradients* gradients, int op);

/* The first call of those below begins the first step: a collective, in which FGC_USAGE names the
 * rank that has registered something else, and what. */

/* Where in the fusion buffer this gradient lies, as `*type`: from now on it is written and read
 * there, not copied. A step may move it, with what is in it (have_views_moved); then ask again. */
fgc_status fgc_gradient_view(fgc_gradients* gradients, size_t id, void** view, int* type);

/* The gradient is complete (on a GPU: once the default stream has passed what is in it now), begins
 * to travel, and is not touched before the step ends. From any thread, and in any order on each
 * rank. */
fgc_status fgc_gradient_ready(fgc_gradients* gradients, size_t id);

typedef enum fgc_non_finite { FGC_FINITE = 0, FGC_NAN = 1, FGC_INFINITY = 2 } fgc_non_finite;

/* What all ranks know of a step that has ended. */
typedef struct fgc_outcome {
  size_t struct_size;          /* Set by the caller: sizeof(fgc_outcome). */
  uint64_t step;               /* From 0. */
  const size_t* skipped;       /* Ready on no rank, left as they were; until the next step ends. */
  size_t skipped_count;        /* Of them. */
  size_t non_finite_gradient;  /* The first of the lowest rank that has one. */
  uint64_t non_finite_index;   /* Of its first element that is not finite. */
  int32_t non_finite_rank;     /* The rank that had it. */
  int32_t non_finite;          /* An fgc_non_finite: FGC_FINITE where nothing else was found. */
  int32_t is_applied;          /* 0: the step was skipped, and gradients hold no results. */
  int32_t is_somebody_leaving; /* 1: there is no further step. */
  int32_t have_views_moved;    /* 1: ask for views again. */
} fgc_outcome;

/* Ends the step and waits for its results. FGC_USAGE where a gradient is ready on some ranks only,
 * naming those where it is not; FGC_REMOTE for one that is not finite where FASTGPU_COMM_NANCHECK
 * is "stop". The next step may follow all the same. `outcome` may be NULL. */
fgc_status fgc_gradients_wait(fgc_gradients* gradients, fgc_outcome* outcome);

/* The same, and tells all ranks that this one makes no further step. */
fgc_status fgc_gradients_leave(fgc_gradients* gradients, fgc_outcome* outcome);

/* Of this rank, since the first step began. */
typedef struct fgc_counters {
  size_t struct_size; /* Set by the caller: sizeof(fgc_counters). */
  uint64_t steps;
  uint64_t steps_without_results;
  uint64_t buckets;      /* All-reduces that were started. */
  uint64_t bucket_bytes; /* Of gradients in them, as they are on the wire. */
  uint64_t negotiation_messages;
  uint64_t negotiation_bytes;
  uint64_t late_ranks; /* Times that a rank was waited for too long. */
  double ready_seconds;
  double unpack_seconds;
  double wait_seconds;
} fgc_counters;

fgc_status fgc_gradients_counters(fgc_gradients* gradients, fgc_counters* counters);

/* Is given one sentence about a rank that is late, or a gradient that is not finite. Called within
 * calls of the functions above; may call none of them. Without a handler the sentence goes to
 * stderr; NULL: nobody is told. */
typedef void (*fgc_warning_handler)(const char* sentence, void* user);
fgc_status fgc_gradients_on_warning(fgc_gradients* gradients, fgc_warning_handler handler,
                                    void* user);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
