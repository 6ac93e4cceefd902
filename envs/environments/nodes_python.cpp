#include "envs/environments/nodes_python.hpp"

#include <functional>

namespace fastgpu::envs {
namespace {

/// `ask` is called where what the node has decides.
std::optional<PythonArchive> chosen(const std::string& node, const InstallationRequest& request,
                                    const std::string& machine,
                                    const std::function<agent::Records(const NodeCall&)>& ask) {
  const bool depends = wants_nodes_python(request.spec);
  const std::string found =
      depends ? ask({.words = {"env-python", request.spec.python}}).get("version") : "";
  try {
    auto archive = choose_python(request.spec, found, machine, request.pythons);
    if (depends && archive && request.on_note)
      request.on_note(node + " has no Python " + request.spec.python +
                      ": the environment gets its own, " + archive->url);
    return archive;
  } catch (const Error& e) {
    throw e.during(node);
  }
}

}  // namespace

std::optional<PythonArchive> python_on(const NodeAccess& access, const ssh::Host& host,
                                       const InstallationRequest& request,
                                       const std::string& machine) {
  return chosen(host.name.value, request, machine,
                [&](const NodeCall& call) { return call_node(access, host, call, {}); });
}

std::optional<PythonArchive> python_here(const remote::AgentProgram& agent,
                                         const InstallationRequest& request,
                                         const std::string& machine, const Cancel& cancel) {
  return chosen("this machine", request, machine,
                [&](const NodeCall& call) { return call_here(agent, call, cancel); });
}

}  // namespace fastgpu::envs
