#include "envs/drivers/choice.hpp"

#include "base/error.hpp"

namespace fastgpu::envs {
namespace {

void look_at(const Gpu& gpu, const Matrix& matrix, DriverChoice& choice) {
  auto model = find_gpu_by_id(matrix, gpu.pci_id);
  if (!model) model = find_gpu(matrix, gpu.model);
  if (!model) return;
  if (!model->open_modules) choice.open_modules = false;
  if (model->architecture == "Blackwell") choice.needs_subnet_manager = true;
}

std::vector<std::string> packages_of(const Recipe& recipe, const NodeFacts& facts,
                                     const DriverChoice& choice) {
  if (recipe.source == PackageSource::vendor)
    return {choice.open_modules ? "nvidia-open" : "cuda-drivers"};
  const std::string branch = std::to_string(choice.branch);
  if (facts.os.id == "ubuntu")
    return {"nvidia-headless-" + branch + "-server" + (choice.open_modules ? "-open" : ""),
            "nvidia-utils-" + branch + "-server"};
  if (facts.os.id == "debian") return {"nvidia-driver", "nvidia-smi"};
  throw Error(
      ErrorKind::usage,
      "'" + facts.os.name + "' has no driver packages: omit --from to use NVIDIA's repository");
}

void choose_release(const NodeFacts& facts, DriverChoice& choice) {
  const bool switched = facts.nvidia.nvswitches > 0;
  for (const std::string& candidate : candidates(facts, choice.packages.front())) {
    const std::string upstream = upstream_version(candidate);
    if (!covers(choice.wanted, upstream)) continue;
    if (switched && !find_fabric_manager(facts, choice.branch, upstream)) continue;
    if (!choice.version.empty() && compare_versions(upstream, choice.version) <= 0) continue;
    choice.version = upstream;
    choice.package_version = candidate;
  }
}

}  // namespace

DriverChoice choose_driver(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix) {
  DriverChoice choice{.branch = choose_branch(recipe, facts, matrix)};
  choice.wanted = recipe.driver.empty() ? std::to_string(choice.branch) : recipe.driver;
  for (const Gpu& gpu : facts.gpus)
    look_at(gpu, matrix, choice);
  choice.packages = packages_of(recipe, facts, choice);
  const auto version = installed_version(facts, choice.packages.front());
  if (version && covers(choice.wanted, upstream_version(*version))) {
    choice.version = upstream_version(*version);
    choice.is_installed = true;
  } else if (facts.nvidia.answers && covers(choice.wanted, facts.nvidia.loaded)) {
    choice.version = facts.nvidia.loaded;
    choice.is_installed = true;
  } else {
    choose_release(facts, choice);
  }
  return choice;
}

std::vector<std::string> candidates(const NodeFacts& facts, const std::string& package) {
  const auto found = facts.candidates.find(package);
  return found == facts.candidates.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::string> installed_version(const NodeFacts& facts, const std::string& package) {
  const auto found = facts.installed.find(package);
  if (found == facts.installed.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> fabric_packages(int branch) {
  return {"nvidia-fabricmanager-" + std::to_string(branch), "nvidia-fabricmanager",
          "nvidia-fabric-manager"};
}

std::optional<PackageVersion> find_fabric_manager(const NodeFacts& facts, int branch,
                                                  const std::string& driver) {
  for (const std::string& name : fabric_packages(branch))
    for (const std::string& version : candidates(facts, name))
      if (upstream_version(version) == driver) return PackageVersion{name, version};
  return std::nullopt;
}

}  // namespace fastgpu::envs
