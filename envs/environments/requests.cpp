#include "envs/environments/requests.hpp"

#include <algorithm>

#include "envs/environments/activate.hpp"
#include "envs/environments/fields.hpp"
#include "envs/environments/installation_request.hpp"
#include "envs/environments/local_wheels.hpp"
#include "envs/environments/parts.hpp"
#include "envs/environments/pylock.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/environments/solution.hpp"
#include "envs/environments/sources.hpp"
#include "envs/environments/toolbox.hpp"

namespace fastgpu::envs {

namespace {

constexpr const char* kUsualIndex = "https://pypi.org/simple";
constexpr const char* kChannels = "https://conda.anaconda.org/";

std::vector<std::string> parts_in(const EnvironmentLock& lock) {
  std::vector<std::string> parts;
  std::vector<Artefact> wheels = lock.artefacts;
  std::erase_if(wheels, [](const Artefact& one) { return one.is_source || !one.record.empty(); });
  for (const auto& part : parts_of(wheels))
    parts.push_back(write_pylock(part));
  return parts;
}

std::vector<std::string> sources_of(const EnvironmentLock& lock) {
  std::vector<std::string> sources;
  for (const Artefact& source : sources_in(lock))
    sources.push_back(write_pylock({source}, lock.build_tools));
  return sources;
}

bool is_local(const Artefact& artefact) {
  return artefact.url.starts_with("file:");
}

/// Returns the lock with the addresses that local wheels have on the node.
EnvironmentLock on_node(EnvironmentLock lock, const agent::EnvironmentPlaces& places) {
  for (const LocalWheel& wheel : local_wheels(lock.spec))
    for (Artefact& one : lock.artefacts)
      if (is_local(one) && one.sha256 == wheel.sha256)
        one.url = address_of(wheel, lock.spec, places);
  return lock;
}

/// Returns the addresses of a lock's files.
std::vector<std::string> file_addresses(const EnvironmentLock& lock) {
  std::vector<std::string> addresses = named_addresses(lock.spec);
  for (const auto* artefacts : {&lock.artefacts, &lock.build_tools})
    for (const Artefact& one : *artefacts)
      if (!is_local(one)) addresses.push_back(root_of(one.url));
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

}  // namespace

std::vector<std::string> named_addresses(const EnvironmentSpec& spec) {
  std::vector<std::string> addresses = spec.index;
  for (const auto& [package, address] : spec.index_for)
    addresses.push_back(address);
  for (const std::string& channel : spec.channels)
    addresses.push_back(is_url(channel) ? channel : std::string(kChannels) + channel);
  return addresses;
}

FetchPlan fetch_plan(const InstallationRequest& request) {
  FetchPlan plan{.fetch = request.fetch,
                 .hosts = request.fetch_hosts,
                 .logins = request.logins,
                 .network = request.network};
  if (request.lock) {
    for (const auto* artefacts : {&request.lock->artefacts, &request.lock->build_tools})
      for (const Artefact& one : *artefacts)
        if (!is_local(one)) plan.indexes.push_back(root_of(one.url));
    std::ranges::sort(plan.indexes);
    plan.indexes.erase(std::unique(plan.indexes.begin(), plan.indexes.end()), plan.indexes.end());
    return plan;
  }
  const EnvironmentSpec& spec = request.spec;
  const auto requirements = requirements_of(spec);
  const auto wheels = spec.builder == Builder::uv ? requirements : spec.pip;
  if (requirements.empty() && wheels.empty()) return plan;
  plan.indexes = named_addresses(spec);
  if (spec.index.empty() && !wheels.empty()) plan.indexes.emplace_back(kUsualIndex);
  // Unless something else than a wheel of this machine is required.
  plan.may_need_none = spec.builder == Builder::uv;
  for (const std::string& line : wheels) {
    const Requirement wanted = parse_requirement(line);
    plan.projects.push_back(wanted.project);
    if (!wanted.url.empty()) plan.indexes.push_back(root_of(wanted.url));
    plan.may_need_none &= !wanted.wheel.empty();
  }
  return plan;
}

agent::SolveRequest solve_request(const EnvironmentSpec& spec, const agent::BuilderChoice& builder,
                                  const std::string& prefix) {
  agent::SolveRequest request{.builder = builder,
                              .prefix = prefix,
                              .python = spec.python,
                              .indexes = spec.index,
                              .best_match = spec.index_strategy == IndexStrategy::best_match,
                              .index_for = {},
                              .channels = spec.channels,
                              .packages = requirements_of(spec),
                              .sources = spec.sources};
  for (const std::string& line : spec.pip)
    request.wheels.push_back(parse_requirement(line).text);
  for (const LocalWheel& wheel : local_wheels(spec))
    for (std::string& line : spec.builder == Builder::uv ? request.packages : request.wheels)
      if (const Requirement wanted = parse_requirement(line); wanted.wheel == wheel.path)
        line = wanted.at(address_of(wheel, spec, {prefix}));
  for (const auto& [package, address] : spec.index_for)
    request.index_for.push_back({package, address});
  return request;
}

agent::BuildRequest build_request(const EnvironmentLock& lock, const std::string& prefix,
                                  const std::string& tools, std::chrono::seconds index_timeout,
                                  const IndexLogins& logins) {
  const std::string version = version_of(lock);
  const agent::EnvironmentPlaces places{prefix};
  const EnvironmentLock there = on_node(lock, places);
  const auto place = places.version(lock.spec.name, version);
  return {.builder = {.name = word_for(lock.spec.builder),
                      .tools = places.tools(tools).string(),
                      .index_timeout = index_timeout,
                      .logins = logins.for_addresses(file_addresses(lock))},
          .prefix = prefix,
          .name = lock.spec.name,
          .version = version,
          .common = common_in(places.tools(tools)).string(),
          .python = lock.python,
          .python_version = lock.python_version,
          .solution = write_solution(there),
          .wheels = write_wheels(there),
          .parts = parts_in(there),
          .sources = sources_of(lock),
          .source_files = places.tools(sources_hash(lock)).string(),
          .build_tools = write_pylock(lock.build_tools),
          .way = {},
          .recipe = to_yaml(lock.spec),
          .lock = to_text(lock),
          .activate = activate_script(lock.spec, place),
          .run = run_script(place),
          .has_bytecode = lock.spec.bytecode == Bytecode::compiled,
          .post_install = lock.spec.post_install};
}

}  // namespace fastgpu::envs
