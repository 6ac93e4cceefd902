/* Collectives, messages, requests and groups through the C ABI. */
#include <stdint.h>
#include <string.h>

#include "test.h"

/* In a job of one or two ranks. */
static void check_refused_overlaps(fgc_comm* comm) {
  float values[8] = {1, 2, 3, 4};
  fgc_request* request = NULL;
  const size_t block = 4 / (size_t)fgc_size(comm);
  float* const mine = values + block * (size_t)fgc_rank(comm);
  expect_status(fgc_reduce_scatter(comm, values, mine, block, FGC_FLOAT32, FGC_SUM), FGC_USAGE,
                "a part of the input as the output");
  expect(last_error_has("16 bytes at 0x"), "the message has a range");
  expect_status(fgc_all_to_all(comm, values, values, block, FGC_FLOAT32), FGC_USAGE,
                "input and output alike");
  expect_status(fgc_all_to_all(comm, values, values + 1, block, FGC_FLOAT32), FGC_USAGE,
                "an output that begins in the input");
  expect_status(fgc_all_gather(comm, mine + 1, values, block, FGC_FLOAT32), FGC_USAGE,
                "an input in the output, one further than its place");
  expect_status(fgc_all_gather_async(comm, mine + 1, values, block, FGC_FLOAT32, &request),
                FGC_USAGE, "the same of an asynchronous call");
  expect_status(fgc_reduce_scatter_async(comm, values, mine, block, FGC_FLOAT32, FGC_SUM, &request),
                FGC_USAGE, "the same of another");
  expect_status(fgc_all_to_all_async(comm, values, values, block, FGC_FLOAT32, &request), FGC_USAGE,
                "and of a third");
  expect(request == NULL, "no request has been made");
  expect_status(fgc_all_gather(comm, mine, values, block, FGC_FLOAT32), FGC_OK, "in place");
  expect_status(fgc_all_to_all(comm, values, values + 4, block, FGC_FLOAT32), FGC_OK,
                "side by side");
  expect_status(fgc_all_to_all(comm, values, values, 0, FGC_FLOAT32), FGC_OK, "no elements");
}

void check_refused_arguments(fgc_comm* comm) {
  float value = 1;
  char bytes[8] = {0};
  void* memory = bytes;
  fgc_request* request = NULL;
  expect_status(fgc_all_reduce(comm, NULL, 1, FGC_FLOAT32, FGC_SUM), FGC_USAGE, "no data");
  expect_status(fgc_all_reduce(comm, &value, 1, 99, FGC_SUM), FGC_USAGE, "an unknown type");
  expect(last_error_has("99"), "the message has the value");
  expect_status(fgc_all_reduce(comm, &value, 1, FGC_FLOAT32, -1), FGC_USAGE,
                "an unknown operation");
  expect_status(fgc_all_reduce(comm, &value, SIZE_MAX / 2, FGC_FLOAT32, FGC_SUM), FGC_USAGE,
                "a count that overflows");
  expect_status(fgc_all_gather(comm, &value, &value, SIZE_MAX, FGC_FLOAT32), FGC_USAGE,
                "a length that overflows");
  expect_status(fgc_all_reduce(comm, bytes + 1, 1, FGC_FLOAT32, FGC_SUM), FGC_USAGE,
                "data that is not aligned");
  expect_status(fgc_broadcast(comm, bytes, 1, FGC_UINT8, 5), FGC_USAGE, "a root out of range");
  expect_status(fgc_all_reduce_async(comm, &value, 1, FGC_FLOAT32, 9, &request), FGC_USAGE,
                "an asynchronous call is refused at once");
  expect(request == NULL, "there is no request then");
  expect_status(fgc_all_reduce_async(comm, &value, 1, FGC_FLOAT32, FGC_SUM, NULL), FGC_USAGE,
                "a request needs a place");
  expect_status(fgc_send(comm, bytes, 1, FGC_UINT8, fgc_rank(comm)), FGC_USAGE,
                "a message to oneself");
  expect_status(fgc_mem_free(comm, memory), FGC_USAGE, "memory of somebody else");
  expect_status(fgc_blame(comm, -1), FGC_USAGE, "no rank");
  expect_status(fgc_blame(comm, fgc_size(comm)), FGC_USAGE, "no rank of these");
  expect_status(fgc_blame(comm, 0), FGC_OK, "a rank");
  expect_status(fgc_blame(NULL, 0), FGC_USAGE, "without a communicator");
  expect_status(fgc_use_flows(comm, 0), FGC_USAGE, "no flows");
  expect_status(fgc_use_flows(comm, 65), FGC_USAGE, "more flows than FASTGPU_COMM_FLOWS allows");
  expect(last_error_has("65") && last_error_has("1 to 64"), "the message has the limit");
  expect_status(fgc_use_flows(comm, 64), FGC_OK, "the most flows, of which the job has fewer");
  expect_status(fgc_link_counters(comm, 0, NULL, NULL), FGC_USAGE, "links without a place");
  check_refused_overlaps(comm);
}

