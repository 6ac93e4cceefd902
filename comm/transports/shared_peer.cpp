#include "comm/transports/shared_peer.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {
namespace {

constexpr int kDescriptorsATurn = 16;

[[noreturn]] void refuse_shared(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

/// Returns true for the kinds of messages whose bytes are in the mailbox.
bool is_whole_in_mailbox(DescriptorKind kind) noexcept {
  return kind == DescriptorKind::inlined || kind == DescriptorKind::eager;
}

std::size_t bytes_of(const Descriptor& descriptor) {
  return is_whole_in_mailbox(descriptor.kind) ? descriptor.length : descriptor.terms().bytes;
}

void copy_note(Descriptor& descriptor, const Note& note) {
  descriptor.note = NoteForm::whole;
  std::memcpy(descriptor.body, note.data(), note.size());
}

/// Makes it the note of the next call that is like its own.
void count_up(Note& note) noexcept {
  std::uint64_t count = 0;
  std::memcpy(&count, note.data() + kCountInNote, sizeof(count));
  count = in_wire_order(in_wire_order(count) + 1);
  std::memcpy(note.data() + kCountInNote, &count, sizeof(count));
}

std::span<const std::byte> inlined_bytes(const Descriptor& descriptor) {
  const std::size_t begin = descriptor.note == NoteForm::whole ? kNoteBytes : 0;
  if (descriptor.length > Descriptor::kBody - begin)
    refuse_shared("it sent a descriptor that makes no sense");
  return std::span(descriptor.body).subspan(begin, descriptor.length);
}

}  // namespace

// ---- sending ----

void SharedPeer::send(Outgoing& message) {
  if (!unsent_.empty() || !try_to_send(message)) unsent_.push_back(&message);
}

bool SharedPeer::send_now(Outgoing& message) {
  return unsent_.empty() && is_short(message) && may_put() && put_short(message);
}

/// Returns false if there is not enough room now.
bool SharedPeer::try_to_send(Outgoing& message) {
  if (!has_room_for(message)) return false;
  if (!is_short(message)) {
    if (!is_staged(message) || !put_copied(message)) put_long(message);
  } else {
    if (!put_short(message)) return false;
    events_.sent(message);
  }
  return true;
}

/// Returns whether a descriptor may be put. The note of a long message goes ahead.
bool SharedPeer::has_room_for(Outgoing& message) {
  if (!may_put()) return false;
  if (message.note == nullptr || is_short(message)) return true;
  Descriptor descriptor{.kind = DescriptorKind::note, .tag = message.tag};
  copy_note(descriptor, *message.note);
  put(descriptor);
  note_is_put(message.note);
  message.note = nullptr;
  return out_.has_room();
}

bool SharedPeer::is_short(const Outgoing& message) noexcept {
  return message.bytes.size() <= (message.is_reduced ? kEagerBytes : kEagerCopied);
}

/// Returns false if its bytes have no room now.
bool SharedPeer::put_short(Outgoing& message) {
  const std::size_t size = message.bytes.size();
  const NoteForm form = form_of(message.note);
  const std::size_t of_note = form == NoteForm::whole ? kNoteBytes : 0;
  has_put_ = true;
  if (of_note + size <= Descriptor::kBody) {
    out_.put_inlined(message.tag, form, message.note, message.bytes, barrier_maker_);
  } else {
    if (!out_.put_bytes(message.bytes, into_ring_)) return false;
    Descriptor descriptor{.kind = DescriptorKind::eager,
                          .note = form,
                          .length = static_cast<std::uint16_t>(size),
                          .tag = message.tag};
    if (form == NoteForm::whole) copy_note(descriptor, *message.note);
    put(descriptor);
  }
  note_is_put(message.note);
  message.moved = size;
  return true;
}

NoteForm SharedPeer::form_of(const Note* note) const noexcept {
  if (note == nullptr) return NoteForm::none;
  // By memcmp: the == of arrays of bytes compares one byte after the other.
  const bool is_next = next_put_ && std::memcmp(note->data(), next_put_->data(), kNoteBytes) == 0;
  return is_next ? NoteForm::next : NoteForm::whole;
}

void SharedPeer::note_is_put(const Note* note) noexcept {
  if (note == nullptr) return;
  next_put_ = *note;
  count_up(*next_put_);
}

/// Returns true for a message that is copied for its receiver, if there is room.
bool SharedPeer::is_staged(const Outgoing& message) const noexcept {
  const bool is_for_one = !message.is_reduced && message.same_messages == 1;
  return message.bytes.size() <= (is_for_one ? kStagedForOne : kStaged) &&
         !own_heap_.place_of(message.bytes);
}

/// Returns false without room.
bool SharedPeer::put_copied(Outgoing& message) {
  const auto copy = staged_.add(message);
  if (!copy) return false;
  Descriptor descriptor{.kind = DescriptorKind::staged, .tag = message.tag};
  descriptor.set({.bytes = message.bytes.size(),
                  .offset = StagedMessages::offset_of(*copy),
                  .request = offered_.add({.copy = copy})});
  ++unread_copies_;
  put(descriptor);
  staged_.announced(*copy);
  return true;
}

/// Puts the place of the bytes, which the receiver reads, or asks for.
void SharedPeer::put_long(Outgoing& message) {
  Descriptor descriptor{.kind = DescriptorKind::announce, .tag = message.tag};
  Descriptor::Terms terms{.bytes = message.bytes.size(),
                          .request = offered_.add({.message = &message})};
  terms.offset = reinterpret_cast<std::uintptr_t>(message.bytes.data());
  if (const auto place = own_heap_.place_of(message.bytes)) {
    descriptor.kind = DescriptorKind::offer;
    terms.offset = place->offset;
    terms.region = place->region;
    terms.generation = place->generation;
  }
  descriptor.set(terms);
  put(descriptor);
  message.moved = 0;
  has_sent_long_ = true;
}

void SharedPeer::put(const Descriptor& descriptor) {
  out_.put(descriptor, barrier_maker_);
  has_put_ = true;
}

void SharedPeer::answer(DescriptorKind kind, const Descriptor::Terms& terms) {
  Descriptor descriptor{.kind = kind};
  descriptor.set(terms);
  if (answers_.empty() && out_.has_room())
    put(descriptor);
  else
    answers_.push_back(descriptor);
}

/// Puts what had no room.
bool SharedPeer::flush() {
  bool has_moved = false;
  for (; !answers_.empty() && out_.has_room(); has_moved = true) {
    put(answers_.front());
    answers_.pop_front();
  }
  for (; !unsent_.empty() && try_to_send(*unsent_.front()); has_moved = true)
    unsent_.pop_front();
  return has_moved;
}

/// Fills cells, the oldest message first.
bool SharedPeer::copy_to_cells() {
  bool has_moved = false;
  while (!cell_transfers_.empty() && out_.has_room()) {
    const auto cell = out_.free_cell();
    if (cell.empty()) break;
    auto& [message, number] = cell_transfers_.front();
    const std::size_t size = std::min(cell.size(), message->bytes.size() - message->moved);
    std::memcpy(cell.data(), message->bytes.data() + message->moved, size);
    out_.cell_filled();
    Descriptor descriptor{.kind = DescriptorKind::piece};
    descriptor.set({.bytes = size, .offset = message->moved, .number = number});
    put(descriptor);
    message->moved += size;
    has_moved = true;
    if (message->moved < message->bytes.size()) continue;
    events_.sent(*message);
    cell_transfers_.pop_front();
  }
  return has_moved;
}

// ---- receiving ----

void SharedPeer::receive(Incoming& message) {
  if (arrivals_.find(message.tag) == nullptr) {
    wanted_.add(message.tag, &message);
    return;
  }
  const Arrival arrival = take_arrival(message.tag);
  begin(message, arrival.descriptor, arrival.bytes);
}

SharedPeer::Arrival SharedPeer::take_arrival(MessageTag tag) {
  Arrival arrival = arrivals_.take(tag);
  arrived_bytes_ -= kArrivalCost + arrival.bytes.size();
  unasked_.remove(kArrivalCost + arrival.bytes.size());
  return arrival;
}

bool SharedPeer::receive_now(Incoming& message) {
  if (const Arrival* const arrival = arrivals_.find(message.tag)) {
    if (!is_whole(arrival->descriptor, message)) return false;
    complete(message, take_arrival(message.tag).bytes);
    return true;
  }
  for (int i = 0; i < kDescriptorsATurn; ++i) {
    if (!in_.take(taken_)) return false;
    if (deliver_now(message, taken_)) return true;
    open(taken_);
  }
  return false;
}

/// Returns whether the descriptor brings all bytes of the message.
bool SharedPeer::is_whole(const Descriptor& descriptor, const Incoming& message) {
  return is_whole_in_mailbox(descriptor.kind) && descriptor.tag == message.tag &&
         descriptor.length == message.sink.memory.size() && descriptor.length <= kEagerBytes;
}

void SharedPeer::complete(Incoming& message, std::span<const std::byte> bytes) {
  into_places_.put(message.sink, 0, bytes);
  message.moved = bytes.size();
}

/// Returns false, with nothing done, unless the next descriptor brings all bytes of the message.
bool SharedPeer::deliver_now(Incoming& message, const Descriptor& descriptor) {
  if (!is_whole(descriptor, message)) return false;
  report_note(descriptor);
  if (descriptor.kind == DescriptorKind::inlined) {
    complete(message, inlined_bytes(descriptor));
  } else {
    complete(message, in_.bytes(message.sink.memory.size()));
    in_.drop_bytes(message.moved);
  }
  return true;
}

bool SharedPeer::progress() {
  bool has_moved = (!unsent_.empty() || !answers_.empty()) && flush();
  for (int i = 0; i < kDescriptorsATurn && may_take(); ++i) {
    const bool had_wanted = wanted_.size() > 0;
    Descriptor descriptor;
    if (!in_.take(descriptor)) break;
    open(descriptor);
    has_moved = true;
    // A message that no receive has asked for stays in the mailbox, which costs no memory.
    if (had_wanted && wanted_.size() == 0) break;
  }
  if (!cell_transfers_.empty()) has_moved = copy_to_cells() || has_moved;
  if (reader_.is_busy()) has_moved = read() || has_moved;
  if (joined_ && !has_moved) has_moved = copy_joined();
  return has_moved;
}

void SharedPeer::report_note(const Descriptor& descriptor) {
  switch (descriptor.note) {
    case NoteForm::none:
      return;
    case NoteForm::whole:
      std::memcpy(last_taken_.data(), descriptor.body, last_taken_.size());
      break;
    case NoteForm::next:
      count_up(last_taken_);
      break;
    default:
      refuse_shared("it sent a descriptor that makes no sense");
  }
  events_.noted(rank_, descriptor.tag, last_taken_);
}

void SharedPeer::open(const Descriptor& descriptor) {
  report_note(descriptor);
  switch (descriptor.kind) {
    case DescriptorKind::inlined:
    case DescriptorKind::eager:
    case DescriptorKind::offer:
    case DescriptorKind::staged:
    case DescriptorKind::announce:
      return on_message(descriptor);
    case DescriptorKind::wanted:
      return on_wanted(descriptor);
    case DescriptorKind::piece:
      return on_piece(descriptor);
    case DescriptorKind::join:
    case DescriptorKind::join_in_heap:
      return on_join(descriptor);
    case DescriptorKind::ack:
      return on_ack(descriptor);
    case DescriptorKind::note:
      return;
    case DescriptorKind::turn:
      break;
  }
  refuse_shared("it sent a descriptor of a kind that does not exist");
}

void SharedPeer::on_message(const Descriptor& descriptor) {
  std::span<const std::byte> bytes;
  if (descriptor.kind == DescriptorKind::inlined) bytes = inlined_bytes(descriptor);
  if (descriptor.kind == DescriptorKind::eager) {
    if (bytes_of(descriptor) > kEagerBytes)
      refuse_shared("it sent a descriptor that makes no sense");
    bytes = in_.bytes(bytes_of(descriptor));
  }
  if (wanted_.find(descriptor.tag) != nullptr)
    begin(*wanted_.take(descriptor.tag), descriptor, bytes);
  else
    keep(descriptor, bytes);
  if (descriptor.kind == DescriptorKind::eager) in_.drop_bytes(bytes.size());
}

/// Keeps a message until a receive asks for it.
void SharedPeer::keep(const Descriptor& descriptor, std::span<const std::byte> bytes) {
  if (arrivals_.find(descriptor.tag) != nullptr)
    refuse_shared("it sent two messages where there is one");
  unasked_.add(kArrivalCost + bytes.size());
  arrived_bytes_ += kArrivalCost + bytes.size();
  arrivals_.add(descriptor.tag, {descriptor, {bytes.begin(), bytes.end()}});
}

void SharedPeer::begin(Incoming& message, const Descriptor& descriptor,
                       std::span<const std::byte> bytes) {
  check_shape({descriptor.tag, bytes_of(descriptor)}, {message.tag, message.sink.memory.size()});
  if (is_whole_in_mailbox(descriptor.kind)) return deliver(message, bytes);
  const auto terms = descriptor.terms();
  if (descriptor.kind == DescriptorKind::staged) return read_copy(message, terms);
  if (descriptor.kind == DescriptorKind::offer && begin_reading(message, terms)) return;
  if (descriptor.kind == DescriptorKind::announce && memory_.is_readable())
    return reader_.add(message, terms.offset, terms.request);
  answer(DescriptorKind::wanted, {.request = terms.request, .number = expected_.add(&message)});
}

/// Returns false if what is offered cannot be read where it is: then it comes through cells.
bool SharedPeer::begin_reading(Incoming& message, const Descriptor::Terms& terms) {
  const auto& reduction = message.sink.reduction;
  if (reduction && terms.offset % size_of(reduction->type) != 0)
    refuse_shared("it offered what begins within an element");
  const auto from = mapped(terms, terms.bytes);
  if (from) reader_.add(message, *from, terms.request);
  return from.has_value();
}

void SharedPeer::read_copy(Incoming& message, const Descriptor::Terms& terms) {
  const bool is_whole = terms.offset <= staged_by_peer_.size() &&
                        terms.bytes <= staged_by_peer_.size() - terms.offset;
  if (!is_whole || terms.offset % StagedMessages::kUnit != 0)
    refuse_shared("it named a copy that it cannot have made");
  reader_.add(message, staged_by_peer_.subspan(terms.offset, terms.bytes), terms.request);
}

/// Returns the place in the peer's heap; absent if it cannot be mapped, for want of descriptors or
/// addresses.
std::optional<std::span<std::byte>> SharedPeer::mapped(const Descriptor::Terms& terms,
                                                       std::uint64_t bytes) {
  try {
    return heap_.at({terms.region, terms.generation, terms.offset}, bytes);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::remote) throw;
    return std::nullopt;
  }
}

