// What a rank may hear where it expects rank 0: the host's half of a handshake, where the other
// ranks listen, and what MPI brings.
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/invitation.hpp"

namespace comm = fastgpu::comm;

namespace {

using Bytes = std::span<const std::byte>;

/// Nobody who does not know the secret is taken for rank 0.
void present_to(Bytes said) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return;
  const fastgpu::UniqueFd near(ends[0]);
  const fastgpu::UniqueFd far(ends[1]);
  ::send(far.get(), said.data(), said.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(far.get(), SHUT_WR);
  const comm::PeerIdentity me{.rank = {1}, .size = 4, .secret = fastgpu::Secret("the job's own")};
  try {
    comm::present(near.get(), me, {}, comm::Deadline(std::chrono::seconds(1)));
  } catch (const fastgpu::Error&) {
    return;
  }
  __builtin_trap();
}

void read_endpoint(Bytes said) {
  if (said.size() < comm::kEndpointBytes) return;
  const auto bytes = said.first(comm::kEndpointBytes);
  const auto endpoint = comm::decode_endpoint(bytes);
  if (!endpoint) return;
  comm::to_string(*endpoint);
  const auto again = comm::decode_endpoint(comm::encode(*endpoint));
  if (!again || again->address != endpoint->address || again->port != endpoint->port)
    __builtin_trap();
}

void read_invitation(Bytes said) {
  comm::InvitationBytes bytes{};
  std::ranges::copy(said.first(std::min(said.size(), bytes.size())), bytes.begin());
  try {
    for (const comm::Endpoint& point : comm::decode_invitation(bytes).points)
      comm::to_string(point);
  } catch (const fastgpu::Error&) {
    return;  // Of any kind that rank 0 says.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto said = std::as_bytes(std::span(data, size));
  present_to(said);
  read_endpoint(said);
  read_invitation(said);
  return 0;
}
