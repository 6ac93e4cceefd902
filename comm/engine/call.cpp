#include "comm/engine/call.hpp"

#include <cstring>
#include <functional>
#include <sstream>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kMagic = 0x46474361;  // "FGCa"

/// Returns the first byte of a number in memory: data of a machine with another byte order is
/// refused.
std::uint32_t native_order() {
  const std::uint32_t value = 0x01020304;
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  return std::to_integer<std::uint32_t>(*first);
}

std::string unreadable(Rank peer) {
  return "rank " + std::to_string(peer.value) +
         " sent no collective call: it runs another version, or died in the middle of one";
}

std::string number(const Call& call) {
  return " number " + std::to_string(call.sequence);
}

std::string elements(const Call& call) {
  const AllReducePlan& plan = call.plan;
  const std::string by = plan.algorithm ? " by " + std::string(name_of(*plan.algorithm)) : "";
  const std::string in =
      plan.piece_log2 > 0 ? " in pieces of 2^" + std::to_string(plan.piece_log2) + " bytes" : "";
  return " (" + std::string(name_of(call.reduction.op)) + " of " +
         std::to_string(call.bytes / size_of(call.reduction.type)) + " " +
         std::string(name_of(call.reduction.type)) + by + in + ")";
}

/// Returns the length and type of what is moved: "16 bytes", or "4 float32".
std::string moved(const Call& call) {
  if (call.moved == ElementType::uint8) return std::to_string(call.bytes) + " bytes";
  return std::to_string(call.bytes / size_of(call.moved)) + " " + std::string(name_of(call.moved));
}

/// Returns the number of an algorithm; 0 if none is set.
std::uint8_t number_of(const std::optional<Algorithm>& algorithm) {
  return algorithm ? static_cast<std::uint8_t>(static_cast<int>(*algorithm) + 1) : 0;
}

/// Decodes a call, as far as a message needs it. Throws unless it is a call.
Call decode(const Note& bytes, Rank peer) {
  WireReader in(bytes);
  if (in.get<std::uint32_t>() != kMagic) throw Error(ErrorKind::remote, unreadable(peer));
  Call call;
  const auto kind = in.get<std::uint8_t>();
  const auto type = in.get<std::uint8_t>();
  const auto op = in.get<std::uint8_t>();
  const auto order = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(CallKind::message) || type >= kElementTypes ||
      op >= kReduceOps || order != native_order())
    throw Error(ErrorKind::remote, unreadable(peer));
  call.kind = static_cast<CallKind>(kind);
  call.moved = static_cast<ElementType>(type);
  call.reduction = {static_cast<ElementType>(type), static_cast<ReduceOp>(op)};
  call.sequence = in.get<std::uint64_t>();
  call.bytes = in.get<std::uint64_t>();
  call.root = {static_cast<int>(in.get<std::uint32_t>())};
  const auto algorithm = in.get<std::uint8_t>();
  if (algorithm > kAlgorithms.size()) throw Error(ErrorKind::remote, unreadable(peer));
  if (algorithm > 0) call.plan.algorithm = kAlgorithms[algorithm - 1U];
  call.plan.piece_log2 = in.get<std::uint8_t>();
  return call;
}

/// Returns the name of a call in the C ABI, without its prefix.
std::string_view name_of(CallKind kind) {
  switch (kind) {
    case CallKind::barrier:
      return "barrier";
    case CallKind::all_reduce:
      return "all_reduce";
    case CallKind::broadcast:
      return "broadcast";
    case CallKind::all_gather:
      return "all_gather";
    case CallKind::reduce_scatter:
      return "reduce_scatter";
    case CallKind::all_to_all:
      return "all_to_all";
    case CallKind::split:
      return "split";
    case CallKind::message:
      return "message";
  }
  return "call";
}

/// Returns "8 bytes at 0x7f00".
std::string range_text(std::span<const std::byte> memory) {
  std::ostringstream text;
  text << counted(memory.size(), "byte") << " at 0x" << std::hex
       << reinterpret_cast<std::uintptr_t>(memory.data());
  return text.str();
}

bool overlap(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
  constexpr std::less<> kBefore;  // In one order for all pointers, also of other arrays.
  return !one.empty() && !other.empty() && kBefore(one.data(), other.data() + other.size()) &&
         kBefore(other.data(), one.data() + one.size());
}

/// Returns true if the call works on memory that it both reads and writes.
bool works_in_place(CallKind kind, const CallMemory& memory, Rank rank) noexcept {
  switch (kind) {
    case CallKind::all_reduce:
    case CallKind::broadcast:
      return memory.in.data() == memory.out.data() && memory.in.size() == memory.out.size();
    case CallKind::all_gather:
      return memory.in.data() ==
             memory.out.data() + static_cast<std::size_t>(rank.value) * memory.in.size();
    case CallKind::barrier:
    case CallKind::reduce_scatter:
    case CallKind::all_to_all:
    case CallKind::split:
    case CallKind::message:
      return false;
  }
  return false;
}

}  // namespace

void check_memory(CallKind kind, const CallMemory& memory, Rank rank) {
  if (!overlap(memory.in, memory.out) || works_in_place(kind, memory, rank)) return;
  const std::string exception = kind == CallKind::all_gather
                                    ? ", and the input is not at this rank's place in the output"
                                    : "";
  throw Error(ErrorKind::usage, std::string(name_of(kind)) + ": the input (" +
                                    range_text(memory.in) + ") overlaps the output (" +
                                    range_text(memory.out) + ")" + exception);
}

Note encode(const Call& call) {
  Note bytes{};
  WireWriter(bytes)
      .put(kMagic)
      .put(static_cast<std::uint8_t>(call.kind))
      .put(static_cast<std::uint8_t>(is_reduction(call.kind) ? call.reduction.type : call.moved))
      .put(static_cast<std::uint8_t>(call.reduction.op))
      .put(static_cast<std::uint8_t>(native_order()))
      .put(call.sequence)
      .put(call.bytes)
      .put(static_cast<std::uint32_t>(call.root.value))
      .put(number_of(call.plan.algorithm))
      .put(call.plan.piece_log2);
  return bytes;
}

std::string describe(const Call& call) {
  switch (call.kind) {
    case CallKind::barrier:
      return "barrier" + number(call);
    case CallKind::all_reduce:
      return "all_reduce" + number(call) + elements(call);
    case CallKind::broadcast:
      return "broadcast" + number(call) + " (" + moved(call) + " of rank " +
             std::to_string(call.root.value) + ")";
    case CallKind::all_gather:
      return "all_gather" + number(call) + " (" + moved(call) + " each)";
    case CallKind::reduce_scatter:
      return "reduce_scatter" + number(call) + elements(call);
    case CallKind::all_to_all:
      return "all_to_all" + number(call) + " (" + moved(call) + " for each)";
    case CallKind::split:
      return "split" + number(call);
    case CallKind::message:
      return "a message of " + moved(call);
  }
  return "unknown collective";
}

void check_same(const NoteOf& mine, const NoteOf& theirs) {
  // By memcmp: the == of arrays of bytes compares one byte after the other.
  if (std::memcmp(mine.note.data(), theirs.note.data(), kNoteBytes) == 0) return;
  const auto what_is_in = [](const NoteOf& one) {
    return "rank " + std::to_string(one.rank.value) + " is in " +
           describe(decode(one.note, one.rank));
  };
  throw Error(ErrorKind::usage, what_is_in(theirs) + ", but " + what_is_in(mine) +
                                    ": every rank must make the same calls in the same order");
}

}  // namespace fastgpu::comm
