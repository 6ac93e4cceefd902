// The streams of short frames in which TCP may join several to one segment.
#pragma once

namespace fastgpu::comm {

/// Finds out whether a connection carries a stream of short frames one way: many in a row, and
/// nothing from the other side. To send each in a segment of its own takes several times as long as
/// to copy it to the one that has not left yet. The first frames always leave at once, and
/// so do all where answers come: a rank waits for each of those.
class OneWayStream {
 public:
  void begin_frame(bool is_short) noexcept { frames_ = is_short ? frames_ + 1 : 0; }
  void received() noexcept { frames_ = 0; }
  /// Returns whether the peer is to acknowledge this frame at once. Those before may be waiting for
  /// an acknowledgement: this frame must not wait with them.
  bool has_begun() const noexcept { return frames_ > kFirstFrames; }
  /// Returns whether this frame may wait until those before are acknowledged.
  bool may_wait() const noexcept { return frames_ > kFirstFrames + 1; }

 private:
  static constexpr unsigned kFirstFrames = 32;

  unsigned frames_ = 0;  ///< Short ones in a row.
};

}  // namespace fastgpu::comm
