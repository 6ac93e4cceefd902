/* Gossip: after each local step of training every rank mixes its parameters with those of a few
 * neighbours, in place of an average over all ranks. */
#ifndef FASTGPU_COMM_GOSSIP_H
#define FASTGPU_COMM_GOSSIP_H

#include "gradients.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct fgc_gossip fgc_gossip;

/* Makes a set of parameters that the ranks of `comm` mix; its other calls come between steps.
 * `settings` are as for fgc_init, which they overrule: FASTGPU_COMM_TOPOLOGY, _WIRE, _GOSSIP_STEP,
 * _GUARD, and _EXCHANGE: gossip, or all_reduce for exact averages. FGC_USAGE for a graph that is
 * not connected, with its parts, and for a codec that does not go with the graph. FGC_USAGE also
 * where FASTGPU_COMM_MULTISTEP or _NANCHECK asks for what gossip does not do. */
fgc_status fgc_gossip_create(fgc_comm* comm, const char* const* settings, fgc_gossip** gossip);
void fgc_gossip_free(fgc_gossip* gossip); /* Between steps; NULL is allowed. */

/* Registers `count` float32 numbers before the first step. They stay at their address. Every rank
 * registers the same ones in the same order. */
fgc_status fgc_gossip_add(fgc_gossip* gossip, const char* name, float* data, size_t count);

/* What the guard has done. */
typedef enum fgc_guard_action {
  FGC_GUARD_NONE = 0,
  FGC_GUARD_SMALLER_STEP = 1,     /* The consensus step size was taken back. */
  FGC_GUARD_LESS_COMPRESSION = 2, /* The codec was eased, or left out. */
  FGC_GUARD_EXACT_STEPS = 3,      /* Exact averages were put in. */
  FGC_GUARD_RELAXED = 4           /* One of these was taken back after a calm time. */
} fgc_guard_action;

/* The knowledge of this rank about a step that has ended. */
typedef struct fgc_gossip_report {
  size_t struct_size;   /* Set by the caller: sizeof(fgc_gossip_report). */
  uint64_t step;        /* Counted from 0. */
  uint64_t bytes;       /* Sent by this rank to other members. Within a node nothing is counted. */
  double distance;      /* Of a rank from the average over all, measured last. */
  uint64_t measured;    /* The step before which it was; 0: not yet. */
  double step_size;     /* The part of the difference that is taken over. */
  const char* wire;     /* "topk:0.01", or "same"; valid until the next step ends. */
  int32_t exact_every;  /* Every so many steps average exactly; 0: none. */
  int32_t is_exact;     /* 1: this step did. */
  int32_t guard_level;  /* 0: all is as set; more: the guard has intervened so often. */
  int32_t guard_action; /* An fgc_guard_action: the one before this step. */
} fgc_gossip_report;

/* Mixes the parameters of all ranks with those of their neighbours: called after each local step.
 * The first step is a collective, in which FGC_USAGE names a rank with other settings or
 * parameters; it averages exactly. Every rank makes equally many steps. FGC_REMOTE on all ranks,
 * naming it, for a parameter that is not finite. `report` may be NULL. */
fgc_status fgc_gossip_step(fgc_gossip* gossip, fgc_gossip_report* report);

/* Saves what this rank remembers: with each checkpoint, each rank its own, between steps. Gets its
 * length into *bytes. With `state` NULL that is all; otherwise FGC_USAGE if `room` is less. */
fgc_status fgc_gossip_save(fgc_gossip* gossip, void* state, size_t room, size_t* bytes);

/* Loads what the same rank has saved, after parameters are registered and before the first step;
 * training then goes on to the last bit. FGC_USAGE for the state of another rank, of a job with
 * more or fewer ranks, of other parameters or settings, or a damaged one. */
fgc_status fgc_gossip_load(fgc_gossip* gossip, const void* state, size_t bytes);

/* A handler of sentences about actions of the guard, on rank 0. Without a handler the sentence goes
 * to stderr; NULL drops it. */
fgc_status fgc_gossip_on_warning(fgc_gossip* gossip, fgc_warning_handler handler, void* user);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
