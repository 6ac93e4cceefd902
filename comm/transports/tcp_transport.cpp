#include "comm/transports/tcp_transport.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/transports/carried_flow.hpp"
#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

constexpr int kEventsATurn = 32;

/// A number in place of a flow's, for the watch of the peer's process.
constexpr std::size_t kProcess = 0xffff;
constexpr std::size_t kNoFlow = SIZE_MAX;
/// In place of a flow of any peer, for the connections that were made anew.
constexpr std::uint64_t kMade = UINT64_MAX;
/// For the descriptor of another network.
constexpr std::uint64_t kCarrier = UINT64_MAX - 1;

/// The interval between two looks at the health of connections that may be given up.
constexpr std::chrono::milliseconds kLookForSilence{20};
/// A question for room needs time for its answer.
constexpr int kLooksForSilence = 3;
/// A peer that answers at all confirms what comes by a connection within this time.
constexpr std::chrono::milliseconds kAnswerTime{100};

/// The time in which what was sent last must arrive.
constexpr std::chrono::seconds kDrainTimeout{2};
/// The same for what another network carries, after the end of the connections.
constexpr std::chrono::milliseconds kLastFramesTimeout{100};

std::uint64_t packed(Rank rank, std::size_t flow) {
  return static_cast<std::uint64_t>(rank.value) << 16 | flow;
}

/// Waits a moment for the connection that carries notices to take more.
void wait_for_room(TcpPeer& peer) {
  const auto& flows = peer.flows();
  const auto first = std::ranges::find_if(
      flows, [](const auto& flow) { return flow->is_open() && flow->carries_notices(); });
  pollfd full{first == flows.end() ? -1 : (*first)->socket(), POLLOUT, 0};
  ::poll(&full, 1, 1);
}

}  // namespace

TcpTransport::TcpTransport(std::vector<std::vector<UniqueFd>> sockets, TransportEvents& events,
                           ControlEvents& control_events, Confirmation confirmation)
    : events_(events),
      confirmation_(confirmation),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      peers_(sockets.size()),
      watches_(sockets.size()),
      links_(events) {
  if (!epoll_) throw system_error("making an epoll instance", errno);
  for (std::size_t r = 0; r < sockets.size(); ++r) {
    if (sockets[r].empty()) continue;
    const Rank rank{static_cast<int>(r)};
    most_flows_ = std::max(most_flows_, static_cast<int>(sockets[r].size()));
    Flows flows;
    for (UniqueFd& socket : sockets[r]) {
      LinkCounters& link = links_.of(socket.get());
      flows.push_back(std::make_unique<TcpFlow>(std::move(socket), link));
    }
    peers_[r] = std::make_unique<TcpPeer>(rank, std::move(flows), events, control_events, unasked_,
                                          confirmation);
    for (std::size_t f = 0; f < peers_[r]->flows().size(); ++f)
      poll_new(*peers_[r], f);
    write(*peers_[r]);
  }
}

void TcpTransport::poll_new(TcpPeer& peer, std::size_t flow) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = packed(peer.rank(), flow)}};
  const int socket = peer.flows()[flow]->socket();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0)
    throw system_error("watching a socket", errno);
}

std::vector<LinkCounters> TcpTransport::links() const {
  std::vector<LinkCounters> all(links_.all().begin(), links_.all().end());
  if (carrier_) all.push_back(carrier_->link());
  for (const auto& known : peers_) {
    if (!known) continue;
    for (const auto& flow : known->flows())
      if (flow->is_open())
        ++std::ranges::find(all, flow->link().name, &LinkCounters::name)->connections;
  }
  return all;
}

void TcpTransport::use(std::unique_ptr<Reconnector> reconnector) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kMade}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, reconnector->poll_descriptor(), &event) != 0)
    throw system_error("watching for connections", errno);
  reconnector_ = std::move(reconnector);
}

