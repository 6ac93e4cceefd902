// Connections in place of those that were given up.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// Makes connections anew, in the background. One thread at a time calls it; no function waits but
/// the destructor.
class Reconnector {
 public:
  struct Made {
    Rank peer{};
    UniqueFd socket{};  ///< A connected stream socket.
  };

  virtual ~Reconnector() = default;

  /// Requests a connection to `peer` in place of one that this host had at `address`.
  virtual void replace(Rank peer, const std::string& address) = 0;

  /// Makes no more connections to a peer that is lost.
  virtual void forget(Rank peer) = 0;

  /// Returns the connections that were made since the last call.
  virtual std::vector<Made> take() = 0;

  /// Returns a descriptor that is readable once there is something to take.
  virtual int poll_descriptor() const noexcept = 0;

  /// Returns the descriptors that a child made by fork must not keep open.
  virtual std::vector<int> descriptors() const = 0;
};

}  // namespace fastgpu::comm
