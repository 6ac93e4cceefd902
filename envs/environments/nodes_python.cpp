#include "envs/environments/nodes_python.hpp"

#include <functional>

namespace fastgpu::envs {
namespace {

NodeCall question_of(const NeededPython& needed) {
  NodeCall call{.words = {"env-python"}};
  if (needed.use == PythonUse::builder) call.words.emplace_back("--or-newer");
  call.words.push_back(needed.version);
  return call;
}

/// Returns the note about a node that lacks it.
std::string note_of(const NeededPython& needed, const PythonArchive& archive) {
  const std::string lacks = " has no " + to_string(needed);
  switch (needed.use) {
    case PythonUse::environment:
      return lacks + ": the environment gets its own, " + archive.url;
    case PythonUse::builder:
      return lacks + ": py-rattler gets its own, which is not part of the environment, " +
             archive.url;
  }
  return lacks;
}

/// Chooses the archive; calls `ask` if the node's own Python decides.
std::optional<PythonArchive> chosen(const std::string& node, const InstallationRequest& request,
                                    const std::string& machine,
                                    const std::function<agent::Records(const NodeCall&)>& ask) {
  const auto needed = needed_python(request.spec);
  const std::string found = needed ? ask(question_of(*needed)).get("version") : "";
  try {
    auto archive = choose_python(request.spec, found, machine, request.pythons);
    if (needed && archive && request.on_note) request.on_note(node + note_of(*needed, *archive));
    return archive;
  } catch (const Error& e) {
    throw e.during(node);
  }
}

}  // namespace

std::optional<PythonArchive> python_on(const NodeAccess& access, const ssh::Host& host,
                                       const InstallationRequest& request,
                                       const std::optional<EnvironmentLock>& lock,
                                       const std::string& machine) {
  if (lock && request.spec.builder == Builder::uv) return archive_of(*lock);
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
