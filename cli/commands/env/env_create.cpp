#include <memory>
#include <optional>
#include <utility>

#include "base/files.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_install.hpp"
#include "envs/environments/local_wheels.hpp"
#include "envs/environments/requirements_file.hpp"
#include "envs/matrix/matrix.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct EnvCreateOptions {
  EnvTarget target;
  std::string name;
  std::string file;
  std::string requirements;
  std::string from;
  std::string builder;
  EnvInstallOptions install;
  std::vector<std::string> set;
};

bool is_name_alone(const EnvCreateOptions& options) {
  return options.file.empty() && options.requirements.empty() && options.set.empty() &&
         options.from.empty();
}

EnvironmentChoice choice_of_lock(const EnvCreateOptions& options) {
  if (!options.set.empty() || !options.from.empty() || !options.builder.empty())
    throw Error(ErrorKind::usage,
                "env create: a lock cannot be changed: omit --set, --from and --builder");
  EnvironmentChoice choice;
  choice.lock = read_lock_file(options.file);
  choice.spec = choice.lock->spec;
  if (!options.name.empty() && choice.spec.name != options.name)
    throw Error(ErrorKind::usage, "env create: the lock is for environment '" + choice.spec.name +
                                      "', not of '" + options.name + "'");
  return choice;
}

/// Returns the request in the file, with the fields that the command line sets. A name of the
/// matrix alone is enough, too.
EnvironmentChoice choice_of_file(const config::Document& document,
                                 const EnvCreateOptions& options) {
  EnvironmentChoice choice{.spec = envs::read_environment_spec(document.root())};
  const std::string& file = options.file.empty() ? options.requirements : options.file;
  envs::pin_local_wheels(choice.spec, std::filesystem::path(file).parent_path());
  if (!options.from.empty()) choice.spec.from = options.from;
  if (is_name_alone(options)) choice.spec.from = options.name;
  if (!options.name.empty()) choice.spec.name = options.name;
  if (choice.spec.name.empty() && choice.spec.from.empty())
    throw Error(ErrorKind::usage,
                "env create: the name is missing: give NAME, or 'name' in the file");
  return choice;
}

/// Returns the environment that other nodes have, by its lock, for nodes that lack it; absent if no
/// node has it.
std::optional<EnvironmentChoice> choice_on_nodes(const EnvCluster& cluster,
                                                 const std::string& name) {
  const auto builds = find_builds(cluster, name);
  if (builds.empty()) return std::nullopt;
  const EnvBuild& build = builds.front();
  const auto answer =
      envs::call_node(cluster.access(), build.host,
                      {.words = {"env-show", build.directory.parent_path().parent_path().string(),
                                 name, build.version}},
                      {});
  EnvironmentChoice choice;
  choice.lock = envs::parse_lock(answer.get("lock"), "the lock on " + build.host.name.value);
  choice.spec = choice.lock->spec;
  return choice;
}

/// Completes the request from the matrix. If the name is not in the matrix, takes the environment
/// of that name from the nodes that have it.
void complete(Context& context, const EnvCluster& cluster, const EnvCreateOptions& options,
              PythonOf python, EnvironmentChoice& choice) try {
  complete_from(context, &cluster, options.install.needs.assumed_gpus, python, choice.spec);
  if (choice.spec.name.empty()) choice.spec.name = choice.spec.from;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::usage || !is_name_alone(options) || !options.builder.empty()) throw;
  auto there = choice_on_nodes(cluster, options.name);
  if (!there)
    throw Error(e.kind(), std::string(e.what()) + "; and no node has environment '" + options.name +
                              "' to copy");
  choice = *std::move(there);
}

/// Returns where the Python comes from. The command line wins over the file, except for a Python
/// that must be downloaded.
PythonOf python_of(const config::Document& document, const EnvCreateOptions& options,
                   const envs::EnvironmentSpec& spec) {
  const bool is_in_file = document.root().find("python").has_value();
  const bool stays = options.from.empty() ? is_in_file : spec.python_archive.has_value();
  return stays ? PythonOf::spec : PythonOf::name;
}

config::Document document_of(const EnvCreateOptions& options) {
  if (options.requirements.empty())
    return options.file.empty() ? config::Document() : read_environment_file(options.file);
  if (!options.file.empty()) throw Error(ErrorKind::usage, "env create: give -f or -r, not both");
  return config::Document::parse(
      to_yaml(envs::read_requirements(options.requirements, read_file), "packages"),
      options.requirements);
}

int run(Context& context, const EnvCreateOptions& options) {
  if (!options.name.empty()) agent::check_environment_name(options.name);
  config::Document document = document_of(options);
  const bool is_lock = envs::is_lock(document);
  if (!is_lock) {
    for (const std::string& assignment : options.set)
      document.set(assignment);
    if (!options.builder.empty()) document.set("builder=" + options.builder);
  }
  EnvironmentChoice choice = is_lock ? choice_of_lock(options) : choice_of_file(document, options);
  EnvCluster cluster(context, options.target);
  if (!is_lock)
    complete(context, cluster, options, python_of(document, options, choice.spec), choice);
  return install_environment(context, cluster, choice, options.install);
}

}  // namespace

Action make_env_create_command(Arguments& arguments) {
  auto options = std::make_shared<EnvCreateOptions>();
  arguments
      .text("NAME", "", "Name of the environment; a name in the matrix also defines its packages",
            options->name)
      .values = Values::matrix_name;
  describe_env_target(arguments, options->target);
  Argument& file = arguments.text(
      "--file", "ENV.YAML", "Environment file or lock; - reads standard input", options->file);
  file.letter = "-f";
  file.values = Values::path;
  Argument& requirements = arguments.text(
      "--requirements", "FILE", "Read packages from a requirements.txt", options->requirements);
  requirements.letter = "-r";
  requirements.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "Override a field of the file", options->set);
  arguments
      .text("--from", "MATRIX_NAME",
            "Use Python and frameworks of a name in the matrix; without cu, cpu or can the nodes "
            "decide",
            options->from)
      .values = Values::matrix_name;
  Argument& builder =
      arguments.text("--builder", "HOW", "Package manager (auto)", options->builder);
  builder.values = Values::choice;
  builder.choices = {"auto", "uv", "conda"};
  describe_install_options(arguments, options->install);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
