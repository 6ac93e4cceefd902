#include "envs/environments/record.hpp"

#include <algorithm>
#include <vector>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "state/directory.hpp"

namespace fastgpu::envs {
namespace {

std::filesystem::path file_of(const std::filesystem::path& cluster_directory) {
  return cluster_directory / "environments.json";
}

std::filesystem::path current_of(const EnvironmentsRecord& record, const std::string& name) {
  const auto found = record.prefix.find(name);
  if (found == record.prefix.end())
    throw Error(ErrorKind::not_found, "there is no environment '" + printable(name) +
                                          "' on this cluster; fastgpu env list shows them");
  return agent::EnvironmentPlaces{found->second}.current(name);
}

bool has_complete(const agent::EnvironmentStatus& status, const std::string& name) {
  return std::ranges::any_of(status.versions, [&](const agent::FoundVersion& found) {
    return found.name == name && found.current && !found.manifest.empty();
  });
}

/// Returns the environment that logins get on every machine; empty if they do not agree.
std::string active_on_all(std::span<const MachineStatus> found) {
  if (found.empty()) return "";
  const std::string& active = found.front().status.active;
  const bool all = std::ranges::all_of(found, [&](const MachineStatus& one) {
    return one.status.active == active && has_complete(one.status, active);
  });
  return all ? active : "";
}

}  // namespace

EnvironmentsRecord read_record(const std::filesystem::path& cluster_directory) {
  const auto path = file_of(cluster_directory);
  const auto text = read_file(path);
  if (!text) return {};
  const auto root = parse_json(*text, path.string());
  EnvironmentsRecord record{.active = field<std::string>(root, "active"),
                            .prefix = field<std::map<std::string, std::string>>(root, "prefix")};
  if (root.contains("machines"))  // Earlier programs kept no machines.
    record.machines = field<std::map<std::string, std::set<std::string>>>(root, "machines");
  if (root.contains("used_prefixes"))  // Earlier programs kept only the present prefixes.
    record.used_prefixes = field<std::set<std::string>>(root, "used_prefixes");
  for (const auto& [name, prefix] : record.prefix)
    record.used_prefixes.insert(prefix);
  return record;
}

void write_record(const std::filesystem::path& cluster_directory,
                  const EnvironmentsRecord& record) {
  state::make_private_directory(cluster_directory);
  const nlohmann::json root = {{"schema", "fastgpu.environments-record/1"},
                               {"active", record.active},
                               {"prefix", record.prefix},
                               {"used_prefixes", record.used_prefixes},
                               {"machines", record.machines}};
  state::write_private_file(file_of(cluster_directory), root.dump(2) + "\n");
}

void take_up(EnvironmentsRecord& record, std::span<const MachineStatus> found) {
  for (const auto& [machine, status] : found) {
    if (!status.versions.empty()) record.used_prefixes.insert(status.prefix);
    for (const agent::FoundVersion& version : status.versions)
      record.prefix.emplace(version.name, status.prefix);
    for (const auto& [name, prefix] : record.prefix) {
      if (prefix != status.prefix) continue;
      if (has_complete(status, name))
        record.machines[name].insert(machine);
      else
        record.machines[name].erase(machine);
    }
  }
  const std::string active = active_on_all(found);
  if (record.active.empty() && !active.empty() &&
      record.prefix.at(active) == found.front().status.prefix)
    record.active = active;
}

void forget(EnvironmentsRecord& record, const std::string& name) {
  if (record.active == name) record.active.clear();
  record.prefix.erase(name);
  record.machines.erase(name);
}

void forget_prefix(EnvironmentsRecord& record, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& [name, its_prefix] : record.prefix)
    if (its_prefix == prefix) names.push_back(name);
  for (const std::string& name : names)
    forget(record, name);
  record.used_prefixes.erase(prefix);
}

bool is_on(const EnvironmentsRecord& record, const std::string& name, const std::string& machine) {
  const auto found = record.machines.find(name);
  return found != record.machines.end() && found->second.contains(machine);
}

std::string runner_in(const EnvironmentsRecord& record, const std::string& name) {
  return agent::runner_of(current_of(record, name)).string();
}

std::string programs_in(const EnvironmentsRecord& record, const std::string& name) {
  return (current_of(record, name) / "bin").string();
}

}  // namespace fastgpu::envs
