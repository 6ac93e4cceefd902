#include "comm/gpu/nccl.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::comm::gpu {
namespace {

/// The interval between two looks at NCCL's background work.
constexpr std::chrono::microseconds kNap{200};

/// The message of rank 0 to the others.
struct Invitation {
  bool is_valid = false;
  NcclUniqueId id{};
};

int nccl_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return nccl::kFloat32;
    case ElementType::float64:
      return nccl::kFloat64;
    case ElementType::int32:
      return nccl::kInt32;
    case ElementType::int64:
      return nccl::kInt64;
    case ElementType::float16:
      return nccl::kFloat16;
    case ElementType::bfloat16:
      return nccl::kBfloat16;
    case ElementType::int8:
      return nccl::kInt8;
    case ElementType::uint8:
      return nccl::kUint8;
  }
  throw Error(ErrorKind::usage, "NCCL has no type for " + std::string(name_of(type)));
}

int plain_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return nccl::kSum;
    case ReduceOp::average:
      return nccl::kAverage;
    case ReduceOp::min:
      return nccl::kMin;
    case ReduceOp::max:
      return nccl::kMax;
    case ReduceOp::product:
      return nccl::kProduct;
  }
  throw Error(ErrorKind::usage, "NCCL has no operation for " + std::string(name_of(op)));
}

/// Returns the bits of 1 / ranks; absent for integers.
std::optional<std::array<std::byte, 8>> reciprocal(ElementType type, int ranks) {
  std::array<std::byte, 8> bits{};
  const auto put = [&bits](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    std::copy(bytes.begin(), bytes.end(), bits.begin());
    return bits;
  };
  const double share = 1.0 / ranks;
  switch (type) {
    case ElementType::float32:
      return put(static_cast<float>(share));
    case ElementType::float64:
      return put(share);
    case ElementType::float16:
      return put(to_float16(static_cast<float>(share)));
    case ElementType::bfloat16:
      return put(to_bfloat16(static_cast<float>(share)));
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::int8:
    case ElementType::uint8:
      return std::nullopt;
  }
  return std::nullopt;
}

std::size_t elements(std::size_t bytes, ElementType type) {
  if (bytes % size_of(type) != 0)
    throw Error(ErrorKind::usage, std::to_string(bytes) + " bytes are no whole number of " +
                                      std::string(name_of(type)));
  return bytes / size_of(type);
}

void need_ranks_times(std::size_t all, std::size_t mine, int ranks) {
  if (all == mine * static_cast<std::size_t>(ranks)) return;
  throw Error(ErrorKind::usage, std::to_string(all) + " bytes for " + std::to_string(ranks) +
                                    " ranks of " + std::to_string(mine) + " bytes each");
}

NcclUniqueId agree_on_id(const NcclLibrary& library, Rank rank,
                         const BroadcastFromZero& broadcast) {
  Invitation invitation;
  std::string refusal = "rank 0 could not begin with NCCL";
  if (rank == Rank{0}) {
    const int result = library.functions().get_unique_id(&invitation.id);
    invitation.is_valid = result == nccl::kSuccess;
    if (!invitation.is_valid)
      refusal += std::string(": ") + library.functions().get_error_string(result);
  }
  broadcast(std::as_writable_bytes(std::span(&invitation, 1)));
  if (!invitation.is_valid) throw Error(ErrorKind::local, refusal);
  return invitation.id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(const NcclLibrary& library, Rank rank, int size,
                                   const BroadcastFromZero& broadcast, NcclWait wait)
    : library_(library), rank_(rank), size_(size), wait_(std::move(wait)) {
  const NcclUniqueId id = agree_on_id(library, rank, broadcast);
  try {
    NcclConfig config;
    settle(library_.functions().comm_init_rank(&comm_, size, id, rank.value, &config),
           "joining NCCL as rank " + std::to_string(rank.value));
  } catch (const Error&) {
    abort();
    throw;
  }
}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr) return;
  for (const auto& op : averages_)
    if (op) library_.functions().red_op_destroy(*op, comm_);
  library_.functions().comm_destroy(comm_);
}

