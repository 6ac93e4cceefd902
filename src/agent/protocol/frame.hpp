// The frames of `job-follow`: a header of fixed size, followed by bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastgpu::agent {

enum class FrameKind : std::uint8_t {
  data = 1,     ///< Output of a rank or of the supervisor's program.
  rank_status,  ///< A RankEnd. Sent after all output of that rank.
  job_status,   ///< A JobEnd. Sent after all output on the node.
  end,          ///< The last frame.
  written_at,   ///< The time of the output that follows: `offset` has nanoseconds since 1970.
  idle,  ///< Whether a rank has done nothing for the time that the job allows: `offset` is 1 or 0.
  full_disk,  ///< The disk of the logs on the node is full; the folder of the logs.
  /// The nodes of a job in Slurm, as a list with ranges. `offset` is 1 once a rank has something to
  /// read, which is on its own node, and 0 before.
  batch_nodes,
};

enum class OutputStream : std::uint8_t { out, err };

inline constexpr int kLauncherRank = -1;  ///< The "rank" of the supervisor's program.
inline constexpr int kLargestRank = 1 << 20;
inline constexpr std::size_t kLargestFrame = 1 << 18;
/// The maximum size of the status of a rank or job.
inline constexpr std::size_t kLargestStatus = 1 << 14;
inline constexpr std::size_t kFrameHeader = 24;
/// The number of last bytes of the launcher's stderr that explain the end of a job.
inline constexpr std::size_t kLauncherTail = 4'096;

struct FrameHeader {
  FrameKind kind = FrameKind::end;
  OutputStream stream = OutputStream::out;
  std::int32_t rank = kLauncherRank;
  std::uint64_t offset = 0;  ///< The position of the first byte in its log file, or a time.
  std::uint32_t length = 0;
};

/// Encodes in little-endian: "FGF1", kind, stream, two zeros, rank (4), length (4), offset (8).
std::array<char, kFrameHeader> encode(const FrameHeader& header);

/// Decodes a header; absent for a wrong magic, kind, stream, rank or length.
std::optional<FrameHeader> decode_header(std::string_view bytes);

}  // namespace fastgpu::agent