void TcpTransport::carry_by(std::unique_ptr<FlowCarrier> carrier) {
  carrier_ = std::move(carrier);
  carried_.resize(peers_.size(), kNoFlow);
  if (const int carriers = carrier_->transport().poll_descriptor(); carriers >= 0) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kCarrier}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, carriers, &event) != 0)
      throw system_error("watching a network", errno);
    watched_carrier_ = carriers;
  }
  for (const auto& known : peers_) {
    if (!known || !carrier_->transport().reaches(known->rank())) continue;
    carried_[static_cast<std::size_t>(known->rank().value)] = known->flows().size();
    known->add(std::make_unique<CarriedFlow>(known->rank(), *carrier_));
    write(*known);
  }
}

TransportCapabilities TcpTransport::capabilities() const noexcept {
  return {.flows = most_flows_, .moves_only_when_called = carrier_ != nullptr};
}

/// The carrier ends first: a peer that sees the end of the connections has its last frames then.
TcpTransport::~TcpTransport() {
  if (carrier_) carrier_->end();
  const Deadline deadline(kDrainTimeout);
  for (const auto& known : peers_) {
    if (!known) continue;
    for (const auto& flow : known->flows())
      while (flow->is_open() && is_on_its_way(flow->socket()) && !deadline.passed())
        ::poll(nullptr, 0, 1);
  }
}

int TcpTransport::retired_flows() const noexcept {
  int all = 0;
  for (const auto& known : peers_)
    if (known) all += known->retired();
  return all;
}

/// Returns false while a connection may turn silent: its silence is noticed by looking at it.
bool TcpTransport::may_sleep() {
  if (carrier_ && !carrier_may_sleep()) return false;
  if (confirmation_ == Confirmation::none) return true;
  const auto is_busy = [](const auto& flow) {
    return flow->is_open() && is_on_its_way(flow->socket());
  };
  return std::ranges::none_of(peers_, [&](const auto& known) {
    return known && known->is_open() &&
           (known->has_unconfirmed() || std::ranges::any_of(known->flows(), is_busy));
  });
}

/// Returns false while only a look at the carrier shows what has come.
bool TcpTransport::carrier_may_sleep() {
  const bool is_watched = carrier_->transport().poll_descriptor() >= 0;
  const auto is_awaited = [](const auto& known) { return known && known->is_awaited(); };
  return carrier_->transport().may_sleep() &&
         (is_watched || std::ranges::none_of(peers_, is_awaited));
}

bool TcpTransport::needs_progress() const noexcept {
  return carrier_ != nullptr && carrier_->needs_progress();
}

bool TcpTransport::reaches(Rank rank) const noexcept {
  return peers_[static_cast<std::size_t>(rank.value)] != nullptr;
}

TcpPeer* TcpTransport::peer(Rank rank) const {
  TcpPeer* const known = peers_.at(static_cast<std::size_t>(rank.value)).get();
  return known != nullptr && known->is_open() ? known : nullptr;
}

void TcpTransport::send(Outgoing& message) {
  TcpPeer* const to = peer(message.peer);
  if (to == nullptr) return;
  to->send(message);
  write(*to);
}

void TcpTransport::receive(Incoming& message) {
  TcpPeer* const from = peers_.at(static_cast<std::size_t>(message.peer.value)).get();
  if (from == nullptr) return;
  try {
    from->receive(message);
  } catch (const Error& e) {
    return lose(message.peer, e);
  }
  if (from->is_open()) write(*from);
  if (from->is_open()) resume_if_room(*from);
}

void TcpTransport::send_control(Rank rank, TcpFrameKind kind, std::span<const std::byte> bytes) {
  TcpPeer* const listener = peer(rank);
  if (listener == nullptr) return;
  listener->send_control(kind, bytes);
  write(*listener);
}

void TcpTransport::watch_process(Rank rank, UniqueFd process) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = packed(rank, kProcess)}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0)
    throw system_error("watching a process", errno);
  watch_of(rank).process = std::move(process);
}

bool TcpTransport::is_unacknowledged(Rank rank) const noexcept {
  TcpPeer* const asked = peer(rank);
  return asked != nullptr && std::ranges::any_of(asked->flows(), [](const auto& flow) {
           return comm::is_unacknowledged(flow->socket());
         });
}

