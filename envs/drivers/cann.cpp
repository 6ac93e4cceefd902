#include "envs/drivers/cann.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "envs/drivers/choice.hpp"
#include "envs/drivers/steps.hpp"

namespace fastgpu::envs {
namespace {

constexpr const char* kCannFolder = "/var/cache/fastgpu";

void check_processors(const NodeFacts& facts) {
  if (std::ranges::any_of(facts.gpus, [](const Gpu& gpu) { return gpu.vendor == "ascend"; }))
    return;
  throw Error(ErrorKind::usage,
              "CANN needs an Ascend processor, but the node has none; --assume-gpu Ascend:8 "
              "--dry-run shows the plan for one");
}

/// Returns the file's name without an address's query or fragment.
std::string name_of(const CannInstaller& installer) {
  const std::string path = installer.from.substr(0, installer.from.find_first_of("?#"));
  return printable(path.substr(path.rfind('/') + 1));
}

/// Downloads the installer, or copies it from its path on the node, so that the checked file is the
/// one that runs.
std::vector<Argv> bring(const CannInstaller& installer, const std::string& version,
                        const std::string& file, const PackageManager& manager) {
  if (!installer.from.starts_with('/'))
    return manager.fetch({version, installer.from, installer.sha256}, file);
  const NodeFile sum{file + ".sha256", installer.sha256 + "  " + file + "\n"};
  return {{"cp", "--", installer.from, file},
          write_file(sum),
          {"sha256sum", "--check", "--strict", "--quiet", sum.path}};
}

/// Returns the command of an installer. All after the toolkit are installed in its environment.
/// --quiet agrees to Huawei's licence.
Argv run_installer(const std::string& file, const std::string& version, bool is_in_toolkit) {
  if (!is_in_toolkit) return {"bash", file, "--quiet", "--install", "--install-for-all"};
  static constexpr const char* kScript =
#include "templates/nodes/install_cann_part.inc"
      ;
  return {"bash", "-c", kScript, "bash", file, version};
}

class CannPlanner {
 public:
  CannPlanner(const Cann& cann, const NodeFacts& facts)
      : cann_(cann),
        facts_(facts),
        manager_(package_manager(facts)),
        begun_{notes_ + ".begun", "CANN " + cann.version + " is being installed by fastgpu\n"},
        is_there_(std::ranges::any_of(
            facts.canns, [&](const std::string& one) { return covers(cann.version, one); })) {}

  std::vector<DriverStep> make() {
    if (is_there_ && !is_noted(begun_))
      return {make_step("Install CANN " + cann_.version, true, {})};
    steps_.push_back(install_packages());
    for (const CannInstaller& installer : cann_.installers)
      steps_.push_back(install(installer));
    steps_.push_back(finish());
    return std::move(steps_);
  }

 private:
  bool is_noted(const NodeFile& note) const { return facts_.files.contains(note.path); }

  /// Returns the note that this installer has run to its end; valid only if `begun_` is present.
  NodeFile note_of(const CannInstaller& installer) const {
    constexpr std::size_t kDigits = 16;
    return {notes_ + "." + installer.sha256.substr(0, kDigits), name_of(installer) + "\n"};
  }

  DriverStep install_packages() const {
    std::vector<PackageVersion> packages;
    for (const std::string& name : cann_packages())
      packages.push_back({name});
    const bool done = std::ranges::all_of(packages, [&](const PackageVersion& package) {
      return installed_version(facts_, package.name).has_value();
    });
    return make_step("Install " + joined(cann_packages()) + " for CANN", done,
                     {manager_->read_distribution_index(), manager_->install(packages)});
  }

  DriverStep install(const CannInstaller& installer) const {
    const std::string file = std::string(kCannFolder) + "/cann/" + installer.sha256 + ".run";
    std::vector<Argv> commands = {
        {"rm", "-rf", kCannFolder},
        {"mkdir", "-p", "-m", "0755", std::string(kCannFolder) + "/cann"}};
    if (!is_noted(begun_)) {
      commands.push_back(without_notes());
      commands.push_back(write_file(begun_));
    }
    std::ranges::move(bring(installer, cann_.version, file, *manager_),
                      std::back_inserter(commands));
    commands.push_back(run_installer(file, cann_.version, is_there_));
    commands.push_back(write_file(note_of(installer)));
    commands.push_back({"rm", "-rf", kCannFolder});
    return make_step("Run " + name_of(installer), has_run(installer), std::move(commands));
  }

  bool has_run(const CannInstaller& installer) const {
    return is_noted(begun_) && is_noted(note_of(installer));
  }

  Argv without_notes() const {
    Argv remove = {"rm", "-f", "--", begun_.path};
    for (const CannInstaller& installer : cann_.installers)
      remove.push_back(note_of(installer).path);
    return remove;
  }

  DriverStep finish() const {
    const bool have_run = std::ranges::all_of(
        cann_.installers, [&](const CannInstaller& installer) { return has_run(installer); });
    if (have_run && !is_there_)
      throw Error(
          ErrorKind::remote,
          "all installers of CANN " + cann_.version + " have run, but that version is not " +
              "there" + (facts_.canns.empty() ? "" : ", but " + joined(facts_.canns)) +
              ": see /var/log/ascend_seclog; 'rm " + begun_.path + "' allows them to run again");
    return make_step("Note that CANN " + cann_.version + " is complete", false, {without_notes()});
  }

  const Cann& cann_;
  const NodeFacts& facts_;
  std::unique_ptr<PackageManager> manager_;
  std::string notes_ = "/var/lib/fastgpu/cann-" + cann_.version;
  NodeFile begun_;
  bool is_there_;
  std::vector<DriverStep> steps_;
};

}  // namespace

std::vector<std::string> cann_packages() {
  return {"python3", "python3-pip"};
}

std::vector<DriverStep> cann_steps(const Cann& cann, const NodeFacts& facts) {
  check_processors(facts);
  return CannPlanner(cann, facts).make();
}

}  // namespace fastgpu::envs
