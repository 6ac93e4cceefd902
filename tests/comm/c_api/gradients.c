/* Gradients through the C ABI. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static fgc_gradient gradient(const char* name, float* data, const uint64_t* shape,
                             size_t dimensions) {
  fgc_gradient result = {0};
  result.struct_size = sizeof(result);
  result.name = name;
  result.data = data;
  result.shape = shape;
  result.dimensions = dimensions;
  result.type = FGC_FLOAT32;
  return result;
}

static fgc_outcome no_outcome(void) {
  fgc_outcome outcome = {0};
  outcome.struct_size = sizeof(outcome);
  return outcome;
}

static void count_warning(const char* sentence, void* user) {
  if (strstr(sentence, "'weight'") != NULL) ++*(int*)user;
}

/* Weight, of 2 by 3, and bias. */
static fgc_gradients* two_gradients(fgc_comm* comm, const char* const* settings, float* weight,
                                    float* bias) {
  const uint64_t shape[] = {2, 3};
  const fgc_gradient first = gradient("weight", weight, shape, 2);
  const fgc_gradient second = gradient("bias", bias, NULL, 0);
  fgc_gradients* gradients = NULL;
  size_t id = 9;
  expect_status(fgc_gradients_create(comm, settings, &gradients), FGC_OK, "created");
  expect_status(fgc_gradient_add(gradients, &first, NULL), FGC_OK, "a gradient of 2 by 3");
  expect_status(fgc_gradient_add(gradients, &second, &id), FGC_OK, "a gradient of one element");
  expect(id == 1, "they are counted");
  expect_status(fgc_gradient_add(gradients, &second, &id), FGC_USAGE, "a name only once");
  return gradients;
}

/* Rank 1 alone wants sums. Both are told, and the job goes on. */
static void check_other_operations(fgc_comm* comm) {
  float weight[6] = {0}, bias = 1;
  fgc_gradients* gradients = two_gradients(comm, NULL, weight, &bias);
  if (fgc_rank(comm) == 1) fgc_gradients_use_op(gradients, FGC_SUM);
  expect_status(fgc_gradient_ready(gradients, 0), FGC_USAGE, "another operation");
  expect(last_error_has("rank 1 has the operation sum, and rank 0 average"), "the rank is named");
  fgc_gradients_free(gradients);
}

void check_gradients(fgc_comm* comm) {
  const int rank = fgc_rank(comm);
  float weight[6], moved[6] = {3, 3, 3, 3, 3, 3}, bias = (float)(rank + 1);
  fgc_outcome outcome = no_outcome();
  fgc_counters counters = {0};
  fgc_gradients* gradients = two_gradients(comm, NULL, weight, &bias);
  int i;
  for (i = 0; i < 6; ++i)
    weight[i] = (float)(2 * rank * i);
  expect_status(fgc_gradient_ready_at(gradients, 5, weight), FGC_USAGE, "there is none");
  expect_status(fgc_gradient_ready_at(gradients, 0, NULL), FGC_USAGE, "no memory");
  expect_status(fgc_gradient_ready(gradients, (size_t)rank), FGC_OK, "ready");
  expect_status(fgc_gradient_ready(gradients, (size_t)(1 - rank)), FGC_OK, "in any order");
  expect_status(fgc_gradient_ready(gradients, 1), FGC_USAGE, "but once");
  expect_status(fgc_gradient_ready(gradients, 2), FGC_USAGE, "and only what there is");
  expect_status(fgc_gradients_wait(gradients, &outcome), FGC_OK, "a step");
  expect(outcome.step == 0 && outcome.is_applied && outcome.non_finite == FGC_FINITE, "it is told");
  expect(outcome.skipped_count == 0 && !outcome.is_somebody_leaving, "nothing is left out");
  expect(weight[0] == 0 && weight[5] == 5 && bias == 1.5F, "the averages are right");

  expect_status(fgc_gradients_use_op(gradients, FGC_SUM), FGC_OK, "sums from now on");
  check_other_operations(comm);
  expect_status(fgc_gradient_ready_at(gradients, 0, moved), FGC_OK, "ready in other memory");
  expect_status(fgc_gradients_wait(gradients, &outcome), FGC_OK, "a step with one of them");
  expect(outcome.skipped_count == 1 && outcome.skipped[0] == 1, "the other is named");
  expect(moved[5] == 6 && weight[5] == 5, "the sum is in that memory");
  expect(bias == 1.5F, "and the other is left as it was");

  counters.struct_size = sizeof(counters);
  expect_status(fgc_gradients_counters(gradients, &counters), FGC_OK, "counters");
  expect(counters.steps == 2 && counters.bucket_bytes >= 28, "they count");
  expect_status(fgc_gradients_leave(gradients, &outcome), FGC_OK, "the last step");
  expect(outcome.step == 2 && outcome.is_somebody_leaving, "which all know to be the last");
  fgc_gradients_free(gradients);
}