void SharedPeer::deliver(Incoming& message, std::span<const std::byte> bytes) {
  into_places_.put(message.sink, message.moved, bytes);
  message.moved += bytes.size();
  if (message.moved == message.sink.memory.size()) events_.received(message);
}

/// Returns a message that has been offered or announced; null for a number without one.
Outgoing* SharedPeer::offered(std::uint32_t request) {
  const Offered* const found = offered_.find(request);
  return found == nullptr ? nullptr : found->message;
}

void SharedPeer::on_wanted(const Descriptor& descriptor) {
  const auto terms = descriptor.terms();
  Outgoing* const message = offered(terms.request);
  if (message == nullptr) refuse_shared("it wants a message that was not offered");
  if (joined_ && joined_->request == terms.request) joined_.reset();
  cell_transfers_.push_back({message, terms.number});
  offered_.remove(terms.request);
}

void SharedPeer::on_piece(const Descriptor& descriptor) {
  const auto terms = descriptor.terms();
  Incoming** const expected = expected_.find(terms.number);
  if (expected == nullptr || terms.bytes > kCellBytes || terms.offset != (*expected)->moved ||
      !(*expected)->sink.accepts(terms.offset, terms.bytes))
    refuse_shared("it sent a piece of no message");
  Incoming& message = **expected;
  if (terms.offset + terms.bytes == message.sink.memory.size()) expected_.remove(terms.number);
  deliver(message, in_.cell().first(terms.bytes));
  in_.drop_cell();
}

