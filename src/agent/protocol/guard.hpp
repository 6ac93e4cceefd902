// Orders to a node about its own end, and its report of what keeps it awake.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// An order. Times are seconds since 1970 by the node's clock; 0 means never.
struct GuardOrder {
  /// The time when the node powers itself off, even while busy.
  std::int64_t ends = 0;
  /// Powers off this long after the last contact; 0 for never.
  std::chrono::seconds unattended{0};
  std::chrono::seconds idle{0};  ///< Powers off after this long without activity; 0 for never.
  /// The command that powers the node off. If it is empty, the node only reports when it would do
  /// so.
  std::vector<std::string> off{};
  std::chrono::milliseconds period{10'000};  ///< The time between two observations.
  /// The cloud of a machine that may be taken back, such as "aws"; may be empty.
  std::string cloud{};
  /// The address of the cloud's notices, with or without a port; empty for the default.
  std::string metadata{};

  bool is_empty() const noexcept {
    return ends == 0 && unattended.count() == 0 && idle.count() == 0 && cloud.empty();
  }
};

/// A reason why a node is awake.
struct Waking {
  std::string kind;  ///< "job", "command", "login", "connection", "gpu", "process", "contact"
  std::string what;  ///< "train-1", "root on pts/0", "GPU 0 at 87 %", "python train.py (4711)"
  std::int64_t since = 0;  ///< The start; 0 if it is unknown.
  std::int64_t last = 0;   ///< The last activity seen.
};

/// A node's report on itself. Times are seconds since 1970 by the node's clock, except for those of
/// the cloud's notices.
struct NodeWatch {
  std::int64_t looked = 0;      ///< The time of this observation.
  std::int64_t idle_since = 0;  ///< The time of the last activity; 0 if the node was never watched.
  std::int64_t powers_off = 0;  ///< When it will, or would, power itself off; 0 for never.
  std::string because{};        ///< "end", "unattended" or "idle"; empty for never.
  bool acts = false;            ///< True if it powers itself off, false if it only reports.
  /// When the cloud takes the machine back; 0 if that is not announced.
  std::int64_t taken_back = 0;
  std::int64_t at_risk = 0;  ///< When the cloud began to warn of that; 0 without a warning.
  std::vector<Waking> wakings{};
  /// The node's clock when it sent this; absent on the disk.
  std::optional<std::int64_t> sent{};
};

std::string to_text(const GuardOrder& order);
std::string to_text(const NodeWatch& watch);
GuardOrder parse_guard_order(std::string_view text);  ///< Throws remote.
NodeWatch parse_node_watch(std::string_view text);    ///< Throws remote.

}  // namespace fastgpu::agent
