// What the entry layer tells whoever wants to know.
#pragma once

#include <cstdint>
#include <string>

namespace fastgpu::comm {

/// Called by whoever calls the entry layer, in the middle of that call: may not call back.
class EntryEvents {
 public:
  virtual ~EntryEvents() = default;

  /// One sentence: a rank that keeps others waiting, or a number that is none.
  virtual void warned(const std::string& sentence) = 0;
};

/// Of this rank, since the beginning.
struct EntryCounters {
  std::uint64_t steps = 0;
  std::uint64_t skipped_steps = 0;
  std::uint64_t buckets = 0;               ///< All-reduces that were started.
  std::uint64_t gradient_bytes = 0;        ///< Carried in them.
  std::uint64_t negotiation_messages = 0;  ///< Sent.
  std::uint64_t negotiation_bytes = 0;     ///< Sent.
  std::uint64_t late_ranks = 0;            ///< Heard of.
  double pack_seconds = 0;
  double unpack_seconds = 0;
  double wait_seconds = 0;  ///< In wait_step.
};

}  // namespace fastgpu::comm
