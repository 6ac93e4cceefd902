// What is remembered here of a cluster's environments: where they lie, which machines are known to
// have them, and which one jobs get. Whether they are complete is asked of the nodes.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "agent/protocol/environment.hpp"

namespace fastgpu::envs {

struct EnvironmentsRecord {
  std::string active{};                         ///< Empty: none.
  std::map<std::string, std::string> prefix{};  ///< Of each environment by its name.
  /// The machines that have had each one complete when they were last asked.
  std::map<std::string, std::set<std::string>> machines{};

  friend bool operator==(const EnvironmentsRecord&, const EnvironmentsRecord&) = default;
};

/// A cluster without a record has an empty one. Throws ErrorKind::local for a file that is none.
EnvironmentsRecord read_record(const std::filesystem::path& cluster_directory);
void write_record(const std::filesystem::path& cluster_directory, const EnvironmentsRecord& record);

/// What a machine says that lies on it.
struct MachineStatus {
  std::string machine;  ///< Another one has another name, also where it takes its place.
  agent::EnvironmentStatus status;
};
/// Takes up environments that were not known, and which machines have them. Where none was active,
/// the one that logins get on all of them is from now on.
void take_up(EnvironmentsRecord& record, std::span<const MachineStatus> found);

/// Nothing is known of it any more.
void forget(EnvironmentsRecord& record, const std::string& name);

/// Whether that machine is known to have it complete.
bool is_on(const EnvironmentsRecord& record, const std::string& name, const std::string& machine);

/// The program that runs another in the environment `name`. Throws ErrorKind::not_found where it
/// has never been made.
std::string runner_in(const EnvironmentsRecord& record, const std::string& name);
/// The directory of its programs. Throws likewise.
std::string programs_in(const EnvironmentsRecord& record, const std::string& name);

}  // namespace fastgpu::envs
