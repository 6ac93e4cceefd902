#include "envs/drivers/driver_plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "envs/drivers/adapters.hpp"
#include "envs/drivers/choice.hpp"
#include "envs/drivers/steps.hpp"

namespace fastgpu::envs {
namespace {

constexpr const char* kFabricService = "nvidia-fabricmanager";

std::string joined_or_none(const std::vector<std::string>& words) {
  return words.empty() ? "none" : joined(words);
}

class Planner {
 public:
  Planner(const Recipe& recipe, const NodeFacts& facts, const Matrix& matrix, Index index)
      : recipe_(recipe),
        facts_(facts),
        index_(index),
        manager_(package_manager(facts)),
        choice_(choose_driver(recipe, facts, matrix)) {}

  std::vector<DriverStep> make() {
    install_driver();
    if (facts_.nvidia.nvswitches > 0) install_fabric_manager();
    if (!recipe_.cuda.empty()) install_toolkit();
    if (!recipe_.cudnn.empty()) install_cudnn();
    if (has_rdma_adapter(facts_)) install_gdrcopy();
    const bool installs = std::ranges::any_of(
        steps_, [](const DriverStep& step) { return step.state == StepState::to_do; });
    for (DriverStep& step : adapter_steps(recipe_, facts_, *manager_))
      steps_.push_back(std::move(step));
    load_driver();
    if (facts_.nvidia.nvswitches > 0) start_fabric_manager();
    if (has_mellanox_adapter(facts_)) steps_.push_back(peer_memory_step(facts_));
    return prepared(installs);
  }

 private:
  bool from_vendor() const { return recipe_.source == PackageSource::vendor; }

  bool has_fabric_manager() const {
    return std::ranges::any_of(fabric_packages(choice_.branch), [&](const std::string& name) {
      const auto version = installed_version(facts_, name);
      return version && upstream_version(*version) == choice_.version;
    });
  }

  void add(std::string title, bool done, std::vector<Argv> commands, std::string note = {}) {
    steps_.push_back(make_step(std::move(title), done, std::move(commands), std::move(note)));
  }

  /// Returns the package with its version: the newest of the branch while the repository is not
  /// known. The distribution's packages need none, as they belong together.
  PackageVersion driver_package(const std::string& name) const {
    if (!from_vendor()) return {name};
    if (choice_.package_version.empty()) return {name, choice_.wanted + "*"};
    return {name, choice_.package_version};
  }

  void install_driver() {
    std::vector<PackageVersion> packages;
    for (const std::string& name : choice_.packages)
      packages.push_back(driver_package(name));
    auto commands = manager_->before_driver(choice_.branch, choice_.open_modules);
    commands.push_back(manager_->install(packages));
    add("Install driver " + choice_.in_words() + (choice_.open_modules ? ", open modules" : ""),
        choice_.is_installed, std::move(commands));
    if (choice_.version.empty())
      missing_.push_back("driver " + choice_.wanted + " (available: " +
                         joined_or_none(candidates(facts_, choice_.packages.front())) + ")");
  }

  void install_fabric_manager() {
    const bool done = !choice_.version.empty() && has_fabric_manager();
    const auto names = fabric_packages(choice_.branch);
    const auto found = find_fabric_manager(facts_, choice_.branch, choice_.version);
    std::vector<PackageVersion> packages = {
        found.value_or(PackageVersion{names.front(), choice_.in_words() + "*"})};
    if (choice_.needs_subnet_manager) packages.push_back({"nvlsm"});
    add("Install fabric manager " + choice_.in_words() + ", exactly the driver's version", done,
        {manager_->install(packages)});
    if (done || found) return;
    std::vector<std::string> there;
    for (const std::string& name : names)
      std::ranges::copy(candidates(facts_, name), std::back_inserter(there));
    missing_.push_back("a fabric manager of exactly the driver's version (available: " +
                       joined_or_none(there) + ")");
  }

  void install_package(const std::string& what, const std::string& name) {
    const bool done = installed_version(facts_, name).has_value();
    add("Install " + what, done, {manager_->install({{name}})});
    if (!done && candidates(facts_, name).empty()) missing_.push_back(name);
  }

  void install_toolkit() {
    std::string dashed = recipe_.cuda;
    std::ranges::replace(dashed, '.', '-');
    const bool has_other = std::ranges::any_of(
        facts_.cuda, [&](const std::string& version) { return covers(recipe_.cuda, version); });
    if (has_other) return add("Install CUDA " + recipe_.cuda, true, {});
    install_package("CUDA " + recipe_.cuda, "cuda-toolkit-" + dashed);
  }

  void install_cudnn() {
    const std::string& cuda = recipe_.cuda;
    const std::string major =
        cuda.empty() ? (choice_.branch >= 580 ? "13" : "12") : cuda.substr(0, cuda.find('.'));
    const std::string name =
        recipe_.cudnn == "8" ? "libcudnn8" : "cudnn" + recipe_.cudnn + "-cuda-" + major;
    install_package("cuDNN " + recipe_.cudnn + " for CUDA " + major, name);
  }

