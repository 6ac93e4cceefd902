// A long message that its receiver and its sender copy together, each in its own thread, so that
// two cores move its bytes. They claim one piece after the other in memory that both map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace fastgpu::comm {

/// A part of a message, in bytes.
struct CopyPiece {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// Returns the number of pieces that a message of `bytes` is copied in, and one of them.
std::uint32_t copy_pieces(std::size_t bytes) noexcept;
CopyPiece copy_piece(std::size_t bytes, std::uint32_t piece) noexcept;

/// The claims to the pieces of one copy at a time, from one rank to another. It is in shared
/// memory, all zero to begin with. Only the receiver begins a copy; what the sender writes here
/// may be anything.
class JointCopy {
 public:
  // ---- the receiver's side ----
  /// Begins a copy, whose number the sender needs to claim pieces: another than that of the copy
  /// before, which must have ended.
  void begin(std::uint32_t copy) noexcept;
  /// Lets no side claim another piece. Returns how many have been claimed.
  std::uint32_t close(std::uint32_t copy) noexcept;
  /// Returns a piece that the sender has claimed and could not copy, once.
  std::optional<std::uint32_t> take_returned() noexcept;
  /// Returns how many pieces the sender holds no more: it has copied or returned them.
  std::uint32_t released() const noexcept { return released_.load(std::memory_order_acquire); }

  // ---- both sides ----
  /// Claims the next piece of a copy, which has so many. Returns nothing if there are no more, or
  /// if the copy has ended.
  std::optional<std::uint32_t> claim(std::uint32_t copy, std::uint32_t pieces) noexcept;

  // ---- the sender's side ----
  void release() noexcept;
  void give_back(std::uint32_t piece) noexcept;

 private:
  alignas(64) std::atomic<std::uint64_t> claims_;  ///< The copy's number, and its next piece.
  alignas(64) std::atomic<std::uint32_t> released_;
  std::atomic<std::uint32_t> returned_;  ///< A piece's number and one; 0 without one.
};

}  // namespace fastgpu::comm
