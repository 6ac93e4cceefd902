// Transport over connected stream sockets: TCP between hosts, socket pairs within one process.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/transport.hpp"

namespace fastgpu::comm {

/// Host memory only. One thread at a time may use a transport; the sockets are its own.
class SocketTransport final : public Transport {
 public:
  /// `peers[r]` is a stream socket connected to rank r, and `peers[self]` is empty. `timeout` is
  /// the longest an exchange may go without moving a byte.
  SocketTransport(Rank self, std::vector<UniqueFd> peers, std::chrono::milliseconds timeout);

  Rank rank() const noexcept override { return self_; }
  int size() const noexcept override { return static_cast<int>(peers_.size()); }
  void exchange(Rank to, std::span<const std::byte> out, Rank from,
                std::span<std::byte> in) override;

 private:
  int socket_of(Rank peer) const;
  std::size_t write_some(Rank to, std::span<const std::byte> bytes) const;
  std::size_t read_some(Rank from, std::span<std::byte> bytes) const;
  void wait_for_either(const Rank* to, const Rank* from) const;

  Rank self_;
  std::vector<UniqueFd> peers_;
  std::chrono::milliseconds timeout_;
};

}  // namespace fastgpu::comm
