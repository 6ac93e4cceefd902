/* Collectives and gradients in the memory of a GPU. */
#ifndef FASTGPU_COMM_DEVICE_H
#define FASTGPU_COMM_DEVICE_H

#include "collectives.h"
#include "gradients.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns 1 if this library was built with CUDA. If not, all functions below return FGC_USAGE. */
int fgc_device_support(void);

/* The way of data in a GPU's memory. */
typedef enum fgc_device_way {
  FGC_DEVICE_STAGED = 0, /* By way of the host, with the schedules of the host's own data. */
  FGC_DEVICE_NCCL = 1    /* By NCCL. */
} fgc_device_way;

/* Gets the way on this communicator, and, unless `why` is NULL, the reason against NCCL: a sentence
 * that lasts as long as the communicator, "" with NCCL. A collective, as is every first call of
 * those below: all ranks choose together, by FASTGPU_COMM_DEVICE. "auto", the default, is NCCL
 * if every rank can load the same version of it and has a GPU of its own; "nccl" makes
 * everything else FGC_USAGE, and "staged" is always possible. FASTGPU_COMM_NCCL names the file of
 * NCCL's library, if it is not found by itself. */
fgc_status fgc_device_way_of(fgc_comm* comm, int* way, const char** why);

/* Pointers to data are to memory of one GPU: that which was current when this communicator was
 * first used here. A `stream` is a cudaStream_t of that GPU; NULL is the default one.
 *
 * A call begins after the work in `stream`, and returns once its result is on its way: later work
 * in `stream` comes after it. The _async twins return at once; work that is put into `stream` after
 * fgc_request_wait comes after the result. Until then the data is not touched.
 *
 * If a GPU fails, or a rank is gone, the calls of all ranks fail, with a sentence that names the
 * rank. With NCCL a call returns before its data has moved. A later failure is reported by the next
 * call, for example fgc_barrier, and the data is invalid then. NCCL does not notice ranks that make
 * different calls: those fail after FASTGPU_COMM_TIMEOUT. */
fgc_status fgc_device_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op,
                                 void* stream);
fgc_status fgc_device_all_reduce_async(fgc_comm* comm, void* data, size_t count, int type, int op,
                                       void* stream, fgc_request** request);

fgc_status fgc_device_reduce_scatter(fgc_comm* comm, const void* all, void* mine, size_t count,
                                     int type, int op, void* stream);
fgc_status fgc_device_reduce_scatter_async(fgc_comm* comm, const void* all, void* mine,
                                           size_t count, int type, int op, void* stream,
                                           fgc_request** request);

fgc_status fgc_device_all_gather(fgc_comm* comm, const void* mine, void* all, size_t count,
                                 int type, void* stream);
fgc_status fgc_device_all_gather_async(fgc_comm* comm, const void* mine, void* all, size_t count,
                                       int type, void* stream, fgc_request** request);

fgc_status fgc_device_broadcast(fgc_comm* comm, void* data, size_t count, int type, int root,
                                void* stream);
fgc_status fgc_device_broadcast_async(fgc_comm* comm, void* data, size_t count, int type, int root,
                                      void* stream, fgc_request** request);

fgc_status fgc_device_all_to_all(fgc_comm* comm, const void* out, void* in, size_t count, int type,
                                 void* stream);
fgc_status fgc_device_all_to_all_async(fgc_comm* comm, const void* out, void* in, size_t count,
                                       int type, void* stream, fgc_request** request);

/* Exchange messages, as fgc_send and fgc_recv. With NCCL a stream stays at a message until the
 * other rank has come to it. Messages that are begun by _async travel together once one of them is
 * waited for or tested, so two ranks that send to each other begin both, and then wait. */
fgc_status fgc_device_send(fgc_comm* comm, const void* data, size_t count, int type, int to,
                           void* stream);
fgc_status fgc_device_send_async(fgc_comm* comm, const void* data, size_t count, int type, int to,
                                 void* stream, fgc_request** request);
fgc_status fgc_device_recv(fgc_comm* comm, void* data, size_t count, int type, int from,
                           void* stream);
fgc_status fgc_device_recv_async(fgc_comm* comm, void* data, size_t count, int type, int from,
                                 void* stream, fgc_request** request);

/* Does what fgc_gradient_ready does, for a gradient that was registered with FGC_DEVICE: it is
 * complete once `stream` has passed its present content. Does not wait for that. */
fgc_status fgc_device_gradient_ready(fgc_gradients* gradients, size_t id, void* stream);

/* Does what fgc_gradients_wait does, but returns when results are on their way to the gradients:
 * later work in `stream` comes after them. All sums are made by then. With gradients of several GPUs
 * it returns when the results have arrived. */
fgc_status fgc_device_gradients_wait(fgc_gradients* gradients, void* stream, fgc_outcome* outcome);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
