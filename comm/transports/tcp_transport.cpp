#include "comm/transports/tcp_transport.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/transports/abort_reason.hpp"
#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {
namespace {

/// A number in place of a flow's.
constexpr std::size_t kNoFlow = SIZE_MAX;

/// The turns in which nothing moves before chunks are read that no receive has asked for.
constexpr int kTurnsOfPatience = 8;

/// The interval between two looks at the health of connections that may be given up.
constexpr std::chrono::milliseconds kLookForSilence{20};
/// The time in which what was sent last must arrive.
constexpr std::chrono::seconds kDrainTimeout{2};

/// Returns the reason for the end of a peer's connections, which is `error` unless it has said that
/// it leaves.
Error why_ended(const TcpPeer& peer, const Error& error) {
  return peer.has_left() ? Error(ErrorKind::remote, "it has left the job") : error;
}

}  // namespace

TcpTransport::TcpTransport(std::vector<std::vector<UniqueFd>> sockets, TransportEvents& events,
                           ControlEvents& control_events, Confirmation confirmation)
    : events_(events),
      confirmation_(confirmation),
      polling_(poller_, sockets.size()),
      peers_(sockets.size()),
      processes_(sockets.size()),
      links_(events,
             [this](Rank to) {
               return open_links(peers_[static_cast<std::size_t>(to.value)]->flows());
             }),
      replacements_(*this, poller_, polling_, sockets.size()) {
  for (std::size_t r = 0; r < sockets.size(); ++r) {
    const Rank rank{static_cast<int>(r)};
    if (sockets[r].empty()) self_ = rank;
    if (sockets[r].empty()) continue;
    most_flows_ = std::max(most_flows_, static_cast<int>(sockets[r].size()));
    Flows flows;
    for (UniqueFd& socket : sockets[r]) {
      LinkCounters& link = links_.of(socket.get());
      flows.push_back(std::make_unique<TcpFlow>(std::move(socket), link));
    }
    peers_[r] = std::make_unique<TcpPeer>(rank, std::move(flows), events, control_events, unasked_,
                                          confirmation);
    for (std::size_t f = 0; f < peers_[r]->flows().size(); ++f)
      polling_.add(*peers_[r], f);
    write(*peers_[r]);
  }
}

std::vector<LinkCounters> TcpTransport::links() const {
  std::vector<LinkCounters> all(links_.all().begin(), links_.all().end());
  for (const auto& known : peers_) {
    if (!known) continue;
    for (const auto& flow : known->flows())
      if (flow->is_open())
        ++std::ranges::find(all, flow->link().name, &LinkCounters::name)->connections;
  }
  return all;
}

void TcpTransport::use(std::unique_ptr<Reconnector> reconnector) {
  replacements_.use(std::move(reconnector));
}

void TcpTransport::carry_by(std::uint64_t number, std::unique_ptr<FlowCarrier> carrier,
                            std::unique_ptr<TransportSource> source, RetryTimes times) {
  CarrierHub& hub = *this;
  networks_.push_back(
      std::make_unique<CarriedNetwork>(hub, number, std::move(carrier), std::move(source), times));
}

void TcpTransport::spare_connections() noexcept {
  for (const auto& known : peers_)
    if (known) known->spare_connections();
}

void TcpTransport::watch(int descriptor) {
  poller_.add(descriptor, {.kind = PollSource::Kind::network}, "watching a network");
}

/// A network that carries nothing any more wakes nothing.
void TcpTransport::unwatch(int descriptor) noexcept {
  poller_.remove(descriptor);
}

void TcpTransport::allocated(std::span<std::byte> memory) {
  for (const auto& network : networks_)
    network->allocated(memory);
}

void TcpTransport::freed(const std::byte* memory) noexcept {
  for (const auto& network : networks_)
    network->freed(memory);
}

TransportCapabilities TcpTransport::capabilities() const noexcept {
  const bool is_plain = networks_.empty() && confirmation_ == Confirmation::none;
  return {.flows = most_flows_,
          .most_now = is_plain ? kMostNow : 0,
          .moves_only_when_called = !networks_.empty()};
}

