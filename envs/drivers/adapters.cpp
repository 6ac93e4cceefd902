#include "envs/drivers/adapters.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "envs/drivers/choice.hpp"
#include "envs/drivers/steps.hpp"

namespace fastgpu::envs {
namespace {

constexpr const char* kAdapterFolder = "/var/cache/fastgpu";

bool has_adapter(const NodeFacts& facts, std::string_view prefix) {
  return std::ranges::any_of(
      facts.pci_adapters, [&](const std::string& adapter) { return adapter.starts_with(prefix); });
}

bool has_efa(const NodeFacts& facts) {
  return has_adapter(facts, "1d0f:efa");
}

bool has_erdma(const NodeFacts& facts) {
  return has_adapter(facts, "1ded:107f");
}

/// The limits of logins whose programs use adapters, which lock the memory of messages.
const NodeFile kLockLimits{"/etc/security/limits.d/90-fastgpu-rdma.conf",
                           "* - memlock unlimited\nroot - memlock unlimited\n"};

/// Returns the distribution's packages by which programs use the adapters. The installer of EFA
/// brings its own, that of eRDMA all but libfabric.
std::vector<std::string> library_packages(const NodeFacts& facts, const PackageManager& manager) {
  std::vector<std::string> names;
  if (has_mellanox_adapter(facts)) names = manager.verbs_packages();
  if (has_mellanox_adapter(facts) || has_erdma(facts)) names.push_back(manager.fabric_package());
  return names;
}

std::optional<DriverStep> library_step(const NodeFacts& facts, const PackageManager& manager) {
  const std::vector<std::string> names = library_packages(facts, manager);
  if (names.empty()) return std::nullopt;
  std::vector<PackageVersion> packages;
  for (const std::string& name : names)
    packages.push_back({name});
  const bool done = std::ranges::all_of(
      names, [&](const std::string& name) { return installed_version(facts, name).has_value(); });
  return make_step("Install the libraries for RDMA: " + joined(names), done,
                   {manager.read_distribution_index(), manager.install(packages)});
}

bool has_module(const NodeFacts& facts, std::string_view module) {
  return contains(facts.modules, module);
}

/// Fetches an archive, checks it, and runs the installer in it.
std::vector<Argv> run_installer(const PackageManager& manager, const PinnedArchive& archive,
                                const std::string& name, const std::string& folder,
                                const Argv& installer) {
  const std::string place = std::string(kAdapterFolder) + "/" + name;
  const std::string file = place + ".tar.gz";
  std::vector<Argv> commands = {{"mkdir", "-p", "-m", "0755", kAdapterFolder},
                                {"rm", "-rf", place, file}};
  for (Argv& argv : manager.fetch(archive, file))
    commands.push_back(std::move(argv));
  commands.push_back({"mkdir", place});
  commands.push_back({"tar", "-C", place, "--no-same-owner", "-xzf", file});
  Argv run = {"env", "-C", place + "/" + folder};
  run.insert(run.end(), installer.begin(), installer.end());
  commands.push_back(std::move(run));
  commands.push_back({"rm", "-rf", kAdapterFolder});
  return commands;
}

}  // namespace

bool has_mellanox_adapter(const NodeFacts& facts) {
  return has_adapter(facts, "15b3:");
}

bool has_rdma_adapter(const NodeFacts& facts) {
  return has_mellanox_adapter(facts) || has_efa(facts) || has_erdma(facts);
}

std::vector<DriverStep> adapter_steps(const Recipe& recipe, const NodeFacts& facts,
                                      const PackageManager& manager) {
  std::vector<DriverStep> steps;
  if (has_efa(facts))
    steps.push_back(
        make_step("Install EFA " + recipe.efa.version,
                  !facts.efa.empty() && compare_versions(facts.efa, recipe.efa.version) >= 0,
                  run_installer(manager, recipe.efa, "efa", "aws-efa-installer",
                                {"./efa_installer.sh", "-y"})));
  if (has_erdma(facts))
    steps.push_back(make_step("Install eRDMA " + recipe.erdma.version, has_module(facts, "erdma"),
                              run_installer(manager, recipe.erdma, "erdma", "erdma_installer",
                                            {"./install.sh", "--batch"})));
  if (auto libraries = library_step(facts, manager)) steps.push_back(std::move(*libraries));
  if (!has_rdma_adapter(facts)) return steps;
  auto limits =
      files_step("Let programs lock memory for RDMA adapters", {kLockLimits}, facts, true);
  if (limits) steps.push_back(std::move(*limits));
  return steps;
}

DriverStep peer_memory_step(const NodeFacts& facts) {
  const NodeFile at_boot{"/etc/modules-load.d/fastgpu-nvidia-peermem.conf", "nvidia-peermem\n"};
  return make_step("Load nvidia-peermem, now and at each boot",
                   has_module(facts, "nvidia_peermem") && has_file(facts, at_boot),
                   {write_file(at_boot), {"modprobe", "nvidia-peermem"}});
}

}  // namespace fastgpu::envs
