#include "envs/environments/record.hpp"

#include "agent/protocol/environment.hpp"
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

}  // namespace

EnvironmentsRecord read_record(const std::filesystem::path& cluster_directory) {
  const auto path = file_of(cluster_directory);
  const auto text = state::read_file(path);
  if (!text) return {};
  const auto root = parse_json(*text, path.string());
  return {.active = field<std::string>(root, "active"),
          .prefix = field<std::map<std::string, std::string>>(root, "prefix")};
}

void write_record(const std::filesystem::path& cluster_directory,
                  const EnvironmentsRecord& record) {
  state::make_private_directory(cluster_directory);
  const nlohmann::json root = {{"schema", "fastgpu.environments-record/1"},
                               {"active", record.active},
                               {"prefix", record.prefix}};
  state::write_private_file(file_of(cluster_directory), root.dump(2) + "\n");
}

std::string runner_in(const EnvironmentsRecord& record, const std::string& name) {
  return (agent::details_of(current_of(record, name)) / "run").string();
}

std::string programs_in(const EnvironmentsRecord& record, const std::string& name) {
  return (current_of(record, name) / "bin").string();
}

}  // namespace fastgpu::envs
