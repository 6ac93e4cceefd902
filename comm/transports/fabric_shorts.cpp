#include "comm/transports/fabric_shorts.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The cost of short messages that a peer may send ahead of what it knows to be taken.
constexpr std::uint64_t kAheadCost = 1 << 20;

/// A question is repeated after this time, because it may be what got lost, and later after twice
/// the time: a peer that computes has to read all of them one day.
constexpr std::chrono::milliseconds kAskAgain(500);
constexpr std::chrono::milliseconds kMostBetweenQuestions(16'000);
/// After this many answers without news (20 s), what the peer has not taken is lost: questions do
/// not overtake messages for long. A slow link or a busy peer must not look like a loss, which ends
/// the job.
constexpr int kVainAnswers = 40;

/// A peer that answers no question for this time is silent: it computes, or the fabric is cut.
/// Less where waits end sooner.
constexpr std::chrono::milliseconds kFabricSilence = 20s;
constexpr std::chrono::milliseconds kLeastSilence = 2s;
/// A peer that is heard elsewhere reads its questions within this time, however many there are.
constexpr std::chrono::milliseconds kTimeToAnswer = 5s;
constexpr std::chrono::milliseconds kLeastTimeToAnswer = 500ms;

std::uint64_t cost_of_short(std::size_t bytes) {
  return kArrivalCost + bytes;
}

/// Returns whether something must come from the peer before this rank can go on.
bool is_awaited_from(const FabricPeer& peer) {
  return peer.wanted.size() > 0 || peer.receiving.size() > 0 || peer.sending.size() > 0 ||
         !peer.shorts.empty();
}

bool has_credit_for(const FabricPeer& peer, const Outgoing& message) {
  return peer.sent - peer.credit + cost_of_short(message.bytes.size()) <= kAheadCost;
}

}  // namespace

FabricShorts::FabricShorts(FabricFrames& frames, FabricHub& hub)
    : frames_(frames), hub_(hub), silence_limit_(kFabricSilence), answer_limit_(kTimeToAnswer) {}

void FabricShorts::queue(FabricPeer& peer, Outgoing& message) {
  const auto urgent = [&](const Outgoing* each) { return each->priority >= message.priority; };
  peer.shorts.insert(std::ranges::find_if_not(peer.shorts, urgent), &message);
}

bool FabricShorts::post(FabricPeer& peer) {
  Outgoing& message = *peer.shorts.front();
  if (!has_credit_for(peer, message)) return false;
  FabricFrame frame = frames_.frame_to(peer, FabricFrameKind::message);
  frame.tag = message.tag;
  frame.bytes = message.bytes;
  if (message.note != nullptr) frame.note = *message.note;
  const std::size_t note = message.note != nullptr ? kNoteBytes : 0;
  if (!frames_.post(peer, frame, kFabricHead + note + message.bytes.size())) return false;
  peer.sent += cost_of_short(message.bytes.size());
  ++peer.items_sent;
  peer.shorts.pop_front();
  message.moved = message.bytes.size();
  hub_.events().sent(message);
  return true;
}

bool FabricShorts::is_flushed(const FabricPeer& peer) const {
  return peer.shorts.empty() || !has_credit_for(peer, *peer.shorts.front());
}

bool FabricShorts::deliver(FabricPeer& from, Incoming& message) {
  if (from.arrivals.find(message.tag) == nullptr) return false;
  const std::size_t expected = message.sink.memory.size();
  const MessageTag sent = from.arrivals.key_of(message.tag);
  const std::vector<std::byte> bytes = from.arrivals.take(message.tag);
  unasked_.remove(cost_of_short(bytes.size()));
  from.arrived_bytes -= cost_of_short(bytes.size());
  try {
    check_shape({sent, bytes.size()}, {message.tag, expected});
  } catch (const Error& e) {
    hub_.lose(from, e);
    return true;
  }
  message.sink.take(0, bytes);
  message.moved = expected;
  hub_.events().received(message);
  report_credit(from);
  hub_.flush(from);
  return true;
}

void FabricShorts::take(FabricPeer& from, const FabricFrame& frame) {
  if (frame.note) hub_.events().noted(from.rank, frame.tag, *frame.note);
  from.taken += cost_of_short(frame.bytes.size());
  if (Incoming** const wanted = from.wanted.find(frame.tag)) {
    Incoming& message = **wanted;
    check_shape({frame.tag, frame.bytes.size()}, {message.tag, message.sink.memory.size()});
    from.wanted.take(frame.tag);
    message.sink.take(0, frame.bytes);
    message.moved = frame.bytes.size();
    hub_.events().received(message);
  } else {
    if (FabricReceiving** const receiving = from.receiving.find(frame.tag)) {
      const Incoming& message = *(*receiving)->message;
      refuse_shape({frame.tag, frame.bytes.size()}, {message.tag, message.sink.memory.size()});
    }
    if (from.arrivals.find(frame.tag) != nullptr)
      refuse_fabric("it sent two messages where there is one");
    unasked_.add(cost_of_short(frame.bytes.size()));
    from.arrived_bytes += cost_of_short(frame.bytes.size());
    from.arrivals.add(frame.tag, {frame.bytes.begin(), frame.bytes.end()});
  }
  report_credit(from);
  hub_.flush(from);
}

