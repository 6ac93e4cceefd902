/* Collectives and gradients in the memory of a GPU. */
#ifndef FASTGPU_COMM_DEVICE_H
#define FASTGPU_COMM_DEVICE_H

#include "collectives.h"
#include "gradients.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Whether this library was built with CUDA. Where it was not, all below are FGC_USAGE. */
int fgc_device_support(void);

/* Pointers to data are to memory of one GPU: that which was current when this communicator was
 * first used here. A `stream` is a cudaStream_t of that GPU; NULL is the default one.
 *
 * A call begins after what is in `stream`, and returns once its result is on its way: what is put
 * into `stream` from then on comes after it. The _async twins return at once;
 * what is put into `stream` after fgc_request_wait comes after the result. Until then the data is
 * not touched. The first call on each communicator waits for all of its ranks.
 *
 * Data travels by way of the host, by the same schedules as the host's own. Where the GPU fails,
 * the calls of all ranks do, with a sentence that names the rank. */
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

/* As fgc_gradient_ready, for a gradient that was registered with FGC_DEVICE: it is complete once
 * `stream` has passed what is in it now. Does not wait for that. */
fgc_status fgc_device_gradient_ready(fgc_gradients* gradients, size_t id, void* stream);

/* As fgc_gradients_wait, but returns when results are on their way to the GPU: what is put into
 * `stream` from then on comes after them. */
fgc_status fgc_device_gradients_wait(fgc_gradients* gradients, void* stream, fgc_outcome* outcome);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