/// Says farewell, and ends other networks before the connections: a peer that sees the end of the
/// connections then has the last frames of all networks.
TcpTransport::~TcpTransport() {
  for (const auto& known : peers_) {
    if (!known || !known->is_open() || !known->has_connection()) continue;
    known->send_control(TcpFrameKind::farewell);
    write(*known);
  }
  for (const auto& network : networks_)
    network->end();
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
  if (polling_.has_turn() || !poller_.may_sleep()) return false;
  for (const auto& network : networks_)
    if (!network->may_sleep()) return false;
  if (confirmation_ == Confirmation::none) return true;
  const auto is_busy = [](const auto& flow) {
    return flow->is_open() && is_on_its_way(flow->socket());
  };
  return std::ranges::none_of(peers_, [&](const auto& known) {
    return known && known->is_open() &&
           (known->has_unconfirmed() || std::ranges::any_of(known->flows(), is_busy));
  });
}

bool TcpTransport::needs_progress() const noexcept {
  return std::ranges::any_of(networks_,
                             [](const auto& network) { return network->needs_progress(); });
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
    return refuse(message.peer, e);
  }
  if (from->is_open()) resume_if_room(*from);
  if (from->is_open() && !from->is_flushed()) polling_.write_next_turn(from->rank());
}

bool TcpTransport::send_now(Outgoing& message) {
  TcpPeer* const to = peer(message.peer);
  if (to == nullptr || !to->send_now(message)) return false;
  write(*to);
  return true;
}

bool TcpTransport::receive_now(Incoming& message) {
  TcpPeer* const from = peers_.at(static_cast<std::size_t>(message.peer.value)).get();
  if (from == nullptr) return false;
  try {
    if (from->take_now(message)) {
      if (from->is_open()) resume_if_room(*from);
      return true;
    }
  } catch (const Error& e) {
    refuse(message.peer, e);
    return false;
  }
  if (!from->is_open()) return false;
  from->expect_now(message);
  read(message.peer, from->likely_flow(), UnaskedChunks::left);
  return from->has_come_now();
}

void TcpTransport::send_control(Rank rank, TcpFrameKind kind, std::span<const std::byte> bytes) {
  TcpPeer* const listener = peer(rank);
  if (listener == nullptr) return;
  listener->send_control(kind, bytes);
  write(*listener);
}

void TcpTransport::watch_process(Rank rank, UniqueFd process) {
  poller_.add(process.get(), {.rank = rank, .kind = PollSource::Kind::process},
              "watching a process");
  process_of(rank) = std::move(process);
}

bool TcpTransport::is_unacknowledged(Rank rank) const noexcept {
  TcpPeer* const asked = peer(rank);
  return asked != nullptr && std::ranges::any_of(asked->flows(), [](const auto& flow) {
           return comm::is_unacknowledged(flow->socket());
         });
}

bool TcpTransport::is_quiet() const noexcept {
  const bool are_others_quiet =
      std::ranges::all_of(networks_, [](const auto& network) { return network->is_quiet(); });
  return !polling_.has_paused() && !polling_.has_left() && are_others_quiet &&
         std::ranges::all_of(peers_, [&](const auto& known) {
           return !known || !known->is_open() || known->is_quiet();
         });
}

std::vector<int> TcpTransport::descriptors() const {
  std::vector<int> all{poller_.descriptor()};
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (!peers_[r]) continue;
    for (const auto& flow : peers_[r]->flows())
      if (flow->is_open() && flow->socket() >= 0) all.push_back(flow->socket());
    if (processes_[r]) all.push_back(processes_[r].get());
  }
  std::ranges::copy(replacements_.descriptors(), std::back_inserter(all));
  for (const auto& network : networks_)
    std::ranges::copy(network->descriptors(), std::back_inserter(all));
  return all;
}

void TcpTransport::write(TcpPeer& peer) {
  try {
    peer.write();
    polling_.poll_for_room(peer);
    if (peer.is_held_back()) polling_.write_next_turn(peer.rank());
  } catch (const Error&) {
    // The other side may have sent its reason before it went: reading finds it, and ends there too.
  }
}

