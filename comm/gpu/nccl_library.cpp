#include "comm/gpu/nccl_library.hpp"

#include <dlfcn.h>

namespace fastgpu::comm::gpu {
namespace {

constexpr const char* kDefaultName = "libnccl.so.2";

std::string last_loader_error() {
  const char* const error = ::dlerror();
  return error == nullptr ? "unknown error" : error;
}

void* open_library(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorKind::not_found,
                last_loader_error() + ": install NCCL, or name its library in FASTGPU_COMM_NCCL");
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw Error(ErrorKind::local, last_loader_error());
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

void close_library(void* library) noexcept {
  ::dlclose(library);
}

NcclLibrary::NcclLibrary(const std::string& path)
    : library_(open_library(path.empty() ? kDefaultName : path)) {
  void* const library = library_.get();
  find(library, "ncclGetVersion", functions_.get_version);
  find(library, "ncclGetErrorString", functions_.get_error_string);
  find(library, "ncclGetUniqueId", functions_.get_unique_id);
  find(library, "ncclCommInitRankConfig", functions_.comm_init_rank);
  find(library, "ncclCommDestroy", functions_.comm_destroy);
  find(library, "ncclCommAbort", functions_.comm_abort);
  find(library, "ncclCommGetAsyncError", functions_.comm_get_async_error);
  find(library, "ncclRedOpCreatePreMulSum", functions_.red_op_create_pre_mul_sum);
  find(library, "ncclRedOpDestroy", functions_.red_op_destroy);
  find(library, "ncclAllReduce", functions_.all_reduce);
  find(library, "ncclBroadcast", functions_.broadcast);
  find(library, "ncclAllGather", functions_.all_gather);
  find(library, "ncclReduceScatter", functions_.reduce_scatter);
  find(library, "ncclSend", functions_.send);
  find(library, "ncclRecv", functions_.receive);
  find(library, "ncclGroupStart", functions_.group_start);
  find(library, "ncclGroupEnd", functions_.group_end);
}

int NcclLibrary::version() const {
  int version = 0;
  check(functions_.get_version(&version), "asking NCCL for its version");
  return version;
}

Error NcclLibrary::error_of(int result, std::string_view doing) const {
  const ErrorKind kind = result == nccl::kRemoteError ? ErrorKind::remote : ErrorKind::local;
  return {kind, std::string(doing) + ": NCCL: " + functions_.get_error_string(result)};
}

}  // namespace fastgpu::comm::gpu
