#include "comm/rendezvous/peer_acceptor.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/join.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/farewells.hpp"

namespace fastgpu::comm {
namespace {

/// The time for a whole handshake: generous for a rank on a crowded machine, short for a stranger.
constexpr std::chrono::seconds kHandshakeTimeout{10};

/// The number of connections in a handshake at a time.
constexpr std::size_t kMaxPending = 512;

/// Ranks that a message names one by one.
constexpr std::size_t kNamed = 8;

/// Returns the address for a message; the other side may have hung up.
std::string origin_of(int socket) {
  try {
    return to_string(remote_end(socket));
  } catch (const Error&) {
    return "a connection that is gone";
  }
}

/// Returns whether the rank has left: one that gave up on a slow handshake connects again, although
/// its first connection was accepted.
bool has_left(const AcceptedPeer& peer) {
  std::byte next;
  const ssize_t result = ::recv(peer.socket.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return result == 0 || (result < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

/// A connection from a process that has not proved anything yet.
class PeerAcceptor::PendingConnection {
 public:
  PendingConnection(UniqueFd connection, const PeerIdentity& host)
      : socket(std::move(connection)), handshake(host) {}

  /// Reads what is there; true once the message is whole.
  template <std::size_t count>
  bool fill(Message<count>& message) {
    const auto rest = std::span(message).subspan(filled_);
    const ssize_t received = ::recv(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (received > 0) filled_ += static_cast<std::size_t>(received);
    is_gone = received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
    if (filled_ < count) return false;
    filled_ = 0;
    return true;
  }

  /// Sends a message. It fits any socket's buffer; a connection that does not take it is given up.
  template <std::size_t count>
  void send(const Message<count>& message) {
    constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const ssize_t sent = ::send(socket.get(), message.data(), count, kFlags);
    is_gone = is_gone || sent != static_cast<ssize_t>(count);
  }

  UniqueFd socket;
  ServerHandshake handshake;
  Deadline deadline{kHandshakeTimeout};
  Message<kHelloBytes> hello{};
  Message<kAnswerBytes> answer{};
  bool is_challenged = false;
  bool is_gone = false;

 private:
  std::size_t filled_ = 0;
};

PeerAcceptor::PeerAcceptor(int listener, const PeerIdentity& host, const Session& session)
    : listeners_{listener}, host_(host), session_(session), may_come_again_(host.rank == Rank{0}) {
  for (int rank = host.rank.value + 1; rank < host.size; ++rank)
    awaited_.emplace(Rank{rank}, 1);
}

PeerAcceptor::PeerAcceptor(std::vector<int> listeners, const PeerIdentity& host,
                           std::map<Rank, int> awaited)
    : listeners_(std::move(listeners)),
      host_(host),
      session_(host.session),
      awaited_(std::move(awaited)),
      may_come_again_(false) {}

PeerAcceptor::~PeerAcceptor() = default;

AcceptedPeers PeerAcceptor::accept_all(Deadline deadline, const std::function<void()>& check) {
  while (!is_complete()) {
    if (deadline.passed()) throw Error(ErrorKind::timeout, absent());
    serve_all(check ? within(deadline, kBetweenFarewellChecks) : deadline);
    if (check) check();
  }
  return std::move(accepted_);
}

AcceptedPeers PeerAcceptor::accept_some(Deadline deadline) {
  while (accepted_.empty() && !deadline.passed())
    serve_all(deadline);
  return std::exchange(accepted_, {});
}

/// Waits for connections and messages, and answers them.
void PeerAcceptor::serve_all(Deadline deadline) {
  wait(deadline);
  std::erase_if(pending_, [&](PendingConnection& connection) {
    return !serve(connection) || connection.deadline.passed();
  });
  for (const int listener : listeners_)
    accept_pending(listener);
}

void PeerAcceptor::wait(Deadline deadline) {
  std::vector<pollfd> ends;
  for (const int listener : listeners_)
    ends.push_back({listener, POLLIN, 0});
  for (const PendingConnection& connection : pending_) {
    ends.push_back({connection.socket.get(), POLLIN, 0});
    deadline = std::min(deadline, connection.deadline);
  }
  if (poll_until(ends, deadline) < 0) throw system_error("waiting for the other ranks", errno);
}

void PeerAcceptor::accept_pending(int listener) {
  for (;;) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool is_serious = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
      if (is_serious) throw system_error("accepting another rank's connection", errno);
      return;
    }
    if (pending_.size() == kMaxPending) pending_.pop_front();
    prepare_connection(socket.get());
    pending_.emplace_back(std::move(socket), host_);
  }
}

/// Returns false once the connection is to be forgotten: accepted, refused, or gone.
bool PeerAcceptor::serve(PendingConnection& connection) {
  if (!connection.is_challenged) {
    if (!connection.fill(connection.hello)) return !connection.is_gone;
    const auto challenge = connection.handshake.challenge(connection.hello);
    if (!challenge) {
      last_refusal_ = origin_of(connection.socket.get()) + ": no rank of a fastgpu job";
      return false;
    }
    connection.send(*challenge);
    connection.is_challenged = true;
    if (connection.handshake.refusal() == Refusal::none) return !connection.is_gone;
    note_refusal(connection, describe_versions(connection.handshake.version(), host_.version));
    return false;
  }
  if (!connection.fill(connection.answer)) return !connection.is_gone;
  return decide(connection);
}

bool PeerAcceptor::decide(PendingConnection& connection) {
  Refusal refusal = connection.handshake.judge(connection.answer);
  const Rank rank = connection.handshake.peer();
  if (refusal == Refusal::none && !is_free(rank)) refusal = Refusal::rank_taken;
  connection.send(
      connection.handshake.verdict(refusal, refusal == Refusal::none ? session_ : Session{}));
  if (refusal == Refusal::none)
    admit(connection);
  else
    note_refusal(connection, std::string(describe(refusal)));
  give_up_if_hopeless(connection, refusal);
  return false;
}

/// Throws if the job cannot come together. The peer has proved that it belongs to the job, and has
/// received the refusal.
void PeerAcceptor::give_up_if_hopeless(const PendingConnection& connection, Refusal refusal) const {
  if (!may_come_again_) return;
  const std::string who = "rank 0: " + origin_of(connection.socket.get()) + " came as rank " +
                          std::to_string(connection.handshake.peer().value);
  switch (refusal) {
    case Refusal::other_size:
    case Refusal::no_such_rank:
      throw Error(ErrorKind::usage, who + ": " + std::string(describe(refusal)) +
                                        ", so this job of " + std::to_string(host_.size) +
                                        " does not come together");
    case Refusal::rank_taken:
      throw Error(ErrorKind::conflict,
                  who + ", which has come already: two processes have been started as that rank");
    case Refusal::none:
    case Refusal::other_version:
    case Refusal::wrong_secret:
    case Refusal::other_session:
      return;
  }
}

void PeerAcceptor::note_refusal(const PendingConnection& connection, const std::string& reason) {
  last_refusal_ = origin_of(connection.socket.get()) + " as rank " +
                  std::to_string(connection.handshake.peer().value) + ": " + reason;
}

bool PeerAcceptor::is_free(Rank rank) {
  if (accepted_.contains(rank)) forget_if_departed(rank);
  return awaited_.contains(rank);
}

/// Forgets a rank that has closed its connection. At rank 0 no rank leaves on purpose before it has
/// received the addresses of the others. At another rank a peer may have all that it needs.
void PeerAcceptor::forget_if_departed(Rank rank) {
  const auto peer = accepted_.find(rank);
  if (!may_come_again_ || peer == accepted_.end() || !has_left(peer->second)) return;
  accepted_.erase(peer);
  awaited_.emplace(rank, 1);
}

bool PeerAcceptor::is_complete() {
  if (!awaited_.empty()) return false;
  for (int rank = host_.rank.value + 1; rank < host_.size; ++rank)
    forget_if_departed({rank});
  return awaited_.empty();
}

void PeerAcceptor::admit(PendingConnection& connection) {
  if (connection.is_gone) return;
  const Rank rank = connection.handshake.peer();
  if (--awaited_.at(rank) == 0) awaited_.erase(rank);
  accepted_.emplace(rank,
                    AcceptedPeer{std::move(connection.socket), connection.handshake.listens_at()});
}

std::string PeerAcceptor::absent() const {
  std::string names;
  std::size_t named = 0;
  for (const auto& [rank, connections] : awaited_) {
    if (named++ == kNamed) break;
    append_item(names, std::to_string(rank.value));
  }
  if (awaited_.size() > kNamed)
    names += " and " + std::to_string(awaited_.size() - kNamed) + " more";
  std::string message =
      "rank " + std::to_string(host_.rank.value) + ": these ranks have not come in time: " + names;
  if (!last_refusal_.empty()) message += " (turned away last: " + last_refusal_ + ")";
  return message;
}

}  // namespace fastgpu::comm
