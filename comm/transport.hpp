// Bytes between the ranks of one job. Algorithms in comm/ know this interface and no other.
#pragma once

#include <cstddef>
#include <span>

#include "base/strong.hpp"

namespace fastgpu::comm {

using Rank = Strong<struct RankTag, int>;  ///< 0 .. size()-1.

class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// Sends all of `out` to rank `to` while filling `in` from rank `from`, and returns once both are
  /// done. One call moves both ways so that a ring in which everyone sends first cannot deadlock;
  /// an empty span moves nothing, and its rank is not looked at. Both ranks are others than this
  /// one. Bytes between two ranks keep their order and have no framing.
  ///
  /// Throws ErrorKind::transient on timeout, ErrorKind::remote where a peer has gone.
  virtual void exchange(Rank to, std::span<const std::byte> out, Rank from,
                        std::span<std::byte> in) = 0;
};

}  // namespace fastgpu::comm
