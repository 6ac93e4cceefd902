// What a node sends through a tunnel: the end that opens no streams of its own.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "transfer/tunnel.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  std::array<int, 2> line{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0) return 0;
  const UniqueFd ours(line[0]);
  UniqueFd theirs(line[1]);
  constexpr std::size_t kMost = 100'000;  // What fits into the socket at once.
  ::send(theirs.get(), data, size < kMost ? size : kMost, MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(theirs.get(), SHUT_WR);
  const Cancel never;
  try {
    transfer::Tunnel(ours.get(), ours.get(), -1, [] {
      std::array<int, 2> stream{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream.data()) != 0)
        return UniqueFd();
      const UniqueFd gone(stream[1]);
      return UniqueFd(stream[0]);
    }).serve(never);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
