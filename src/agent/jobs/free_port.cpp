#include "agent/jobs/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::uint16_t kFirst = 20'000, kLast = 32'000;
constexpr int kTries = 1'000;
/// Between two ports: each worker of TensorFlow on a node has one of those after MASTER_PORT.
constexpr int kApart = 512;

bool is_far_from(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
  return std::ranges::all_of(ports,
                             [&](std::uint16_t other) { return std::abs(other - port) >= kApart; });
}

}  // namespace

bool is_free_port(std::uint16_t port) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) throw system_error("making a socket", errno);
  // The port's user will set this option, too, so that a closing connection does not matter.
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  any.sin_port = htons(port);
  sockaddr generic{};
  static_assert(sizeof generic == sizeof any);
  __builtin_memcpy(&generic, &any, sizeof generic);
  return ::bind(listener.get(), &generic, sizeof generic) == 0 && ::listen(listener.get(), 1) == 0;
}

std::vector<std::uint16_t> find_free_ports(std::size_t count) {
  std::random_device random;
  std::uniform_int_distribution<int> numbers(kFirst, kLast);
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < kTries && ports.size() < count; ++i) {
    const auto port = static_cast<std::uint16_t>(numbers(random));
    if (is_far_from(ports, port) && is_free_port(port)) ports.push_back(port);
  }
  if (ports.size() == count) return ports;
  throw Error(ErrorKind::capacity, "no free TCP port between 20000 and 32000");
}

}  // namespace fastgpu::agent
