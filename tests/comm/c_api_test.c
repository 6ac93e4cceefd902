/* The C ABI as a C99 program sees it: two processes, one the child of the other. */
#include <arpa/inet.h>
#include <fastgpu_comm.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

static void expect(int is_true, const char* what) {
  if (is_true) return;
  ++failures;
  fprintf(stderr, "not true: %s (last error: %s)\n", what, fgc_last_error());
}

/* A port of the loopback interface that nobody has. */
static int free_port(void) {
  struct sockaddr_in address;
  socklen_t length = sizeof(address);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (s < 0 || bind(s, (struct sockaddr*)&address, sizeof(address)) != 0 ||
      getsockname(s, (struct sockaddr*)&address, &length) != 0)
    exit(1);
  close(s);
  return ntohs(address.sin_port);
}

static void set_place(const char* rank, int port) {
  char text[16];
  snprintf(text, sizeof(text), "%d", port);
  setenv("RANK", rank, 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("FASTGPU_COMM_MASTER_ADDR", "127.0.0.1", 1);
  setenv("FASTGPU_COMM_MASTER_PORT", text, 1);
  setenv("FASTGPU_COMM_SECRET", "the test's secret", 1);
}

static void check_refused_arguments(fgc_comm* comm) {
  float value = 1;
  char byte = 0;
  expect(fgc_all_reduce(comm, NULL, 1, FGC_FLOAT32, FGC_SUM) == FGC_USAGE, "no data is refused");
  expect(fgc_all_reduce(comm, &value, 1, 99, FGC_SUM) == FGC_USAGE, "an unknown type is refused");
  expect(strstr(fgc_last_error(), "99") != NULL, "the message has the value");
  expect(fgc_all_reduce(comm, &value, 1, FGC_FLOAT32, -1) == FGC_USAGE,
         "an unknown operation is refused");
  expect(fgc_all_reduce(comm, &value, SIZE_MAX / 2, FGC_FLOAT32, FGC_SUM) == FGC_USAGE,
         "a count that overflows is refused");
  expect(fgc_all_gather(comm, &value, SIZE_MAX, &value) == FGC_USAGE || fgc_size(comm) == 1,
         "a length that overflows is refused");
  expect(fgc_broadcast(comm, &byte, 1, 5) == FGC_USAGE, "a root out of range is refused");
  expect(fgc_register_gradient(comm, NULL, &value, 1, FGC_FLOAT32) == FGC_USAGE,
         "a gradient without a name is refused");
}

static void run_rank(void) {
  fgc_comm* comm = NULL;
  double sums[3];
  int32_t root_value;
  int64_t mine, all[2];
  float weight[4] = {0}, bias[1] = {0};
  int i, rank;
  expect(fgc_init(&comm) == FGC_OK, "a rank joins");
  if (comm == NULL) return;
  rank = fgc_rank(comm);
  expect(fgc_size(comm) == 2, "the job has two ranks");
  check_refused_arguments(comm);

  for (i = 0; i < 3; ++i)
    sums[i] = (rank + 1) * (i + 1);
  expect(fgc_all_reduce(comm, sums, 3, FGC_FLOAT64, FGC_SUM) == FGC_OK, "numbers are reduced");
  expect(sums[0] == 3 && sums[1] == 6 && sums[2] == 9, "the sums are right");

  root_value = rank == 1 ? 42 : 0;
  expect(fgc_broadcast(comm, &root_value, sizeof(root_value), 1) == FGC_OK, "bytes are broadcast");
  expect(root_value == 42, "the root's value has come");

  mine = rank + 10;
  expect(fgc_all_gather(comm, &mine, sizeof(mine), all) == FGC_OK, "bytes are gathered");
  expect(all[0] == 10 && all[1] == 11, "they are ordered by rank");

  expect(fgc_register_gradient(comm, "weight", weight, 4, FGC_FLOAT32) == FGC_OK, "registered");
  expect(fgc_register_gradient(comm, "bias", bias, 1, FGC_FLOAT32) == FGC_OK, "registered");
  expect(fgc_register_gradient(comm, "bias", bias, 1, FGC_FLOAT32) == FGC_USAGE, "but once");
  for (i = 0; i < 4; ++i)
    weight[i] = (float)(rank * 2);
  bias[0] = (float)(rank + 1);
  expect(fgc_all_reduce_gradients(comm, FGC_AVERAGE) == FGC_OK, "gradients are averaged");
  expect(weight[0] == 1 && weight[3] == 1 && bias[0] == 1.5F, "the averages are right");

  expect(fgc_barrier(comm) == FGC_OK, "the ranks wait for each other");
  fgc_finalize(comm);
}

static void check_alone(void) {
  fgc_comm* comm = NULL;
  float value = 2;
  expect(fgc_init(&comm) == FGC_OK, "a program started alone is a job of one");
  expect(fgc_rank(comm) == 0 && fgc_size(comm) == 1, "it is rank 0 of 1");
  expect(fgc_all_reduce(comm, &value, 1, FGC_FLOAT32, FGC_AVERAGE) == FGC_OK && value == 2,
         "its average is its own");
  check_refused_arguments(comm);
  fgc_finalize(comm);
  fgc_finalize(NULL);
  expect(fgc_barrier(NULL) == FGC_USAGE, "NULL is no communicator");
  expect(fgc_rank(NULL) == -1 && fgc_size(NULL) == -1, "and has no rank");
  expect(fgc_init(NULL) == FGC_USAGE, "fgc_init needs a place for its result");
}

static void check_bad_environment(void) {
  fgc_comm* comm = NULL;
  setenv("RANK", "two", 1);
  setenv("WORLD_SIZE", "2", 1);
  expect(fgc_init(&comm) == FGC_USAGE, "a rank that is no number is refused");
  expect(comm == NULL, "there is no handle then");
  expect(strstr(fgc_last_error(), "RANK is 'two'") != NULL, "the message names the variable");
}

int main(void) {
  const int port = free_port();
  int status = 1;
  pid_t child;
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  unsetenv("OMPI_COMM_WORLD_RANK");
  expect(strcmp(fgc_version(), FASTGPU_EXPECTED_VERSION) == 0, "the version is the project's");
  check_alone();
  check_bad_environment();
  child = fork();
  set_place(child == 0 ? "1" : "0", port);
  run_rank();
  if (child == 0) _exit(failures > 0);
  expect(waitpid(child, &status, 0) == child && status == 0, "the other rank is content, too");
  return failures > 0;
}
