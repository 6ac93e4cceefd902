// The pieces in which `job-follow` writes: a header of fixed size, then bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastgpu::agent {

enum class FrameKind : std::uint8_t {
  data = 1,     ///< Output of a rank, or of what the supervisor runs.
  rank_status,  ///< A RankEnd; comes after all output of that rank.
  job_status,   ///< A JobEnd; comes after all output on the node.
  end,          ///< Nothing follows.
};

enum class OutputStream : std::uint8_t { out, err };

inline constexpr int kLauncherRank = -1;  ///< "Rank" of what the supervisor runs.
inline constexpr int kLargestRank = 1 << 20;
inline constexpr std::size_t kLargestFrame = 1 << 18;
inline constexpr std::size_t kLargestStatus = 1 << 14;  ///< Of a rank or a job.
inline constexpr std::size_t kFrameHeader = 24;

struct FrameHeader {
  FrameKind kind = FrameKind::end;
  OutputStream stream = OutputStream::out;
  std::int32_t rank = kLauncherRank;
  std::uint64_t offset = 0;  ///< Of the first byte in its log file.
  std::uint32_t length = 0;
};

/// Little-endian: "FGF1", kind, stream, two zeros, rank (4), length (4), offset (8).
std::array<char, kFrameHeader> encode(const FrameHeader& header);

/// Nothing where the bytes are no header: wrong magic, kind, stream, rank or length.
std::optional<FrameHeader> decode_header(std::string_view bytes);

}  // namespace fastgpu::agent
