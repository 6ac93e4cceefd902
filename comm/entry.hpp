// The gradient entry layer: gradients are registered once and averaged together at every step, in
// few large messages instead of many small ones.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/strong.hpp"
#include "base/units.hpp"
#include "comm/communicator.hpp"
#include "comm/reduce.hpp"

namespace fastgpu::comm {

using GradientId = Strong<struct GradientIdTag, std::size_t>;  ///< In order of registration.

/// As thread-safe as its communicator. Every rank registers the same gradients in the same order.
class GradientEntry {
 public:
  /// Borrows `communicator`. A bucket is what one message carries: consecutive gradients of one
  /// type, up to `bucket` together. A larger gradient travels alone, and is not copied.
  explicit GradientEntry(Communicator& communicator, Bytes bucket = {25 << 20});

  /// Registers one gradient, whose memory must stay where it is. Throws ErrorKind::usage for a
  /// name that is registered already, and after the first all_reduce_gradients.
  template <class T>
  GradientId add(std::string name, std::span<T> values) {
    return add(std::move(name), kElementType<T>, std::as_writable_bytes(values));
  }
  GradientId add(std::string name, ElementType type, std::span<std::byte> values);

  /// Reduces every registered gradient over all ranks, in place. The first call compares the
  /// registrations: throws ErrorKind::usage, naming the rank, where they differ.
  void all_reduce_gradients(ReduceOp op = ReduceOp::average);

  /// Messages that one step takes.
  std::size_t buckets() const;

 private:
  struct Gradient {
    std::string name;
    ElementType type;
    std::span<std::byte> values;
  };
  using Bucket = std::span<const Gradient>;

  std::vector<Bucket> plan() const;
  void prepare();
  void check_same_on_all_ranks();
  void reduce(Bucket bucket, ReduceOp op);

  Communicator& communicator_;
  std::size_t bucket_bytes_;
  std::vector<Gradient> gradients_;
  std::vector<Bucket> plan_;  ///< Views into gradients_, which no longer grows.
  bool is_prepared_ = false;
  std::unique_ptr<std::byte[]> fused_;
};

}  // namespace fastgpu::comm
