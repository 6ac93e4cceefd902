// The consequences and remedies of faults that prevent work on a node. Pure.
#pragma once

#include <string>

#include "base/error.hpp"
#include "launcher/checks/node_health.hpp"

namespace fastgpu::launcher {

/// The consequence of a fault, and the action that ends it.
struct Advice {
  std::string why;
  std::string remedy;
};

/// Returns the advice for a node of the cluster to which the login, or the script of the check,
/// failed for this reason.
Advice advice_on_login(const Error& reason, const std::string& node, const std::string& cluster);

/// Returns the advice for a node on which the agent does not run for this reason.
Advice advice_on_agent(const Error& reason);

/// The file system of shared memory.
inline constexpr const char* kSharedMemory = "/dev/shm";

/// Returns the advice for a nearly full file system of `node`. `home` is that of the home
/// directory, which has the files of jobs.
Advice advice_on_full_disk(const CheckedDisk& disk, const CheckedDisk& home,
                           const std::string& node);

/// A file system with less free space than jobs may need: what is found, and what helps.
struct LittleRoom {
  std::string found;
  std::string remedy;
};

/// Returns the words for a file system with less than `need` free: one that is smaller than that
/// is not full, and is to be made larger. `full` is the advice for a full one.
LittleRoom little_room(const CheckedDisk& disk, Bytes need, const Advice& full);

}  // namespace fastgpu::launcher
