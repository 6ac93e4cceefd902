// The ranks of one job as one object: what a program calls to move numbers between them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/connections.hpp"
#include "comm/reduce.hpp"
#include "comm/transport.hpp"

namespace fastgpu::comm {

/// Every rank makes the same calls in the same order; each call blocks until this rank's part is
/// done. Ranks that differ get ErrorKind::usage naming the other rank and both calls.
///
/// A call that throws leaves the ranks at different places, so every later call throws too. One
/// thread at a time.
class Communicator {
 public:
  explicit Communicator(std::unique_ptr<Transport> transport);
  explicit Communicator(Connections connections);

  Rank rank() const noexcept { return transport_->rank(); }
  int size() const noexcept { return transport_->size(); }

  /// Reduces in place; the result is the same to the last bit on every rank.
  template <class T>
  void all_reduce(std::span<T> values, ReduceOp op) {
    all_reduce(std::as_writable_bytes(values), {kElementType<T>, op});
  }

  /// The same for a type known at run time; `data` is aligned for it. Throws ErrorKind::usage
  /// where the length is no multiple of the element's size.
  void all_reduce(std::span<std::byte> data, Reduction reduction);

  /// Copies `data` of `root` to every rank. Throws ErrorKind::usage for a root out of range.
  void broadcast(std::span<std::byte> data, Rank root);

  /// `all` receives `mine` of every rank, ordered by rank. Throws ErrorKind::usage where `all` is
  /// not size() times as long.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all);

  /// Returns once every rank has called it.
  void barrier();

 private:
  void run(Call call, const std::function<void(const Call&)>& collective);

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<std::byte[]> scratch_;
  std::uint64_t sequence_ = 0;
  std::string failure_;  ///< Of the call that broke this communicator, or empty.
};

}  // namespace fastgpu::comm
