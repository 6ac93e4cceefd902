/* libfastgpu_comm for C, and for everything that can call C: numbers exchanged between the ranks
 * of one job.
 *
 * Each process of the job calls fgc_init once and thereby becomes a rank. Afterwards every rank
 * makes the same calls in the same order; each blocks until this rank's part is done, and has a
 * deadline: where another rank is silent for FASTGPU_COMM_TIMEOUT (60s), it fails.
 *
 * Functions that can fail return an fgc_status, and fgc_last_error then says what happened. After a
 * collective has failed the ranks are at different places, and every further collective on the
 * same handle fails too.
 *
 * One thread at a time may use a handle, but for fgc_gradient_ready. */
#ifndef FASTGPU_COMM_H
#define FASTGPU_COMM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* This rank and its connections to the others. */
typedef struct fgc_comm fgc_comm;

/* What the caller may do about it. Numbers keep their meaning; new ones may come. */
typedef enum fgc_status {
  FGC_OK = 0,
  FGC_USAGE = 1,    /* The call or an environment variable is wrong, or the ranks disagree. */
  FGC_DENIED = 2,   /* The ranks' secrets differ. */
  FGC_CONFLICT = 3, /* The port or the rank is taken. */
  FGC_TIMEOUT = 4,  /* Other ranks have not come, or have gone silent. */
  FGC_REMOTE = 5,   /* Another rank has gone. */
  FGC_LOCAL = 6,    /* This machine refused: memory, sockets, name resolution. */
  FGC_INTERNAL = 7  /* A bug in libfastgpu_comm. */
} fgc_status;

/* Parameters for these are ints: every value may be passed, and a wrong one is refused. */
typedef enum fgc_type {
  FGC_FLOAT32 = 0,
  FGC_FLOAT64 = 1,
  FGC_INT32 = 2,
  FGC_INT64 = 3,
  FGC_FLOAT16 = 4,  /* IEEE 754 binary16. */
  FGC_BFLOAT16 = 5, /* The upper half of a float32. */
  FGC_INT8 = 6,
  FGC_UINT8 = 7
} fgc_type;

/* On integers, sums and products wrap and averages round towards zero. On 16-bit floating-point
 * numbers, each operation is carried out in float32 and rounded to nearest, ties to even. A
 * floating-point result is NaN where one of the operands is, and -0 is less than 0. */
typedef enum fgc_op {
  FGC_SUM = 0,
  FGC_AVERAGE = 1,
  FGC_MIN = 2,
  FGC_MAX = 3,
  FGC_PRODUCT = 4
} fgc_op;

/* The library's version, such as "0.1.0". */
const char* fgc_version(void);

/* What went wrong in this thread's last call that failed: one sentence naming the rank concerned.
 * Valid until the thread's next call; "" where none has failed. */
const char* fgc_last_error(void);

/* Joins the job that the environment describes: RANK and WORLD_SIZE, or mpirun's own variables; the
 * address of rank 0 in FASTGPU_COMM_MASTER_ADDR and FASTGPU_COMM_MASTER_PORT, or MASTER_ADDR and
 * MASTER_PORT; FASTGPU_COMM_SECRET, without which only ranks on one machine can meet;
 * FASTGPU_COMM_INTERFACE; FASTGPU_COMM_TIMEOUT. Without a rank in the environment the process is
 * a job of one. *comm is for fgc_finalize, and NULL after a failure. */
fgc_status fgc_init(fgc_comm** comm);

/* Leaves the job and frees the handle; NULL is allowed. Others who still wait for this rank fail,
 * so a program calls fgc_barrier before. */
void fgc_finalize(fgc_comm* comm);

/* 0 .. fgc_size - 1; both are -1 for NULL. */
int fgc_rank(const fgc_comm* comm);
int fgc_size(const fgc_comm* comm);

/* Reduces `count` elements over all ranks, in place. The result is the same to the last bit on
 * every rank and in every run of as many ranks. */
fgc_status fgc_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op);

/* Copies `bytes` bytes of rank `root` to every rank. */
fgc_status fgc_broadcast(fgc_comm* comm, void* data, size_t bytes, int root);

/* Collects `bytes` bytes of every rank in `all`, which is fgc_size times as long, ordered by
 * rank. */
fgc_status fgc_all_gather(fgc_comm* comm, const void* mine, size_t bytes, void* all);

/* Returns once every rank has called it. */
fgc_status fgc_barrier(fgc_comm* comm);

/* Registers a gradient, whose memory must stay where it is until fgc_finalize. Every rank registers
 * the same names, types and counts in the same order, before the first of the calls below; they
 * are numbered from 0 in that order. */
fgc_status fgc_register_gradient(fgc_comm* comm, const char* name, void* data, size_t count,
                                 int type);

/* Reduces every registered gradient over all ranks, in place, many of them in one message. */
fgc_status fgc_all_reduce_gradients(fgc_comm* comm, int op);

/* The gradient is complete, and begins to travel while others are computed. In any order, from any
 * thread; it is not touched until fgc_wait_gradients. The operation is that of the last
 * fgc_all_reduce_gradients, and average before any. */
fgc_status fgc_gradient_ready(fgc_comm* comm, size_t index);

/* Ends the step: returns once every gradient that has been made ready on all ranks is reduced.
 * *has_results, if not NULL, is 0 where no rank gets results because a gradient had NaN or infinity
 * in it and FASTGPU_COMM_NANCHECK is "skip". One made ready on some ranks only is FGC_USAGE. */
fgc_status fgc_wait_gradients(fgc_comm* comm, int* has_results);

/* Is given one sentence about a rank that is late, or a gradient with NaN or infinity. Called
 * within calls of the functions above; may call none of them. NULL: nobody is told. */
typedef void (*fgc_warning_handler)(const char* sentence, void* user);
void fgc_on_warning(fgc_comm* comm, fgc_warning_handler handler, void* user);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