void check_views(fgc_comm* comm) {
  const char* const settings[] = {"FASTGPU_COMM_WIRE=bf16", NULL};
  const char* const of_job[] = {"FASTGPU_COMM_ALGORITHM=ring", NULL};
  const char* const as_it_is[] = {"WORLD_SIZE=2", "FASTGPU_COMM_ALGORITHM=", NULL};
  const uint64_t shape[] = {3};
  const fgc_gradient only = gradient("view", NULL, shape, 1);
  const uint16_t one = 0x3f80, three = 0x4040; /* In bfloat16. */
  fgc_gradients* gradients = NULL;
  uint16_t* view = NULL;
  void* place = NULL;
  int i, type = -1;
  expect_status(fgc_gradients_create(comm, of_job, &gradients), FGC_USAGE, "a setting of the job");
  expect(last_error_has("FASTGPU_COMM_ALGORITHM has an effect when a rank joins"), "is refused");
  expect_status(fgc_gradients_create(comm, as_it_is, &gradients), FGC_OK, "unless it is so");
  fgc_gradients_free(gradients);
  expect_status(fgc_gradients_create(comm, settings, &gradients), FGC_OK, "with settings");
  expect_status(fgc_gradient_add(gradients, &only, NULL), FGC_OK, "without memory of its own");
  expect_status(fgc_gradient_wire_type(gradients, 0, &type), FGC_OK, "its type on the wire");
  expect(type == FGC_BFLOAT16, "is as set");
  expect_status(fgc_gradient_wire_type(gradients, 1, &type), FGC_USAGE, "of no gradient");
  expect_status(fgc_gradients_use_op(gradients, FGC_SUM), FGC_OK, "sums");
  expect_status(fgc_gradient_view(gradients, 0, &place, &type), FGC_OK, "a view");
  expect(place != NULL && type == FGC_BFLOAT16, "of that type");
  view = place;
  for (i = 0; i < 3; ++i)
    view[i] = fgc_rank(comm) == 0 ? one : 0x4000;
  fgc_gradient_ready(gradients, 0);
  expect_status(fgc_gradients_wait(gradients, NULL), FGC_OK, "a step without an outcome");
  expect_status(fgc_gradient_view(gradients, 0, &place, &type), FGC_OK, "the view again");
  view = place;
  expect(view[0] == three && view[2] == three, "the sum lies in the view");
  fgc_gradients_free(gradients);
}

/* Without a codec the state is the order of gradients. */
static void check_order_of_gradients(fgc_comm* comm) {
  const char* const misplaced[] = {"FASTGPU_COMM_TOPOLOGY=ring", NULL};
  const char* const rounds[] = {"FASTGPU_COMM_MULTISTEP=accumulate=0", NULL};
  float weight[6] = {0}, bias = 1;
  char state[200];
  size_t bytes = 0;
  fgc_gradient odd = gradient("odd", &bias, NULL, 0);
  fgc_gradients* gradients = two_gradients(comm, NULL, weight, &bias);
  odd.reserved = 1;
  expect_status(fgc_gradient_add(gradients, &odd, NULL), FGC_USAGE, "a reserved field");
  fgc_gradient_ready(gradients, 0);
  fgc_gradient_ready(gradients, 1);
  expect_status(fgc_gradients_wait(gradients, NULL), FGC_OK, "a step");
  expect_status(fgc_gradients_save(gradients, state, sizeof(state), &bytes), FGC_OK, "saved");
  expect(bytes > 0, "the order is known");
  fgc_gradients_free(gradients);
  gradients = two_gradients(comm, NULL, weight, &bias);
  expect_status(fgc_gradients_load(gradients, state, bytes), FGC_OK, "loaded");
  fgc_gradient_ready(gradients, 0);
  fgc_gradient_ready(gradients, 1);
  expect_status(fgc_gradients_wait(gradients, NULL), FGC_OK, "a step in that order");
  fgc_gradients_free(gradients);
  expect_status(fgc_gradients_create(comm, misplaced, &gradients), FGC_USAGE, "of gossip");
  expect(last_error_has("FASTGPU_COMM_TOPOLOGY has no effect on gradients"), "it is named");
  expect_status(fgc_gradients_create(comm, rounds, &gradients), FGC_USAGE, "of multistep");
  expect(last_error_has("FASTGPU_COMM_MULTISTEP has no effect on gradients"), "that, too");
}