  void install_gdrcopy() {
    const std::vector<PackageVersion> packages = {{"gdrdrv-dkms"}, {"libgdrapi"}};
    const bool done = std::ranges::all_of(packages, [&](const PackageVersion& package) {
      return installed_version(facts_, package.name).has_value();
    });
    add("Install GDRCopy", done, {manager_->install(packages)});
    const bool known = !choice_.version.empty();
    if (!done && known && candidates(facts_, "gdrdrv-dkms").empty()) {
      steps_.back() = {.title = "Install GDRCopy",
                       .state = StepState::left_out,
                       .note = "no repository of the node has its packages"};
    }
  }

  void load_driver() {
    const bool done = !choice_.version.empty() && facts_.nvidia.loaded == choice_.version;
    const std::string note =
        facts_.secure_boot && !done
            ? "Secure Boot is on: the module loads only where its key is enrolled"
            : "";
    const bool stands_in_the_way = facts_.nvidia.nouveau || !facts_.nvidia.loaded.empty();
    if (done || !stands_in_the_way) {
      add("Load driver " + choice_.in_words(), done, {{"modprobe", "nvidia"}}, note);
      return;
    }
    const std::string other = facts_.nvidia.nouveau ? "nouveau" : "driver " + facts_.nvidia.loaded;
    add("Reboot into driver " + choice_.in_words(), false, {{"systemctl", "reboot"}},
        other + " is loaded" + (note.empty() ? "" : "; " + note));
    steps_.back().reboots = true;
  }

  void start_fabric_manager() {
    const bool done = contains(facts_.services, kFabricService);
    add("Start the fabric manager", done, {{"systemctl", "enable", "--now", kFabricService}});
  }

  void add_files(std::string title, const std::vector<NodeFile>& files, bool needed) {
    if (auto step = files_step(std::move(title), files, facts_, needed))
      steps_.push_back(std::move(*step));
  }

  /// Returns the steps with their preparation in front. If no step installs, missing parts of the
  /// preparation are left out.
  std::vector<DriverStep> prepared(bool installs) {
    std::vector<DriverStep> body = std::exchange(steps_, {});
    if (!choice_.is_installed) prepare_build();
    if (from_vendor()) add_repository(installs);
    read_index(installs);
    if (from_vendor() && !choice_.version.empty())
      add_files("Keep driver packages at " + choice_.version, manager_->pin_files(choice_.version),
                !choice_.is_installed);
    std::ranges::move(body, std::back_inserter(steps_));
    return std::move(steps_);
  }

  void prepare_build() {
    const std::vector<std::string> names = manager_->build_packages(facts_);
    std::vector<PackageVersion> packages;
    for (const std::string& name : names)
      packages.push_back({name});
    const bool done =
        std::ranges::all_of(names, [&](const std::string& name) { return is_there(name); });
    add("Install the build tools for modules of kernel " + facts_.kernel, done,
        {manager_->read_distribution_index(), manager_->install(packages)});
  }

  /// Checks the name, or rpm's form of it, with the kernel's release for a version.
  bool is_there(const std::string& name) const {
    if (installed_version(facts_, name)) return true;
    const std::size_t end = name.find("-" + facts_.kernel);
    if (end == std::string::npos) return false;
    const auto version = installed_version(facts_, name.substr(0, end));
    return version && facts_.kernel.starts_with(*version);
  }

  void add_repository(bool installs) {
    const std::string url = recipe_.mirror + "/" + repository_folder(facts_);
    const PinnedKey& key = manager_->key(recipe_);
    add_files("Add the repository " + url + ", signed by " + key.fingerprint,
              manager_->repository_files(url, key), installs);
  }

  void read_index(bool installs) {
    if (!installs) return;
    std::string note;
    for (const std::string& what : missing_)
      note += (note.empty() ? "the repository does not have " : "; nor ") + what;
    add("Read the repository's index", index_ == Index::just_read && missing_.empty(),
        {from_vendor() ? manager_->read_vendor_index() : manager_->read_distribution_index()},
        index_ == Index::just_read ? note : "");
    steps_.back().reads_index = true;
  }

  const Recipe& recipe_;
  const NodeFacts& facts_;
  Index index_;
  std::unique_ptr<PackageManager> manager_;
  DriverChoice choice_;
  std::vector<DriverStep> steps_;
  /// Wanted packages that are missing in every index that was read.
  std::vector<std::string> missing_;
};

void check_gpu(const NodeFacts& facts) {
  const auto is_of = [&](const char* vendor) {
    return std::ranges::any_of(facts.gpus, [&](const Gpu& gpu) { return gpu.vendor == vendor; });
  };
  if (is_of("nvidia")) return;
  if (is_of("ascend"))
    throw Error(ErrorKind::usage,
                "the node has no NVIDIA GPU, but Ascend processors: their driver comes with "
                "Huawei's images, and CANN with 'cann' in an env.yaml");
  if (is_of("amd")) throw Error(ErrorKind::usage, "the node has no NVIDIA GPU, but one of AMD");
  throw Error(ErrorKind::usage,
              "the node has no GPU and no RDMA device; --assume-gpu L40S:8 --dry-run shows the "
              "plan for a GPU");
}

}  // namespace

std::vector<DriverStep> driver_steps(const Recipe& recipe, const NodeFacts& facts,
                                     const Matrix& matrix, Index index) {
  if (facts.gpus.empty() && has_rdma(facts))
    return adapter_steps(recipe, facts, *package_manager(facts));
  check_gpu(facts);
  return Planner(recipe, facts, matrix, index).make();
}

}  // namespace fastgpu::envs
