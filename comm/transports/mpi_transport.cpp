#include "comm/transports/mpi_transport.hpp"

#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {
namespace {

/// MPI's number for envelopes; those of long messages are higher.
constexpr int kEnvelopes = 0;

/// The length of a piece: a multiple of every element.
constexpr std::size_t kPieceBytes = 1 << 20;
static_assert(kPieceBytes <= mpi::kMostBytes);
/// The number of pieces of one message on their way: while one is reduced others come.
constexpr std::size_t kWindow = 3;

constexpr int kEnvelopesATurn = 16;

/// The time in which the last messages must be found by their receivers.
constexpr std::chrono::seconds kMpiDrainTimeout{2};

std::size_t bytes_of(const Outgoing& message) {
  return message.bytes.size();
}

std::size_t bytes_of(const Incoming& message) {
  return message.sink.memory.size();
}

template <class Message>
std::size_t next_piece(const Message& message, std::size_t begun) {
  return std::min(kPieceBytes, bytes_of(message) - begun);
}

[[noreturn]] void refuse_mpi(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

}  // namespace

MpiTransport::MpiTransport(std::unique_ptr<mpi::MpiMessages> messages, int size,
                           TransportEvents& events)
    : messages_(std::move(messages)),
      events_(events),
      peers_(static_cast<std::size_t>(size)),
      envelopes_(kEnvelopeBytes),
      staging_(kPieceBytes) {}

MpiTransport::~MpiTransport() {
  const Deadline deadline(kMpiDrainTimeout);
  try {
    while (!posted_.empty() && !messages_->is_over() && !deadline.passed())
      if (!collect()) ::sched_yield();
  } catch (const Error&) {
    return;  // MPI is broken, and moves no more data.
  }
}

// ---- sending ----

void MpiTransport::send(Outgoing& message) {
  Peer& to = peer(message.peer);
  if (to.is_lost) return;
  link_.count_sent(message.bytes.size());
  if (message.bytes.size() <= kInsideBytes) {
    Envelope envelope{.tag = message.tag, .bytes = message.bytes.size(), .inside = message.bytes};
    if (message.note != nullptr) envelope.note = *message.note;
    post(envelope, message.peer);
    message.moved = message.bytes.size();
    return events_.sent(message);
  }
  if (to.sending.size() < static_cast<std::size_t>(mpi::kHighestNumber))
    begin_long(message);
  else
    to.waiting.push_back(&message);
}

void MpiTransport::begin_long(Outgoing& message) {
  const std::uint32_t number = peer(message.peer).sending.add(&message) + 1;
  Envelope envelope{.tag = message.tag, .bytes = message.bytes.size(), .number = number};
  if (message.note != nullptr) envelope.note = *message.note;
  post(envelope, message.peer);
  outgoing_.push_back({&message, number});
  advance(outgoing_.back());
}

void MpiTransport::post(const Envelope& envelope, Rank to) {
  Memory memory = envelopes_.take();
  const std::size_t bytes = encode(envelope, {memory.get(), kEnvelopeBytes});
  auto transfer = messages_->send({memory.get(), bytes}, to, kEnvelopes);
  posted_.push_back({to, LentMemory(std::move(transfer), std::move(memory))});
}

MpiTransport::Piece MpiTransport::begin_piece(const Stream<Outgoing>& stream) {
  const Outgoing& message = *stream.message;
  const auto bytes = message.bytes.subspan(stream.begun, next_piece(message, stream.begun));
  auto transfer = messages_->send(bytes, message.peer, static_cast<int>(stream.number));
  return {bytes.size(), LentMemory(std::move(transfer), nullptr)};
}

void MpiTransport::ended(const Stream<Outgoing>& stream) {
  Peer& to = peer(stream.message->peer);
  to.sending.remove(stream.number - 1);
  events_.sent(*stream.message);
  if (to.waiting.empty()) return;
  Outgoing& next = *to.waiting.front();
  to.waiting.pop_front();
  begin_long(next);
}

/// Takes back envelopes that have been found, the oldest first.
bool MpiTransport::collect() {
  bool has_moved = false;
  for (; !posted_.empty() && posted_.front().envelope.test(); has_moved = true) {
    envelopes_.give(posted_.front().envelope.take_back());
    posted_.pop_front();
  }
  return has_moved;
}

// ---- receiving ----

void MpiTransport::receive(Incoming& message) {
  Peer& from = peer(message.peer);
  link_.count_received(message.sink.memory.size());
  if (from.arrivals.find(message.tag) == nullptr) {
    from.wanted.add(message.tag, &message);
    ++wanted_;
    return;
  }
  const Arrival arrival = from.arrivals.take(message.tag);
  from.arrived_bytes -= kArrivalCost + arrival.inside.size();
  try {
    begin(message, arrival, arrival.inside);
  } catch (const Error& e) {
    lose(message.peer, e);
  }
}

bool MpiTransport::find() {
  Memory memory = envelopes_.take();
  auto found = messages_->find({memory.get(), kEnvelopeBytes}, kEnvelopes);
  if (!found) {
    envelopes_.give(std::move(memory));
    return false;
  }
  arriving_.push_back(
      {found->from, found->bytes, LentMemory(std::move(found->transfer), std::move(memory))});
  return true;
}

bool MpiTransport::open_arrived() {
  bool has_moved = false;
  for (; !arriving_.empty() && arriving_.front().envelope.test(); has_moved = true) {
    auto& [from, bytes, envelope] = arriving_.front();
    try {
      if (!peer(from).is_lost) open(from, {envelope.bytes(), bytes});
    } catch (const Error& e) {
      lose(from, e);
    }
    envelopes_.give(envelope.take_back());
    arriving_.pop_front();
  }
  return has_moved;
}

void MpiTransport::open(Rank rank, std::span<const std::byte> bytes) {
  const Envelope envelope = decode_envelope(bytes);
  if (envelope.note) events_.noted(rank, envelope.tag, *envelope.note);
  Peer& from = peer(rank);
  if (from.wanted.find(envelope.tag) == nullptr) return keep(from, envelope);
  --wanted_;
  begin(*from.wanted.take(envelope.tag), {envelope.tag, envelope.bytes, envelope.number},
        envelope.inside);
}

/// Keeps an envelope until it is asked for.
void MpiTransport::keep(Peer& from, const Envelope& envelope) {
  if (from.arrivals.find(envelope.tag) != nullptr)
    refuse_mpi("it sent two messages where there is one");
  from.arrived_bytes += kArrivalCost + envelope.inside.size();
  if (from.arrived_bytes > kMostUnasked) refuse_mpi("it sent far more than anybody asked for");
  from.arrivals.add(envelope.tag, {envelope.tag,
                                   envelope.bytes,
                                   envelope.number,
                                   {envelope.inside.begin(), envelope.inside.end()}});
}

void MpiTransport::begin(Incoming& message, const Arrival& what,
                         std::span<const std::byte> inside) {
  check_shape({what.tag, what.bytes}, {message.tag, bytes_of(message)});
  if (what.number != 0) {
    incoming_.push_back({&message, what.number});
    return;
  }
  message.sink.take(0, inside);
  message.moved = inside.size();
  events_.received(message);
}

MpiTransport::Piece MpiTransport::begin_piece(const Stream<Incoming>& stream) {
  const Incoming& message = *stream.message;
  const std::size_t bytes = next_piece(message, stream.begun);
  Memory staged = message.sink.reduction ? staging_.take() : nullptr;
  const auto into =
      staged ? std::span(staged.get(), bytes) : message.sink.memory.subspan(stream.begun, bytes);
  auto transfer = messages_->receive(into, message.peer, static_cast<int>(stream.number));
  return {bytes, LentMemory(std::move(transfer), std::move(staged))};
}

void MpiTransport::end_piece(const Stream<Incoming>& stream, Piece& piece) {
  Memory staged = piece.lent.take_back();
  if (!staged) return;
  stream.message->sink.take(stream.message->moved, {staged.get(), piece.bytes});
  staging_.give(std::move(staged));
}

// ---- both ----

bool MpiTransport::progress() {
  bool has_moved = collect();
  for (int i = 0; i < kEnvelopesATurn && find(); ++i)
    has_moved = true;
  has_moved = open_arrived() || has_moved;
  has_moved = advance_all(outgoing_) || has_moved;
  return advance_all(incoming_) || has_moved;
}

template <class Message>
bool MpiTransport::advance_all(std::list<Stream<Message>>& streams) {
  bool has_moved = false;
  for (auto stream = streams.begin(); stream != streams.end();) {
    has_moved = advance(*stream) || has_moved;
    const bool has_ended = stream->message->moved == bytes_of(*stream->message);
    if (has_ended) ended(*stream);
    stream = has_ended ? streams.erase(stream) : std::next(stream);
  }
  return has_moved;
}

template <class Message>
bool MpiTransport::advance(Stream<Message>& stream) {
  bool has_moved = false;
  auto& [message, number, begun, pieces] = stream;
  for (; !pieces.empty() && pieces.front().lent.test(); has_moved = true) {
    end_piece(stream, pieces.front());
    message->moved += pieces.front().bytes;
    pieces.pop_front();
  }
  while (pieces.size() < kWindow && begun < bytes_of(*message)) {
    pieces.push_back(begin_piece(stream));
    begun += pieces.back().bytes;
  }
  return has_moved;
}

bool MpiTransport::needs_progress() const noexcept {
  return wanted_ > 0 || !posted_.empty() || !arriving_.empty() || !outgoing_.empty() ||
         !incoming_.empty();
}

void MpiTransport::lose(Rank rank, const Error& error) {
  peer(rank).is_lost = true;
  events_.lost(rank, error);
}

void MpiTransport::forget(Rank rank) {
  posted_.remove_if([rank](const Posted& each) { return each.to == rank; });
  outgoing_.remove_if([rank](const Stream<Outgoing>& each) { return each.message->peer == rank; });
  peer(rank).sending = {};
  peer(rank).waiting.clear();
}

void MpiTransport::abandon() noexcept {
  posted_.clear();
  arriving_.clear();
  outgoing_.clear();
  incoming_.clear();
  for (Peer& each : peers_)
    each = {};
  wanted_ = 0;
}

}  // namespace fastgpu::comm
