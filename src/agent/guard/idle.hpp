// Decides whether a node is idle, from two observations. Pure.
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
  double processor = 0;     ///< The seconds of processor time so far.
  std::string title{};      ///< The command line; empty for processes of the kernel.
  std::string job{};        ///< The job that it belongs to; may be empty.
  bool is_command = false;  ///< Started by `fastgpu exec`.
};

struct SeenGpu {
  int index = 0;
  int percent = 0;  ///< The share of time in which it was busy.
};

/// An observation of a node.
struct NodeActivity {
  double at = 0;  ///< Seconds since 1970.
  std::vector<SeenProcess> processes{};
  std::vector<SeenGpu> gpus{};
  std::map<std::string, std::int64_t> keys_pressed{};  ///< The last input or output, by "pts/0".
  std::int64_t contact = 0;  ///< The time of the last call of the agent by a fastgpu; 0 for never.
};

/// Returns the time of the last sign of a user: a call of the agent, which may still run, or a key
/// pressed at a terminal.
std::int64_t last_contact(const NodeActivity& now);

/// Returns the reasons that keep the node awake. Ignores the observing process `own` and its
/// ancestors. Connections and computations count only if both observations have them.
std::vector<Waking> wakings_of(const NodeActivity& before, const NodeActivity& now, pid_t own);

/// Returns the time of the last activity: now, or the last key pressed at a terminal, but not
/// before `watched`.
std::int64_t idle_since(const std::vector<Waking>& wakings, std::int64_t watched);

/// Copies the start of an equal earlier waking to each waking that has no start.
void keep_beginnings(std::vector<Waking>& wakings, const std::vector<Waking>& before,
                     std::int64_t now);

/// Sets when and why the node will power itself off: the earliest time that the order implies.
void set_power_off(NodeWatch& watch, const GuardOrder& order, std::int64_t contact);

}  // namespace fastgpu::agent
