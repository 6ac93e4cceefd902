// The orders to a node about its own end, and its report of what keeps it awake.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// An order. Times are seconds since 1970 by the node's clock; 0 is never.
struct GuardOrder {
  /// The time when the node powers itself off, even while busy.
  std::int64_t ends = 0;
  std::chrono::seconds unattended{0};  ///< Off this long after the last contact; 0: never.
  std::chrono::seconds idle{0};        ///< Off after this long without activity; 0: never.
  /// The command for it; empty: the node only reports when it would.
  std::vector<std::string> off{};
  std::chrono::milliseconds period{10'000};  ///< The time between two looks.
  std::string cloud{};  ///< The cloud of a machine that may be taken back: "aws"; may be empty.
  /// The address of its notices, with or without port; empty: the default.
  std::string metadata{};

  bool is_empty() const noexcept {
    return ends == 0 && unattended.count() == 0 && idle.count() == 0 && cloud.empty();
  }
};

/// A reason that keeps a node awake.
struct Waking {
  std::string kind;  ///< "job", "command", "login", "connection", "gpu", "process", "contact"
  std::string what;  ///< "train-1", "root on pts/0", "GPU 0 at 87 %", "python train.py (4711)"
  std::int64_t since = 0;  ///< The start; 0: unknown.
  std::int64_t last = 0;   ///< The last activity seen.
};

struct NodeWatch {
  std::int64_t looked = 0;      ///< The time of this look.
  std::int64_t idle_since = 0;  ///< The last activity; 0: never watched.
  std::int64_t powers_off = 0;  ///< The time when it will, or would, power itself off; 0: never.
  std::string because{};        ///< "end", "unattended", "idle"; empty: never.
  bool acts = false;            ///< Whether it does so by itself.
  std::int64_t taken_back = 0;  ///< When the cloud takes it back; 0: not announced.
  std::int64_t at_risk = 0;     ///< The start of the cloud's warning; 0: no warning.
  std::vector<Waking> wakings{};
};

std::string to_text(const GuardOrder& order);
std::string to_text(const NodeWatch& watch);
GuardOrder parse_guard_order(std::string_view text);  ///< Throws remote.
NodeWatch parse_node_watch(std::string_view text);    ///< Throws remote.

}  // namespace fastgpu::agent