bool TcpTransport::is_quiet() const noexcept {
  const auto has_arrived = [](const auto& flow) {
    return !flow->is_open() ||
           (flow->is_idle() && (flow->socket() < 0 || has_all_arrived(flow->socket())));
  };
  const bool is_carrier_quiet = !carrier_ || carrier_->transport().is_quiet();
  return paused_ == 0 && is_carrier_quiet && std::ranges::all_of(peers_, [&](const auto& known) {
           return !known || !known->is_open() ||
                  (known->is_flushed() && !known->has_queued() && !known->has_unconfirmed() &&
                   std::ranges::all_of(known->flows(), has_arrived));
         });
}

std::vector<int> TcpTransport::descriptors() const {
  std::vector<int> all{epoll_.get()};
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (!peers_[r]) continue;
    for (const auto& flow : peers_[r]->flows())
      if (flow->is_open() && flow->socket() >= 0) all.push_back(flow->socket());
    if (watches_[r].process) all.push_back(watches_[r].process.get());
  }
  if (reconnector_) std::ranges::copy(reconnector_->descriptors(), std::back_inserter(all));
  if (carrier_) std::ranges::copy(carrier_->transport().descriptors(), std::back_inserter(all));
  return all;
}

void TcpTransport::write(TcpPeer& peer) {
  try {
    peer.write();
    poll_for_writing(peer);
  } catch (const Error&) {
    // The other side may have sent its reason before it went: reading finds it, and ends there too.
  }
}

/// Watches the connections that are full, and no others.
void TcpTransport::poll_for_writing(TcpPeer& peer) {
  auto& flows = peer.flows();
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const bool wants = peer.has_work_for(f);
    if (wants == flows[f]->wants_to_write) continue;
    flows[f]->wants_to_write = wants;
    poll_for(peer, f);
  }
}

void TcpTransport::poll_for(TcpPeer& peer, std::size_t flow) noexcept {
  const Flow& one = *peer.flows()[flow];
  if (!one.is_open() || one.socket() < 0) return;
  // The end of a connection is reported even where nothing is read from it.
  const auto reading =
      static_cast<std::uint32_t>(watch_of(peer.rank()).is_paused ? EPOLLRDHUP : EPOLLIN);
  epoll_event event{.events = one.wants_to_write ? reading | EPOLLOUT : reading,
                    .data = {.u64 = packed(peer.rank(), flow)}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, one.socket(), &event);
}

/// A peer that is too far ahead waits: its connections fill up, and then it cannot send.
void TcpTransport::pause_if_full(TcpPeer& peer) {
  Watch& watch = watch_of(peer.rank());
  if (watch.is_paused || !peer.is_open() || peer.may_read()) return;
  watch.is_paused = true;
  ++paused_;
  for (std::size_t f = 0; f < peer.flows().size(); ++f)
    poll_for(peer, f);
}

void TcpTransport::resume_if_room(TcpPeer& peer) {
  Watch& watch = watch_of(peer.rank());
  if (!watch.is_paused || !peer.may_read()) return;
  watch.is_paused = false;
  --paused_;
  for (std::size_t f = 0; f < peer.flows().size(); ++f)
    poll_for(peer, f);
  // What has been read ahead makes no socket readable.
  for (std::size_t f = 0; peer.is_open() && f < peer.flows().size(); ++f)
    read(packed(peer.rank(), f));
}

/// Handles the end of a peer's process. The bytes that it sent before are still in its connections.
void TcpTransport::process_ended(Rank rank) {
  TcpPeer* const from = peer(rank);
  events_.closing(watch_of(rank).process.get());
  UniqueFd ended = std::move(watch_of(rank).process);
  if (from == nullptr) return;
  from->read_to_the_end();
  read_the_rest(*from, kNoFlow);
  if (from->is_open()) lose(rank, Error(ErrorKind::remote, "its process has ended"));
}

