#include "agent/protocol/frame.hpp"

#include <cstring>

namespace fastgpu::agent {
namespace {

constexpr std::string_view kMagic = "FGF1";

void put(char* to, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i)
    to[i] = static_cast<char>(value >> (8 * i) & 255);
}

std::uint64_t get(std::string_view from, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= std::uint64_t(static_cast<unsigned char>(from[at + i])) << (8 * i);
  return value;
}

std::size_t largest(FrameKind kind) {
  switch (kind) {
    case FrameKind::data:
      return kLargestFrame;
    case FrameKind::rank_status:
    case FrameKind::job_status:
    case FrameKind::full_disk:
    case FrameKind::batch_nodes:
      return kLargestStatus;
    case FrameKind::end:
    case FrameKind::written_at:
    case FrameKind::idle:
      return 0;
  }
  return 0;
}

}  // namespace

std::array<char, kFrameHeader> encode(const FrameHeader& header) {
  std::array<char, kFrameHeader> out{};
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  out[4] = static_cast<char>(header.kind);
  out[5] = static_cast<char>(header.stream);
  put(&out[8], static_cast<std::uint32_t>(header.rank), 4);
  put(&out[12], header.length, 4);
  put(&out[16], header.offset, 8);
  return out;
}

std::optional<FrameHeader> decode_header(std::string_view bytes) {
  if (bytes.size() < kFrameHeader || !bytes.starts_with(kMagic)) return std::nullopt;
  const auto number = get(bytes, 4, 1);
  const auto stream = get(bytes, 5, 1);
  const auto rank = static_cast<std::int32_t>(get(bytes, 8, 4));
  const auto length = static_cast<std::uint32_t>(get(bytes, 12, 4));
  if (number < 1 || number > 8 || stream > 1 || get(bytes, 6, 2) != 0) return std::nullopt;
  const auto kind = static_cast<FrameKind>(number);
  if (rank < kLauncherRank || rank > kLargestRank || length > largest(kind)) return std::nullopt;
  return FrameHeader{.kind = kind,
                     .stream = static_cast<OutputStream>(stream),
                     .rank = rank,
                     .offset = get(bytes, 16, 8),
                     .length = length};
}

}  // namespace fastgpu::agent
