// Host names to addresses without blocking the poll loop.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fastgpu::ssh {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// One look-up. A numeric address is known at once; a name is looked up on a thread of its own, as
/// getaddrinfo can be neither polled nor interrupted.
class Resolution {
 public:
  Resolution(const std::string& address, std::uint16_t port);

  bool done() const;
  /// Readable once done; -1 where it was done from the start.
  int fd() const noexcept;
  /// Valid once done. Throws transient where the name is unknown for now, not_found for ever.
  const std::vector<SocketAddress>& addresses() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // With the thread, which may outlive us.
};

}  // namespace fastgpu::ssh
