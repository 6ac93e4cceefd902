// libfastgpu_comm_mpi.so: our only code that knows MPI.
#include "comm/mpi/plugin.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "comm/kernels/reduce.hpp"
#include "comm/mpi/types.hpp"

namespace fastgpu::comm::mpi {

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
};

struct Request {
  MPI_Request request = MPI_REQUEST_NULL;
  Group* made = nullptr;    ///< The group that exists once it is done, or null.
  bool is_receive = false;  ///< True for the receipt of a message, which can be cancelled.
};

namespace {

/// Returns the process that has initialised MPI here, or 0. MPI is one a process, and so is this.
std::atomic<pid_t>& initialiser() {
  static std::atomic<pid_t> process{0};
  return process;
}

bool is_finalized() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  return is_over != 0;
}

/// Returns what is called before MPI ends with the process.
std::atomic<void (*)() noexcept>& before_end() {
  static std::atomic<void (*)() noexcept> act{nullptr};
  return act;
}

/// Ends MPI with the process. A rank that failed does not wait for the others, which MPI_Finalize
/// would: mpirun ends them. A child that a rank has forked does not either. Ranks that wait for
/// this one must learn of its end before it waits for them.
void end_with_process(int status, void* /*unused*/) {
  if (status != 0 || initialiser() != ::getpid() || is_finalized()) return;
  if (const auto act = before_end().load()) act();
  MPI_Finalize();
}

ThreadLevel level_of(int provided) {
  if (provided >= MPI_THREAD_MULTIPLE) return ThreadLevel::multiple;
  if (provided >= MPI_THREAD_SERIALIZED) return ThreadLevel::serialized;
  if (provided >= MPI_THREAD_FUNNELED) return ThreadLevel::funneled;
  return ThreadLevel::single;
}

/// Initialises MPI unless it is. Asks for more than the one thread at a time that we need: the
/// program may call MPI too.
int initialise_unless_done() {
  int is_initialised = 0;
  int provided = 0;
  MPI_Initialized(&is_initialised);
  if (is_initialised != 0) return MPI_SUCCESS;
  const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  if (error != MPI_SUCCESS) return error;
  initialiser() = ::getpid();
  ::on_exit(end_with_process, nullptr);
  return MPI_SUCCESS;
}

int begin(Start* start) {
  before_end() = start->before_end;
  start->is_over = is_finalized();
  if (start->is_over) return MPI_SUCCESS;
  if (const int error = initialise_unless_done(); error != MPI_SUCCESS) return error;
  int provided = 0;
  int is_main = 0;
  MPI_Query_thread(&provided);
  MPI_Is_thread_main(&is_main);
  MPI_Comm_rank(MPI_COMM_WORLD, &start->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &start->size);
  start->level = level_of(provided);
  start->is_ours = initialiser() == ::getpid();
  start->is_main_thread = is_main != 0;
  return MPI_SUCCESS;
}

int is_over() {
  return is_finalized() ? 1 : 0;
}

void describe(int error, char* text, std::size_t room) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, whole, &length);
  const std::size_t kept = std::min(room - 1, static_cast<std::size_t>(std::max(length, 0)));
  std::memcpy(text, whole, kept);
  text[kept] = '\0';
}

int duplicate_world(Group** made, Request** request) {
  auto group = std::make_unique<Group>();
  auto under_way = std::make_unique<Request>();
  const int error = MPI_Comm_idup(MPI_COMM_WORLD, &group->comm, &under_way->request);
  if (error != MPI_SUCCESS) return error;
  under_way->made = group.get();
  *made = group.release();
  *request = under_way.release();
  return MPI_SUCCESS;
}

int make_group(Group* of, const int* ranks, int count, int tag, Group** made) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  auto group = std::make_unique<Group>();
  MPI_Comm_group(of->comm, &all);
  MPI_Group_incl(all, count, ranks, &some);
  const int error = MPI_Comm_create_group(of->comm, some, tag, &group->comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  if (error != MPI_SUCCESS) return error;
  *made = group.release();
  return MPI_Comm_set_errhandler((*made)->comm, MPI_ERRORS_RETURN);
}

int test(Request* request, int* is_done) {
  const int error = MPI_Test(&request->request, is_done, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || *is_done == 0) return error;
  const std::unique_ptr<Request> ended(request);
  if (ended->made == nullptr) return MPI_SUCCESS;
  return MPI_Comm_set_errhandler(ended->made->comm, MPI_ERRORS_RETURN);
}

