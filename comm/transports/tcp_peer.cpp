#include "comm/transports/tcp_peer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// The looks that leave a peer's messages to further calls. A look for failures between two calls
/// takes two turns, and each turn looks at what is left and at what has come since.
constexpr int kLooksToSkip = 4;

}  // namespace

TcpPeer::TcpPeer(Rank rank, Flows flows, TransportEvents& events, ControlEvents& control_events,
                 UnaskedBytes& unasked, Confirmation confirmation)
    : rank_(rank),
      events_(events),
      control_events_(control_events),
      unasked_(unasked),
      flows_(std::move(flows)),
      used_(flows_.size()),
      first_flows_(flows_.size()),
      receives_(events, unasked) {
  // Without another connection none can be given up.
  if (confirmation == Confirmation::of_frames && flows_.size() > 1) number_flows();
}

// ---- sending ----

void TcpPeer::send(Outgoing& message) {
  if (message.note != nullptr) notices_.add_note(message.tag, *message.note);
  if (message.bytes.size() <= kUnasked || long_.may_go(message)) queue(message);
}

bool TcpPeer::send_now(const Outgoing& message) {
  Flow& flow = *flows_.front();
  const bool is_free = logs_.empty() && notices_.is_empty() && sending_.empty();
  if (!is_free || !flow.is_open() || !flow.is_idle()) return false;
  if (message.note != nullptr)
    flow.begin_copy({.kind = TcpFrameKind::note, .tag = message.tag, .length = kNoteBytes},
                    *message.note);
  flow.begin_copy({.kind = TcpFrameKind::chunk,
                   .tag = message.tag,
                   .length = static_cast<std::uint32_t>(message.bytes.size()),
                   .total = message.bytes.size()},
                  message.bytes);
  flow.link().count_sent(message.bytes.size());
  return true;
}

/// After those that are as urgent. One that is on its way goes on once this one has gone.
void TcpPeer::queue(Outgoing& message) {
  const auto urgent = [&](const Sending& each) {
    return each.message->priority >= message.priority;
  };
  sending_.insert(std::ranges::find_if_not(sending_, urgent), {&message, 0});
}

bool TcpPeer::write() {
  const auto write_those = [this](const auto& are_meant) {
    bool has_moved = false;
    for (std::size_t i = 0; i < flows_.size(); ++i)
      if (are_meant(*flows_[i])) has_moved = write(i) || has_moved;
    return has_moved;
  };
  const bool has_gone_first = write_those([](const Flow& flow) { return flow.goes_first(); });
  const bool has_moved = write_those([](const Flow& flow) { return flow.carries_notices(); });
  const bool has_gone_last = write_those([](const Flow& flow) { return !flow.carries_notices(); });
  return has_gone_first || has_moved || has_gone_last;
}

bool TcpPeer::write(std::size_t flow) {
  Flow& writer = *flows_[flow];
  bool has_moved = false;
  while (!writer.is_idle() || give_work(flow)) {
    while (writer.may_join() && give_work(flow)) {
    }
    if (!writer.write()) break;
    written(writer);
    has_moved = true;
  }
  return has_moved;
}

/// Returns whether the flow is to carry frames. Where some have been given up, all others are, once
/// both sides know them.
bool TcpPeer::may_use(std::size_t flow) const noexcept {
  const Flow& asked = *flows_[flow];
  if (!asked.is_open() || (!logs_.empty() && is_new(flow))) return false;
  return !asked.carries_notices() || flow < used_ || retired_flows_ > 0;
}

/// Returns whether the flow is to carry chunks.
bool TcpPeer::may_carry(std::size_t flow) const noexcept {
  if (!are_spared_ || !flows_[flow]->carries_notices()) return true;
  for (std::size_t other = 0; other < flows_.size(); ++other) {
    const bool is_coming = retired_flows_ == 0 && flows_[other]->is_open();
    if (!flows_[other]->carries_notices() && (is_coming || may_use(other))) return false;
  }
  return true;
}

/// Returns whether the flow is to carry notices. A network other than that of the connections does
/// so once they have all been given up.
bool TcpPeer::may_carry_notices(std::size_t flow) const noexcept {
  return flows_[flow]->carries_notices() || (flows_[flow]->has_room() && !has_connection());
}

/// Begins the next frame of an idle flow: confirmations and notices first, then the oldest of the
/// most urgent messages.
bool TcpPeer::give_work(std::size_t flow) {
  return may_use(flow) &&
         (give_confirmation(flow) || give_notice(flow) || give_again(flow) || give_chunk(flow));
}

