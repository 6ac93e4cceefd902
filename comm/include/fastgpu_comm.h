/* libfastgpu_comm for C, and for everything that can call C: numbers exchanged between the ranks
 * of one job.
 *
 * Each process of the job calls fgc_init once and thereby becomes a rank. Afterwards every rank
 * makes the same collective calls in the same order. A call blocks until this rank's part is done;
 * its _async twin returns a request to wait for. Both have a deadline: if another rank is silent
 * for FASTGPU_COMM_TIMEOUT (30m), or waits itself for twice that time, they fail.
 *
 * Functions that can fail return an fgc_status, and fgc_last_error then describes the failure.
 * Results through a pointer are NULL or 0 after a failure. A collective that has failed leaves the
 * ranks at different places, and every further call of this job fails too. If a function refuses
 * its arguments nothing has begun, and the job goes on.
 *
 * Pointers to data are to memory of the host, except in fastgpu_comm/device.h, and aligned for
 * their type. One thread at a time makes calls of a job, except for fgc_gradient_ready,
 * fgc_gradient_ready_at, fgc_request_test and fgc_request_wait, which any thread may call.
 *
 * Everything here keeps its meaning within one soname. Structs grow at their end: the caller sets
 * struct_size to the size that it knows. */
#ifndef FASTGPU_COMM_H
#define FASTGPU_COMM_H

#include "fastgpu_comm/collectives.h"
#include "fastgpu_comm/device.h"
#include "fastgpu_comm/gossip.h"
#include "fastgpu_comm/gradients.h"
#include "fastgpu_comm/job.h"
#include "fastgpu_comm/multistep.h"

#endif
