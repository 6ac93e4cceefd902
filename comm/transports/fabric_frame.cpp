#include "comm/transports/fabric_frame.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kFabricMagic = 0x46474366;  // "FGCf"
constexpr std::size_t kOffer = 8;
constexpr std::size_t kGrant = 8 + 8 + 4 + 4 + 1 + 8 + 8;
constexpr std::size_t kDone = 4 + 4;
constexpr std::size_t kCredit = 8 + 8;

[[noreturn]] void refuse() {
  throw Error(ErrorKind::remote, "it sent what no rank of this version sends");
}

/// Returns the bytes behind head and note; absent if any number of them will do.
std::optional<std::size_t> body_of(FabricFrameKind kind) {
  switch (kind) {
    case FabricFrameKind::message:
      return std::nullopt;
    case FabricFrameKind::offer:
      return kOffer;
    case FabricFrameKind::grant:
      return kGrant;
    case FabricFrameKind::done:
      return kDone;
    case FabricFrameKind::credit:
      return kCredit;
    case FabricFrameKind::note:
    case FabricFrameKind::question:
    case FabricFrameKind::hello:
    case FabricFrameKind::farewell:
      return 0;
  }
  return 0;
}

void read_grant(WireReader& in, FabricGrant& grant) {
  grant.total = in.get<std::uint64_t>();
  grant.offset = in.get<std::uint64_t>();
  grant.length = in.get<std::uint32_t>();
  grant.number = in.get<std::uint32_t>();
  const auto tagged = in.get<std::uint8_t>();
  grant.place.address = in.get<std::uint64_t>();
  grant.place.key = in.get<std::uint64_t>();
  grant.is_tagged = tagged == 1;
  if (tagged > 1 || grant.length == 0 || grant.length > kFabricPiece ||
      grant.offset > grant.total || grant.length > grant.total - grant.offset)
    refuse();
}

}  // namespace

std::size_t encode(const FabricFrame& frame, std::span<std::byte> into) {
  const FabricGrant& grant = frame.grant;
  WireWriter out(into);
  out.put(kFabricMagic)
      .put(static_cast<std::uint8_t>(frame.kind))
      .put(static_cast<std::uint8_t>(frame.note.has_value()))
      .put(frame.rank)
      .put(frame.token)
      .put(frame.tag.value);
  if (frame.note) out.put(*frame.note);
  if (frame.kind == FabricFrameKind::message) out.put(frame.bytes);
  if (frame.kind == FabricFrameKind::offer) out.put(grant.total);
  if (frame.kind == FabricFrameKind::grant)
    out.put(grant.total)
        .put(grant.offset)
        .put(grant.length)
        .put(grant.number)
        .put(static_cast<std::uint8_t>(grant.is_tagged))
        .put(grant.place.address)
        .put(grant.place.key);
  if (frame.kind == FabricFrameKind::done) out.put(grant.number).put(grant.length);
  if (frame.kind == FabricFrameKind::credit) out.put(frame.credit).put(frame.items);
  const std::size_t note = frame.note ? kNoteBytes : 0;
  return kFabricHead + note + body_of(frame.kind).value_or(frame.bytes.size());
}

bool read_sender(std::span<const std::byte> bytes, FabricSender& sender) {
  if (bytes.size() < kFabricHead) return false;
  WireReader in(bytes);
  const bool is_ours = in.get<std::uint32_t>() == kFabricMagic;
  in.get<std::uint16_t>();
  sender.rank = in.get<std::uint32_t>();
  sender.token = in.get<std::uint64_t>();
  return is_ours;
}

FabricFrame decode_fabric_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kFabricHead || bytes.size() > kFabricFrameBytes) refuse();
  WireReader in(bytes);
  if (in.get<std::uint32_t>() != kFabricMagic) refuse();
  FabricFrame frame;
  const auto kind = in.get<std::uint8_t>();
  const auto has_note = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(FabricFrameKind::farewell) || has_note > 1) refuse();
  frame.kind = static_cast<FabricFrameKind>(kind);
  frame.rank = in.get<std::uint32_t>();
  frame.token = in.get<std::uint64_t>();
  frame.tag = {in.get<std::uint64_t>()};
  const bool may_have_note =
      frame.kind == FabricFrameKind::message || frame.kind == FabricFrameKind::note;
  const bool must_have_note = frame.kind == FabricFrameKind::note;
  if ((has_note == 1 && !may_have_note) || (has_note == 0 && must_have_note)) refuse();
  const std::size_t head = kFabricHead + (has_note == 1 ? kNoteBytes : 0);
  if (bytes.size() < head) refuse();
  if (has_note == 1) frame.note = in.get_bytes<kNoteBytes>();
  const std::size_t rest = bytes.size() - head;
  if (rest != body_of(frame.kind).value_or(rest) || rest > kFabricInside) refuse();
  if (frame.kind == FabricFrameKind::message) frame.bytes = in.get_bytes(rest);
  if (frame.kind == FabricFrameKind::offer) {
    frame.grant.total = in.get<std::uint64_t>();
    if (frame.grant.total <= kFabricInside) refuse();
  }
  if (frame.kind == FabricFrameKind::grant) read_grant(in, frame.grant);
  if (frame.kind == FabricFrameKind::done) {
    frame.grant.number = in.get<std::uint32_t>();
    frame.grant.length = in.get<std::uint32_t>();
  }
  if (frame.kind == FabricFrameKind::credit) {
    frame.credit = in.get<std::uint64_t>();
    frame.items = in.get<std::uint64_t>();
  }
  return frame;
}

}  // namespace fastgpu::comm
