#include "cli/program/variables.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/join.hpp"
#include "base/names.hpp"
#include "cli/program/common_flags.hpp"
#include "config/settings.hpp"
#include "provision/cloud/service_endpoint.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::string_view kPrefix = "FASTGPU_";

/// Prefixes of variables that fastgpu does not check: libfastgpu_comm checks its own, and others
/// are for tests. Ranks of arrays have one for each column of their parameters.
constexpr std::array<std::string_view, 3> kFamilies = {"FASTGPU_COMM_", "FASTGPU_TEST_",
                                                       "FASTGPU_PARAMETER_"};

/// Variables that are read apart from flags and settings.
constexpr std::array kRead = {
    "FASTGPU_ADDRESS_URL",  // The URL of a service that returns this machine's public address.
    "FASTGPU_LOCAL_DIR",    // Where local nodes are kept.
    "FASTGPU_METADATA_ENDPOINT",
    "FASTGPU_CONFIG",         // The path of the user's settings file.
    "FASTGPU_IN_ARRAY",       // Set for a fastgpu that runs one job of an array: the job's id.
    "FASTGPU_IN_AUTOMATION",  // Forbids questions.
    "FASTGPU_IN_QUEUE",       // Set for a fastgpu that waits for the turn of a detached job.
    "FASTGPU_WITHOUT_NODES",  // Set beside FASTGPU_IN_ARRAY: the nodes that the array has lost.
    "FASTGPU_INDEX_LOGINS",   // User names and passwords of package indexes.
    "FASTGPU_FAULT",          // For builds with fault points.
    "FASTGPU_BUILD_DIR",      // Of the script for people who work on fastgpu.
    "FASTGPU_BENCH_PYTHON",   // For the benchmarks.
    "FASTGPU_ROOTLESS",       // For the tests.
};

/// Variables that are set for ranks, for programs on nodes, and in environments. A fastgpu that is
/// started there inherits them.
constexpr std::array kSetOnNodes = {
    "FASTGPU_JOB_ID",     "FASTGPU_EXEC_ID",       "FASTGPU_RANK",
    "FASTGPU_WORLD_SIZE", "FASTGPU_LOCAL_RANK",    "FASTGPU_NODE_RANK",
    "FASTGPU_NUM_NODES",  "FASTGPU_NODE_IPS",      "FASTGPU_LOCAL_WORLD_SIZE",
    "FASTGPU_NODE_NAMES", "FASTGPU_HOSTFILE",      "FASTGPU_GPUS_PER_NODE",
    "FASTGPU_ENV",        "FASTGPU_CANN",          "FASTGPU_JOB_NETWORK",
    "FASTGPU_ARRAY_ID",   "FASTGPU_ARRAY_INDEX",   "FASTGPU_ARRAY_COUNT",
    "FASTGPU_PARAMETERS", "FASTGPU_RESTART_COUNT", "FASTGPU_CHECKPOINT_DIR",
    "FASTGPU_CPUS",       "FASTGPU_JOB_HEAD",      "FASTGPU_JOB_WORKERS",
    "FASTGPU_BLAME_FILE", "FASTGPU_LOGIN_PATH",    "FASTGPU_LOGIN_LIBS",
};

bool is_of_family(std::string_view name) {
  return std::ranges::any_of(kFamilies, [&](auto family) { return name.starts_with(family); });
}

/// Returns the right variables of the flags for which `name` may be meant: `name` has the command
/// where it should have none, or the other way round. If `command` has such a flag, only its
/// variable is returned.
std::vector<std::string> meant_flags(const std::string& name, std::span<const CliCommand> table,
                                     const CliCommand& command) {
  std::set<std::string> found;
  for (const CliCommand& other : table) {
    const Arguments arguments = arguments_of(other);
    for (const Argument& argument : arguments.all()) {
      if (argument.positional()) continue;
      Argument other_way = argument;
      other_way.shared = !argument.shared;
      if (other_way.variable(other.words()) != name) continue;
      if (&other == &command) return {argument.variable(other.words())};
      found.insert(argument.variable(other.words()));
    }
  }
  return {found.begin(), found.end()};
}

std::string fault_of(const std::string& name, std::span<const CliCommand> table,
                     const CliCommand& command, std::span<const std::string> known) {
  const std::string what = "the environment variable " + printable(name) + " has no meaning";
  for (const config::SettingInfo& setting : config::setting_table())
    if (const auto former = config::former_setting(setting.key);
        former && config::variable_name(*former) == name)
      return what + " any more: use " + config::variable_name(setting.key) + " now";
  const auto meant = meant_flags(name, table, command);
  if (meant.size() == 1) return what + ": the flag's variable is " + meant.front();
  if (!meant.empty())
    return what + ": each command has its own variable for this flag: " + joined(meant);
  std::vector<std::string> ends;  // The common prefix is left out: it would make all names similar.
  for (const std::string& variable : known)
    ends.push_back(variable.substr(kPrefix.size()));
  const std::string near = nearest_name(name.substr(kPrefix.size()), ends);
  if (near.empty()) return what + " to fastgpu: unset it";
  return what + ", did you mean " + std::string(kPrefix) + near + "?";
}

}  // namespace

std::vector<std::string> known_variables(std::span<const CliCommand> table) {
  std::set<std::string> known(kRead.begin(), kRead.end());
  known.insert(kSetOnNodes.begin(), kSetOnNodes.end());
  for (const provision::ProviderInfo& provider : provision::provider_table())
    if (!provider.endpoint_variable.empty())
      std::ranges::copy(provision::cloud::endpoint_variables(provider.endpoint_variable),
                        std::inserter(known, known.end()));
  for (const config::SettingInfo& setting : config::setting_table())
    known.insert(config::variable_name(setting.key));
  for (const CliCommand& command : table) {
    const Arguments arguments = arguments_of(command);
    for (const Argument& argument : arguments.all())
      if (!argument.positional()) known.insert(argument.variable(command.words()));
  }
  return {known.begin(), known.end()};
}

std::vector<std::string> unknown_variables(std::span<const std::string> names,
                                           std::span<const CliCommand> table,
                                           const CliCommand& command) {
  std::vector<std::string> faults;
  std::vector<std::string> known;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || is_of_family(name)) continue;
    if (known.empty()) known = known_variables(table);
    if (!std::ranges::binary_search(known, name))
      faults.push_back(fault_of(name, table, command, known));
  }
  return faults;
}

}  // namespace fastgpu::cli
