#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/env_install.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  EnvTarget target;
  std::string name;
  std::string file;
  std::string from;
  std::string builder;
  InstallOptions install;
  std::vector<std::string> set;
};

/// A name of the matrix says what is installed, and for which Python.
void apply_matrix_name(envs::EnvironmentSpec& spec, const std::string& text, Ui& ui) {
  const auto name = envs::parse_environment_name(text);
  const auto combination = envs::resolve(envs::builtin_matrix(), name);
  for (const std::string& warning : combination.warnings())
    ui.warn(warning);
  spec.from = to_string(combination.name);
  if (!spec.python_archive) spec.python = combination.name.python;
}

/// The file's fields with what the command line says over them.
EnvWish wish_of(const Options& options, Ui& ui) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::read(options.file);
  EnvWish wish;
  if (envs::is_lock(document)) {
    if (!options.set.empty() || !options.from.empty())
      throw Error(ErrorKind::usage,
                  "env create: a lock is taken as it is, without --set or --from");
    wish.lock = read_lock_file(options.file);
    wish.spec = wish.lock->spec;
  } else {
    for (const std::string& assignment : options.set)
      document.set(assignment);
    if (!options.builder.empty()) document.set("builder=" + options.builder);
    wish.spec = envs::read_environment_spec(document.root());
  }
  if (!options.name.empty()) {
    agent::check_environment_name(options.name);
    if (wish.lock && wish.lock->spec.name != options.name)
      throw Error(ErrorKind::usage, "env create: the lock is that of an environment '" +
                                        wish.lock->spec.name + "', not of '" + options.name + "'");
    wish.spec.name = options.name;
  }
  if (!options.from.empty()) apply_matrix_name(wish.spec, options.from, ui);
  // A name that says all of it is enough.
  if (options.file.empty() && options.set.empty() && options.from.empty())
    apply_matrix_name(wish.spec, wish.spec.name, ui);
  if (wish.spec.name.empty()) wish.spec.name = wish.spec.from;
  if (wish.spec.name.empty())
    throw Error(ErrorKind::usage,
                "env create: the name is missing: give NAME, or 'name' in the file");
  return wish;
}

int run(Context& context, const Options& options) {
  const EnvWish wish = wish_of(options, context.ui());
  EnvCluster cluster(context, options.target);
  return install_environment(context, cluster, wish, options.install);
}

}  // namespace

Action describe_env_create(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.text("NAME", "", "What it is called; a name of the matrix says what is in it too",
                 options->name);
  describe_env_target(arguments, options->target);
  Argument& file = arguments.text(
      "--file", "ENV.YAML", "What is in it, or a lock of that; - is standard input", options->file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "A field of the file in another way", options->set);
  arguments.text("--from", "MATRIX_NAME", "Python and frameworks by a name of the matrix",
                 options->from);
  Argument& builder =
      arguments.text("--builder", "HOW", "Who solves and installs (auto)", options->builder);
  builder.values = Values::choice;
  builder.choices = {"auto", "uv", "conda"};
  describe_install_options(arguments, options->install);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
