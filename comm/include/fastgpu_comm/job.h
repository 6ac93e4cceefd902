/* One rank of a job: how it joins and leaves, who is where, memory, errors and versions. */
#ifndef FASTGPU_COMM_JOB_H
#define FASTGPU_COMM_JOB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of these headers. */
#define FGC_VERSION_MAJOR 0
#define FGC_VERSION_MINOR 1
#define FGC_VERSION_PATCH 0
#define FGC_VERSION (FGC_VERSION_MAJOR * 10000 + FGC_VERSION_MINOR * 100 + FGC_VERSION_PATCH)

/* Of the library that runs: a number like FGC_VERSION, and "0.1.0". Ranks of one job have the same;
 * one that has another is refused when they meet. */
int fgc_version(void);
const char* fgc_version_string(void);

/* What the caller may do about it. */
typedef enum fgc_status {
  FGC_OK = 0,
  FGC_USAGE = 1,      /* The call or a setting is wrong, or the ranks disagree. */
  FGC_DENIED = 2,     /* The ranks' secrets differ. */
  FGC_CAPACITY = 3,   /* No memory of that kind is left. */
  FGC_CONFLICT = 4,   /* The port or the rank is taken. */
  FGC_TIMEOUT = 5,    /* Other ranks have not come, or have gone silent. */
  FGC_REMOTE = 6,     /* Another rank has gone, or found what it cannot go on with. */
  FGC_LOCAL = 7,      /* This machine refused: memory, sockets, name resolution. */
  FGC_INTERNAL = 8,   /* A bug in libfastgpu_comm. */
  FGC_INTERRUPTED = 9 /* The program's own wait check has ended the wait: see fgc_on_wait. */
} fgc_status;

/* "usage" and so on; "unknown" for any other number. */
const char* fgc_status_name(int status);

/* What went wrong in this thread's last call that failed: one sentence naming the rank concerned.
 * Valid until the thread's next call that fails; "" where none has failed. */
const char* fgc_last_error(void);

/* Is asked about ten times a second by each call that waits, fgc_init included, if the thread that
 * waits is the one that has called fgc_on_wait: for interpreters, which see signals between their
 * own instructions only. Something other than 0 ends the wait with FGC_INTERRUPTED, and with it the
 * job. It may not call the library. One check for the process; NULL: none. */
typedef int (*fgc_wait_check)(void* user);
void fgc_on_wait(fgc_wait_check check, void* user);

/* This rank and its connections to the others, or to some of them. A child that is made by fork()
 * is not a rank: every call with what it has inherited is FGC_USAGE there, and frees nothing. */
typedef struct fgc_comm fgc_comm;

/* Joins the job that the environment describes: RANK and WORLD_SIZE, or mpirun's own variables; the
 * address of rank 0 in FASTGPU_COMM_MASTER_ADDR and FASTGPU_COMM_MASTER_PORT, or MASTER_ADDR and
 * MASTER_PORT (1000 further under torchrun, which listens there); FASTGPU_COMM_SECRET, or
 * FASTGPU_COMM_SECRET_FILE and the file that it names, without which only ranks on one machine can
 * meet; and the other variables of the library's documentation. Without a rank in the environment
 * the process is a job of one.
 *
 * `settings` overrules the environment: "NAME=VALUE" for such variables, the last one followed by
 * NULL; "NAME=" hides a variable. NULL: no variables. FGC_USAGE for a name that is none of them. */
fgc_status fgc_init(const char* const* settings, fgc_comm** comm);

/* Frees a communicator; NULL is allowed. The rank leaves its job once all communicators, requests
 * and gradients of it are freed, in any order. Others who still wait for it then fail, so a program
 * calls fgc_barrier before. */
void fgc_comm_free(fgc_comm* comm);

/* 0 .. fgc_size - 1. This and the others below are -1 for NULL. */
int fgc_rank(const fgc_comm* comm);
int fgc_size(const fgc_comm* comm);

/* Nodes are ranks of `comm` that share memory. Of the node that this rank is on: its place there,
 * its number of ranks, its number; and how many nodes there are. */
int fgc_local_rank(const fgc_comm* comm);
int fgc_local_size(const fgc_comm* comm);
int fgc_node_rank(const fgc_comm* comm);
int fgc_node_count(const fgc_comm* comm);

/* For ranks that are to be in no group. */
#define FGC_NO_COLOR (-1)

/* A collective: ranks that give the same `color` form a group, in the order of `key`, and of their
 * ranks where keys are equal. *group is NULL for a negative color. A job has at most 4095 groups
 * at a time, those of gradients included (up to 18 for each set of gradients). */
fgc_status fgc_split(fgc_comm* comm, int color, int key, fgc_comm** group);

/* Notes that this rank fails because of what another rank of `comm` has done, such as by a check
 * that the program makes of all ranks: `fastgpu run job` then names that one, whichever ends first
 * (FASTGPU_BLAME_FILE). The last note counts; one of this rank itself removes it. Errors of the
 * library that name a rank as their cause have noted it already. */
fgc_status fgc_blame(fgc_comm* comm, int rank);

/* Memory that other ranks of this host read where it is: what is sent from it, or reduced in it, is
 * not copied on its way between them. It lasts until it is freed, or the rank leaves the job.
 * FGC_CAPACITY if none is left: the program's own memory can be used instead. */
fgc_status fgc_mem_alloc(fgc_comm* comm, size_t bytes, void** memory);
fgc_status fgc_mem_free(fgc_comm* comm, void* memory);

/* Spreads messages over this many connections, 1 to 64, to each rank on another host. The job has
 * FASTGPU_COMM_FLOWS of them, which is the default: more are taken for all of these. For all
 * communicators of the job. */
fgc_status fgc_use_flows(fgc_comm* comm, int flows);

/* The counts of one network that this rank uses, or of another way on which its messages go, since
 * it has joined. Frames are pieces of messages over TCP, else messages; notices are not counted.
 * "mpi collectives" are those that MPI runs (FASTGPU_COMM_COLLECTIVES): a call is a frame each way,
 * with the bytes that this rank gives and those of its result, not those that MPI sends for it. */
typedef struct fgc_link {
  size_t struct_size; /* Set by the caller: sizeof(fgc_link). */
  char name[64];      /* "tcp 10.0.0.1" (this host's address), "shared memory", and so on. */
  uint64_t frames_sent;
  uint64_t frames_received;
  uint64_t bytes_sent;
  uint64_t bytes_received;
  uint64_t failures;    /* Connections that were given up while their rank went on. */
  uint64_t reconnects;  /* Connections that were made in place of these. */
  uint64_t connections; /* Open now; 0 where there are no connections. */
} fgc_link;

/* Sets *count to the number of links, and writes the counts of link `index`, from 0 on, if there is
 * one and `link` is not NULL. Links keep their index, and new ones come last. For all communicators
 * of the job. */
fgc_status fgc_link_counters(fgc_comm* comm, size_t index, fgc_link* link, size_t* count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
