#include "comm/transports/carried_network.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/transports/carried_flow.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The time in which the first frames of an attempt must come, once both ranks have begun.
constexpr auto kMeetingTime = 3s;
/// The time in which the last frames must come, after the end of the connections.
constexpr std::chrono::milliseconds kLastFramesTimeout{100};
/// The time in which a connection takes the last confirmations.
constexpr std::chrono::milliseconds kLeavingTimeout{100};

}  // namespace

CarriedNetwork::CarriedNetwork(CarrierHub& hub, std::uint64_t number,
                               std::unique_ptr<FlowCarrier> carrier,
                               std::unique_ptr<TransportSource> source, RetryTimes times)
    : hub_(hub),
      number_(number),
      link_(hub.link_counters().named(carrier->name())),
      source_(std::move(source)),
      times_(times) {
  Member& first = add(std::move(carrier), nullptr);
  for (Rank rank{0}; rank.value < hub_.size(); ++rank.value) {
    TcpPeer* const peer = hub_.peer(rank);
    if (peer == nullptr || !first.carrier->transport().reaches(rank)) continue;
    use(first, *peer, ways_.emplace(rank, Way(times_)).first->second);
  }
}

CarriedNetwork::Member& CarriedNetwork::add(std::unique_ptr<FlowCarrier> carrier,
                                            MeetingTransport* meeting) {
  const int descriptor = carrier->transport().poll_descriptor();
  if (descriptor >= 0) hub_.watch(descriptor);
  return members_.emplace_back(Member{
      .carrier = std::move(carrier), .meeting = meeting, .used_with = {}, .watched = descriptor});
}

void CarriedNetwork::use(Member& member, TcpPeer& peer, Way& way) {
  way.flow = peer.flows().size();
  peer.add(std::make_unique<CarriedFlow>(peer.rank(), *member.carrier, link_));
  hub_.write(peer);
}

// ---- carrying ----

bool CarriedNetwork::progress() {
  bool has_moved = false;
  for (Member& member : members_)
    has_moved = progress(member) || has_moved;
  return has_moved;
}

/// Moves nothing by a transport that has ended, and wakes for nothing of it.
bool CarriedNetwork::progress(Member& member) {
  if (member.carrier->has_ended()) {
    unwatch(member);
    return false;
  }
  bool has_moved = member.carrier->progress();
  for (const Rank rank : member.carrier->take_ready()) {
    has_moved = hub_.read(rank, ways_.at(rank).flow) || has_moved;
    if (TcpPeer* const to = hub_.peer(rank)) hub_.write(*to);
  }
  return has_moved;
}

void CarriedNetwork::unwatch(Member& member) noexcept {
  if (const int watched = std::exchange(member.watched, -1); watched >= 0) hub_.unwatch(watched);
}

bool CarriedNetwork::needs_progress() const noexcept {
  return is_trying() || std::ranges::any_of(members_, [](const Member& member) {
           return member.carrier->needs_progress();
         });
}

bool CarriedNetwork::may_sleep() {
  if (is_trying()) return false;
  const bool is_awaited = std::ranges::any_of(ways_, [this](const auto& way) {
    const TcpPeer* const peer = hub_.peer(way.first);
    return peer != nullptr && (peer->is_awaited() || !peer->has_connection());
  });
  return std::ranges::all_of(members_, [&](const Member& member) {
    const bool is_watched = member.carrier->transport().poll_descriptor() >= 0;
    return member.carrier->transport().may_sleep() && (is_watched || !is_awaited);
  });
}

bool CarriedNetwork::is_quiet() const noexcept {
  return std::ranges::all_of(
      members_, [](const Member& member) { return member.carrier->transport().is_quiet(); });
}

std::vector<int> CarriedNetwork::descriptors() const {
  std::vector<int> all;
  for (const Member& member : members_)
    std::ranges::copy(member.carrier->transport().descriptors(), std::back_inserter(all));
  return all;
}

void CarriedNetwork::read_last(TcpPeer& from) noexcept {
  const auto known = ways_.find(from.rank());
  if (known == ways_.end()) return;
  const std::size_t flow = known->second.flow;
  const Flow& carried = *from.flows()[flow];
  const Deadline deadline(kLastFramesTimeout);
  try {
    while (carried.is_open() && !deadline.passed() &&
           (from.has_expected() || from.has_unconfirmed(flow))) {
      for (const Member& member : members_)
        member.carrier->progress();
      if (!from.read(flow)) ::sched_yield();
    }
  } catch (const Error&) {
    return;  // It has ended too.
  }
}