/// A flow by another network confirms its frames itself: they may be far quicker than what waits
/// in the connections.
bool TcpPeer::give_confirmation(std::size_t flow) {
  if (flows_[flow]->carries_notices() || !logs_[flow].take_due()) return false;
  begin(flow, {.frame = {.kind = TcpFrameKind::taken,
                         .offset = *logs_[flow].peers_number,
                         .total = logs_[flow].taken()}});
  return true;
}

bool TcpPeer::give_notice(std::size_t flow) {
  if (notices_.is_empty() || !may_carry_notices(flow)) return false;
  begin(flow, notices_.take());
  return true;
}

/// Begins a frame of a connection that was given up.
bool TcpPeer::give_again(std::size_t flow) {
  if (again_.empty() || !flows_[flow]->has_room()) return false;
  const bool is_chunk = again_.front().frame.kind == TcpFrameKind::chunk;
  if (is_chunk ? !may_carry(flow) : !may_carry_notices(flow)) return false;
  SentFrame frame = std::move(again_.front());
  again_.pop_front();
  begin(flow, std::move(frame));
  return true;
}

/// Returns the length of the longest chunk. While messages are expected from the peer, it is one
/// turn: they are read between the turns.
std::size_t TcpPeer::longest_chunk(std::size_t flow) const noexcept {
  if (flows_.size() > 1) return kChunkBytes;
  const std::size_t longest = flows_[flow]->longest_chunk();
  return !receives_.has_expected() ? longest : std::min(longest, kMostATurn);
}

bool TcpPeer::give_chunk(std::size_t flow) {
  if (sending_.empty() || !flows_[flow]->has_room() || !may_carry(flow)) return false;
  if (flows_[flow]->carries_notices() && has_had_its_turn()) return false;
  auto& [message, cut] = sending_.front();
  const std::size_t size = std::min(longest_chunk(flow), message->bytes.size() - cut);
  if (!is_quick_enough(flow, size)) return false;
  const Frame frame{.kind = TcpFrameKind::chunk,
                    .tag = message->tag,
                    .length = static_cast<std::uint32_t>(size),
                    .offset = cut,
                    .total = message->bytes.size()};
  const auto body = message->bytes.subspan(cut, size);
  begin(flow, {.frame = frame, .body = body, .owner = message});
  if (flows_[flow]->carries_notices()) written_in_turn_ += size;
  cut += size;
  if (cut == message->bytes.size()) sending_.pop_front();
  return true;
}

/// Returns whether the flow would not hold up the messages, which the others carry without it.
bool TcpPeer::is_quick_enough(std::size_t flow, std::size_t chunk) const noexcept {
  if (logs_.empty() || chunk < kUnasked) return true;
  ChunkOffer offer(chunk, waiting_bytes(), Flow::Clock::now());
  for (std::size_t other = 0; other < flows_.size(); ++other)
    if (other != flow && may_use(other) && may_carry(other)) offer.add_other(paces_[other]);
  return offer.is_for(paces_[flow]);
}

/// Returns the bytes of messages that no flow has yet.
std::size_t TcpPeer::waiting_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Sending& each : sending_)
    bytes += each.message->bytes.size() - each.cut;
  return bytes;
}

void TcpPeer::begin(std::size_t flow, SentFrame frame) {
  if (frame.owner != nullptr)
    flows_[flow]->begin(frame.frame, frame.body, frame.owner);
  else
    flows_[flow]->begin_copy(frame.frame, frame.copied);
  if (logs_.empty() || !FrameLog::counts(frame.frame.kind)) return;
  if (const std::size_t bytes = paced_bytes(frame); bytes > 0)
    paces_[flow].sent(bytes, Flow::Clock::now());
  logs_[flow].sent(std::move(frame));
}

void TcpPeer::written(Flow& flow) {
  Outgoing* const message = flow.owner();
  if (message == nullptr) return;
  flow.disown();
  flow.link().count_sent(flow.body_bytes());
  if (logs_.empty()) count_sent(*message, flow.body_bytes());
}

void TcpPeer::count_sent(Outgoing& message, std::size_t bytes) {
  message.moved += bytes;
  if (message.moved == message.bytes.size()) events_.sent(message);
}

bool TcpPeer::is_held_back() const noexcept {
  if (sending_.empty() || !has_had_its_turn()) return false;
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    const bool has_room = flows_[flow]->carries_notices() && flows_[flow]->is_idle();
    if (has_room && may_use(flow) && may_carry(flow)) return true;
  }
  return false;
}

bool TcpPeer::is_flushed() const noexcept {
  return notices_.is_empty() && again_.empty() &&
         std::ranges::all_of(flows_, [](const auto& flow) { return flow->is_idle(); });
}

