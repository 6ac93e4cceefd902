#include "comm/rendezvous/invitation.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "comm/common/nonce.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/handshake.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint8_t kWelcome = 0;
constexpr std::uint8_t kRefusal = 1;

/// The room for points after the first byte, the key and the number of points.
constexpr std::size_t kMostPoints =
    (kInvitationBytes - 2 - sizeof(Invitation::key)) / kEndpointBytes;
/// The room for text after the first byte, the error's kind and the length of its text.
constexpr std::size_t kMostText = kInvitationBytes - 4;

std::array<std::byte, 32> random_key() {
  std::array<std::byte, 32> key;
  std::ranges::copy(random_nonce(), key.begin());
  std::ranges::copy(random_nonce(), key.begin() + sizeof(Nonce));
  return key;
}

/// Returns the addresses of this machine at which the other ranks reach it.
std::vector<Endpoint> own_points(const JobPlace& place) {
  if (place.interface.empty() && place.hosts == Hosts::one) return resolve("127.0.0.1", 0);
  return addresses_of_machine(place.interface);
}

struct Listener {
  UniqueFd socket;
  Invitation invitation;
};

Listener open_listener(const JobPlace& place) {
  Invitation invitation{random_key(), own_points(place)};
  const Endpoint& first = invitation.points.front();
  UniqueFd socket = listen_at(invitation.points.size() == 1 ? first : any_address(first.family));
  const std::uint16_t port = local_end(socket.get()).port;
  for (Endpoint& point : invitation.points)
    point.port = port;
  return {std::move(socket), std::move(invitation)};
}

void accept(JobPlace& place, const Invitation& invitation) {
  const std::string key(reinterpret_cast<const char*>(invitation.key.data()),
                        invitation.key.size());
  place.secret = Secret(place.secret.reveal() + key);
  place.points = invitation.points;
}

}  // namespace

InvitationBytes encode(const Invitation& invitation) {
  InvitationBytes bytes{};
  const auto count = std::min(invitation.points.size(), kMostPoints);
  WireWriter out(bytes);
  out.put(kWelcome).put(invitation.key).put(static_cast<std::uint8_t>(count));
  for (std::size_t i = 0; i < count; ++i)
    out.put(encode(invitation.points[i]));
  return bytes;
}

InvitationBytes encode(const Error& refusal) {
  InvitationBytes bytes{};
  const std::string text = std::string(refusal.what()).substr(0, kMostText);
  WireWriter(bytes)
      .put(kRefusal)
      .put(static_cast<std::uint8_t>(refusal.kind()))
      .put(static_cast<std::uint16_t>(text.size()))
      .put(std::as_bytes(std::span(text)));
  return bytes;
}

Invitation decode_invitation(const InvitationBytes& bytes) {
  WireReader in(bytes);
  if (in.get<std::uint8_t>() == kRefusal) {
    const auto number = in.get<std::uint8_t>();
    const bool is_known = number <= static_cast<std::uint8_t>(ErrorKind::internal);
    const auto kind = is_known ? static_cast<ErrorKind>(number) : ErrorKind::remote;
    const auto text = in.get_bytes(in.get<std::uint16_t>());
    throw Error(kind, std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }
  Invitation invitation{in.get_bytes<sizeof(Invitation::key)>()};
  const auto count = in.get<std::uint8_t>();
  for (std::uint8_t i = 0; i < count; ++i) {
    const auto point = decode_endpoint(in.get_bytes(kEndpointBytes));
    if (!point) throw Error(ErrorKind::remote, "rank 0 sent an invalid address by MPI");
    invitation.points.push_back(*point);
  }
  return invitation;
}

UniqueFd invite_by_mpi(JobPlace& place, const mpi::MpiWorld& world, Deadline deadline) {
  InvitationBytes bytes{};
  std::optional<Listener> listener;
  try {
    if (place.rank == Rank{0}) bytes = encode(listener.emplace(open_listener(place)).invitation);
  } catch (const Error& e) {
    bytes = encode(e.during("rank 0"));
  }
  world.broadcast(bytes, deadline);
  accept(place, decode_invitation(bytes));
  return listener ? std::move(listener->socket) : UniqueFd();
}

}  // namespace fastgpu::comm