void CarriedNetwork::allocated(std::span<std::byte> memory) {
  for (const Member& member : members_)
    member.carrier->transport().allocated(memory);
  memory_.push_back(memory);
}

void CarriedNetwork::freed(const std::byte* memory) noexcept {
  for (const Member& member : members_)
    member.carrier->transport().freed(memory);
  std::erase_if(memory_, [&](const auto& each) { return each.data() == memory; });
}

void CarriedNetwork::abandon() noexcept {
  is_over_ = true;
  for (auto& [peer, way] : ways_)
    end_attempt(peer, way);
  for (const Member& member : members_)
    member.carrier->transport().abandon();
}

void CarriedNetwork::end() noexcept {
  for (const Member& member : members_)
    member.carrier->end();
  if (is_over_) return;
  for (const auto& [rank, way] : ways_)
    leave(rank, way);
}

/// Confirms by a connection what has come: a confirmation by this network may have got lost with
/// it, and the peer would find that this rank has gone before it had all.
void CarriedNetwork::leave(Rank rank, const Way& way) noexcept {
  TcpPeer* const peer = hub_.peer(rank);
  if (peer == nullptr || !peer->flows()[way.flow]->is_open() || !peer->can_spare(way.flow)) return;
  for (const Member& member : members_)
    member.carrier->lost(rank, Error(ErrorKind::remote, "this rank leaves"));
  peer->retire(way.flow, "this rank leaves");
  const Deadline deadline(kLeavingTimeout);
  for (hub_.write(*peer); !peer->is_flushed() && !deadline.passed(); hub_.write(*peer))
    ::sched_yield();
}

// ---- trying again ----

bool CarriedNetwork::is_trying() const noexcept {
  return is_opening_ || std::ranges::any_of(ways_, [](const auto& each) {
           const Way& way = each.second;
           return way.stage == Stage::meets && Clock::now() < way.meets_until;
         });
}

/// Returns whether the flow to the peer is closed, and another can be added.
bool CarriedNetwork::may_use_again(Rank rank, const Way& way) const {
  TcpPeer* const peer = hub_.peer(rank);
  return peer != nullptr && !peer->flows()[way.flow]->is_open() &&
         peer->flows().size() < kMostConnections;
}

void CarriedNetwork::failed(Rank peer, Clock::time_point now) {
  Way& way = ways_.at(peer);
  if (!may_use_again(peer, way)) return;  // The peer has noticed it earlier, and it is used again.
  way.has_failed = true;
  way.schedule.failed(now);
}

void CarriedNetwork::look(Clock::time_point now) {
  if (!source_ || is_over_) return;
  take_opened(now);
  for (auto& [peer, way] : ways_) {
    const bool is_due = way.stage == Stage::rests && way.has_failed && way.schedule.due() <= now;
    if (is_due && proposes(peer) && may_use_again(peer, way)) {
      ++way.attempt;
      begin(peer, way, now);
    } else if (way.stage == Stage::meets) {
      look_at_meeting(peer, way, now);
    }
  }
  remove_unused();
}

/// Goes on with a transport that the peer has not used, which may have to be opened.
void CarriedNetwork::begin(Rank peer, Way& way, Clock::time_point now) {
  const auto is_new = [&](const Member& member) {
    return member.meeting != nullptr && !member.carrier->has_ended() &&
           !member.used_with.contains(peer);
  };
  const auto member = std::ranges::find_if(members_, is_new);
  if (member != members_.end()) return go_on(peer, way, *member, now);
  way.stage = Stage::awaits_transport;
  if (!std::exchange(is_opening_, true)) source_->request();
}

void CarriedNetwork::take_opened(Clock::time_point now) {
  if (!is_opening_ || source_->is_busy()) return;
  is_opening_ = false;
  std::unique_ptr<MeetingTransport> opened = source_->take();
  MeetingTransport* const meeting = opened.get();
  std::unique_ptr<FlowCarrier> carrier = carrier_of(std::move(opened));
  Member* const member = carrier ? &add(std::move(carrier), meeting) : nullptr;
  for (auto& [peer, way] : ways_) {
    if (way.stage != Stage::awaits_transport) continue;
    if (member != nullptr)
      go_on(peer, way, *member, now);
    else
      give_up_attempt(peer, way, now);
  }
}

/// Returns null without a transport, and if it cannot use the program's memory.
std::unique_ptr<FlowCarrier> CarriedNetwork::carrier_of(
    std::unique_ptr<MeetingTransport> transport) try {
  if (!transport) return nullptr;
  auto carrier = std::make_unique<FlowCarrier>(hub_.reports());
  transport->open(*carrier);
  for (const std::span<std::byte> memory : memory_)
    transport->allocated(memory);
  carrier->use(std::move(transport));
  return carrier;
} catch (const Error&) {
  return nullptr;
}