/* Saves and loads the state of a codec, each rank its own. */
void check_codec_state(fgc_comm* comm) {
  const char* const settings[] = {"FASTGPU_COMM_WIRE=1bit", "FASTGPU_COMM_MIXED_SMALL=1", NULL};
  const uint64_t shape[] = {6};
  float weight[6];
  char state[200];
  size_t bytes = 9;
  int i;
  const fgc_gradient only = gradient("weight", weight, shape, 1);
  fgc_gradients* gradients = NULL;
  expect_status(fgc_gradients_create(comm, NULL, &gradients), FGC_OK, "without a codec");
  expect_status(fgc_gradients_save(gradients, NULL, 0, &bytes), FGC_OK, "saved");
  expect(bytes == 0, "there is no state");
  expect_status(fgc_gradients_load(gradients, NULL, 0), FGC_OK, "and none is loaded");
  fgc_gradients_free(gradients);

  expect_status(fgc_gradients_create(comm, settings, &gradients), FGC_OK, "with a codec");
  expect_status(fgc_gradient_add(gradients, &only, NULL), FGC_OK, "added");
  for (i = 0; i < 6; ++i)
    weight[i] = (float)i;
  expect_status(fgc_gradient_ready(gradients, 0), FGC_OK, "ready");
  expect_status(fgc_gradients_wait(gradients, NULL), FGC_OK, "a step");
  expect_status(fgc_gradients_save(gradients, NULL, 0, &bytes), FGC_OK, "the length");
  expect(bytes > 6 * sizeof(float) && bytes <= sizeof(state), "of the residuals");
  expect_status(fgc_gradients_save(gradients, state, bytes - 1, &bytes), FGC_USAGE, "no room");
  expect_status(fgc_gradients_save(gradients, state, sizeof(state), &bytes), FGC_OK, "saved");
  expect_status(fgc_gradients_load(gradients, state, bytes), FGC_OK, "loaded");
  expect_status(fgc_gradients_load(gradients, state, bytes - 1), FGC_USAGE, "but not a part");
  expect_status(fgc_gradients_load(gradients, NULL, 1), FGC_USAGE, "nor nothing");
  fgc_gradients_free(gradients);
  check_order_of_gradients(comm);
}

void check_bad_steps(fgc_comm* comm) {
  const char* const settings[] = {"FASTGPU_COMM_NANCHECK=skip", NULL};
  const int rank = fgc_rank(comm);
  float weight[6] = {0}, bias = 1;
  int warnings = 0;
  fgc_outcome outcome = no_outcome();
  fgc_gradients* gradients = two_gradients(comm, settings, weight, &bias);
  fgc_gradients_on_warning(gradients, count_warning, &warnings);
  if (rank == 1) weight[4] = INFINITY;
  fgc_gradient_ready(gradients, 0);
  fgc_gradient_ready(gradients, 1);
  expect_status(fgc_gradients_wait(gradients, &outcome), FGC_OK, "a step that is skipped");
  expect(!outcome.is_applied && outcome.non_finite == FGC_INFINITY, "is told as such");
  expect(outcome.non_finite_rank == 1 && outcome.non_finite_gradient == 0 &&
             outcome.non_finite_index == 4,
         "with rank, gradient and place");
  expect(warnings == (rank == 1) && bias == 1, "once in the job, and nothing has changed");

  weight[4] = 0;
  if (rank == 0) fgc_gradient_ready(gradients, 0);
  expect_status(fgc_gradients_wait(gradients, &outcome), FGC_USAGE, "ready on one rank only");
  expect(last_error_has("rank 1 has not made ready"), "the other is named");
  expect(outcome.step == 0 && outcome.struct_size == sizeof(outcome), "there is no outcome");
  fgc_gradient_ready(gradients, 0);
  fgc_gradient_ready(gradients, 1);
  expect_status(fgc_gradients_wait(gradients, &outcome), FGC_OK, "the next step goes on");
  fgc_gradients_free(gradients);
}

