// Resolves host names to addresses without blocking the poll loop.
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

/// One look-up. A numeric address is resolved at once. A name is resolved on a thread, because
/// getaddrinfo can be neither polled nor interrupted.
class Resolution {
 public:
  Resolution(const std::string& address, std::uint16_t port);

  bool done() const;
  /// Returns a descriptor that is readable once the look-up is done; -1 if it was done from the
  /// start.
  int fd() const noexcept;
  /// Returns the addresses. Call it only once done() is true. Throws transient if the name cannot
  /// be resolved now, and not_found if it does not exist.
  const std::vector<SocketAddress>& addresses() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // Shared with the thread, which may outlive us.
};

}  // namespace fastgpu::ssh
