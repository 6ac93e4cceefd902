/* The C ABI as a C99 program sees it: two processes, one the child of the other. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

void expect(int is_true, const char* what) {
  if (is_true) return;
  ++failures;
  fprintf(stderr, "not true: %s (last error: %s)\n", what, fgc_last_error());
}

void expect_status(fgc_status status, fgc_status wanted, const char* what) {
  if (status == wanted) return;
  ++failures;
  fprintf(stderr, "%s: %s, not %s (last error: %s)\n", what, fgc_status_name((int)status),
          fgc_status_name((int)wanted), fgc_last_error());
}

int last_error_has(const char* text) {
  return strstr(fgc_last_error(), text) != NULL;
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

/* The rank and the address from the environment, the rest from settings. */
static void run_rank(const char* rank, const char* port) {
  const char* settings[] = {"WORLD_SIZE=2", "FASTGPU_COMM_MASTER_ADDR=127.0.0.1",
                            "FASTGPU_COMM_SECRET=the test's secret", NULL};
  fgc_comm* comm = NULL;
  setenv("RANK", rank, 1);
  setenv("FASTGPU_COMM_MASTER_PORT", port, 1);
  expect_status(fgc_init(settings, &comm), FGC_OK, "a rank joins");
  if (comm == NULL) return;
  expect(fgc_size(comm) == 2 && fgc_rank(comm) == atoi(rank), "the job has two ranks");
  expect(fgc_node_count(comm) * fgc_local_size(comm) == 2, "nodes and ranks on them");
  expect(fgc_local_rank(comm) + fgc_node_rank(comm) == fgc_rank(comm), "places on nodes");
  check_refused_arguments(comm);
  check_collectives(comm);
  check_links(comm);
  check_requests(comm);
  check_groups(comm);
  check_gradients(comm);
  check_views(comm);
  check_codec_state(comm);
  check_gossip(comm);
  check_multistep(comm);
  check_bad_steps(comm);
  check_warning_without_handler(comm);
  expect_status(fgc_barrier(comm), FGC_OK, "the ranks wait for each other");
  fgc_comm_free(comm);
}

static void check_alone(void) {
  fgc_comm* comm = NULL;
  float value = 2;
  expect_status(fgc_init(NULL, &comm), FGC_OK, "a program started alone is a job of one");
  expect(fgc_rank(comm) == 0 && fgc_size(comm) == 1, "it is rank 0 of 1");
  expect(fgc_local_rank(comm) == 0 && fgc_local_size(comm) == 1 && fgc_node_count(comm) == 1,
         "it has a node of its own");
  expect(fgc_all_reduce(comm, &value, 1, FGC_FLOAT32, FGC_AVERAGE) == FGC_OK && value == 2,
         "its average is its own");
  check_refused_arguments(comm);
  check_gossip_alone(comm);
  check_structs(comm);
  check_no_device(comm);
  fgc_comm_free(comm);
}

static void check_null(void) {
  fgc_comm_free(NULL);
  fgc_request_free(NULL);
  fgc_gradients_free(NULL);
  expect_status(fgc_barrier(NULL), FGC_USAGE, "NULL is no communicator");
  expect_status(fgc_request_wait(NULL), FGC_USAGE, "NULL is no request");
  expect_status(fgc_gradients_wait(NULL, NULL), FGC_USAGE, "NULL is no gradients");
  expect(fgc_rank(NULL) == -1 && fgc_size(NULL) == -1 && fgc_local_rank(NULL) == -1 &&
             fgc_local_size(NULL) == -1 && fgc_node_rank(NULL) == -1 && fgc_node_count(NULL) == -1,
         "and has no rank");
  expect_status(fgc_init(NULL, NULL), FGC_USAGE, "fgc_init needs a place for its result");
}

static void check_bad_settings(void) {
  const char* bad_rank[] = {"RANK=two", "WORLD_SIZE=2", NULL};
  const char* bad_wire[] = {"FASTGPU_COMM_WIRE=fp3", NULL};
  const char* mistyped[] = {"FASTGPU_COMM_ALGORITM=ring", NULL};
  const char* without_prefix[] = {"WIRE=fp16", NULL};
  const char* of_process[] = {"FASTGPU_COMM_SIMD=portable", NULL};
  const char* no_setting[] = {"RANK=0", "hunter2", NULL};
  fgc_comm* comm = NULL;
  expect_status(fgc_init(bad_rank, &comm), FGC_USAGE, "a rank that is no number is refused");
  expect(comm == NULL, "there is no handle then");
  expect(last_error_has("RANK is 'two'"), "the message names the variable");
  expect_status(fgc_init(bad_wire, &comm), FGC_USAGE, "a setting of gradients is checked, too");
  expect(last_error_has("FASTGPU_COMM_WIRE"), "by its name");
  expect_status(fgc_init(mistyped, &comm), FGC_USAGE, "a variable that there is not is refused");
  expect(last_error_has("did you mean FASTGPU_COMM_ALGORITHM?"), "with the one that is meant");
  expect_status(fgc_init(without_prefix, &comm), FGC_USAGE, "a setting without effect is refused");
  expect(last_error_has("did you mean FASTGPU_COMM_WIRE?"), "with its whole name");
  expect_status(fgc_init(of_process, &comm), FGC_USAGE, "and one that the process alone has");
  expect(last_error_has("FASTGPU_COMM_SIMD has an effect in the environment"), "with the place");
  expect_status(fgc_init(no_setting, &comm), FGC_USAGE, "a setting without = is refused");
  expect(last_error_has("number 1") && !last_error_has("hunter2"), "and not shown");
}

static void check_names(void) {
  expect(strcmp(fgc_version_string(), FASTGPU_EXPECTED_VERSION) == 0,
         "the version is the project's");
  expect(fgc_version() == FGC_VERSION, "as a number, it is the header's");
  expect(strcmp(fgc_status_name(FGC_TIMEOUT), "timeout") == 0, "a status has a name");
  expect(strcmp(fgc_status_name(FGC_INTERRUPTED), "interrupted") == 0, "an interruption has one");
  expect(strcmp(fgc_status_name(77), "unknown") == 0, "and another number has none");
  expect(fgc_type_size(FGC_BFLOAT16) == 2 && fgc_type_size(FGC_INT64) == 8, "types have sizes");
  expect(fgc_type_size(-1) == 0 && fgc_type_size(8) == 0, "what is no type has none");
}

int main(void) {
  char port[16];
  int status = 1;
  pid_t child;
  snprintf(port, sizeof(port), "%d", free_port());
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  unsetenv("OMPI_COMM_WORLD_RANK");
  check_names();
  check_null();
  check_alone();
  check_order_of_freeing();
  check_bad_settings();
  child = fork();
  run_rank(child == 0 ? "1" : "0", port);
  if (child == 0) _exit(failures > 0);
  expect(waitpid(child, &status, 0) == child && status == 0, "the other rank is content, too");
  return failures > 0;
}
