#include "comm/rendezvous/doorkeeper.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/common/interrupt.hpp"

namespace fastgpu::comm {
namespace {

/// For a whole handshake: generous for a rank on a crowded machine, short for a stranger.
constexpr std::chrono::seconds kPatience{10};

constexpr std::size_t kSeats = 512;

/// Ranks that a message names one by one.
constexpr std::size_t kNamed = 8;

/// For a message; whoever it was may have hung up.
std::string origin_of(int socket) {
  try {
    return to_string(remote_end(socket));
  } catch (const Error&) {
    return "a connection that is gone";
  }
}

/// A rank that gave up on a slow handshake comes again, though we have let it in.
bool has_left(const Guest& guest) {
  std::byte next;
  const ssize_t result = ::recv(guest.socket.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return result == 0 || (result < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

/// One connection whose owner has not proved anything yet.
class Doorkeeper::Visitor {
 public:
  Visitor(UniqueFd connection, const Identity& host)
      : socket(std::move(connection)), reception(host) {}

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

  /// A message of ours fits any socket's buffer; where it does not go, the visitor goes.
  template <std::size_t count>
  void say(const Message<count>& message) {
    constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const ssize_t sent = ::send(socket.get(), message.data(), count, kFlags);
    is_gone = is_gone || sent != static_cast<ssize_t>(count);
  }

  UniqueFd socket;
  Reception reception;
  Deadline deadline{kPatience};
  Message<kHelloBytes> hello{};
  Message<kAnswerBytes> answer{};
  bool is_challenged = false;
  bool is_gone = false;

 private:
  std::size_t filled_ = 0;
};

Doorkeeper::Doorkeeper(int listener, const Identity& host, const Session& session)
    : listener_(listener), host_(host), session_(session), may_come_again_(host.rank == Rank{0}) {
  for (int rank = host.rank.value + 1; rank < host.size; ++rank)
    awaited_.emplace(Rank{rank}, 1);
}

Doorkeeper::Doorkeeper(int listener, const Identity& host, std::map<Rank, int> awaited)
    : listener_(listener),
      host_(host),
      session_(host.session),
      awaited_(std::move(awaited)),
      may_come_again_(false) {}

Doorkeeper::~Doorkeeper() = default;

Guests Doorkeeper::admit_all(Deadline deadline) {
  while (!is_complete()) {
    if (deadline.passed()) throw Error(ErrorKind::timeout, absent());
    wait(deadline);
    std::erase_if(visitors_,
                  [&](Visitor& visitor) { return !serve(visitor) || visitor.deadline.passed(); });
    take_newcomers();
  }
  return std::move(guests_);
}

void Doorkeeper::wait(Deadline deadline) {
  std::vector<pollfd> ends{{listener_, POLLIN, 0}};
  for (const Visitor& visitor : visitors_) {
    ends.push_back({visitor.socket.get(), POLLIN, 0});
    deadline = std::min(deadline, visitor.deadline);
  }
  if (poll_until(ends, deadline) < 0) throw system_error("waiting for the other ranks", errno);
}

void Doorkeeper::take_newcomers() {
  for (;;) {
    UniqueFd socket(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool is_serious = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
      if (is_serious) throw system_error("accepting another rank's connection", errno);
      return;
    }
    if (visitors_.size() == kSeats) visitors_.pop_front();
    disable_delay(socket.get());
    visitors_.emplace_back(std::move(socket), host_);
  }
}

/// False once the visitor is to be forgotten: let in, turned away, or gone.
bool Doorkeeper::serve(Visitor& visitor) {
  if (!visitor.is_challenged) {
    if (!visitor.fill(visitor.hello)) return !visitor.is_gone;
    const auto challenge = visitor.reception.challenge(visitor.hello);
    if (!challenge) {
      last_refusal_ = origin_of(visitor.socket.get()) + ": no rank of a fastgpu job";
      return false;
    }
    visitor.say(*challenge);
    visitor.is_challenged = true;
    if (visitor.reception.refusal() == Refusal::none) return !visitor.is_gone;
    note_refusal(visitor, describe_versions(visitor.reception.version(), host_.version));
    return false;
  }
  if (!visitor.fill(visitor.answer)) return !visitor.is_gone;
  return decide(visitor);
}

bool Doorkeeper::decide(Visitor& visitor) {
  Refusal refusal = visitor.reception.judge(visitor.answer);
  const Rank rank = visitor.reception.visitor();
  if (refusal == Refusal::none && !is_free(rank)) refusal = Refusal::rank_taken;
  visitor.say(visitor.reception.verdict(refusal, refusal == Refusal::none ? session_ : Session{}));
  if (refusal == Refusal::none)
    admit(visitor);
  else
    note_refusal(visitor, std::string(describe(refusal)));
  give_up_if_hopeless(visitor, refusal);
  return false;
}

/// The visitor has proved that it belongs to the job, and knows by now that it is turned away.
void Doorkeeper::give_up_if_hopeless(const Visitor& visitor, Refusal refusal) const {
  if (!may_come_again_) return;
  const std::string who = "rank 0: " + origin_of(visitor.socket.get()) + " came as rank " +
                          std::to_string(visitor.reception.visitor().value);
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

void Doorkeeper::note_refusal(const Visitor& visitor, const std::string& reason) {
  last_refusal_ = origin_of(visitor.socket.get()) + " as rank " +
                  std::to_string(visitor.reception.visitor().value) + ": " + reason;
}

bool Doorkeeper::is_free(Rank rank) {
  if (guests_.contains(rank)) forget_if_departed(rank);
  return awaited_.contains(rank);
}

/// At rank 0 nobody leaves on purpose before it has heard where the others are. At another rank a
/// guest may have all that it needs, and go as it likes.
void Doorkeeper::forget_if_departed(Rank rank) {
  const auto guest = guests_.find(rank);
  if (!may_come_again_ || guest == guests_.end() || !has_left(guest->second)) return;
  guests_.erase(guest);
  awaited_.emplace(rank, 1);
}

bool Doorkeeper::is_complete() {
  if (!awaited_.empty()) return false;
  for (int rank = host_.rank.value + 1; rank < host_.size; ++rank)
    forget_if_departed({rank});
  return awaited_.empty();
}

void Doorkeeper::admit(Visitor& visitor) {
  if (visitor.is_gone) return;
  const Rank rank = visitor.reception.visitor();
  if (--awaited_.at(rank) == 0) awaited_.erase(rank);
  guests_.emplace(rank, Guest{std::move(visitor.socket), visitor.reception.listens_at()});
}

std::string Doorkeeper::absent() const {
  std::string names;
  std::size_t named = 0;
  for (const auto& [rank, connections] : awaited_) {
    if (named++ == kNamed) break;
    names += (names.empty() ? "" : ", ") + std::to_string(rank.value);
  }
  if (awaited_.size() > kNamed)
    names += " and " + std::to_string(awaited_.size() - kNamed) + " more";
  std::string message =
      "rank " + std::to_string(host_.rank.value) + ": these ranks have not come in time: " + names;
  if (!last_refusal_.empty()) message += " (turned away last: " + last_refusal_ + ")";
  return message;
}

}  // namespace fastgpu::comm