void FabricShorts::take_offer(FabricPeer& from, const FabricFrame& frame) const {
  if (Incoming** const wanted = from.wanted.find(frame.tag))
    refuse_shape({frame.tag, frame.grant.total}, {(*wanted)->tag, (*wanted)->sink.memory.size()});
}

void FabricShorts::take_credit(FabricPeer& peer, const FabricFrame& frame) {
  if (frame.credit < peer.credit || frame.credit > peer.sent || frame.items < peer.items_known ||
      frame.items > peer.items_sent)
    refuse_fabric("it has taken more than was sent");
  const bool is_vain = frame.items == peer.items_known && frame.items < peer.items_asked &&
                       peer.items_asked == peer.items_sent;
  peer.vain_answers = is_vain ? peer.vain_answers + 1 : 0;
  if (peer.vain_answers >= kVainAnswers)
    throw Error(ErrorKind::remote, counted(peer.items_sent - frame.items, "message") +
                                       " to it got lost in the fabric");
  peer.credit = frame.credit;
  peer.items_known = frame.items;
  peer.asked_at = std::chrono::steady_clock::now();
  peer.ask_gap = kAskAgain;
  hub_.flush(peer);
}

void FabricShorts::report_credit(FabricPeer& peer) {
  if (peer.taken - peer.reported < kAheadCost / 4) return;
  if (unasked_.is_full() && !is_awaited_from(peer)) return;
  peer.reported = peer.taken;
  send_credit(peer);
}

void FabricShorts::send_credit(FabricPeer& peer) {
  FabricFrame frame = frames_.frame_to(peer, FabricFrameKind::credit);
  frame.credit = peer.reported;
  frame.items = peer.items_taken;
  frames_.queue(peer, frame);
}

/// A rank that only awaits something asks too: the question fails if the connection is broken, of
/// which providers report nothing to a rank that sends nothing.
void FabricShorts::ask_for_credit(FabricPeer& peer) {
  const bool has_unknown = peer.items_sent != peer.items_known;
  if (!has_unknown && !is_awaited_from(peer)) return;
  const auto now = std::chrono::steady_clock::now();
  const bool is_first = has_unknown && peer.items_sent != peer.items_asked;
  const auto gap = std::max(peer.ask_gap, kAskAgain);
  if (!is_first && now < peer.asked_at + gap) return;
  peer.ask_gap = is_first ? kAskAgain : std::min(2 * gap, kMostBetweenQuestions);
  peer.items_asked = peer.items_sent;
  peer.asked_at = now;
  if (!peer.silent_since) peer.silent_since = now;
  frames_.queue(peer, frames_.frame_to(peer, FabricFrameKind::question));
  if (!is_first) offer_again(peer);
  hub_.flush(peer);
}

/// Names the long messages of which the peer has granted nothing. It grants them once it awaits
/// them, unless it expects short ones in their place.
void FabricShorts::offer_again(FabricPeer& peer) {
  peer.sending.for_each([&](const FabricSending& sending) {
    if (sending.granted > 0) return;
    FabricFrame frame = frames_.frame_to(peer, FabricFrameKind::offer);
    frame.tag = sending.message->tag;
    frame.grant.total = sending.message->bytes.size();
    frames_.queue(peer, frame);
  });
}

void FabricShorts::limit_waits(std::chrono::milliseconds timeout) noexcept {
  silence_limit_ = std::clamp(timeout / 2, kLeastSilence, kFabricSilence);
  answer_limit_ = std::clamp(timeout / 16, kLeastTimeToAnswer, kTimeToAnswer);
}

/// Neither rank is known to be at fault.
void FabricShorts::check_silence(FabricPeer& peer, Rank self) const {
  const auto now = std::chrono::steady_clock::now();
  if (!peer.silent_since || now - *peer.silent_since < silence_limit_) return;
  if (!peer.answered_elsewhere) peer.answered_elsewhere = now;
  if (now - *peer.answered_elsewhere < answer_limit_) return;
  const auto silence = std::chrono::duration_cast<std::chrono::seconds>(now - *peer.silent_since);
  throw Error(ErrorKind::remote, "the fabric between it and " + name_of(self) +
                                     " has carried nothing for " + to_string(silence) +
                                     ", though it answers by TCP");
}

void FabricShorts::forget(FabricPeer& peer) {
  peer.shorts.clear();
  peer.wanted.clear();
}

void FabricShorts::drop_arrivals(FabricPeer& peer) noexcept {
  peer.arrivals.clear();
  unasked_.remove(std::exchange(peer.arrived_bytes, 0));
}

}  // namespace fastgpu::comm