void check_collectives(fgc_comm* comm) {
  const int rank = fgc_rank(comm), other = 1 - rank;
  double sums[3], parts[4], mine[2];
  int32_t root_value, out[4], in[4];
  int64_t own, all[2];
  int i;
  for (i = 0; i < 3; ++i)
    sums[i] = (rank + 1) * (i + 1);
  expect_status(fgc_all_reduce(comm, sums, 3, FGC_FLOAT64, FGC_SUM), FGC_OK, "all_reduce");
  expect(sums[0] == 3 && sums[1] == 6 && sums[2] == 9, "the sums are right");

  for (i = 0; i < 4; ++i)
    parts[i] = 10 * i + rank;
  expect_status(fgc_reduce_scatter(comm, parts, mine, 2, FGC_FLOAT64, FGC_MAX), FGC_OK,
                "reduce_scatter");
  expect(mine[0] == 20 * rank + 1 && mine[1] == 20 * rank + 11, "the block's maxima are right");

  root_value = rank == 1 ? 42 : 0;
  expect_status(fgc_broadcast(comm, &root_value, 1, FGC_INT32, 1), FGC_OK, "broadcast");
  expect(root_value == 42, "the root's value has come");

  own = rank + 10;
  expect_status(fgc_all_gather(comm, &own, all, 1, FGC_INT64), FGC_OK, "all_gather");
  expect(all[0] == 10 && all[1] == 11, "gathered by rank");

  for (i = 0; i < 4; ++i)
    out[i] = 100 * rank + i;
  expect_status(fgc_all_to_all(comm, out, in, 2, FGC_INT32), FGC_OK, "all_to_all");
  expect(in[0] == 2 * rank && in[2] == 100 + 2 * rank && in[3] == 101 + 2 * rank, "transposed");

  out[0] = 7 + rank;
  if (rank == 0) expect_status(fgc_send(comm, out, 1, FGC_INT32, other), FGC_OK, "send");
  expect_status(fgc_recv(comm, in, 1, FGC_INT32, other), FGC_OK, "recv");
  if (rank == 1) expect_status(fgc_send(comm, out, 1, FGC_INT32, other), FGC_OK, "send back");
  expect(in[0] == 7 + other, "the message has come");
}

void check_links(fgc_comm* comm) {
  fgc_link link;
  uint64_t sent = 0, received = 0;
  size_t count = 0, i;
  memset(&link, 0, sizeof(link));
  expect_status(fgc_link_counters(comm, 0, NULL, &count), FGC_OK, "the number of links");
  expect(count > 0, "two ranks have links");
  expect_status(fgc_link_counters(comm, 0, &link, &count), FGC_USAGE, "a size that is not set");
  for (i = 0; i < count; ++i) {
    link.struct_size = sizeof(link);
    expect_status(fgc_link_counters(comm, i, &link, &count), FGC_OK, "the counts of a link");
    expect(strlen(link.name) > 0 && link.failures == 0, "a link has a name, and has not failed");
    sent += link.bytes_sent;
    received += link.bytes_received;
  }
  expect(sent >= 3 * sizeof(double) && received >= 3 * sizeof(double), "links count bytes");
  expect_status(fgc_link_counters(comm, count, &link, &count), FGC_OK, "no link of that number");
}

