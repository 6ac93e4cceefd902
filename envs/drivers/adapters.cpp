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

/// Returns the limits of logins whose programs use adapters, which lock the memory of messages.
NodeFile lock_limits() {
  return {"/etc/security/limits.d/90-fastgpu-rdma.conf",
          "* - memlock unlimited\nroot - memlock unlimited\n"};
}

/// Returns the permissions that the kernel itself gives, for systems whose own rules take them
/// away.
NodeFile open_devices() {
  return {"/etc/udev/rules.d/99-fastgpu-rdma.rules",
          "SUBSYSTEM==\"infiniband_verbs\", KERNEL==\"uverbs*\", MODE=\"0666\"\n"
          "SUBSYSTEM==\"misc\", KERNEL==\"rdma_cm\", MODE=\"0666\"\n"};
}

/// Returns the modules by which programs reach RDMA devices, loaded at each boot.
NodeFile rdma_modules() {
  return {"/etc/modules-load.d/fastgpu-rdma.conf", "ib_uverbs\nrdma_ucm\n"};
}

/// Returns whether a device is supported by the software of its vendor's installer.
bool has_installer(const RdmaDevice& device) {
  return device.driver == "efa" || device.driver == "erdma";
}

/// Returns whether the node has a device that the distribution's own libraries support.
bool has_standard_device(const NodeFacts& facts) {
  return has_mellanox_adapter(facts) || !std::ranges::all_of(facts.rdma, has_installer);
}

/// Returns the distribution's packages by which programs use the adapters. The installer of EFA
/// brings its own, that of eRDMA all but libfabric.
std::vector<std::string> library_packages(const NodeFacts& facts, const PackageManager& manager) {
  std::vector<std::string> names;
  if (has_standard_device(facts)) names = manager.verbs_packages();
  if (has_standard_device(facts) || has_erdma(facts)) names.push_back(manager.fabric_package());
  return names;
}

/// Returns whether the files are there by which programs use the kernel's devices. EFA is used
/// without a connection manager.
bool has_device_files(const NodeFacts& facts) {
  const auto has = [&](std::string_view prefix) {
    return std::ranges::any_of(facts.rdma_files,
                               [&](const RdmaFile& file) { return file.name.starts_with(prefix); });
  };
  const bool is_efa_alone = std::ranges::all_of(
      facts.rdma, [](const RdmaDevice& device) { return device.driver == "efa"; });
  return has("uverbs") && (is_efa_alone || has("rdma_cm"));
}

/// Loads the modules that make the files of devices. Absent if the kernel shows no device yet.
std::optional<DriverStep> modules_step(const NodeFacts& facts) {
  if (facts.rdma.empty()) return std::nullopt;
  return make_step("Load the kernel's modules for RDMA, now and at each boot",
                   has_device_files(facts),
                   {write_file(rdma_modules()), {"modprobe", "-a", "ib_uverbs", "rdma_ucm"}});
}

/// Lets all users open RDMA devices, as the kernel does. Absent if no rule of the node differs.
std::optional<DriverStep> permission_step(const NodeFacts& facts) {
  const bool is_open = std::ranges::all_of(facts.rdma_files, &RdmaFile::is_open);
  if (is_open && !has_file(facts, open_devices())) return std::nullopt;
  return make_step("Let programs open RDMA devices", is_open,
                   {write_file(open_devices()),
                    {"udevadm", "control", "--reload"},
                    {"udevadm", "trigger", "--settle", "--action=add", "--sysname-match=uverbs*",
                     "--sysname-match=rdma_cm"}});
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

bool has_rdma(const NodeFacts& facts) {
  return has_rdma_adapter(facts) || !facts.rdma.empty();
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
  if (!has_rdma(facts)) return steps;
  for (const auto& step :
       {library_step(facts, manager), modules_step(facts), permission_step(facts),
        files_step("Let programs lock memory for RDMA adapters", {lock_limits()}, facts, true)})
    if (step) steps.push_back(*step);
  return steps;
}

DriverStep peer_memory_step(const NodeFacts& facts) {
  const NodeFile at_boot{"/etc/modules-load.d/fastgpu-nvidia-peermem.conf", "nvidia-peermem\n"};
  return make_step("Load nvidia-peermem, now and at each boot",
                   has_module(facts, "nvidia_peermem") && has_file(facts, at_boot),
                   {write_file(at_boot), {"modprobe", "nvidia-peermem"}});
}

}  // namespace fastgpu::envs
