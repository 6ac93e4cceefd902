// NCCL's own shared library, loaded when a job first needs it: neither our build nor our library
// depends on it. The used part of its interface is declared here; a test compares it with NCCL's
// header if there is one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

// The binary interface of NCCL 2.14 and later; NCCL's ncclResult_t, ncclDataType_t, ncclRedOp_t and
// ncclScalarResidence_t are ints.

struct NcclComm;  ///< Defined by NCCL.

struct NcclUniqueId {
  char internal[128] = {};
};

/// The layout of 2.14, which later ones read as well.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int is_blocking = 0;
};

namespace nccl {
constexpr int kSuccess = 0;
constexpr int kRemoteError = 6;
constexpr int kInProgress = 7;

constexpr int kInt8 = 0;
constexpr int kUint8 = 1;
constexpr int kInt32 = 2;
constexpr int kInt64 = 4;
constexpr int kFloat16 = 6;
constexpr int kFloat32 = 7;
constexpr int kFloat64 = 8;
constexpr int kBfloat16 = 9;

constexpr int kSum = 0;
constexpr int kProduct = 1;
constexpr int kMax = 2;
constexpr int kMin = 3;
constexpr int kAverage = 4;

constexpr int kScalarOnHost = 1;
}  // namespace nccl

struct NcclFunctions {
  int (*get_version)(int* version) = nullptr;
  const char* (*get_error_string)(int result) = nullptr;
  int (*get_unique_id)(NcclUniqueId* id) = nullptr;
  int (*comm_init_rank)(NcclComm** comm, int ranks, NcclUniqueId id, int rank,
                        NcclConfig* config) = nullptr;
  int (*comm_destroy)(NcclComm* comm) = nullptr;
  int (*comm_abort)(NcclComm* comm) = nullptr;
  int (*comm_get_async_error)(NcclComm* comm, int* result) = nullptr;
  int (*red_op_create_pre_mul_sum)(int* op, void* scalar, int type, int residence,
                                   NcclComm* comm) = nullptr;
  int (*red_op_destroy)(int op, NcclComm* comm) = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int op, NcclComm* comm,
                    StreamHandle stream) = nullptr;
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root,
                   NcclComm* comm, StreamHandle stream) = nullptr;
  int (*all_gather)(const void* mine, void* all, std::size_t count, int type, NcclComm* comm,
                    StreamHandle stream) = nullptr;
  int (*reduce_scatter)(const void* all, void* mine, std::size_t count, int type, int op,
                        NcclComm* comm, StreamHandle stream) = nullptr;
  int (*send)(const void* from, std::size_t count, int type, int peer, NcclComm* comm,
              StreamHandle stream) = nullptr;
  int (*receive)(void* to, std::size_t count, int type, int peer, NcclComm* comm,
                 StreamHandle stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
};

void close_library(void* library) noexcept;

class NcclLibrary {
 public:
  /// Loads `path`, or, if it is empty, libnccl.so.2 from the loader's places. Throws
  /// ErrorKind::not_found if it is missing, ErrorKind::local if it lacks a function.
  explicit NcclLibrary(const std::string& path = "");

  /// Takes a replacement of NCCL.
  explicit NcclLibrary(const NcclFunctions& functions) : functions_(functions) {}

  const NcclFunctions& functions() const noexcept { return functions_; }
  int version() const;  ///< Returns a number such as 22809.

  /// Throws ErrorKind::remote if another rank is to blame, else ErrorKind::local, for anything but
  /// success.
  void check(int result, std::string_view doing) const {
    if (result != nccl::kSuccess) throw error_of(result, doing);
  }
  Error error_of(int result, std::string_view doing) const;

 private:
  CHandle<void, close_library> library_;
  NcclFunctions functions_;
};

}  // namespace fastgpu::comm::gpu