static void finish(fgc_request* request, const char* what) {
  int is_done = 0;
  expect_status(fgc_request_wait(request), FGC_OK, what);
  expect_status(fgc_request_test(request, &is_done), FGC_OK, what);
  expect(is_done == 1, "what has been waited for is done");
  expect_status(fgc_request_wait(request), FGC_OK, "waited for again");
  fgc_request_free(request);
}

void check_requests(fgc_comm* comm) {
  const int rank = fgc_rank(comm), other = 1 - rank;
  fgc_request* requests[8] = {NULL};
  float sums[2], scattered, gathered[2], shared;
  int32_t all_out[2], all_in[2], out = rank, in = -1;
  float own = (float)rank;
  float both[2];
  int i;
  sums[0] = sums[1] = both[0] = both[1] = (float)(rank + 1);
  shared = (float)(10 * rank);
  all_out[0] = 2 * rank;
  all_out[1] = 2 * rank + 1;
  fgc_all_reduce_async(comm, sums, 2, FGC_FLOAT32, FGC_SUM, &requests[0]);
  fgc_reduce_scatter_async(comm, both, &scattered, 1, FGC_FLOAT32, FGC_PRODUCT, &requests[1]);
  fgc_all_gather_async(comm, &own, gathered, 1, FGC_FLOAT32, &requests[2]);
  fgc_broadcast_async(comm, &shared, 1, FGC_FLOAT32, 1, &requests[3]);
  fgc_all_to_all_async(comm, all_out, all_in, 1, FGC_INT32, &requests[4]);
  fgc_send_async(comm, &out, 1, FGC_INT32, other, &requests[5]);
  fgc_recv_async(comm, &in, 1, FGC_INT32, other, &requests[6]);
  fgc_barrier_async(comm, &requests[7]);
  for (i = 7; i >= 0; --i)
    finish(requests[i], "a request, the last first");
  expect(sums[0] == 3 && sums[1] == 3 && scattered == 2, "reduced");
  expect(gathered[0] == 0 && gathered[1] == 1 && shared == 10, "gathered and broadcast");
  expect(all_in[0] == rank && all_in[1] == 2 + rank && in == other, "exchanged");

  fgc_all_reduce_async(comm, sums, 2, FGC_FLOAT32, FGC_MIN, &requests[0]);
  fgc_request_free(requests[0]); /* Waits: `sums` would not outlive it otherwise. */
}

void check_groups(fgc_comm* comm) {
  fgc_comm *turned = NULL, *alone = NULL, *none = comm;
  const int rank = fgc_rank(comm);
  int64_t* values = NULL;
  void* memory = NULL;
  expect_status(fgc_split(comm, 0, -rank, &turned), FGC_OK, "all, the other way round");
  expect(fgc_rank(turned) == 1 - rank && fgc_size(turned) == 2, "ordered by key");
  expect_status(fgc_split(comm, rank, 0, &alone), FGC_OK, "each alone");
  expect(fgc_rank(alone) == 0 && fgc_size(alone) == 1, "a group of one");
  expect_status(fgc_split(comm, FGC_NO_COLOR, 0, &none), FGC_OK, "no group");
  expect(none == NULL, "which has no handle");

  expect_status(fgc_mem_alloc(turned, 1000 * sizeof(*values), &memory), FGC_OK, "memory");
  values = memory;
  values[999] = rank + 1;
  expect_status(fgc_all_reduce(turned, values + 999, 1, FGC_INT64, FGC_SUM), FGC_OK, "in place");
  expect(values[999] == 3, "the sum is right");
  expect_status(fgc_mem_free(comm, memory), FGC_OK, "freed by any of the job");
  expect_status(fgc_mem_free(comm, NULL), FGC_OK, "NULL is freed, too");
  fgc_comm_free(turned);
  fgc_comm_free(alone);
}
