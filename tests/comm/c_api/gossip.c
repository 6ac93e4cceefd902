/* Gossip through the C ABI. */
#include <stdint.h>
#include <string.h>

#include "test.h"

static fgc_gossip_report no_report(void) {
  fgc_gossip_report report = {0};
  report.struct_size = sizeof(report);
  return report;
}

static fgc_gossip* gossip_of(fgc_comm* comm, const char* const* settings, float* weight) {
  fgc_gossip* gossip = NULL;
  expect_status(fgc_gossip_create(comm, settings, &gossip), FGC_OK, "created");
  expect_status(fgc_gossip_add(gossip, "weight", weight, 100), FGC_OK, "a parameter");
  return gossip;
}

void check_gossip(fgc_comm* comm) {
  const char* const gossips[] = {"FASTGPU_COMM_EXCHANGE=gossip", NULL};
  const char* const codec[] = {"FASTGPU_COMM_WIRE=topk:0.1", "FASTGPU_COMM_GUARD=4", NULL};
  const char* const misplaced[] = {"FASTGPU_COMM_LANES=4", NULL};
  const char* const no_topology[] = {"FASTGPU_COMM_TOPOLOGY=torus", NULL};
  const char* const misfit[] = {"FASTGPU_COMM_WIRE=int8", "FASTGPU_COMM_TOPOLOGY=random:2:changing",
                                NULL};
  const int rank = fgc_rank(comm);
  float weight[100];
  char state[4096];
  size_t bytes = 0;
  double furthest = 0;
  int i, step;
  fgc_gradients* gradients = NULL;
  fgc_gossip_report report = no_report();
  fgc_gossip* gossip = NULL;
  expect_status(fgc_gossip_create(comm, no_topology, &gossip), FGC_USAGE, "no such topology");
  expect(gossip == NULL && last_error_has("FASTGPU_COMM_TOPOLOGY is 'torus'"), "it is named");
  expect_status(fgc_gossip_create(comm, misplaced, &gossip), FGC_USAGE, "a setting of gradients");
  expect(last_error_has("FASTGPU_COMM_LANES has no effect on gossip"), "that is named");
  expect_status(fgc_gossip_create(comm, misfit, &gossip), FGC_USAGE, "a codec that does not fit");
  expect(last_error_has("It goes with ring"), "what fits is named");
  expect_status(fgc_gradients_create(comm, gossips, &gradients), FGC_USAGE, "no gradients then");
  expect(last_error_has("fgc_gossip_create"), "but parameters");

  for (i = 0; i < 100; ++i)
    weight[i] = (float)(2 * rank * i);
  gossip = gossip_of(comm, gossips, weight);
  expect_status(fgc_gossip_add(gossip, "weight", weight, 100), FGC_USAGE, "a name only once");
  expect_status(fgc_gossip_step(gossip, &report), FGC_OK, "a step");
  expect(report.step == 0 && report.is_exact && report.bytes == 400, "the first one is exact");
  expect(weight[5] == 5 && weight[99] == 99, "the averages are right");
  weight[7] += (float)(2 * rank);
  expect_status(fgc_gossip_step(gossip, &report), FGC_OK, "a second one");
  expect(report.step == 1 && !report.is_exact && strcmp(report.wire, "same") == 0, "is plain");
  expect(weight[7] == 8, "two ranks average all the same");
  expect_status(fgc_gossip_step(gossip, NULL), FGC_OK, "a report is not needed");
  fgc_gossip_free(gossip);

  gossip = gossip_of(comm, codec, weight);
  for (step = 0; step < 12; ++step) {
    weight[step] += (float)rank;
    expect_status(fgc_gossip_step(gossip, &report), FGC_OK, "with a codec");
    if (report.distance > furthest) furthest = report.distance;
  }
  expect(report.step_size > 0 && report.measured == 8, "the distance is measured");
  /* Exact averages, which the guard puts in, end it. */
  expect(furthest > 0 && furthest < 10, "and not 0 at first");
  expect(report.guard_level > 0 || strcmp(report.wire, "topk:0.1") == 0, "the wire is named");
  expect_status(fgc_gossip_save(gossip, NULL, 0, &bytes), FGC_OK, "the length of its state");
  expect(bytes > 2 * sizeof(weight) && bytes <= sizeof(state), "two estimates");
  expect_status(fgc_gossip_save(gossip, state, bytes - 1, &bytes), FGC_USAGE, "no room");
  expect_status(fgc_gossip_save(gossip, state, sizeof(state), &bytes), FGC_OK, "saved");
  expect_status(fgc_gossip_load(gossip, state, bytes), FGC_USAGE, "not after the first step");
  fgc_gossip_free(gossip);
  gossip = gossip_of(comm, codec, weight);
  expect_status(fgc_gossip_load(gossip, state, bytes - 1), FGC_USAGE, "not a part");
  expect_status(fgc_gossip_load(gossip, NULL, 1), FGC_USAGE, "nor nothing");
  expect_status(fgc_gossip_load(gossip, state, 0), FGC_USAGE, "nor no bytes");
  expect_status(fgc_gossip_load(gossip, state, bytes), FGC_OK, "loaded");
  expect_status(fgc_gossip_step(gossip, &report), FGC_OK, "it goes on");
  expect(report.step == 12, "where it was");
  fgc_gossip_free(gossip);
}

void check_gossip_alone(fgc_comm* comm) {
  struct {
    size_t struct_size;
    uint64_t step;
    uint64_t beyond;
  } older = {2 * sizeof(uint64_t), 77, 77};
  float weight[100] = {1};
  fgc_gossip_report report = {0};
  fgc_gossip* gossip = NULL;
  expect_status(fgc_gossip_create(comm, NULL, NULL), FGC_USAGE, "no place");
  expect_status(fgc_gossip_create(NULL, NULL, &gossip), FGC_USAGE, "no communicator");
  expect_status(fgc_gossip_step(NULL, NULL), FGC_USAGE, "no gossip");
  expect_status(fgc_gossip_on_warning(NULL, NULL, NULL), FGC_USAGE, "nor its warnings");
  fgc_gossip_free(NULL);
  gossip = gossip_of(comm, NULL, weight);
  expect_status(fgc_gossip_add(gossip, NULL, weight, 1), FGC_USAGE, "no name");
  expect_status(fgc_gossip_add(gossip, "none", NULL, 1), FGC_USAGE, "no memory");
  expect_status(fgc_gossip_add(gossip, "empty", NULL, 0), FGC_OK, "of nothing");
  expect_status(fgc_gossip_step(gossip, &report), FGC_USAGE, "no size");
  expect_status(fgc_gossip_step(gossip, (fgc_gossip_report*)(void*)&older), FGC_OK, "an older one");
  expect(older.step == 0 && older.beyond == 77, "gets what it knows, and no more");
  expect(weight[0] == 1, "a rank alone keeps its numbers");
  expect_status(fgc_gossip_on_warning(gossip, NULL, NULL), FGC_OK, "without warnings");
  fgc_gossip_free(gossip);
}
