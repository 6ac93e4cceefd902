#include "comm/transports/tcp_peer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

[[noreturn]] void refuse_tcp(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

}  // namespace

TcpPeer::TcpPeer(Rank rank, std::vector<UniqueFd> sockets, TransportEvents& events,
                 ControlEvents& control_events, UnaskedBytes& unasked)
    : rank_(rank),
      events_(events),
      control_events_(control_events),
      unasked_(unasked),
      used_(sockets.size()) {
  for (UniqueFd& socket : sockets)
    flows_.emplace_back(std::move(socket));
}

// ---- sending ----

void TcpPeer::send(Outgoing& message) {
  if (message.note != nullptr)
    controls_.push_back({{.kind = TcpFrameKind::note, .tag = message.tag, .length = kNoteBytes},
                         {message.note->begin(), message.note->end()}});
  const std::size_t size = message.bytes.size();
  if (size > kUnasked) {
    if (wanted_by_peer_.find(message.tag) != nullptr) {
      wanted_by_peer_.take(message.tag);
    } else if (ahead_bytes_ + size <= kMostAhead) {
      ahead_.add(message.tag, size);
      ahead_bytes_ += size;
    } else {
      unwanted_.add(message.tag, &message);
      return;
    }
  }
  queue(message);
}

/// After those that are as urgent. One that is on its way goes on once this one has gone.
void TcpPeer::queue(Outgoing& message) {
  const auto urgent = [&](const Sending& each) {
    return each.message->priority >= message.priority;
  };
  sending_.insert(std::ranges::find_if_not(sending_, urgent), {&message, 0});
}

void TcpPeer::send_control(TcpFrameKind kind, std::span<const std::byte> bytes) {
  const auto is_the_same = [&](const Control& control) { return control.frame.kind == kind; };
  Control notice{{.kind = kind, .length = static_cast<std::uint32_t>(bytes.size())},
                 {bytes.begin(), bytes.end()}};
  const auto waiting = std::ranges::find_if(controls_, is_the_same);
  if (waiting == controls_.end())
    controls_.push_back(std::move(notice));
  else
    *waiting = std::move(notice);
}

void TcpPeer::send_abort(std::span<const std::byte> bytes) {
  const auto reason = bytes.first(std::min(bytes.size(), kMaxAbortBytes));
  controls_.push_back(
      {{.kind = TcpFrameKind::abort, .length = static_cast<std::uint32_t>(reason.size())},
       {reason.begin(), reason.end()}});
}

bool TcpPeer::write() {
  bool has_moved = false;
  for (std::size_t i = 0; i < used_; ++i) {
    TcpFlow& flow = flows_[i];
    while (!flow.is_idle() || give_work(flow)) {
      if (!flow.write()) break;
      written(flow);
      has_moved = true;
    }
  }
  return has_moved;
}

/// The next frame for an idle connection: notices first, then the oldest of the most urgent
/// messages.
bool TcpPeer::give_work(TcpFlow& flow) {
  if (!controls_.empty()) {
    flow.begin_copy(controls_.front().frame, controls_.front().bytes);
    controls_.pop_front();
    return true;
  }
  if (sending_.empty()) return false;
  auto& [message, cut] = sending_.front();
  const std::size_t size = std::min(kChunkBytes, message->bytes.size() - cut);
  const Frame frame{.kind = TcpFrameKind::chunk,
                    .tag = message->tag,
                    .length = static_cast<std::uint32_t>(size),
                    .offset = cut,
                    .total = message->bytes.size()};
  flow.begin(frame, message->bytes.subspan(cut, size), message);
  cut += size;
  if (cut == message->bytes.size()) sending_.pop_front();
  return true;
}

void TcpPeer::written(TcpFlow& flow) {
  Outgoing* const message = flow.owner();
  if (message == nullptr) return;
  flow.disown();
  message->moved += flow.body_bytes();
  if (message->moved == message->bytes.size()) events_.sent(*message);
}

bool TcpPeer::has_work_for(const TcpFlow& flow) const noexcept {
  const auto index = static_cast<std::size_t>(&flow - flows_.data());
  return !flow.is_idle() || (index < used_ && (!controls_.empty() || !sending_.empty()));
}

bool TcpPeer::is_flushed() const noexcept {
  return controls_.empty() &&
         std::ranges::all_of(flows_, [](const TcpFlow& flow) { return flow.is_idle(); });
}

// ---- receiving ----

