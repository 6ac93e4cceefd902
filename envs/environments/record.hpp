// This machine's record of a cluster's environments: their prefixes, the machines that have them,
// and the active one for jobs. The nodes themselves are asked whether they are complete.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "agent/protocol/environment.hpp"

namespace fastgpu::envs {

struct EnvironmentsRecord {
  std::string active{};                         ///< Empty: no active one.
  std::map<std::string, std::string> prefix{};  ///< The prefix of each environment by its name.
  /// All prefixes that have been used. A removed environment leaves tools under its prefix, so it
  /// stays here until all environments are removed there.
  std::set<std::string> used_prefixes{};
  /// The machines that had each one complete at the last check.
  std::map<std::string, std::set<std::string>> machines{};

  friend bool operator==(const EnvironmentsRecord&, const EnvironmentsRecord&) = default;
};

/// Reads a cluster's record; empty without a file. Throws ErrorKind::local for a malformed file.
EnvironmentsRecord read_record(const std::filesystem::path& cluster_directory);
void write_record(const std::filesystem::path& cluster_directory, const EnvironmentsRecord& record);

/// A machine's report of its environments.
struct MachineStatus {
  std::string machine;  ///< A unique name: a replacement of the machine has another one.
  agent::EnvironmentStatus status;
};
/// Records new environments, and the machines that have them. If none was active, the one that
/// logins get on all of them becomes active.
void take_up(EnvironmentsRecord& record, std::span<const MachineStatus> found);

/// Removes everything about it, except that its prefix has been used.
void forget(EnvironmentsRecord& record, const std::string& name);

/// Removes everything about a prefix and its environments.
void forget_prefix(EnvironmentsRecord& record, const std::string& prefix);

/// Returns whether that machine is known to have it complete.
bool is_on(const EnvironmentsRecord& record, const std::string& name, const std::string& machine);

/// Returns the program that runs another in the environment `name`. Throws ErrorKind::not_found if
/// it has never been made.
std::string runner_in(const EnvironmentsRecord& record, const std::string& name);
/// Returns the directory of its programs. Throws like runner_in().
std::string programs_in(const EnvironmentsRecord& record, const std::string& name);

}  // namespace fastgpu::envs
