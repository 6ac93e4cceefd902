#include "comm/transports/joint_copy.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

/// The kernel's calls take longer for each byte if they copy less, and the one who ends first waits
/// for the other's last piece.
constexpr std::size_t kLeastPiece = 256 << 10;
constexpr std::size_t kMostPiece = 2 << 20;
constexpr std::size_t kWantedPieces = 8;

constexpr std::uint64_t kClosed = UINT32_MAX;

/// Returns one half of a message that is shorter than two pieces.
std::size_t size_of_pieces(std::size_t bytes) noexcept {
  constexpr std::size_t kPage = 4096;
  const auto part = [&](std::size_t parts) { return (bytes / parts + kPage - 1) / kPage * kPage; };
  if (bytes < 2 * kLeastPiece) return std::max(part(2), kPage);
  return std::clamp(part(kWantedPieces), kLeastPiece, kMostPiece);
}

}  // namespace

std::uint32_t copy_pieces(std::size_t bytes) noexcept {
  const std::size_t size = size_of_pieces(bytes);
  return static_cast<std::uint32_t>((bytes + size - 1) / size);
}

CopyPiece copy_piece(std::size_t bytes, std::uint32_t piece) noexcept {
  const std::size_t begin = piece * size_of_pieces(bytes);
  return {begin, std::min(size_of_pieces(bytes), bytes - begin)};
}

void JointCopy::begin(std::uint32_t copy) noexcept {
  released_.store(0, std::memory_order_relaxed);
  returned_.store(0, std::memory_order_relaxed);
  claims_.store(std::uint64_t{copy} << 32, std::memory_order_release);
}

std::uint32_t JointCopy::close(std::uint32_t copy) noexcept {
  const std::uint64_t closed = std::uint64_t{copy} << 32 | kClosed;
  return static_cast<std::uint32_t>(claims_.exchange(closed, std::memory_order_acq_rel));
}

std::optional<std::uint32_t> JointCopy::claim(std::uint32_t copy, std::uint32_t pieces) noexcept {
  std::uint64_t seen = claims_.load(std::memory_order_acquire);
  for (;;) {
    const auto next = static_cast<std::uint32_t>(seen);
    if (seen >> 32 != copy || next >= pieces) return std::nullopt;
    if (claims_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return next;
  }
}

std::optional<std::uint32_t> JointCopy::take_returned() noexcept {
  const std::uint32_t piece = returned_.exchange(0, std::memory_order_acquire);
  if (piece == 0) return std::nullopt;
  return piece - 1;
}

void JointCopy::release() noexcept {
  released_.fetch_add(1, std::memory_order_release);
}

void JointCopy::give_back(std::uint32_t piece) noexcept {
  returned_.store(piece + 1, std::memory_order_release);
  release();
}

}  // namespace fastgpu::comm
