#include "envs/environments/solving.hpp"

#include <algorithm>

#include "agent/protocol/index_login.hpp"
#include "agent/protocol/package_name.hpp"
#include "envs/environments/allowed_files.hpp"
#include "envs/environments/local_wheels.hpp"
#include "envs/environments/pylock.hpp"
#include "envs/environments/requests.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/environments/solution.hpp"
#include "envs/environments/wheel_tags.hpp"

namespace fastgpu::envs {
namespace {

NodeCall solve_call(const InstallationRequest& wanted, const std::string& prefix,
                    const std::filesystem::path& tools, const Secret& proxy) {
  const agent::BuilderChoice builder{
      .name = word_for(wanted.spec.builder),
      .tools = tools.string(),
      .index_timeout = wanted.index_timeout,
      .logins = wanted.logins.for_addresses(named_addresses(wanted.spec)),
      .proxy = proxy};
  return {.words = {"env-solve"},
          .input = to_records(solve_request(wanted.spec, builder, prefix)).text()};
}

/// Adds notes for unused sources. That is legal: a file may name packages that only some
/// versions require.
void note_unused_sources(const EnvironmentLock& lock, const InstallationRequest& request) {
  if (!request.on_note) return;
  for (const std::string& name : lock.spec.sources)
    if (std::ranges::none_of(lock.artefacts, [&](const Artefact& artefact) {
          return agent::normalized_package_name(artefact.package) == name;
        }))
      request.on_note("'sources' names " + name + ", which is not in the environment");
}

EnvironmentLock lock_of(const InstallationRequest& request, const Toolbox& toolbox,
                        const agent::SolveAnswer& answer) {
  EnvironmentLock lock{.spec = request.spec,
                       .builder = answer.builder,
                       .fastgpu = request.fastgpu,
                       .machine = answer.machine,
                       .libc = answer.libc,
                       .python = answer.python,
                       .python_version = answer.python_version,
                       .artefacts = read_solution(request.spec, answer.solution),
                       .build_tools = read_pylock(answer.build_tools)};
  const auto wheels = read_pylock(answer.wheels);
  lock.artefacts.insert(lock.artefacts.end(), wheels.begin(), wheels.end());
  if (!request.spec.python_archive) lock.python_archive = toolbox.python;
  for (auto* const artefacts : {&lock.artefacts, &lock.build_tools})
    for (Artefact& one : *artefacts)
      one.url = agent::without_login(one.url);
  for (const LocalWheel& wheel : local_wheels(lock.spec))
    for (Artefact& one : lock.artefacts)
      if (one.url.starts_with("file:") && one.sha256 == wheel.sha256)
        one.url = "file:" + wheel.path;
  keep_allowed_files(lock.spec, lock.artefacts);
  check_wheels_fit(lock);
  std::ranges::stable_sort(lock.artefacts, {}, &Artefact::package);
  note_unused_sources(lock, request);
  return lock;
}

}  // namespace

EnvironmentLock solve_on_node(const NodeAccess& access, const ssh::Host& host,
                              const InstallationRequest& request, const Toolbox& toolbox,
                              const agent::EnvironmentStatus& status, const IndexWay& way) try {
  const agent::EnvironmentPlaces places{status.prefix};
  if (request.on_doing) request.on_doing(host.name, "solving");
  const auto answer = call_node(
      access, host, solve_call(request, status.prefix, places.tools(toolbox.hash), way.proxy()),
      request.on_doing);
  return lock_of(request, toolbox, agent::parse_solve_answer(answer));
} catch (const Error& e) {
  throw way.explained(e);
}

EnvironmentLock solve_here(const remote::AgentProgram& agent, const InstallationRequest& request,
                           const Toolbox& toolbox, const Cancel& cancel) {
  const auto prefix = request.scratch / "envs";
  const auto tools = request.scratch / "toolbox";
  std::filesystem::create_directories(agent::EnvironmentPlaces{prefix}.own());
  lay_out(toolbox, tools);
  lay_out_wheels(request.spec, {prefix});
  const auto answer = call_here(agent, solve_call(request, prefix.string(), tools, {}), cancel);
  return lock_of(request, toolbox, agent::parse_solve_answer(answer));
}

}  // namespace fastgpu::envs