/// Makes a request for the operation that `start` begins with the place for MPI's request.
template <class Start>
int begin_request(Request** request, const Start& start) {
  auto under_way = std::make_unique<Request>();
  const int error = start(&under_way->request);
  if (error == MPI_SUCCESS) *request = under_way.release();
  return error;
}

// ---- messages ----

void forget(Request* request) {
  const std::unique_ptr<Request> forgotten(request);
  if (request->is_receive) MPI_Cancel(&request->request);
  MPI_Request_free(&request->request);
}

int send(Group* group, const void* data, int bytes, int to, int tag, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Issend(data, bytes, MPI_BYTE, to, tag, group->comm, r);
  });
}

int receive(Group* group, void* data, int bytes, int from, int tag, Request** request) {
  const int error = begin_request(request, [&](MPI_Request* r) {
    return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, group->comm, r);
  });
  if (error == MPI_SUCCESS) (*request)->is_receive = true;
  return error;
}

int find(Group* group, void* data, int room, int tag, Arrival* arrival) {
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  const int error = MPI_Improbe(MPI_ANY_SOURCE, tag, group->comm, &is_there, &message, &status);
  if (error != MPI_SUCCESS || is_there == 0) return error;
  arrival->from = status.MPI_SOURCE;
  MPI_Get_count(&status, MPI_BYTE, &arrival->bytes);
  if (arrival->bytes > room) return MPI_ERR_TRUNCATE;
  return begin_request(&arrival->request, [&](MPI_Request* r) {
    return MPI_Imrecv(data, arrival->bytes, MPI_BYTE, &message, r);
  });
}

// ---- collectives ----

MPI_Datatype type_of(const PluginCollective& what) {
  return mpi_type(static_cast<ElementType>(what.type));
}

MPI_Op op_of(const PluginCollective& what) {
  switch (static_cast<ReduceOp>(what.op)) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::product:
      return MPI_PROD;
  }
  return MPI_OP_NULL;
}

/// Returns the input of a call, for a collective that may be in place.
const void* input_of(const PluginCollective& what) {
  return what.input == nullptr ? MPI_IN_PLACE : what.input;
}

int barrier(Group* group, const PluginCollective* /*what*/, Request** request) {
  return begin_request(request, [&](MPI_Request* r) { return MPI_Ibarrier(group->comm, r); });
}

int all_reduce(Group* group, const PluginCollective* what, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Iallreduce(input_of(*what), what->data, what->count, type_of(*what), op_of(*what),
                          group->comm, r);
  });
}

int broadcast(Group* group, const PluginCollective* what, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Ibcast(what->data, what->count, MPI_BYTE, what->root, group->comm, r);
  });
}

int all_gather(Group* group, const PluginCollective* what, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Iallgather(input_of(*what), what->count, MPI_BYTE, what->data, what->count, MPI_BYTE,
                          group->comm, r);
  });
}

int reduce_scatter(Group* group, const PluginCollective* what, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Ireduce_scatter_block(what->input, what->data, what->count, type_of(*what),
                                     op_of(*what), group->comm, r);
  });
}

int all_to_all(Group* group, const PluginCollective* what, Request** request) {
  return begin_request(request, [&](MPI_Request* r) {
    return MPI_Ialltoall(what->input, what->count, MPI_BYTE, what->data, what->count, MPI_BYTE,
                         group->comm, r);
  });
}

constexpr MpiFunctions kFunctions{.describe = describe,
                                  .begin = begin,
                                  .is_over = is_over,
                                  .duplicate_world = duplicate_world,
                                  .make_group = make_group,
                                  .test = test,
                                  .forget = forget,
                                  .send = send,
                                  .receive = receive,
                                  .find = find,
                                  .barrier = barrier,
                                  .all_reduce = all_reduce,
                                  .broadcast = broadcast,
                                  .all_gather = all_gather,
                                  .reduce_scatter = reduce_scatter,
                                  .all_to_all = all_to_all};

}  // namespace
}  // namespace fastgpu::comm::mpi

extern "C" __attribute__((visibility("default"))) const fastgpu::comm::mpi::MpiFunctions*
fastgpu_comm_mpi_plugin() {
  return &fastgpu::comm::mpi::kFunctions;
}