bool TcpTransport::progress() {
  epoll_event ready[kEventsATurn];
  const int count = ::epoll_wait(epoll_.get(), ready, kEventsATurn, 0);
  bool has_moved = false;
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.u64 == kMade) add_made();
    if (ready[i].data.u64 >= kCarrier) continue;  // The carrier is looked at in each turn.
    const Rank rank{static_cast<int>(ready[i].data.u64 >> 16)};
    if ((ready[i].events & EPOLLOUT) != 0 && peer(rank) != nullptr) {
      write(*peer(rank));
      has_moved = true;
    }
    if ((ready[i].events & ~std::uint32_t{EPOLLOUT}) == 0) continue;
    if ((ready[i].data.u64 & 0xffff) == kProcess) {
      process_ended(rank);
      has_moved = true;
      continue;
    }
    if (watch_of(rank).is_paused && peer(rank) != nullptr) {
      peer(rank)->read_to_the_end();
      resume_if_room(*peer(rank));
    }
    has_moved = read(ready[i].data.u64) || has_moved;
  }
  if (carrier_) has_moved = move_carried() || has_moved;
  if (confirmation_ == Confirmation::of_frames) look_at_connections();
  for (std::size_t r = 0; paused_ > 0 && r < peers_.size(); ++r)
    if (watches_[r].is_paused && peers_[r]->is_open()) resume_if_room(*peers_[r]);
  return has_moved;
}

bool TcpTransport::move_carried() {
  if (!carrier_->has_flows()) return unwatch_carrier();
  bool has_moved = carrier_->progress();
  for (const Rank rank : carrier_->take_ready()) {
    const auto index = static_cast<std::size_t>(rank.value);
    has_moved = read(packed(rank, carried_[index])) || has_moved;
    if (TcpPeer* const to = peer(rank)) write(*to);
  }
  return has_moved;
}

/// A network that carries nothing any more wakes nothing. Returns false: nothing has moved.
bool TcpTransport::unwatch_carrier() noexcept {
  if (watched_carrier_ >= 0)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, std::exchange(watched_carrier_, -1), nullptr);
  return false;
}

bool TcpTransport::read(std::uint64_t where) {
  const Rank rank{static_cast<int>(where >> 16)};
  TcpPeer* const from = peer(rank);
  if (from == nullptr) return false;
  try {
    const bool has_moved = from->read(where & 0xffff);
    close_retired(*from);
    if (has_moved) write(*from);  // What the peer has asked for.
    pause_if_full(*from);
    return has_moved;
  } catch (const Error& e) {
    const std::size_t flow = where & 0xffff;
    if (from->flows()[flow]->has_ended() && from->can_spare(flow)) {
      give_up(*from, flow);
      return true;
    }
    from->read_to_the_end();
    read_the_rest(*from, where & 0xffff);
    lose(rank, e);
    return true;
  }
}

void TcpTransport::give_up(TcpPeer& peer, std::size_t flow) {
  peer.retire(flow);
  close_retired(peer);
  write(peer);
}

void TcpTransport::close_retired(TcpPeer& peer) noexcept {
  for (const TcpPeer::RetiredFlow& flow : peer.take_retired()) {
    if (flow.socket) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, flow.socket.get(), nullptr);
      events_.closing(flow.socket.get());
    }
    links_.given_up(peer.rank(), *flow.link);
  }
}

/// Adds the connections that were made in place of others.
void TcpTransport::add_made() {
  for (Reconnector::Made& made : reconnector_->take()) {
    TcpPeer* const to = peer(made.peer);
    if (to == nullptr || to->flows().size() >= kMostConnections) continue;
    LinkCounters& link = links_.of(made.socket.get());
    links_.made_anew(made.peer, link);
    events_.opened(made.socket.get());
    to->add(std::make_unique<TcpFlow>(std::move(made.socket), link));
    poll_new(*to, to->flows().size() - 1);
    write(*to);
  }
}

void TcpTransport::look_at_connections() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLookForSilence;
  replace_failed();
  give_up_silent_connections();
}

/// Requests others in place of the connections that have ended though their peer went on.
void TcpTransport::replace_failed() {
  const auto is_there = [this](Rank rank) { return peer(rank) != nullptr; };
  for (const TcpLinks::Failure& failed : links_.take_failures(is_there))
    if (reconnector_) reconnector_->replace(failed.peer, failed.address);
}

/// Gives up the connections whose network does not carry anything any more, while others do.
void TcpTransport::give_up_silent_connections() {
  for (const auto& known : peers_) {
    if (!known || !known->is_open()) continue;
    auto& flows = known->flows();
    const bool is_heard = look_for_silence(*known);
    for (std::size_t f = 0; is_heard && f < flows.size(); ++f)
      if (flows[f]->silent_looks >= kLooksForSilence && known->can_spare(f)) {
        links_.warn_of_failure(known->rank(), flows[f]->link());
        give_up(*known, f);
      }
  }
}

