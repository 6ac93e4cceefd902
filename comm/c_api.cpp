// The C ABI of include/fastgpu_comm.h over Communicator and GradientEntry.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/entry/gradient_entry.hpp"
#include "comm/include/fastgpu_comm.h"
#include "comm/rendezvous.hpp"

using fastgpu::Error;
using fastgpu::ErrorKind;
namespace comm = fastgpu::comm;

struct fgc_comm final : private comm::EntryEvents {
  explicit fgc_comm(const comm::Environment& environment)
      : communicator(comm::join(comm::job_place(environment))),
        gradients(communicator, comm::entry_settings(environment), this) {}

  comm::Communicator communicator;
  comm::GradientEntry gradients;
  fgc_warning_handler handler = nullptr;
  void* user = nullptr;

 private:
  void warned(const std::string& sentence) override {
    if (handler != nullptr) handler(sentence.c_str(), user);
  }
};

namespace {

/// C has no exceptions to carry the sentence in, and after fgc_init failed there is no handle
/// either. This is the one variable of the library that belongs to nobody but its thread.
thread_local std::string last_error;

fgc_status status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::not_found:
      return FGC_USAGE;
    case ErrorKind::denied:
      return FGC_DENIED;
    case ErrorKind::conflict:
      return FGC_CONFLICT;
    case ErrorKind::transient:
    case ErrorKind::timeout:
    case ErrorKind::interrupted:
      return FGC_TIMEOUT;
    case ErrorKind::remote:
      return FGC_REMOTE;
    case ErrorKind::capacity:
    case ErrorKind::local:
      return FGC_LOCAL;
    case ErrorKind::internal:
      return FGC_INTERNAL;
  }
  return FGC_INTERNAL;
}

fgc_status fail(fgc_status status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

template <class Action>
fgc_status guarded(Action action) noexcept {
  try {
    action();
    return FGC_OK;
  } catch (const Error& e) {
    return fail(status_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return fail(FGC_LOCAL, "out of memory");
  } catch (const std::exception& e) {
    return fail(FGC_INTERNAL, e.what());
  } catch (...) {
    return fail(FGC_INTERNAL, "an unknown exception");
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

void need_handle(const fgc_comm* handle) {
  if (handle == nullptr) refuse("the communicator is NULL: fgc_init has not succeeded");
}

comm::ElementType type_of(int type) {
  switch (type) {
    case FGC_FLOAT32:
      return comm::ElementType::float32;
    case FGC_FLOAT64:
      return comm::ElementType::float64;
    case FGC_INT32:
      return comm::ElementType::int32;
    case FGC_INT64:
      return comm::ElementType::int64;
    case FGC_FLOAT16:
      return comm::ElementType::float16;
    case FGC_BFLOAT16:
      return comm::ElementType::bfloat16;
    case FGC_INT8:
      return comm::ElementType::int8;
    case FGC_UINT8:
      return comm::ElementType::uint8;
  }
  refuse("there is no fgc_type " + std::to_string(type));
}

comm::ReduceOp op_of(int op) {
  switch (op) {
    case FGC_SUM:
      return comm::ReduceOp::sum;
    case FGC_AVERAGE:
      return comm::ReduceOp::average;
    case FGC_MIN:
      return comm::ReduceOp::min;
    case FGC_MAX:
      return comm::ReduceOp::max;
    case FGC_PRODUCT:
      return comm::ReduceOp::product;
  }
  refuse("there is no fgc_op " + std::to_string(op));
}

template <class Byte, class Pointer>
std::span<Byte> bytes_at(Pointer data, std::size_t bytes) {
  if (data == nullptr && bytes > 0) refuse("the data is NULL");
  return {static_cast<Byte*>(data), bytes};
}

std::span<std::byte> elements_at(void* data, std::size_t count, comm::ElementType type) {
  const std::size_t size = comm::size_of(type);
  if (count > std::numeric_limits<std::size_t>::max() / size) refuse("the count is too large");
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0) refuse("the data is not aligned");
  return bytes_at<std::byte>(data, count * size);
}

}  // namespace

const char* fgc_version(void) {
  return FASTGPU_VERSION;
}

const char* fgc_last_error(void) {
  return last_error.c_str();
}

fgc_status fgc_init(fgc_comm** comm) {
  return guarded([&] {
    if (comm == nullptr) refuse("fgc_init: the argument is NULL");
    *comm = nullptr;
    *comm = new fgc_comm(comm::process_environment());
  });
}

void fgc_finalize(fgc_comm* comm) {
  delete comm;
}

int fgc_rank(const fgc_comm* comm) {
  return comm == nullptr ? -1 : comm->communicator.rank().value;
}

int fgc_size(const fgc_comm* comm) {
  return comm == nullptr ? -1 : comm->communicator.size();
}

fgc_status fgc_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op) {
  return guarded([&] {
    need_handle(comm);
    const comm::ElementType element = type_of(type);
    comm->communicator.all_reduce(elements_at(data, count, element), {element, op_of(op)});
  });
}

fgc_status fgc_broadcast(fgc_comm* comm, void* data, size_t bytes, int root) {
  return guarded([&] {
    need_handle(comm);
    comm->communicator.broadcast(bytes_at<std::byte>(data, bytes), {root});
  });
}

fgc_status fgc_all_gather(fgc_comm* comm, const void* mine, size_t bytes, void* all) {
  return guarded([&] {
    need_handle(comm);
    const auto ranks = static_cast<std::size_t>(comm->communicator.size());
    if (bytes > std::numeric_limits<std::size_t>::max() / ranks) refuse("the length is too large");
    comm->communicator.all_gather(bytes_at<const std::byte>(mine, bytes),
                                  bytes_at<std::byte>(all, bytes * ranks));
  });
}

fgc_status fgc_barrier(fgc_comm* comm) {
  return guarded([&] {
    need_handle(comm);
    comm->communicator.barrier();
  });
}

fgc_status fgc_register_gradient(fgc_comm* comm, const char* name, void* data, size_t count,
                                 int type) {
  return guarded([&] {
    need_handle(comm);
    if (name == nullptr) refuse("the gradient's name is NULL");
    const comm::ElementType element = type_of(type);
    comm->gradients.add({.name = name, .type = element, .shape = {count}},
                        elements_at(data, count, element));
  });
}

fgc_status fgc_all_reduce_gradients(fgc_comm* comm, int op) {
  return guarded([&] {
    need_handle(comm);
    comm->gradients.all_reduce_gradients(op_of(op));
  });
}

fgc_status fgc_gradient_ready(fgc_comm* comm, size_t index) {
  return guarded([&] {
    need_handle(comm);
    comm->gradients.ready({index});
  });
}

fgc_status fgc_wait_gradients(fgc_comm* comm, int* has_results) {
  return guarded([&] {
    need_handle(comm);
    const bool is_applied = comm->gradients.wait_step().is_applied;
    if (has_results != nullptr) *has_results = is_applied ? 1 : 0;
  });
}

void fgc_on_warning(fgc_comm* comm, fgc_warning_handler handler, void* user) {
  if (comm == nullptr) return;
  comm->handler = handler;
  comm->user = user;
}
