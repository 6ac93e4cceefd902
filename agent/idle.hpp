// Whether a node has anything to do, judged from two looks at it. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/protocol/guard.hpp"

namespace fastgpu::agent {

struct SeenProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::int64_t began = 0;   ///< Seconds since 1970.
  double processor = 0;     ///< Seconds of processor time so far.
  std::string title{};      ///< Its command line; empty for those of the kernel.
  std::string job{};        ///< The job that it belongs to; empty: none.
  bool is_command = false;  ///< Of `fastgpu exec`.
};

struct SeenGpu {
  int index = 0;
  int percent = 0;  ///< Of the time in which it computed.
};

/// A node at one moment.
struct NodeSight {
  double at = 0;  ///< Seconds since 1970.
  std::vector<SeenProcess> processes{};
  std::vector<SeenGpu> gpus{};
  std::map<std::string, std::int64_t> keys_pressed{};  ///< Last input or output, by "pts/0".
  std::int64_t contact = 0;  ///< The last call of the agent by a fastgpu; 0: none.
};

/// The last sign of somebody who looks after this node: a call of the agent, one that still goes
/// on, or a key pressed at a terminal.
std::int64_t last_contact(const NodeSight& now);

/// What keeps the node awake. `own` is the process that looks: neither it nor those that started it
/// count. Connections and what computes must be there at both moments.
std::vector<Waking> wakings_of(const NodeSight& before, const NodeSight& now, pid_t own);

/// When something happened last: now, or a terminal's last key, but not before `watched`.
std::int64_t idle_since(const std::vector<Waking>& wakings, std::int64_t watched);

/// A waking that does not know since when keeps what was said of it before.
void keep_beginnings(std::vector<Waking>& wakings, const std::vector<Waking>& before,
                     std::int64_t now);

/// Sets when and why the node powers itself off: the nearest of what the order says.
void set_power_off(NodeWatch& watch, const GuardOrder& order, std::int64_t contact);

}  // namespace fastgpu::agent
