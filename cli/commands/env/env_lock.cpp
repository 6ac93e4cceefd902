#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/counted.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_install.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "envs/environments/local_wheels.hpp"
#include "envs/environments/node_status.hpp"
#include "envs/environments/nodes_python.hpp"
#include "envs/environments/requests.hpp"
#include "envs/environments/solving.hpp"
#include "envs/environments/toolbox.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct LockOptions {
  EnvTarget target;
  std::string file;
  OutFile out;
  BuilderOptions building;
  std::vector<std::string> set;
};

envs::EnvironmentSpec spec_of(Context& context, const EnvCluster* cluster,
                              const LockOptions& options) {
  auto document = read_environment_file(options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  auto spec = envs::read_environment_spec(document.root());
  envs::pin_local_wheels(spec, std::filesystem::path(options.file).parent_path());
  if (spec.name.empty()) throw Error(ErrorKind::usage, options.file + ": 'name' is missing");
  const bool names_python = document.root().find("python").has_value();
  complete_from(context, cluster, "", names_python ? PythonOf::spec : PythonOf::name, spec);
  return spec;
}

envs::EnvironmentLock lock_here(Context& context, const envs::InstallationRequest& request) {
  utsname here{};
  ::uname(&here);
  const auto python = envs::python_here(context.agent(), request, here.machine, context.cancel());
  return envs::solve_here(context.agent(), request, request.toolbox(here.machine, python),
                          context.cancel());
}

envs::EnvironmentLock lock_on_node(EnvCluster& cluster, envs::InstallationRequest request) {
  cluster.lock();
  cluster.note_given_prefix();
  request.prefix = cluster.prefix_for(request.spec.name);
  const std::span<const ssh::Host> first(cluster.hosts().data(), 1);
  const auto looked =
      envs::look_at_nodes(cluster.access(), first, request.prefix, request.spec.name);
  if (!looked[0].ok()) throw Error(looked[0].error());
  // Solving needs the prefix alone.
  envs::remove_empty_places(cluster.access(), first, looked[0].value().prefix, request.spec.name);
  const envs::NodeAccess access = cluster.access();
  const envs::IndexWay way(access, first[0], envs::fetch_plan(request), request.on_doing);
  const std::string& machine = looked[0].value().machine;
  const auto python = envs::python_on(cluster.access(), first[0], request, {}, machine);
  const envs::Toolbox toolbox = request.toolbox(machine, python);
  envs::put_toolbox(cluster.access(), first[0], toolbox, looked[0].value(), request.scratch);
  envs::put_wheels(access, first[0], request, request.spec, looked[0].value());
  return envs::solve_on_node(access, first[0], request, toolbox, looked[0].value(), way);
}

/// Returns the result as a document. It includes the text of the lock if that is not written to a
/// file.
View view_of(const envs::EnvironmentLock& locked, const std::string& text, const OutFile& out) {
  View view;
  view.root = document("environment-lock");
  view.root["name"] = locked.spec.name;
  view.root["version"] = envs::version_of(locked);
  view.root["machine"] = locked.machine;
  view.root["libc"] = locked.libc;
  view.root["python"] = locked.python_version;
  view.root["builder"] = locked.builder;
  view.root["artefacts"] = Json::array();
  for (const envs::Artefact& one : locked.artefacts)
    view.root["artefacts"].push_back({{"package", one.package},
                                      {"version", one.version},
                                      {"url", one.url},
                                      {"sha256", one.sha256}});
  view.root["file"] = out.path.empty() ? Json(nullptr) : Json(out.path);
  if (out.path.empty()) view.root["lock"] = text;
  view.names = {envs::version_of(locked)};
  return view;
}

int lock(Context& context, const LockOptions& options) {
  if (!options.out.path.empty() && options.out.path != "-") check_out_file(options.out);
  const state::ScratchDirectory scratch(context.state_directory());
  std::optional<EnvCluster> cluster;
  if (!options.target.cluster.empty()) cluster.emplace(context, options.target);
  envs::InstallationRequest request{
      .spec = spec_of(context, cluster ? &*cluster : nullptr, options),
      .fastgpu = FASTGPU_VERSION,
      .scratch = scratch.path(),
      .toolbox = {}};
  use_builder_options(context, options.building, request);
  const auto locked = cluster ? lock_on_node(*cluster, request) : lock_here(context, request);
  const std::string text = to_text(locked);
  const bool has_file = !options.out.path.empty() && options.out.path != "-";
  if (has_file) write_out_file(options.out, text);
  if (!has_file && context.ui().for_people())
    context.ui().data(text);
  else if (!context.ui().for_people())
    context.ui().show(view_of(locked, text, options.out));
  context.ui().note("locked " + counted(locked.artefacts.size(), "artefact") + " for " +
                    locked.machine + ", " + locked.libc + ", Python " + locked.python_version);
  return 0;
}

}  // namespace

Action make_env_lock_command(Arguments& arguments) {
  auto options = std::make_shared<LockOptions>();
  Argument& file = arguments.text("--file", "ENV.YAML", "Environment file; - reads standard input",
                                  options->file);
  file.letter = "-f";
  file.required = true;
  file.values = Values::path;
  describe_out_file(arguments, "Write the lock to this file (stdout)", options->out);
  arguments.list("--set", "KEY=VALUE", "Override a field of the file", options->set);
  Argument& cluster = describe_env_target(arguments, options->target);
  cluster.help = "Solve for the first of these nodes (this machine)";
  cluster.shared = false;
  describe_builder_options(arguments, options->building);
  return [options](Context& context) { return lock(context, *options); };
}

}  // namespace fastgpu::cli