void TcpPeer::receive(Incoming& message) {
  const bool is_asked_for = is_open() && message.sink.memory.size() > kUnasked;
  if (is_asked_for) controls_.push_back({{.kind = TcpFrameKind::wanted, .tag = message.tag}, {}});
  const bool is_here = arrivals_.find(message.tag) != nullptr;
  const Arrival arrival = is_here ? arrivals_.take(message.tag) : Arrival{};
  if (is_open()) incoming_.add(message.tag, {&message, arrival.here});
  for (const auto& [offset, bytes] : arrival.chunks) {
    arrived_bytes_ -= kArrivalCost + bytes.size();
    unasked_.remove(kArrivalCost + bytes.size());
    check(message, {.length = static_cast<std::uint32_t>(bytes.size()),
                    .offset = offset,
                    .total = arrival.total});
    message.sink.take(offset, bytes);
    count(message, bytes.size());
  }
}

void TcpPeer::check(const Incoming& message, const Frame& frame) {
  if (frame.total != message.sink.memory.size())
    refuse_tcp("it sent " + std::to_string(frame.total) + " bytes where " +
               std::to_string(message.sink.memory.size()) + " were expected");
  if (!message.sink.accepts(frame.offset, frame.length)) refuse_tcp("it sent a part of an element");
}

/// Every byte of a message comes once: whose place has been given to a connection may not be
/// handed back before that connection is done with it.
void TcpPeer::promise(Expected& expected, const Frame& frame) {
  expected.promised += frame.length;
  if (expected.promised > frame.total) refuse_tcp("it sent bytes twice");
}

std::span<std::byte> TcpPeer::target_of(const Frame& frame) {
  if (frame.kind != TcpFrameKind::chunk) return {};
  Expected* const expected = incoming_.find(frame.tag);
  if (expected == nullptr) return {};
  check(*expected->message, frame);
  if (expected->message->sink.reduction) return {};
  promise(*expected, frame);
  return expected->message->sink.memory.subspan(frame.offset, frame.length);
}

void TcpPeer::arrived(const Frame& frame, std::span<const std::byte> bytes) {
  switch (frame.kind) {
    case TcpFrameKind::chunk:
      return chunk_arrived(frame, bytes);
    case TcpFrameKind::wanted:
      return asked_for(frame.tag);
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
  }
}

void TcpPeer::asked_for(MessageTag tag) {
  if (unwanted_.find(tag) != nullptr) {
    queue(*unwanted_.take(tag));
  } else if (ahead_.find(tag) != nullptr) {
    ahead_bytes_ -= ahead_.take(tag);
  } else if (wanted_by_peer_.find(tag) == nullptr &&
             wanted_by_peer_.size() < kMostUnasked / kArrivalCost) {
    wanted_by_peer_.add(tag, 0);
  } else {
    refuse_tcp("it asked for a message twice");
  }
}

void TcpPeer::chunk_arrived(const Frame& frame, std::span<const std::byte> bytes) {
  if (Expected* const expected = incoming_.find(frame.tag)) {
    Incoming& message = *expected->message;
    check(message, frame);
    const auto& memory = message.sink.memory;
    const bool is_in_place = !memory.empty() && bytes.data() == memory.data() + frame.offset;
    if (!is_in_place) {
      promise(*expected, frame);
      message.sink.take(frame.offset, bytes);
    }
    return count(message, bytes.size());
  }
  keep(frame, bytes);
}

/// Keeps the bytes until a receive asks for them.
void TcpPeer::keep(const Frame& frame, std::span<const std::byte> bytes) {
  if (frame.total > kMostAhead) refuse_tcp("it sent a message that nobody asked for");
  unasked_.add(kArrivalCost + bytes.size());
  arrived_bytes_ += kArrivalCost + bytes.size();
  Arrival* arrival = arrivals_.find(frame.tag);
  if (arrival == nullptr)
    arrival = &arrivals_.add(frame.tag, {.total = frame.total});
  else if (arrival->here == arrival->total || frame.total != arrival->total)
    refuse_tcp("it sent a message twice");
  arrival->here += bytes.size();
  if (arrival->here > arrival->total) refuse_tcp("it sent bytes twice");
  arrival->chunks.push_back({frame.offset, {bytes.begin(), bytes.end()}});
}

void TcpPeer::count(Incoming& message, std::size_t bytes) {
  message.moved += bytes;
  if (message.moved > message.sink.memory.size()) refuse_tcp("it sent bytes twice");
  if (message.moved < message.sink.memory.size()) return;
  if (incoming_.find(message.tag) != nullptr) incoming_.take(message.tag);
  events_.received(message);
}

void TcpPeer::close() noexcept {
  flows_.clear();
  used_ = 0;
  controls_.clear();
  sending_.clear();
  unwanted_.clear();
  ahead_.clear();
  incoming_.clear();
}

void TcpPeer::abandon() {
  sending_.clear();
  unwanted_.clear();
  ahead_.clear();
  incoming_.clear();
  arrivals_.clear();
  unasked_.remove(std::exchange(arrived_bytes_, 0));
}

}  // namespace fastgpu::comm