bool TcpPeer::is_quiet() const noexcept {
  const auto has_arrived = [](const auto& flow) { return !flow->is_open() || flow->is_quiet(); };
  return notices_.is_quiet() && again_.empty() && sending_.empty() &&
         !has_unconfirmed_by(&FrameLog::has_unconfirmed_message) &&
         std::ranges::all_of(flows_, has_arrived);
}

bool TcpPeer::has_unconfirmed_by(bool (FrameLog::*has)() const noexcept) const noexcept {
  for (std::size_t flow = 0; flow < logs_.size(); ++flow) {
    const bool is_dropped = !flows_[flow]->is_open() && is_new(flow);
    if ((logs_[flow].*has)() && !is_dropped) return true;
  }
  return false;
}

// ---- receiving ----

bool TcpPeer::read(std::size_t flow, UnaskedChunks unasked) {
  const bool was_awaited = is_awaited();
  const Reading before = std::exchange(reading_, {flow, unasked, was_awaited});
  try {
    const bool has_moved = flows_[flow]->is_open() && flows_[flow]->read(*this);
    reading_ = before;
    if (has_moved) send_confirmations();
    if (was_awaited && !is_awaited()) looks_to_skip_ = kLooksToSkip;
    return has_moved;
  } catch (const Error&) {
    reading_ = before;
    throw;
  }
}

bool TcpPeer::skip_look() noexcept {
  if (looks_to_skip_ == 0) return false;
  --looks_to_skip_;
  return !is_awaited() && logs_.empty() && !is_ending_;
}

void TcpPeer::read_the_rest(std::size_t ended) noexcept {
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    if (flow == ended) continue;
    try {
      while (read(flow)) {
      }
    } catch (const Error&) {
      continue;  // It has ended too, as it should.
    }
  }
}

void TcpPeer::receive(Incoming& message) {
  const bool is_asked_for = is_open() && message.sink.memory.size() > kUnasked;
  if (is_asked_for) notices_.add_wanted(message.tag);
  receives_.receive(message);
}

bool TcpPeer::has_come_now() noexcept {
  const bool has_come = receives_.has_come_now();
  if (!has_come && ++likely_flow_ >= flows_.size()) likely_flow_ = 0;
  return has_come;
}

bool TcpPeer::may_stay(const Frame& frame) {
  return reading_.unasked == UnaskedChunks::left && !is_ending_ &&
         frame.kind == TcpFrameKind::chunk && frame.total <= kMostAhead &&
         !receives_.expects(frame.tag);
}

std::span<std::byte> TcpPeer::target_of(const Frame& frame) {
  if (frame.kind != TcpFrameKind::chunk) return {};
  return receives_.target_of(frame);
}

void TcpPeer::arrived(const Frame& frame, std::span<const std::byte> bytes) {
  if (!logs_.empty() && FrameLog::counts(frame.kind)) logs_[reading_.flow].arrived();
  switch (frame.kind) {
    case TcpFrameKind::chunk:
      flows_[reading_.flow]->link().count_received(bytes.size());
      return receives_.arrived(frame, bytes);
    case TcpFrameKind::wanted:
      if (Outgoing* const message = long_.asked_for(frame.tag)) queue(*message);
      return;
    case TcpFrameKind::note: {
      Note note;
      std::ranges::copy(bytes, note.begin());
      return events_.noted(rank_, frame.tag, note);
    }
    case TcpFrameKind::abort:
      return control_events_.on_abort(rank_, bytes);
    case TcpFrameKind::question:
      return control_events_.on_question(rank_, bytes);
    case TcpFrameKind::answer:
      return control_events_.on_answer(rank_, bytes);
    case TcpFrameKind::bell:
      return;
    case TcpFrameKind::farewell:
      has_left_ = true;
      return;
    case TcpFrameKind::number:
    case TcpFrameKind::taken:
    case TcpFrameKind::retired:
      return about_connection(frame);
    case TcpFrameKind::card:
      cards_.push_back({frame.tag.value,
                        frame.offset,
                        static_cast<CardKind>(frame.total),
                        {bytes.begin(), bytes.end()}});
      return;
  }
}

void TcpPeer::close() noexcept {
  flows_.clear();
  used_ = 0;
  notices_.clear();
  sending_.clear();
  long_.clear();
  receives_.close();
  again_.clear();
  logs_.clear();
  paces_.clear();
}

void TcpPeer::abandon() {
  for (const auto& flow : flows_)
    flow->abandon();
  sending_.clear();
  again_.clear();
  for (FrameLog& log : logs_)
    log.forget_messages();
  long_.clear();
  receives_.clear();
}

}  // namespace fastgpu::comm
