#include "comm/rendezvous/handshake.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/rank_environment.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kMagic = 0x46474352;  // "FGCR"
constexpr std::string_view kClientLabel = "fastgpu rendezvous visitor";
constexpr std::string_view kServerLabel = "fastgpu rendezvous host";

Message<kHelloBytes> hello_of(const PeerIdentity& me) {
  Message<kHelloBytes> hello{};
  WireWriter(hello)
      .put(kMagic)
      .put(me.version)
      .put(static_cast<std::uint32_t>(me.size))
      .put(static_cast<std::uint32_t>(me.rank.value))
      .put(me.session)
      .put(random_nonce());
  return hello;
}

Message<kAnswerBytes> answer_to(const Message<kHelloBytes>& hello,
                                const Message<kChallengeBytes>& challenge, const PeerIdentity& me,
                                const Endpoint& listens_at) {
  const auto endpoint = encode(listens_at);
  Message<kAnswerBytes> answer;
  WireWriter(answer).put(endpoint).put(
      prove(me.secret, kClientLabel, {hello, challenge, endpoint}));
  return answer;
}

/// The part of the server's own verdict that its proof covers.
constexpr std::size_t kProvenBytes = kVerdictBytes - sizeof(Proof);

ErrorKind kind_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::wrong_secret:
      return ErrorKind::denied;
    case Refusal::rank_taken:
      return ErrorKind::conflict;
    case Refusal::none:
    case Refusal::other_version:
    case Refusal::other_size:
    case Refusal::no_such_rank:
    case Refusal::other_session:
      return ErrorKind::usage;
  }
  return ErrorKind::remote;
}

Refusal parse_refusal(std::uint16_t number) {
  if (number <= static_cast<std::uint16_t>(Refusal::other_session))
    return static_cast<Refusal>(number);
  throw Error(ErrorKind::remote, "it refused for a reason that this version does not know");
}

void check(Refusal refusal) {
  if (refusal != Refusal::none)
    throw Error(kind_of(refusal), "it refused this rank: " + std::string(describe(refusal)));
}

void check_challenge(const Message<kChallengeBytes>& challenge, const PeerIdentity& me) {
  WireReader in(challenge);
  if (in.get<std::uint32_t>() != kMagic)
    throw Error(ErrorKind::remote, "the program there is no rank of a fastgpu job");
  const auto version = in.get<std::uint32_t>();
  if (version != me.version) throw Error(ErrorKind::usage, describe_versions(version, me.version));
  check(parse_refusal(in.get<std::uint16_t>()));
}

}  // namespace

std::string_view describe(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "welcome";
    case Refusal::other_version:
      return "the ranks use different versions of libfastgpu_comm";
    case Refusal::wrong_secret:
      return "FASTGPU_COMM_SECRET is not the same on both";
    case Refusal::other_size:
      return "the ranks disagree on the number of ranks (WORLD_SIZE)";
    case Refusal::no_such_rank:
      return "its rank is out of range";
    case Refusal::rank_taken:
      return "another process has that rank";
    case Refusal::other_session:
      return "it belongs to another job";
  }
  return "unknown";
}

std::string describe_versions(std::uint32_t there, std::uint32_t here) {
  return "libfastgpu_comm " + version_text(there) + " runs there, and " + version_text(here) +
         " here: all ranks need the same";
}

Message<kEndpointBytes> encode(const Endpoint& endpoint) {
  Message<kEndpointBytes> bytes{};
  WireWriter(bytes)
      .put(static_cast<std::uint8_t>(endpoint.family))
      .put(std::uint8_t{0})
      .put(endpoint.port)
      .put(endpoint.address);
  return bytes;
}

std::optional<Endpoint> decode_endpoint(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  const auto family = in.get<std::uint8_t>();
  in.get<std::uint8_t>();
  const auto port = in.get<std::uint16_t>();
  const bool is_known = family == static_cast<std::uint8_t>(Family::ipv4) ||
                        family == static_cast<std::uint8_t>(Family::ipv6);
  if (!is_known || port == 0) return std::nullopt;
  return Endpoint{static_cast<Family>(family), in.get_bytes<16>(), port};
}

Session present(int socket, const PeerIdentity& me, const Endpoint& listens_at, Deadline deadline) {
  const auto hello = hello_of(me);
  send_all(socket, hello, deadline);
  Message<kChallengeBytes> challenge;
  receive_all(socket, challenge, deadline);
  check_challenge(challenge, me);
  const auto answer = answer_to(hello, challenge, me, listens_at);
  send_all(socket, answer, deadline);
  Message<kVerdictBytes> verdict;
  receive_all(socket, verdict, deadline);
  WireReader in(verdict);
  check(parse_refusal(in.get<std::uint16_t>()));
  const auto session = in.get_bytes<sizeof(Session)>();
  const auto proven = std::span(verdict).first(kProvenBytes);
  const Proof expected = prove(me.secret, kServerLabel, {hello, challenge, answer, proven});
  if (!is_equal(in.get_bytes<sizeof(Proof)>(), expected))
    throw Error(ErrorKind::denied, "the program there does not know FASTGPU_COMM_SECRET");
  return session;
}

std::optional<Message<kChallengeBytes>> ServerHandshake::challenge(
    const Message<kHelloBytes>& hello) {
  WireReader in(hello);
  if (in.get<std::uint32_t>() != kMagic) return std::nullopt;
  version_ = in.get<std::uint32_t>();
  if (version_ != host_.version) refusal_ = Refusal::other_version;
  size_ = in.get<std::uint32_t>();
  const auto rank = in.get<std::uint32_t>();
  // An int has room for every possible rank; one out of range stays out of range.
  peer_ = {rank < static_cast<std::uint32_t>(kMostRanks) ? static_cast<int>(rank) : -1};
  session_ = in.get_bytes<sizeof(Session)>();
  hello_ = hello;
  WireWriter(challenge_)
      .put(kMagic)
      .put(host_.version)
      .put(static_cast<std::uint16_t>(refusal_))
      .put(nonce_);
  return challenge_;
}

Refusal ServerHandshake::judge(const Message<kAnswerBytes>& answer) {
  const auto endpoint = std::span(answer).first<kEndpointBytes>();
  Proof given;
  std::ranges::copy(std::span(answer).last<sizeof(Proof)>(), given.begin());
  answer_ = answer;
  if (!is_equal(given, prove(host_.secret, kClientLabel, {hello_, challenge_, endpoint})))
    return Refusal::wrong_secret;
  if (size_ != static_cast<std::uint32_t>(host_.size)) return Refusal::other_size;
  if (peer_.value < 0 || peer_.value >= host_.size) return Refusal::no_such_rank;
  if (session_ != host_.session) return Refusal::other_session;
  const auto decoded = decode_endpoint(endpoint);
  if (!decoded) return Refusal::no_such_rank;
  listens_at_ = *decoded;
  return Refusal::none;
}

Message<kVerdictBytes> ServerHandshake::verdict(Refusal refusal, const Session& session) const {
  Message<kVerdictBytes> verdict{};
  WireWriter out(verdict);
  out.put(static_cast<std::uint16_t>(refusal)).put(session);
  if (refusal == Refusal::wrong_secret) return verdict;  // A stranger gets no proof to work on.
  const auto proven = std::span(verdict).first(kProvenBytes);
  out.put(prove(host_.secret, kServerLabel, {hello_, challenge_, answer_, proven}));
  return verdict;
}

}  // namespace fastgpu::comm