/// Waits until NCCL has done what it was asked for.
void NcclCommunicator::settle(int result, std::string_view doing) {
  const auto deadline = std::chrono::steady_clock::now() + wait_.limit;
  while (result == nccl::kInProgress) {
    wait_.look();
    if (std::chrono::steady_clock::now() > deadline)
      throw Error(ErrorKind::transient, std::string(doing) + ": NCCL has not done it within " +
                                            to_string(wait_.limit) + ": a rank is late or stuck");
    std::this_thread::sleep_for(kNap);
    library_.check(library_.functions().comm_get_async_error(comm_, &result), doing);
  }
  library_.check(result, doing);
}

int NcclCommunicator::op_of(Reduction reduction) {
  if (reduction.op != ReduceOp::average) return plain_op(reduction.op);
  auto scalar = reciprocal(reduction.type, size_);
  if (!scalar) return plain_op(reduction.op);
  std::optional<int>& made = averages_.at(static_cast<std::size_t>(reduction.type));
  if (!made) {
    int op = 0;
    library_.check(library_.functions().red_op_create_pre_mul_sum(
                       &op, scalar->data(), nccl_type(reduction.type), nccl::kScalarOnHost, comm_),
                   "making an average of NCCL");
    made = op;
  }
  return *made;
}

void NcclCommunicator::all_reduce(std::span<std::byte> data, Reduction reduction,
                                  StreamHandle stream) {
  const std::size_t count = elements(data.size(), reduction.type);
  settle(library_.functions().all_reduce(data.data(), data.data(), count, nccl_type(reduction.type),
                                         op_of(reduction), comm_, stream),
         "all_reduce");
}

void NcclCommunicator::reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                      Reduction reduction, StreamHandle stream) {
  need_ranks_times(all.size(), mine.size(), size_);
  const std::size_t count = elements(mine.size(), reduction.type);
  settle(
      library_.functions().reduce_scatter(all.data(), mine.data(), count, nccl_type(reduction.type),
                                          op_of(reduction), comm_, stream),
      "reduce_scatter");
}

void NcclCommunicator::broadcast(std::span<std::byte> data, Rank root, StreamHandle stream) {
  settle(library_.functions().broadcast(data.data(), data.data(), data.size(), nccl::kUint8,
                                        root.value, comm_, stream),
         "broadcast");
}

void NcclCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                  StreamHandle stream) {
  need_ranks_times(all.size(), mine.size(), size_);
  settle(library_.functions().all_gather(mine.data(), all.data(), mine.size(), nccl::kUint8, comm_,
                                         stream),
         "all_gather");
}

void NcclCommunicator::all_to_all(std::span<const std::byte> out, std::span<std::byte> in,
                                  StreamHandle stream) {
  const std::size_t block = out.size() / static_cast<std::size_t>(size_);
  need_ranks_times(out.size(), block, size_);
  need_ranks_times(in.size(), block, size_);
  group([&] {
    for (int peer = 0; peer < size_; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * block;
      send(out.subspan(at, block), {peer}, stream);
      receive(in.subspan(at, block), {peer}, stream);
    }
  });
}

void NcclCommunicator::send(std::span<const std::byte> data, Rank to, StreamHandle stream) {
  settle(library_.functions().send(data.data(), data.size(), nccl::kUint8, to.value, comm_, stream),
         "send");
}

void NcclCommunicator::receive(std::span<std::byte> data, Rank from, StreamHandle stream) {
  settle(library_.functions().receive(data.data(), data.size(), nccl::kUint8, from.value, comm_,
                                      stream),
         "receive");
}

void NcclCommunicator::group(const std::function<void()>& messages) {
  library_.check(library_.functions().group_start(), "beginning a group of messages");
  std::optional<Error> failure;
  try {
    messages();
  } catch (const Error& e) {
    failure = e;  // The group must be ended in any case.
  }
  const int result = library_.functions().group_end();
  if (failure) throw Error(*failure);
  settle(result, "a group of messages");
}

void NcclCommunicator::check_health() {
  int result = nccl::kSuccess;
  library_.check(library_.functions().comm_get_async_error(comm_, &result),
                 "asking NCCL for errors");
  if (result != nccl::kInProgress) library_.check(result, "a collective of NCCL");
}

void NcclCommunicator::abort() noexcept {
  if (comm_ != nullptr) library_.functions().comm_abort(comm_);
  comm_ = nullptr;
}

}  // namespace fastgpu::comm::gpu
