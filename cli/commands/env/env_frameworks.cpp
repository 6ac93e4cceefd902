#include <algorithm>
#include <memory>

#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_install.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kUsualIndex = "https://pypi.org/simple";

struct EnvFrameworksOptions {
  EnvTarget target;
  std::string name;
  std::vector<std::string> frameworks;
  EnvInstallOptions install;
};

/// Returns the given environment, else the active one, else the only one.
std::string name_of(EnvCluster& cluster, const std::string& given) {
  const auto& record = cluster.record();
  if (!given.empty()) return given;
  if (!record.active.empty()) return record.active;
  if (record.prefix.size() == 1) return record.prefix.begin()->first;
  throw Error(ErrorKind::usage, "env install-frameworks: the environment's name is missing");
}

/// Returns the spec that the environment was made from, from the first node that has it.
envs::EnvironmentSpec spec_on_nodes(EnvCluster& cluster, const std::string& name) {
  const auto answers = cluster.call({"env-show", cluster.prefix_for(name), name});
  for (const auto& answer : answers)
    if (answer.ok()) {
      const std::string text = answer.value().get("spec");
      const std::string source = "env.yaml of " + name + " on " + answer.host.value;
      return envs::read_environment_spec(config::Document::parse(text, source).root());
    }
  throw Error(answers.front().error());
}

/// Returns the project of a requirement: "torch" for "torch[x]==2.5".
std::string project_of(const std::string& requirement) {
  return envs::parse_requirement(requirement).project;
}

/// Adds the requirement, in place of one for the same project.
void require(envs::EnvironmentSpec& spec, const std::string& requirement) {
  std::erase_if(spec.packages, [&](const std::string& package) {
    return project_of(package) == project_of(requirement);
  });
  spec.packages.push_back(requirement);
}

/// Restricts the framework's package to the index that the matrix has for it. If the user has set
/// an index on another host for it, that one is kept.
void take_from_own_index(envs::EnvironmentSpec& spec, const envs::FrameworkRow& row) {
  if (row.index.empty() || row.requirements.empty()) return;
  const std::string project = project_of(row.requirements.front());
  std::erase_if(spec.index_for, [&](const auto& one) {
    return one.first == project && envs::root_of(one.second) == envs::root_of(row.index);
  });
  if (std::ranges::none_of(spec.index_for, [&](const auto& one) { return one.first == project; }))
    spec.index_for.emplace_back(project, row.index);
}

/// Returns true if the environment uses other indexes than PyPI. They may have packages that are
/// not in the matrix.
bool has_own_index(const envs::EnvironmentSpec& spec) {
  return std::ranges::any_of(spec.index,
                             [](const std::string& index) { return index != kUsualIndex; });
}

[[noreturn]] void refuse_lost(const envs::Combination& combination) {
  std::string why = joined(combination.losses(), "; ");
  if (combination.nearest)
    why += "; the nearest available name is " + to_string(*combination.nearest);
  throw Error(ErrorKind::not_found, "env install-frameworks: " + why);
}

/// Adds the packages of the matrix for the name that the environment was made from.
void require_from_matrix(envs::EnvironmentSpec& spec, Ui& ui) {
  if (spec.from.empty())
    throw Error(ErrorKind::usage, "env install-frameworks: environment '" + spec.name +
                                      "' was not created from a name in the matrix: choose "
                                      "packages, such as --framework torch==2.5.1");
  if (spec.builder == envs::Builder::conda)
    throw Error(ErrorKind::usage,
                "env install-frameworks: the matrix has wheels, but '" + spec.name +
                    "' consists of conda packages: choose some, such as --framework pytorch=2.5");
  const auto combination =
      envs::resolve(envs::builtin_matrix(), envs::parse_environment_name(spec.from));
  if (!combination.offered() && !has_own_index(spec)) refuse_lost(combination);
  for (const std::string& warning : combination.warnings())
    ui.warn(warning);
  for (const envs::FrameworkRow& row : combination.rows) {
    for (const std::string& requirement : row.requirements)
      require(spec, requirement);
    spec.sources.insert(spec.sources.end(), row.sources.begin(), row.sources.end());
    take_from_own_index(spec, row);
  }
}

/// Shows the requirements and the indexes or channels that they come from.
void tell(Ui& ui, const envs::EnvironmentSpec& spec) {
  for (const std::string& package : spec.packages)
    ui.note("requires " + package);
  for (const std::string& package : spec.sources)
    ui.note("may build " + package + " from its source");
  std::vector<std::string> places = spec.index;
  if (spec.builder == envs::Builder::conda)
    places = spec.channels;
  else if (places.empty())
    places.emplace_back(kUsualIndex);
  for (const std::string& place : places)
    ui.note("from " + place);
  for (const auto& [package, address] : spec.index_for)
    ui.note(package + " from " + address);
}

int run(Context& context, const EnvFrameworksOptions& options) {
  EnvCluster cluster(context, options.target);
  EnvironmentChoice choice{.spec = spec_on_nodes(cluster, name_of(cluster, options.name))};
  if (options.frameworks.empty()) require_from_matrix(choice.spec, context.ui());
  for (const std::string& framework : options.frameworks)
    require(choice.spec, framework);
  // Checks the values from the command line like those of a file.
  choice.spec = envs::read_environment_spec(
      config::Document::parse(to_yaml(choice.spec), "the environment with its frameworks").root());
  tell(context.ui(), choice.spec);
  return install_environment(context, cluster, choice, options.install);
}

}  // namespace

Action make_env_frameworks_command(Arguments& arguments) {
  auto options = std::make_shared<EnvFrameworksOptions>();
  arguments.text("NAME", "", "The environment (the active or the only one)", options->name).values =
      Values::environment;
  describe_env_target(arguments, options->target);
  arguments.list("--framework", "REQUIREMENT",
                 "Install this instead of the matrix's version [torch==2.5.1]",
                 options->frameworks);
  describe_install_options(arguments, options->install);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
