#include <sstream>

#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/helper_programs.hpp"
#include "http/http_libraries.hpp"
#include "process/capture.hpp"
#include "remote/remote_libraries.hpp"
#include "state/state_libraries.hpp"

namespace fastgpu::cli {
namespace {

using Versions = std::map<std::string, std::string>;

Versions own_libraries() {
  Versions versions = remote::library_versions();
  versions.merge(http::library_versions());
  versions.merge(state::library_versions());
  return versions;
}

/// Asks the agent, which contains the libraries. Returns nothing if the agent is missing or does
/// not run, because this command must not fail.
Versions libraries_of_agent(const Cancel& cancel) try {
  const auto agent = seek_helper("fastgpu-agent");
  if (!agent) return {};
  const auto answer = process::capture({.argv = {agent->string(), "libraries"}}, {}, cancel);
  Versions versions;
  std::istringstream lines(answer.out);
  for (std::string name, version; lines >> name >> version;)
    versions[name] = version;
  return versions;
} catch (const Error&) {
  return {};
}

Json json_of(const Versions& versions) {
  Json out = Json::object();
  for (const auto& [name, version] : versions)
    out[name] = version;
  return out;
}

}  // namespace

Action make_version_command(Arguments&) {
  return [](Context& context) {
    if (context.ui().for_people()) {
      context.ui().data("fastgpu " FASTGPU_VERSION "\n");
      return 0;
    }
    View view;
    view.root = document("version");
    view.root["version"] = FASTGPU_VERSION;
    view.root["libraries"] = json_of(own_libraries());
    view.root["agent_libraries"] = json_of(libraries_of_agent(context.cancel()));
    view.names = {FASTGPU_VERSION};
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