/* Who asks for warnings and names nobody to hear them finds them on stderr. */
void check_warning_without_handler(fgc_comm* comm) {
  const char* const settings[] = {"FASTGPU_COMM_NANCHECK=warn", NULL};
  float weight[6] = {0}, bias = 1;
  char said[256] = "";
  fgc_gradients* gradients = two_gradients(comm, settings, weight, &bias);
  FILE* heard = tmpfile();
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(heard), STDERR_FILENO);
  if (fgc_rank(comm) == 1) weight[4] = NAN;
  fgc_gradient_ready(gradients, 0);
  fgc_gradient_ready(gradients, 1);
  fgc_gradients_wait(gradients, NULL);
  dup2(kept, STDERR_FILENO);
  close(kept);
  rewind(heard);
  if (fgc_rank(comm) == 1) {
    expect(fgets(said, sizeof(said), heard) != NULL, "there is a line on stderr");
    expect(strstr(said, "fastgpu_comm: ") == said && strstr(said, "'weight'") != NULL,
           "that names the library and the gradient");
  }
  expect(fgets(said, sizeof(said), heard) == NULL, "one, of the rank that has it");
  fclose(heard);
  fgc_gradients_free(gradients);
}

/* What a program of an older and of a newer version would give. */
void check_structs(fgc_comm* comm) {
  struct {
    fgc_gradient known;
    size_t unknown;
  } newer = {gradient("newer", NULL, NULL, 0), 0};
  struct {
    size_t struct_size;
    uint64_t step;
    uint64_t beyond;
  } older = {2 * sizeof(uint64_t), 77, 77};
  const uint64_t shape[] = {UINT64_MAX, 2};
  fgc_gradient wrong = gradient("wrong", NULL, shape, 2);
  fgc_gradients* gradients = NULL;
  expect_status(fgc_gradients_create(comm, NULL, &gradients), FGC_OK, "created");
  newer.known.struct_size = sizeof(newer);
  expect_status(fgc_gradient_add(gradients, &newer.known, NULL), FGC_OK, "what says nothing new");
  newer.known.name = "another";
  newer.unknown = 1;
  expect_status(fgc_gradient_add(gradients, &newer.known, NULL), FGC_USAGE, "what does");
  expect_status(fgc_gradients_wait(gradients, (fgc_outcome*)(void*)&older), FGC_OK, "an older one");
  expect(older.step == 0 && older.beyond == 77, "gets what it knows, and no more");
  fgc_gradients_free(gradients);

  expect_status(fgc_gradients_create(comm, NULL, &gradients), FGC_OK, "created again");
  expect_status(fgc_gradient_add(gradients, &wrong, NULL), FGC_USAGE, "more than memory has");
  wrong.shape = NULL;
  expect_status(fgc_gradient_add(gradients, &wrong, NULL), FGC_USAGE, "no shape");
  wrong.dimensions = 0;
  wrong.type = 99;
  expect_status(fgc_gradient_add(gradients, &wrong, NULL), FGC_USAGE, "no such type");
  wrong.type = FGC_FLOAT32;
  wrong.name = NULL;
  expect_status(fgc_gradient_add(gradients, &wrong, NULL), FGC_USAGE, "no name");
  wrong.name = "wrong";
  wrong.struct_size = 0;
  expect_status(fgc_gradient_add(gradients, &wrong, NULL), FGC_USAGE, "no size");
  fgc_gradients_free(gradients);
}

void check_order_of_freeing(void) {
  fgc_comm* comm = NULL;
  fgc_gradients* gradients = NULL;
  fgc_request* request = NULL;
  float value = 3, bias = 1;
  const fgc_gradient only = gradient("bias", &bias, NULL, 0);
  expect_status(fgc_init(NULL, &comm), FGC_OK, "a job of one");
  expect_status(fgc_gradients_create(comm, NULL, &gradients), FGC_OK, "its gradients");
  expect_status(fgc_all_reduce_async(comm, &value, 1, FGC_FLOAT32, FGC_SUM, &request), FGC_OK,
                "its request");
  fgc_comm_free(comm);
  expect_status(fgc_request_wait(request), FGC_OK, "a request outlives its communicator");
  expect_status(fgc_gradient_add(gradients, &only, NULL), FGC_OK, "and so do gradients");
  fgc_gradient_ready(gradients, 0);
  expect_status(fgc_gradients_wait(gradients, NULL), FGC_OK, "which go on");
  fgc_gradients_free(gradients);
  fgc_request_free(request);
}