void SharedPeer::on_join(const Descriptor& descriptor) {
  const auto terms = descriptor.terms();
  Outgoing* const message = offered(terms.request);
  if (message == nullptr) refuse_shared("it takes a message that was not offered");
  Joined joined{.message = message, .request = terms.request, .copy = terms.number};
  if (descriptor.kind == DescriptorKind::join) {
    joined.address = terms.offset;
    joined_ = joined;
  } else if (const auto place = mapped(terms, joined.message->bytes.size())) {
    joined.mapped = *place;
    joined_ = joined;
  }
}

void SharedPeer::on_ack(const Descriptor& descriptor) {
  const std::uint32_t request = descriptor.terms().request;
  const Offered* const found = offered_.find(request);
  if (found == nullptr) refuse_shared("it took a message that was not offered");
  if (joined_ && joined_->request == request) joined_.reset();
  const Offered done = *found;
  offered_.remove(request);
  if (done.copy) {
    --unread_copies_;
    return staged_.taken(*done.copy, rank_);
  }
  done.message->moved = done.message->bytes.size();
  events_.sent(*done.message);
}

/// Lets the sender of a message copy pieces of it, too.
void SharedPeer::invite(const MessageReader::Invitation& invited) {
  Descriptor::Terms terms{.request = invited.request, .number = invited.copy};
  const auto place = own_heap_.place_of(invited.into);
  if (!place) {
    terms.offset = reinterpret_cast<std::uintptr_t>(invited.into.data());
    return answer(DescriptorKind::join, terms);
  }
  terms.offset = place->offset;
  terms.region = place->region;
  terms.generation = place->generation;
  answer(DescriptorKind::join_in_heap, terms);
}

