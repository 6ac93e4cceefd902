// One node of a job that is followed: its connection, and how far its logs have been read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/protocol/frame.hpp"
#include "base/error.hpp"
#include "launcher/placement.hpp"
#include "ssh/host.hpp"

namespace fastgpu::launcher {

struct FollowedNode {
  ssh::Host host;
  NodeRanks ranks;
  std::map<std::string, std::uint64_t> offsets{};
  bool complete = false;
  bool is_wanted = true;    ///< The node may have something to read.
  std::string full_disk{};  ///< The folder of its logs, once the disk was full; else empty.
  /// The node's clock less ours, in nanoseconds, less the time that a message took. Absent before
  /// the first message with a time.
  std::optional<std::int64_t> clock_offset{};
  std::string complaint{};                           ///< The agent's stderr.
  std::chrono::steady_clock::time_point heard_at{};  ///< The time of the last byte from it.
  bool lacks_agent = false;                          ///< It has reported that, and gets one.
  bool got_agent = false;                            ///< It was to get one, once.
  bool is_broken = false;  ///< Its connection has failed, and no other one brought anything.
  std::string silence{};   ///< The reason for that.
  /// Why it did not answer the last question for what is there; empty if it did.
  std::string unanswered{};
  std::optional<Error> refusal{};  ///< Its final answer, which a repetition would not change.

  /// Notes a sign of life.
  void hear() {
    heard_at = std::chrono::steady_clock::now();
    is_broken = false;
  }
};

/// Returns true for an error after which a node may answer again.
inline bool may_pass(ErrorKind kind) {
  return kind == ErrorKind::transient || kind == ErrorKind::timeout;
}

/// Adds what a program wrote to stderr. Keeps the end, which explains how the program ended.
inline void keep_tail(std::string& tail, std::string_view bytes) {
  tail += bytes;
  if (tail.size() > agent::kLauncherTail) tail.erase(0, tail.size() - agent::kLauncherTail);
}

}  // namespace fastgpu::launcher
