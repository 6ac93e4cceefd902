/* Multistep training through the C ABI. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static fgc_gradient tensor(float* data, const uint64_t* shape) {
  fgc_gradient result = {0};
  result.struct_size = sizeof(result);
  result.name = "weight";
  result.data = data;
  result.shape = shape;
  result.dimensions = 1;
  result.type = FGC_FLOAT32;
  return result;
}

static fgc_multistep_outcome nothing_yet(void) {
  fgc_multistep_outcome outcome = {0};
  outcome.struct_size = sizeof(outcome);
  return outcome;
}

static fgc_multistep* made(fgc_comm* comm, const char* mode, float* data) {
  const uint64_t shape[] = {2};
  const fgc_gradient added = tensor(data, shape);
  fgc_multistep* steps = NULL;
  size_t id = 9;
  expect_status(fgc_multistep_create(comm, mode, NULL, &steps), FGC_OK, "a mode");
  expect_status(fgc_multistep_add(steps, &added, &id), FGC_OK, "a tensor");
  expect(id == 0, "it is the first");
  expect_status(fgc_multistep_begin(steps), FGC_OK, "and no more");
  return steps;
}

/* Rank 0 has two batches, rank 1 three: gradients of 1 and 4. */
static void check_accumulate(fgc_comm* comm) {
  const int rank = fgc_rank(comm), batches = 2 + rank;
  float gradient[2] = {0, 0};
  fgc_counters counters = {0};
  fgc_multistep_outcome outcome = nothing_yet();
  fgc_multistep* steps = made(comm, "accumulate=2", gradient);
  int i;
  expect(fgc_multistep_takes_gradients(steps) == 1, "it averages gradients");
  for (i = 0; i < batches; ++i) {
    gradient[0] += rank == 0 ? 1 : 4;
    if (i == 1) expect_status(fgc_multistep_ready(steps, 0), FGC_OK, "ready before the step ends");
    expect_status(fgc_multistep_step(steps, &outcome), FGC_OK, "a step");
    expect(outcome.has_results == (i == 1), "the second step ends the round");
    expect(gradient[0] == (i == 1 ? 2.5F : 0.0F), "with the mean of four batches");
    gradient[0] = 0;
  }
  expect_status(fgc_multistep_finish(steps, &outcome), FGC_OK, "what is left");
  expect(outcome.has_results && gradient[0] == 4, "is the mean of one batch");
  expect(outcome.round == 1 && outcome.is_over, "in the last round");
  expect_status(fgc_multistep_finish(steps, &outcome), FGC_USAGE, "after which none follows");
  counters.struct_size = sizeof(counters);
  expect_status(fgc_multistep_counters(steps, &counters), FGC_OK, "counters");
  expect(counters.steps == 2, "count rounds");
  fgc_multistep_free(steps);
}

static void check_local_steps(fgc_comm* comm) {
  const int rank = fgc_rank(comm);
  float parameter[2] = {0, 0};
  fgc_multistep_outcome outcome = nothing_yet();
  fgc_multistep* steps;
  fgc_multistep* other;
  void* state;
  size_t bytes = 0;
  parameter[0] = (float)(10 + rank);
  steps = made(comm, "local_steps=2", parameter);
  expect(fgc_multistep_takes_gradients(steps) == 0, "it averages parameters");
  expect(parameter[0] == 10, "which are those of rank 0 at first");
  parameter[0] += (float)rank;
  expect_status(fgc_multistep_step(steps, NULL), FGC_OK, "a step without an outcome");
  expect(parameter[0] == (float)(10 + rank), "changes nothing");
  expect_status(fgc_multistep_save(steps, NULL, 0, &bytes), FGC_OK, "the length of a state");
  state = malloc(bytes);
  expect_status(fgc_multistep_save(steps, state, bytes - 1, &bytes), FGC_USAGE, "too little room");
  expect_status(fgc_multistep_save(steps, state, bytes, &bytes), FGC_OK, "a state");
  expect_status(fgc_multistep_weigh(steps, 3), FGC_OK, "a step that weighs more on rank 1");
  if (rank == 0) fgc_multistep_weigh(steps, 1);
  parameter[0] += 2;
  expect_status(fgc_multistep_step(steps, &outcome), FGC_OK, "another one");
  /* (2 * 12 + 4 * 13) / 6 */
  expect(outcome.has_results && parameter[0] > 12.66F && parameter[0] < 12.67F, "is the mean");
  fgc_multistep_free(steps);

  other = made(comm, "local_steps=2", parameter);
  expect_status(fgc_multistep_load(other, state, bytes), FGC_OK, "a state is loaded");
  expect(parameter[0] == (float)(10 + rank), "with its parameters");
  expect_status(fgc_multistep_load(other, state, bytes - 1), FGC_USAGE, "half of one is refused");
  free(state);
  fgc_multistep_free(other);
}

static void check_steps_left_out(fgc_comm* comm) {
  const char* skip[] = {"FASTGPU_COMM_NANCHECK=skip", NULL};
  fgc_multistep_outcome outcome = nothing_yet();
  float parameter[2] = {0, 0};
  fgc_multistep* steps = made(comm, "local_steps=1", parameter);
  expect(fgc_multistep_skips_non_finite(steps) == 0, "NaN is not looked for");
  parameter[0] += 4;
  if (fgc_rank(comm) == 0)
    expect_status(fgc_multistep_step(steps, &outcome), FGC_OK, "a step");
  else
    expect_status(fgc_multistep_leave_out(steps, &outcome), FGC_OK, "one that does not count");
  expect(outcome.is_round_end && parameter[0] == 4, "of rank 0 alone");
  fgc_multistep_free(steps);
  expect_status(fgc_multistep_create(comm, "local_steps=1", skip, &steps), FGC_OK, "with a check");
  expect(fgc_multistep_skips_non_finite(steps) == 1, "which skips");
  expect(fgc_multistep_skips_non_finite(NULL) == -1, "or not");
  fgc_multistep_free(steps);
}

void check_multistep(fgc_comm* comm) {
  const char* settings[] = {"FASTGPU_COMM_MULTISTEP=slices=2", NULL};
  const char* wrong[] = {"FASTGPU_COMM_MULTISTEP=slices", NULL};
  const char* gossip[] = {"FASTGPU_COMM_EXCHANGE=gossip", NULL};
  fgc_multistep* steps = NULL;
  check_accumulate(comm);
  check_local_steps(comm);
  check_steps_left_out(comm);
  expect_status(fgc_multistep_create(comm, NULL, NULL, &steps), FGC_USAGE, "a mode is needed");
  expect(last_error_has("FASTGPU_COMM_MULTISTEP"), "by an argument or by this");
  expect_status(fgc_multistep_create(comm, "local=2", NULL, &steps), FGC_USAGE, "one that exists");
  expect_status(fgc_multistep_create(comm, NULL, wrong, &steps), FGC_USAGE, "with its number");
  expect(last_error_has("FASTGPU_COMM_MULTISTEP: "), "the variable is named");
  expect_status(fgc_multistep_create(comm, "delay=1", gossip, &steps), FGC_USAGE, "not by gossip");
  expect(last_error_has("fgc_gossip_create"), "what to use is named");
  expect_status(fgc_multistep_create(comm, NULL, settings, &steps), FGC_OK, "a mode by a setting");
  fgc_multistep_free(steps);
  fgc_multistep_free(NULL);
  expect_status(fgc_multistep_step(NULL, NULL), FGC_USAGE, "NULL is no handle");
  expect(fgc_multistep_takes_gradients(NULL) == -1, "and averages nothing");
}
