#include "comm/engine/call.hpp"

#include <cstring>

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

}  // namespace

Note encode(const Call& call) {
  Note bytes{};
  WireWriter(bytes)
      .put(kMagic)
      .put(static_cast<std::uint8_t>(call.kind))
      .put(static_cast<std::uint8_t>(call.reduction.type))
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
  const std::string bytes = std::to_string(call.bytes) + " bytes";
  switch (call.kind) {
    case CallKind::barrier:
      return "barrier" + number(call);
    case CallKind::all_reduce:
      return "all_reduce" + number(call) + elements(call);
    case CallKind::broadcast:
      return "broadcast" + number(call) + " (" + bytes + " of rank " +
             std::to_string(call.root.value) + ")";
    case CallKind::all_gather:
      return "all_gather" + number(call) + " (" + bytes + " each)";
    case CallKind::reduce_scatter:
      return "reduce_scatter" + number(call) + elements(call);
    case CallKind::all_to_all:
      return "all_to_all" + number(call) + " (" + bytes + " for each)";
    case CallKind::message:
      return "a message of " + bytes;
  }
  return "unknown collective";
}

void check_same(const CallOf& mine, const NoteOf& theirs) {
  const Note note = encode(mine.call);
  // By memcmp: the == of arrays of bytes compares one byte after the other.
  if (std::memcmp(note.data(), theirs.note.data(), note.size()) == 0) return;
  throw Error(ErrorKind::usage, "rank " + std::to_string(theirs.rank.value) + " is in " +
                                    describe(decode(theirs.note, theirs.rank)) + ", but rank " +
                                    std::to_string(mine.rank.value) + " is in " +
                                    describe(mine.call) +
                                    ": every rank must make the same calls in the same order");
}

}  // namespace fastgpu::comm