void TcpTransport::resume_if_room(TcpPeer& peer) {
  if (!polling_.resume_if_room(peer)) return;
  for (std::size_t f = 0; peer.is_open() && f < peer.flows().size(); ++f)
    read(peer.rank(), f);
}

/// Handles the end of a peer's process. The bytes that it sent before are still in its connections.
void TcpTransport::process_ended(Rank rank) {
  TcpPeer* const from = peer(rank);
  poller_.remove(process_of(rank).get());
  events_.closing(process_of(rank).get());
  UniqueFd ended = std::move(process_of(rank));
  if (from == nullptr) return;
  from->read_to_the_end();
  read_the_rest(*from, kNoFlow);
  if (from->is_open())
    lose(rank, why_ended(*from, Error(ErrorKind::remote, "its process has ended")));
}

/// Writes to the peers that wait for this turn. Returns true if there were any.
bool TcpTransport::write_waiting() {
  const std::vector<Rank> waiting = polling_.take_waiting();
  for (const Rank rank : waiting) {
    TcpPeer* const to = peer(rank);
    if (to == nullptr) continue;
    to->next_turn();
    write(*to);
  }
  return !waiting.empty();
}

/// Reads what earlier reads have left because they had enough.
bool TcpTransport::read_left(UnaskedChunks unasked) {
  if (!polling_.has_left()) return false;
  bool has_moved = false;
  for (const Rank rank : polling_.take_left()) {
    if (peer(rank) == nullptr) continue;
    if (peer(rank)->skip_look()) {
      polling_.read_next_turn(rank);
      continue;
    }
    for (std::size_t f = 0; peer(rank) != nullptr && f < peer(rank)->flows().size(); ++f)
      if (peer(rank)->flows()[f]->has_left()) has_moved = read(rank, f, unasked) || has_moved;
  }
  return has_moved;
}

bool TcpTransport::progress() {
  // A receive may ask for messages soon. Once nothing else moves, they are read and kept.
  const auto unasked =
      turns_in_vain_ < kTurnsOfPatience ? UnaskedChunks::left : UnaskedChunks::kept;
  bool has_moved = write_waiting();
  has_moved = read_left(unasked) || has_moved;
  has_moved = read_ready(unasked) || has_moved;
  for (const auto& network : networks_)
    has_moved = network->progress() || has_moved;
  if (confirmation_ == Confirmation::of_frames) look_at_connections();
  for (std::size_t r = 0; polling_.has_paused() && r < peers_.size(); ++r)
    if (peers_[r] && peers_[r]->is_open()) resume_if_room(*peers_[r]);
  turns_in_vain_ = has_moved ? 0 : std::min(turns_in_vain_ + 1, kTurnsOfPatience);
  return has_moved;
}

/// Reads from the connections that have something to read, and writes to those that have room.
bool TcpTransport::read_ready(UnaskedChunks unasked) {
  bool has_moved = false;
  for (const Readiness& ready : poller_.look()) {
    const Rank rank = ready.source.rank;
    switch (ready.source.kind) {
      case PollSource::Kind::new_connections:
        replacements_.add_made();
        break;
      case PollSource::Kind::network:
        break;  // Networks are looked at in each turn.
      case PollSource::Kind::process:
        process_ended(rank);
        has_moved = true;
        break;
      case PollSource::Kind::connection:
        has_moved = move(ready, unasked) || has_moved;
        break;
    }
  }
  return has_moved;
}

/// Writes to a connection that has room, and reads from one that has news.
bool TcpTransport::move(const Readiness& ready, UnaskedChunks unasked) {
  const Rank rank = ready.source.rank;
  if (ready.has_room && peer(rank) != nullptr) {
    peer(rank)->next_turn();
    write(*peer(rank));
  }
  const bool has_news = ready.has_news && (peer(rank) == nullptr || !peer(rank)->skip_look());
  if (!has_news) return ready.has_room;
  if (polling_.is_paused(rank) && peer(rank) != nullptr) {
    peer(rank)->read_to_the_end();
    resume_if_room(*peer(rank));
  }
  return read(rank, ready.source.flow, unasked) || ready.has_room;
}

