// What is remembered here of a cluster's environments: where they lie and which one jobs get.
// Whether they are complete is asked of the nodes.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace fastgpu::envs {

struct EnvironmentsRecord {
  std::string active{};                         ///< Empty: none.
  std::map<std::string, std::string> prefix{};  ///< Of each environment by its name.
};

/// A cluster without a record has an empty one. Throws ErrorKind::local for a file that is none.
EnvironmentsRecord read_record(const std::filesystem::path& cluster_directory);
void write_record(const std::filesystem::path& cluster_directory, const EnvironmentsRecord& record);

/// The program that runs another in the environment `name`. Throws ErrorKind::not_found where it
/// has never been made.
std::string runner_in(const EnvironmentsRecord& record, const std::string& name);
/// The directory of its programs. Throws likewise.
std::string programs_in(const EnvironmentsRecord& record, const std::string& name);

}  // namespace fastgpu::envs
