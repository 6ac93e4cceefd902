// The four messages by which a connecting rank and an accepting rank come to trust each other:
//   client -> server  Hello       its rank, the number of ranks, its nonce
//   server -> client  Challenge   the server's nonce
//   client -> server  Answer      where it listens, proof over all of this
//   server -> client  Verdict     accepted or not, proof over all of this
// Every message has a fixed length, so nothing that a stranger sends decides how much is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/secret.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/nonce.hpp"
#include "comm/common/rank.hpp"
#include "comm/common/version.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/proof.hpp"

namespace fastgpu::comm {

/// The name of one meeting, so that ranks of two jobs cannot mix. All 0 until rank 0 has sent it.
using Session = Nonce;

/// A rank's presentation of itself.
struct PeerIdentity {
  Rank rank;
  int size = 1;
  Secret secret{};
  Session session{};
  std::uint32_t version = kLibraryVersion;
};

// A rank of another version learns that. In every version a Hello begins with the magic number,
// version, size and rank, a Challenge with magic number, version and refusal, and neither is
// shorter than here.
constexpr std::size_t kHelloBytes = 48;
constexpr std::size_t kChallengeBytes = 26;
constexpr std::size_t kEndpointBytes = 20;
constexpr std::size_t kAnswerBytes = kEndpointBytes + sizeof(Proof);
constexpr std::size_t kVerdictBytes = 2 + sizeof(Session) + sizeof(Proof);
template <std::size_t count>
using Message = std::array<std::byte, count>;

enum class Refusal : std::uint16_t {
  none,
  other_version,
  wrong_secret,
  other_size,
  no_such_rank,
  rank_taken,
  other_session,
};
std::string_view describe(Refusal refusal) noexcept;

/// Returns "libfastgpu_comm 0.2.0 runs there, and 0.1.0 here: all ranks need the same".
std::string describe_versions(std::uint32_t there, std::uint32_t here);

Message<kEndpointBytes> encode(const Endpoint& endpoint);

/// Decodes an address with a port; absent for other bytes.
std::optional<Endpoint> decode_endpoint(std::span<const std::byte> bytes);

/// Runs the client's whole side: presents `me`, which listens at `listens_at`, to the rank behind
/// `socket`. Returns the session that the server names. Throws ErrorKind::transient if the server
/// hangs up, and final kinds if it refuses, is not a rank, or does not know the secret.
Session present(int socket, const PeerIdentity& me, const Endpoint& listens_at, Deadline deadline);

/// The server's side of one handshake, a message at a time.
class ServerHandshake {
 public:
  explicit ServerHandshake(const PeerIdentity& host) : host_(host), nonce_(random_nonce()) {}

  /// Returns the answer to a Hello; absent if these bytes come from no rank at all.
  std::optional<Message<kChallengeBytes>> challenge(const Message<kHelloBytes>& hello);

  /// Returns the reason against the peer, apart from its rank being taken.
  Refusal judge(const Message<kAnswerBytes>& answer);

  Message<kVerdictBytes> verdict(Refusal refusal, const Session& session) const;

  Refusal refusal() const noexcept { return refusal_; }  ///< Known from the Hello alone.
  std::uint32_t version() const noexcept { return version_; }
  Rank peer() const noexcept { return peer_; }  ///< Valid (in range) once judged `none`.
  /// Valid under the same condition.
  const Endpoint& listens_at() const noexcept { return listens_at_; }

 private:
  const PeerIdentity& host_;
  Nonce nonce_;
  Message<kHelloBytes> hello_{};
  Message<kChallengeBytes> challenge_{};
  Message<kAnswerBytes> answer_{};
  Refusal refusal_ = Refusal::none;
  std::uint32_t version_ = 0;
  std::uint32_t size_ = 0;
  Session session_{};
  Rank peer_{};
  Endpoint listens_at_{};
};

}  // namespace fastgpu::comm
