// What a node is told about its own end, and what it says of what keeps it awake.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// Times are seconds since 1970 by the node's clock; 0 is never.
struct GuardOrder {
  std::int64_t ends = 0;               ///< When the node powers itself off, whatever it does.
  std::chrono::seconds unattended{0};  ///< So long after the last contact as well; 0: not.
  std::chrono::seconds idle{0};        ///< And after so long without anything to do; 0: not.
  std::vector<std::string> off{};      ///< The command for it; empty: it only says when it would.
  std::chrono::milliseconds period{10'000};  ///< Between two looks.
  std::string cloud{};     ///< Whose machine it is that may be taken back: "aws"; empty: nobody's.
  std::string metadata{};  ///< Where it says so: an address with or without port; empty: its own.

  bool is_empty() const noexcept {
    return ends == 0 && unattended.count() == 0 && idle.count() == 0 && cloud.empty();
  }
};

/// Something that keeps a node awake.
struct Waking {
  std::string kind;  ///< "job", "command", "login", "connection", "gpu", "process", "contact"
  std::string what;  ///< "train-1", "root on pts/0", "GPU 0 at 87 %", "python train.py (4711)"
  std::int64_t since = 0;  ///< When it began; 0: not known.
  std::int64_t last = 0;   ///< When it was last seen to do something.
};

struct NodeWatch {
  std::int64_t looked = 0;      ///< When this was true.
  std::int64_t idle_since = 0;  ///< The last time that something happened; 0: nobody has watched.
  std::int64_t powers_off =
      0;                  ///< When it will, or would, power itself off as things are; 0: never.
  std::string because{};  ///< "end", "unattended", "idle"; empty: never.
  bool acts = false;      ///< Whether it does so by itself.
  std::int64_t taken_back = 0;  ///< When the cloud takes it back; 0: it has not said so.
  std::int64_t at_risk = 0;     ///< Since when the cloud says that it may; 0: it does not.
  std::vector<Waking> wakings{};
};

std::string to_text(const GuardOrder& order);
std::string to_text(const NodeWatch& watch);
GuardOrder parse_guard_order(std::string_view text);  ///< Throws remote.
NodeWatch parse_node_watch(std::string_view text);    ///< Throws remote.

}  // namespace fastgpu::agent
