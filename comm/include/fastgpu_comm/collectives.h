/* Collectives and messages, blocking and asynchronous. */
#ifndef FASTGPU_COMM_COLLECTIVES_H
#define FASTGPU_COMM_COLLECTIVES_H

#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Parameters for these are ints: every value may be passed, and a wrong one is refused. */
typedef enum fgc_type {
  FGC_FLOAT32 = 0,
  FGC_FLOAT64 = 1,
  FGC_INT32 = 2,
  FGC_INT64 = 3,
  FGC_FLOAT16 = 4,  /* IEEE 754 binary16. */
  FGC_BFLOAT16 = 5, /* The upper half of a float32. */
  FGC_INT8 = 6,
  FGC_UINT8 = 7 /* Also bytes of anything, where nothing is reduced. */
} fgc_type;

/* Returns the bytes of an element; 0 for a number that is not an fgc_type. */
size_t fgc_type_size(int type);

/* On integers, sums and products wrap; an average is the sum, which may have wrapped, divided by
 * the number of ranks and rounded towards zero: of two int8 of 100 it is -28. On 16-bit
 * floating-point numbers, each operation is carried out in float32 and rounded to nearest, ties to
 * even; those of an average are divided before they are added, so that no sum overflows. A
 * floating-point result is NaN where one of the operands is, and -0 is less than 0. */
typedef enum fgc_op {
  FGC_SUM = 0,
  FGC_AVERAGE = 1,
  FGC_MIN = 2,
  FGC_MAX = 3,
  FGC_PRODUCT = 4
} fgc_op;

/* Something that was begun. Its buffers are not touched until it is done. Every request is freed by
 * fgc_request_free, also one that has failed. */
typedef struct fgc_request fgc_request;

/* *is_done: whether fgc_request_wait would return at once. Never blocks. */
fgc_status fgc_request_test(fgc_request* request, int* is_done);

/* Returns once it is done, with what it failed with if it did. May be called again. */
fgc_status fgc_request_wait(fgc_request* request);

/* Waits where it is not done, and frees it. NULL is allowed. */
void fgc_request_free(fgc_request* request);

/* Below, `count` elements of `type` are what each rank gives or gets for each other rank. All ranks
 * of a collective give the same type: others are FGC_USAGE, except where NCCL or MPI carries
 * the call. Memory that a call reads and memory that it writes do not overlap: FGC_USAGE names
 * both, and nothing has begun. Exceptions are stated. */

/* Reduces over all ranks, in place. The result is the same to the last bit on every rank and in
 * every run of as many ranks. */
fgc_status fgc_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op);
fgc_status fgc_all_reduce_async(fgc_comm* comm, void* data, size_t count, int type, int op,
                                fgc_request** request);

/* Reduces block fgc_rank of the `all` of every rank into `mine`, of `count`; `all` is
 * fgc_size times as long. */
fgc_status fgc_reduce_scatter(fgc_comm* comm, const void* all, void* mine, size_t count, int type,
                              int op);
fgc_status fgc_reduce_scatter_async(fgc_comm* comm, const void* all, void* mine, size_t count,
                                    int type, int op, fgc_request** request);

/* `all` gets `mine` of every rank, ordered by rank. `mine` may be at its place in `all`. */
fgc_status fgc_all_gather(fgc_comm* comm, const void* mine, void* all, size_t count, int type);
fgc_status fgc_all_gather_async(fgc_comm* comm, const void* mine, void* all, size_t count, int type,
                                fgc_request** request);

/* Copies `data` of rank `root` to every rank. */
fgc_status fgc_broadcast(fgc_comm* comm, void* data, size_t count, int type, int root);
fgc_status fgc_broadcast_async(fgc_comm* comm, void* data, size_t count, int type, int root,
                               fgc_request** request);

/* Block r of `out` goes to rank r, block r of `in` comes from there; each is fgc_size times `count`
 * long. */
fgc_status fgc_all_to_all(fgc_comm* comm, const void* out, void* in, size_t count, int type);
fgc_status fgc_all_to_all_async(fgc_comm* comm, const void* out, void* in, size_t count, int type,
                                fgc_request** request);

/* Messages between two ranks keep their order, and have the same type and the same count on both
 * sides: the receiver of another gets FGC_USAGE, which names both ranks, types and counts, and the
 * memory that it gave is unchanged. A rank sends none to itself. */
fgc_status fgc_send(fgc_comm* comm, const void* data, size_t count, int type, int to);
fgc_status fgc_send_async(fgc_comm* comm, const void* data, size_t count, int type, int to,
                          fgc_request** request);
fgc_status fgc_recv(fgc_comm* comm, void* data, size_t count, int type, int from);
fgc_status fgc_recv_async(fgc_comm* comm, void* data, size_t count, int type, int from,
                          fgc_request** request);

/* Done once every rank has called it. */
fgc_status fgc_barrier(fgc_comm* comm);
fgc_status fgc_barrier_async(fgc_comm* comm, fgc_request** request);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
