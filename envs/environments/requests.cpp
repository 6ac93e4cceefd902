#include "envs/environments/requests.hpp"

#include "envs/environments/activate.hpp"
#include "envs/environments/installation.hpp"
#include "envs/environments/parts.hpp"
#include "envs/environments/pylock.hpp"
#include "envs/environments/solution.hpp"
#include "envs/environments/sources.hpp"

namespace fastgpu::envs {

namespace {

std::vector<std::string> parts_in(const EnvironmentLock& lock) {
  std::vector<std::string> parts;
  if (lock.spec.builder != Builder::uv) return parts;
  std::vector<Artefact> wheels = lock.artefacts;
  std::erase_if(wheels, [](const Artefact& one) { return one.is_source; });
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

}  // namespace

agent::SolveRequest solve_request(const EnvironmentSpec& spec, const agent::BuilderChoice& builder,
                                  const std::string& prefix) {
  agent::SolveRequest request{.builder = builder,
                              .prefix = prefix,
                              .python = spec.python,
                              .index = spec.index.empty() ? "" : spec.index.front(),
                              .more_indexes = {},
                              .channels = spec.channels,
                              .packages = requirements_of(spec),
                              .sources = spec.sources};
  if (spec.index.size() > 1) request.more_indexes.assign(spec.index.begin() + 1, spec.index.end());
  return request;
}

agent::BuildRequest build_request(const EnvironmentLock& lock, const std::string& prefix,
                                  const std::string& tools, std::chrono::seconds patience) {
  const std::string version = version_of(lock);
  const agent::EnvironmentPlaces places{prefix};
  const auto place = places.version(lock.spec.name, version);
  return {.builder = {.name = word_for(lock.spec.builder),
                      .tools = places.tools(tools).string(),
                      .patience = patience},
          .prefix = prefix,
          .name = lock.spec.name,
          .version = version,
          .common = common_in(places.tools(tools)).string(),
          .python = lock.python,
          .python_version = lock.python_version,
          .solution = write_solution(lock),
          .parts = parts_in(lock),
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
