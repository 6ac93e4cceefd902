#include "comm/transports/tcp_frame.hpp"

#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kMagic = 0x46474373;  // "FGCs"
/// Added to the kind of a frame that wants to be acknowledged.
constexpr std::uint32_t kWantsAcknowledgement = 0x100;

bool is_possible(const Frame& frame) noexcept {
  switch (frame.kind) {
    case TcpFrameKind::chunk:
      return frame.length <= kMostChunkBytes && frame.offset <= frame.total &&
             frame.length <= frame.total - frame.offset && (frame.length > 0 || frame.total == 0);
    case TcpFrameKind::wanted:
    case TcpFrameKind::bell:
    case TcpFrameKind::farewell:
      return frame.length == 0;
    case TcpFrameKind::question:
      return frame.length == kQuestionBytes;
    case TcpFrameKind::answer:
      return frame.length <= kMostAnswerBytes;
    case TcpFrameKind::note:
      return frame.length == kNoteBytes;
    case TcpFrameKind::abort:
      return frame.length <= kMaxAbortBytes;
    case TcpFrameKind::number:
    case TcpFrameKind::taken:
      return frame.length == 0 && frame.offset < kMostConnections;
    case TcpFrameKind::retired:
      return frame.length == 0 && frame.offset < kMostConnections &&
             frame.tag.value < kMostConnections;
    case TcpFrameKind::card:
      return frame.length <= kMostCardBytes &&
             frame.total <= static_cast<std::uint64_t>(CardKind::answer);
  }
  return false;
}

}  // namespace

EncodedFrame encode(const Frame& frame) {
  EncodedFrame bytes{};
  WireWriter(bytes)
      .put(kMagic)
      .put(static_cast<std::uint32_t>(frame.kind) |
           (frame.wants_acknowledgement ? kWantsAcknowledgement : 0))
      .put(frame.tag.value)
      .put(frame.length)
      .put(frame.offset)
      .put(frame.total);
  return bytes;
}

Frame decode_frame(std::span<const std::byte, kFrameBytes> bytes) {
  WireReader in(bytes);
  const bool is_ours = in.get<std::uint32_t>() == kMagic;
  const auto marked_kind = in.get<std::uint32_t>();
  const std::uint32_t kind = marked_kind & ~kWantsAcknowledgement;
  Frame frame;
  frame.wants_acknowledgement = marked_kind != kind;
  frame.tag = {in.get<std::uint64_t>()};
  frame.length = in.get<std::uint32_t>();
  frame.offset = in.get<std::uint64_t>();
  frame.total = in.get<std::uint64_t>();
  const bool is_known = kind <= static_cast<std::uint32_t>(TcpFrameKind::card);
  if (is_known) frame.kind = static_cast<TcpFrameKind>(kind);
  if (!is_ours || !is_known || !is_possible(frame))
    throw Error(ErrorKind::remote, "it sent what no rank of this version sends");
  return frame;
}

}  // namespace fastgpu::comm