/// Counts the looks at which each flow was silent, and returns whether a connection was not. The
/// silence of a flow that is no connection counts only if the peer answers by a connection: else it
/// may be busy.
bool TcpTransport::look_for_silence(TcpPeer& peer) {
  bool is_heard = false;
  bool does_answer = false;
  bool must_answer = false;
  for (const auto& flow : peer.flows()) {
    if (!flow->is_open() || !flow->carries_notices()) continue;
    flow->silent_looks = flow->is_silent() ? flow->silent_looks + 1 : 0;
    is_heard = is_heard || flow->silent_looks == 0;
    does_answer = does_answer || Flow::Clock::now() - flow->last_confirmed < kAnswerTime;
  }
  for (const auto& flow : peer.flows()) {
    if (!flow->is_open() || flow->carries_notices()) continue;
    const bool is_silent = flow->is_silent();
    must_answer = must_answer || is_silent;
    if (!is_silent) flow->silent_looks = 0;
    if (is_silent && does_answer) ++flow->silent_looks;
  }
  if (!must_answer) return is_heard;
  peer.send_control(TcpFrameKind::bell);
  write(peer);
  return is_heard;
}

/// One connection has ended: the others may hold what was sent before.
void TcpTransport::read_the_rest(TcpPeer& from, std::size_t ended) noexcept {
  for (std::size_t f = 0; f < from.flows().size(); ++f) {
    if (f == ended) continue;
    try {
      while (from.read(f)) {
      }
    } catch (const Error&) {
      continue;  // It has ended too, as it should.
    }
  }
  read_last_carried(from);
}

/// Waits a little for the last frames by another network, which come later than the end of the
/// connections.
void TcpTransport::read_last_carried(TcpPeer& from) noexcept {
  if (!carrier_ || !carrier_->transport().reaches(from.rank())) return;
  const Deadline deadline(kLastFramesTimeout);
  const std::size_t flow = carried_[static_cast<std::size_t>(from.rank().value)];
  const Flow& carried = *from.flows()[flow];
  try {
    while (carried.is_open() && !deadline.passed() &&
           (from.has_expected() || from.has_unconfirmed(flow))) {
      carrier_->progress();
      if (!from.read(flow)) ::sched_yield();
    }
  } catch (const Error&) {
    return;  // It has ended too.
  }
}

void TcpTransport::lose(Rank rank, const Error& error) noexcept {
  TcpPeer& gone = *peers_[static_cast<std::size_t>(rank.value)];
  if (std::exchange(watch_of(rank).is_paused, false)) --paused_;
  // A process that was forked without the C library may hold the connection open, and then closing
  // it would not take it out of what is polled.
  for (const auto& flow : gone.flows()) {
    if (!flow->is_open() || flow->socket() < 0) continue;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, flow->socket(), nullptr);
    events_.closing(flow->socket());
  }
  gone.close();
  if (reconnector_) reconnector_->forget(rank);
  events_.lost(rank, error);
}

void TcpTransport::abandon() noexcept {
  for (const auto& known : peers_)
    if (known) known->abandon();
  if (carrier_) carrier_->transport().abandon();
}

void TcpTransport::send_abort(std::span<const std::byte> bytes,
                              std::chrono::milliseconds limit) noexcept {
  const Deadline deadline(limit);
  const auto is_open = [](const auto& known) { return known && known->is_open(); };
  for (const auto& known : peers_)
    if (is_open(known)) known->send_abort(bytes);
  for (const auto& known : peers_) {
    if (!is_open(known)) continue;
    try {
      for (known->write(); !known->is_flushed() && !deadline.passed(); known->write())
        wait_for_room(*known);
    } catch (const Error&) {
      continue;  // It is gone, and needs no notice.
    }
  }
}

void TcpTransport::use_flows(int flows) {
  for (const auto& known : peers_)
    if (known && known->is_open())
      known->use_flows(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(flows, 1)), 1,
                                               known->flows().size()));
}

}  // namespace fastgpu::comm
