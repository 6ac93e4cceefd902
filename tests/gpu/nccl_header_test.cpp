// What comm/gpu declares of NCCL's interface beside NCCL's own header. All is checked by compiling.
#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "comm/gpu/nccl_library.hpp"

namespace fastgpu::comm::gpu {
namespace {

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int));
static_assert(sizeof(ncclRedOp_t) == sizeof(int) && sizeof(ncclScalarResidence_t) == sizeof(int));
static_assert(nccl::kSuccess == ncclSuccess && nccl::kInProgress == ncclInProgress);
static_assert(nccl::kRemoteError == ncclRemoteError);
static_assert(nccl::kInt8 == ncclInt8 && nccl::kUint8 == ncclUint8);
static_assert(nccl::kInt32 == ncclInt32 && nccl::kInt64 == ncclInt64);
static_assert(nccl::kFloat16 == ncclFloat16 && nccl::kBfloat16 == ncclBfloat16);
static_assert(nccl::kFloat32 == ncclFloat32 && nccl::kFloat64 == ncclFloat64);
static_assert(nccl::kSum == ncclSum && nccl::kProduct == ncclProd && nccl::kMax == ncclMax);
static_assert(nccl::kMin == ncclMin && nccl::kAverage == ncclAvg);
static_assert(nccl::kScalarOnHost == ncclScalarHostImmediate);

static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, is_blocking) == offsetof(ncclConfig_t, blocking));
static_assert(NcclConfig{}.version == NCCL_VERSION(2, 14, 0));

/// Ours for a type of theirs.
template <class T>
struct Ours {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Ours<ncclComm_t> {
  using Type = NcclComm*;
};
template <>
struct Ours<ncclComm_t*> {
  using Type = NcclComm**;
};
template <>
struct Ours<ncclUniqueId> {
  using Type = NcclUniqueId;
};
template <>
struct Ours<ncclUniqueId*> {
  using Type = NcclUniqueId*;
};
template <>
struct Ours<ncclConfig_t*> {
  using Type = NcclConfig*;
};
template <>
struct Ours<ncclRedOp_t*> {
  using Type = int*;
};
template <>
struct Ours<ncclResult_t*> {
  using Type = int*;
};

template <class Result, class... Arguments>
constexpr auto ours(Result (*)(Arguments...)) ->
    typename Ours<Result>::Type (*)(typename Ours<Arguments>::Type...) {
  return nullptr;
}

using F = NcclFunctions;
static_assert(std::is_same_v<decltype(F::get_version), decltype(ours(ncclGetVersion))>);
static_assert(std::is_same_v<decltype(F::get_error_string), decltype(ours(ncclGetErrorString))>);
static_assert(std::is_same_v<decltype(F::get_unique_id), decltype(ours(ncclGetUniqueId))>);
static_assert(std::is_same_v<decltype(F::comm_init_rank), decltype(ours(ncclCommInitRankConfig))>);
static_assert(std::is_same_v<decltype(F::comm_destroy), decltype(ours(ncclCommDestroy))>);
static_assert(std::is_same_v<decltype(F::comm_abort), decltype(ours(ncclCommAbort))>);
static_assert(
    std::is_same_v<decltype(F::comm_get_async_error), decltype(ours(ncclCommGetAsyncError))>);
static_assert(std::is_same_v<decltype(F::red_op_create_pre_mul_sum),
                             decltype(ours(ncclRedOpCreatePreMulSum))>);
static_assert(std::is_same_v<decltype(F::red_op_destroy), decltype(ours(ncclRedOpDestroy))>);
static_assert(std::is_same_v<decltype(F::all_reduce), decltype(ours(ncclAllReduce))>);
static_assert(std::is_same_v<decltype(F::broadcast), decltype(ours(ncclBroadcast))>);
static_assert(std::is_same_v<decltype(F::all_gather), decltype(ours(ncclAllGather))>);
static_assert(std::is_same_v<decltype(F::reduce_scatter), decltype(ours(ncclReduceScatter))>);
static_assert(std::is_same_v<decltype(F::send), decltype(ours(ncclSend))>);
static_assert(std::is_same_v<decltype(F::receive), decltype(ours(ncclRecv))>);
static_assert(std::is_same_v<decltype(F::group_start), decltype(ours(ncclGroupStart))>);
static_assert(std::is_same_v<decltype(F::group_end), decltype(ours(ncclGroupEnd))>);

}  // namespace
}  // namespace fastgpu::comm::gpu