bool TcpTransport::read(Rank rank, std::size_t flow, UnaskedChunks unasked) {
  TcpPeer* const from = peer(rank);
  if (from == nullptr) return false;
  try {
    const bool has_moved = from->read(flow, unasked);
    if (from->flows()[flow]->has_left()) polling_.read_next_turn(rank);
    replacements_.close_retired(*from);
    take_cards(*from);
    if (has_moved) {
      from->next_turn();
      write(*from);  // What the peer has asked for, too.
    }
    polling_.pause_if_full(*from);
    return has_moved;
  } catch (const Error& e) {
    const bool has_ended = from->flows()[flow]->has_ended();
    if (has_ended && replacements_.give_up_ended(*from, flow, e)) return true;
    from->read_to_the_end();
    read_the_rest(*from, flow);
    if (has_ended)
      lose(rank, why_ended(*from, e));
    else
      refuse(rank, e);
    return true;
  }
}

void TcpTransport::take_cards(TcpPeer& from) {
  const auto now = std::chrono::steady_clock::now();
  for (const CarrierCard& card : from.take_cards()) {
    const auto is_meant = [&](const auto& network) { return network->number() == card.network; };
    const auto network = std::ranges::find_if(networks_, is_meant);
    if (network == networks_.end())
      throw Error(ErrorKind::remote, "it named a network that there is not");
    (*network)->take(from.rank(), card, now);
  }
}

void TcpTransport::look_at_connections() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLookForSilence;
  replace_failed(now);
  for (const auto& network : networks_)
    network->look(now);
  for (const auto& known : peers_) {
    if (!known || !known->is_open()) continue;
    if (const auto loss = replacements_.look(*known)) lose(known->rank(), *loss);
  }
}

/// Requests others in place of the connections and flows that have ended though their peer went on.
void TcpTransport::replace_failed(std::chrono::steady_clock::time_point now) {
  const auto is_there = [this](Rank rank) { return peer(rank) != nullptr; };
  for (const TcpLinks::Failure& failed : links_.take_failures(is_there)) {
    const bool is_connection = !failed.address.empty();
    if (is_connection) replacements_.request(failed.peer, failed.address);
    for (const auto& network : networks_)
      if (&network->link() == failed.link) network->failed(failed.peer, now);
  }
}

/// `ended` is a flow, or kNoFlow.
void TcpTransport::read_the_rest(TcpPeer& from, std::size_t ended) noexcept {
  from.read_the_rest(ended);
  for (const auto& network : networks_)
    network->read_last(from);
}

/// Loses a peer because of what it has sent, and tells it so: to its program, the end of its
/// connections alone would be a fault of the network.
void TcpTransport::refuse(Rank rank, const Error& error) noexcept {
  TcpPeer& offender = *peers_[static_cast<std::size_t>(rank.value)];
  if (offender.is_open()) {
    try {
      offender.abandon();
      const CausedError cause = events_.cause_of_refusal(rank, error);
      offender.send_abort(abort_reason(cause, cause.culprit()));
      offender.write();
    } catch (const Error&) {
      // It has gone, and needs no reason.
    }
  }
  lose(rank, error);
}

void TcpTransport::lose(Rank rank, const Error& error) noexcept {
  TcpPeer& gone = *peers_[static_cast<std::size_t>(rank.value)];
  polling_.forget(rank);
  // A process that was forked without the C library may hold the connection open, and then closing
  // it would not take it out of what is polled.
  for (const auto& flow : gone.flows()) {
    if (!flow->is_open() || flow->socket() < 0) continue;
    poller_.remove(flow->socket());
    events_.closing(flow->socket());
  }
  gone.close();
  replacements_.forget(rank);
  for (const auto& network : networks_)
    network->forget(rank);
  events_.lost(rank, error);
}

void TcpTransport::abandon() noexcept {
  for (const auto& known : peers_)
    if (known) known->abandon();
  for (const auto& network : networks_)
    network->abandon();
}

void TcpTransport::send_abort(std::span<const std::byte> bytes,
                              std::chrono::milliseconds limit) noexcept {
  abandon();  // Messages would only delay it.
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