/// Reads one piece of the oldest message.
bool SharedPeer::read() {
  // A peer that reads a message of this rank meanwhile has enough to do.
  if (offered_.size() == unread_copies_) {
    if (const auto invited = reader_.invite(has_sent_long_)) invite(*invited);
  }
  const MessageReader::Read read = reader_.read();
  if (read.done == nullptr) return read.has_moved;
  has_sent_long_ = false;
  answer(DescriptorKind::ack, {.request = read.request});
  events_.received(*read.done);
  return true;
}

/// Copies one piece of a message that the peer copies, too.
bool SharedPeer::copy_joined() {
  const std::span<const std::byte> bytes = joined_->message->bytes;
  const auto piece = out_.joint_copy().claim(joined_->copy, copy_pieces(bytes.size()));
  if (!piece) {
    joined_.reset();
    return false;
  }
  if (copy_piece_of(*joined_, copy_piece(bytes.size(), *piece))) {
    out_.joint_copy().release();
  } else {
    out_.joint_copy().give_back(*piece);
    joined_.reset();
  }
  return true;
}

/// Returns false if the peer's memory cannot be written.
bool SharedPeer::copy_piece_of(const Joined& joined, const CopyPiece& piece) {
  const auto from = joined.message->bytes.subspan(piece.begin, piece.size);
  if (joined.mapped.empty()) return memory_.write(from, joined.address + piece.begin);
  MessageSink{joined.mapped}.take(piece.begin, from);
  return true;
}

void SharedPeer::abandon() {
  wanted_.clear();
  arrivals_.clear();
  unasked_.remove(std::exchange(arrived_bytes_, 0));
  expected_ = {};
  reader_.forget();
  forget_outgoing();
}

void SharedPeer::forget_outgoing() {
  offered_ = {};
  unread_copies_ = 0;
  staged_.forget(rank_);
  joined_.reset();
  cell_transfers_.clear();
  unsent_.clear();
}

}  // namespace fastgpu::comm