void CarriedNetwork::go_on(Rank peer, Way& way, Member& member, Clock::time_point now) {
  way.member = &member;
  if (proposes(peer)) {
    way.stage = Stage::awaits_answer;
    return send_card(peer, way, CardKind::proposal, member.meeting->own_card());
  }
  if (!meet(peer, way, now)) return give_up_attempt(peer, way, now);
  send_card(peer, way, CardKind::answer, member.meeting->own_card());
}

/// Begins to meet the peer; returns false if that is not possible.
bool CarriedNetwork::meet(Rank peer, Way& way, Clock::time_point now) {
  way.member->used_with.insert(peer);
  if (!way.member->meeting->begin_to_meet(peer, way.card)) return false;
  way.stage = Stage::meets;
  way.meets_until = now + kMeetingTime;
  return true;
}

void CarriedNetwork::send_card(Rank rank, const Way& way, CardKind kind,
                               std::vector<std::byte> bytes) {
  TcpPeer* const peer = hub_.peer(rank);
  if (peer == nullptr) return;
  peer->send_card({number_, way.attempt, kind, std::move(bytes)});
  hub_.write(*peer);
}

void CarriedNetwork::take(Rank peer, const CarrierCard& card, Clock::time_point now) {
  const auto known = ways_.find(peer);
  if (known == ways_.end() || !source_ || is_over_) return;
  const bool is_for_this = (card.kind == CardKind::answer) == proposes(peer);
  if (!is_for_this) throw Error(ErrorKind::remote, "it sent a card out of its turn");
  if (card.kind == CardKind::answer)
    take_answer(peer, known->second, card, now);
  else
    take_proposal(peer, known->second, card, now);
}

void CarriedNetwork::take_proposal(Rank peer, Way& way, const CarrierCard& card,
                                   Clock::time_point now) {
  end_attempt(peer, way);
  way.attempt = card.attempt;
  way.card = card.bytes;
  if (may_use_again(peer, way))
    begin(peer, way, now);
  else
    send_card(peer, way, CardKind::answer, {});
}

/// An answer without a card is a refusal.
void CarriedNetwork::take_answer(Rank peer, Way& way, const CarrierCard& card,
                                 Clock::time_point now) {
  if (way.stage != Stage::awaits_answer || card.attempt != way.attempt) return;
  way.card = card.bytes;
  if (way.card.empty() || !meet(peer, way, now)) give_up_attempt(peer, way, now);
}

/// The rank that proposes has a limit of time: the other one may have begun long before it.
void CarriedNetwork::look_at_meeting(Rank rank, Way& way, Clock::time_point now) {
  const PeerMeeting meeting = way.member->meeting->meeting_with(rank);
  const bool is_late = proposes(rank) && now >= way.meets_until;
  if (meeting == PeerMeeting::begun && !is_late) return;
  TcpPeer* const peer = hub_.peer(rank);
  if (meeting != PeerMeeting::done || peer == nullptr) return give_up_attempt(rank, way, now);
  Member& member = *std::exchange(way.member, nullptr);
  way.stage = Stage::rests;
  way.has_failed = false;
  way.schedule.succeeded(now);
  hub_.link_counters().made_anew(rank, link_);
  use(member, *peer, way);
}

void CarriedNetwork::end_attempt(Rank peer, Way& way) noexcept {
  if (way.stage == Stage::meets) way.member->meeting->stop_meeting(peer);
  way.member = nullptr;
  way.stage = Stage::rests;
}

void CarriedNetwork::give_up_attempt(Rank peer, Way& way, Clock::time_point now) {
  const bool owes_answer = !proposes(peer) && way.stage != Stage::meets;
  end_attempt(peer, way);
  if (owes_answer) send_card(peer, way, CardKind::answer, {});
  way.schedule.failed(now);
}

void CarriedNetwork::forget(Rank lost) noexcept {
  const auto known = ways_.find(lost);
  if (known == ways_.end()) return;
  end_attempt(lost, known->second);
  known->second.has_failed = false;
}

/// Closes transports without a flow that no attempt uses.
void CarriedNetwork::remove_unused() noexcept {
  std::erase_if(members_, [this](Member& member) {
    const auto is_its = [&](const auto& way) { return way.second.member == &member; };
    if (member.carrier->has_flows() || std::ranges::any_of(ways_, is_its)) return false;
    unwatch(member);
    member.carrier->transport().abandon();
    return true;
  });
}

}  // namespace fastgpu::comm
