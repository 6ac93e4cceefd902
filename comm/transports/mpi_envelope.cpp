#include "comm/transports/mpi_envelope.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/mpi/messages.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kHead = 8 + 8 + 4 + 1;
static_assert(kHead + kNoteBytes + kInsideBytes == kEnvelopeBytes);

[[noreturn]] void refuse_envelope() {
  throw Error(ErrorKind::remote, "it sent what no rank of this version sends");
}

}  // namespace

std::size_t encode(const Envelope& envelope, std::span<std::byte> into) {
  const auto has_note = static_cast<std::uint8_t>(envelope.note.has_value());
  WireWriter out(into);
  out.put(envelope.tag.value).put(envelope.bytes).put(envelope.number).put(has_note);
  if (envelope.note) out.put(*envelope.note);
  out.put(envelope.inside);
  return kHead + has_note * kNoteBytes + envelope.inside.size();
}

Envelope decode_envelope(std::span<const std::byte> bytes) {
  if (bytes.size() < kHead) refuse_envelope();
  WireReader in(bytes);
  Envelope envelope;
  envelope.tag = {in.get<std::uint64_t>()};
  envelope.bytes = in.get<std::uint64_t>();
  envelope.number = in.get<std::uint32_t>();
  const auto has_note = in.get<std::uint8_t>();
  const std::size_t head = kHead + (has_note != 0 ? kNoteBytes : 0);
  if (has_note > 1 || bytes.size() < head || envelope.number > mpi::kHighestNumber)
    refuse_envelope();
  if (has_note != 0) envelope.note = in.get_bytes<kNoteBytes>();
  envelope.inside = bytes.subspan(head);
  const std::size_t expected = envelope.number == 0 ? envelope.bytes : 0;
  if (envelope.inside.size() != expected || expected > kInsideBytes) refuse_envelope();
  return envelope;
}

}  // namespace fastgpu::comm
