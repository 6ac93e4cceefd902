// All-reduce of device memory by way of the host, for machines whose GPUs have no way to each other
// of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/gpu/kernels.hpp"
#include "comm/gpu/memory.hpp"
#include "comm/gpu/tensor_list.hpp"

namespace fastgpu::comm::gpu {

/// Reduces host memory in place over all ranks, and blocks: Communicator::all_reduce, say.
using HostAllReduce = std::function<void(std::span<std::byte>, Reduction)>;

/// Packs a list of tensors in one launch, and while one chunk of the result travels between the
/// ranks, others are on their way from the device and back to it, on two streams.
///
/// One thread at a time. After `run` has thrown, the tensors hold what they held before or part of
/// the result.
class StagedAllReduce {
 public:
  struct Settings {
    ElementType type = ElementType::float32;  ///< Of the tensors.
    ElementType wire = ElementType::float32;  ///< Between ranks; the same on all of them.
    std::size_t chunk_bytes = 4 << 20;        ///< The same on all ranks.
  };

  /// Throws ErrorKind::usage where the types cannot be converted into each other.
  StagedAllReduce(std::span<const Tensor> tensors, const Settings& settings);
  StagedAllReduce(const StagedAllReduce&) = delete;
  StagedAllReduce& operator=(const StagedAllReduce&) = delete;
  ~StagedAllReduce();

  /// Reduces the tensors in place over `ranks` ranks: after what `stream` holds already, and before
  /// what is put there afterwards. Blocks until the last chunk is back from the other ranks.
  /// Floating-point averages are scaled before the sum.
  ///
  /// Returns where this rank's own contribution was first NaN or infinite.
  std::optional<NonFinite> run(ReduceOp op, int ranks, const HostAllReduce& all_reduce,
                               StreamHandle stream);

 private:
  /// A place in pinned memory that chunks use in turn.
  struct Slot {
    explicit Slot(std::size_t bytes) : memory(bytes) {}
    PinnedBuffer memory;
    Event arrived;  ///< The chunk is in `memory`.
    Event left;     ///< It has been copied back.
  };

  std::span<std::byte> chunk(std::size_t number) const;
  void fetch(std::size_t number);
  void put_back(std::size_t number);
  void exchange(Reduction reduction, const HostAllReduce& all_reduce);

  Settings settings_;
  TensorList tensors_;
  DeviceBuffer wire_;
  NonFiniteTable found_;
  std::size_t chunks_;
  std::vector<Slot> slots_;
  Stream down_;
  Stream up_;
  Event ready_;
  Event done_;
};

}  // namespace fastgpu::comm::gpu
