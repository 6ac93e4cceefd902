#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_install.hpp"

namespace fastgpu::cli {
namespace {

struct EnvUnpackOptions {
  EnvTarget target;
  std::string archive;
  EnvInstallOptions install;
};

/// Checks the whole archive before any node is asked.
int run(Context& context, const EnvUnpackOptions& options) {
  EnvCluster cluster(context, options.target);
  context.ui().progress("reading " + options.archive);
  EnvironmentChoice choice;
  choice.archive = envs::check_archive(options.archive, context.cancel());
  context.ui().end_progress();
  choice.lock = choice.archive->lock;
  choice.spec = choice.lock->spec;
  return install_environment(context, cluster, choice, options.install);
}

}  // namespace

Action make_env_unpack_command(Arguments& arguments) {
  auto options = std::make_shared<EnvUnpackOptions>();
  Argument& archive =
      arguments.text("FILE", "", "An archive (.tar.zst) of `env pack`", options->archive);
  archive.required = true;
  archive.values = Values::path;
  describe_env_target(arguments, options->target);
  describe_needs_options(arguments, options->install.needs);
  describe_copy_options(arguments, options->install);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
