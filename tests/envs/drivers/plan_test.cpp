#include "envs/drivers/goal.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/join.hpp"
#include "envs/drivers/package_manager.hpp"
#include "support/failure.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;
using test::mentions;

NodeFacts machine(const char* gpu_id, int count) {
  NodeFacts facts;
  facts.host = "n";
  facts.os = {"debian", {}, "12", "bookworm", "Debian GNU/Linux 12 (bookworm)"};
  facts.kernel = "6.1.0-18-amd64";
  facts.arch = "x86_64";
  facts.sudo = Sudo::not_needed;
  facts.packages = Packages::apt;
  facts.gpus.assign(static_cast<std::size_t>(count), {.vendor = "nvidia", .pci_id = gpu_id});
  return facts;
}

NodeFacts l40s() {
  return machine("26b9", 8);
}

/// What the repository has once its index has been read.
void read_index(NodeFacts& facts) {
  facts.candidates["nvidia-open"] = {"590.44.01-1", "580.95.05-1", "580.65.06-1"};
  facts.candidates["cuda-drivers"] = {"580.95.05-1"};
  facts.candidates["nvidia-fabricmanager-580"] = {"580.65.06-1"};
  facts.candidates["nvidia-fabricmanager"] = {"580.95.05-1"};
  facts.candidates["cuda-toolkit-13-0"] = {"13.0.2-1"};
  facts.candidates["cudnn9-cuda-13"] = {"9.20.0.48-1"};
}

Recipe recipe_of(const char* driver, const char* cuda = "", const char* cudnn = "") {
  Recipe recipe;
  recipe.driver = driver;
  recipe.cuda = cuda;
  recipe.cudnn = cudnn;
  return recipe;
}

DriverPlan plan(const NodeFacts& facts, const Recipe& recipe) {
  return plan_for(driver_goal(recipe, builtin_matrix()), facts, Index::just_read);
}

/// Titles, with "+ " before what is done and "- " before what is left out.
std::vector<std::string> titles(const DriverPlan& plan) {
  std::vector<std::string> lines;
  for (const DriverStep& step : plan.steps) {
    const bool done = step.state == StepState::done;
    const bool left_out = step.state == StepState::left_out;
    lines.push_back((done ? "+ " : left_out ? "- " : "") + step.title);
  }
  return lines;
}

const DriverStep& find(const DriverPlan& plan, const std::string& beginning) {
  const auto found = std::ranges::find_if(
      plan.steps, [&](const DriverStep& step) { return step.title.starts_with(beginning); });
  REQUIRE(found != plan.steps.end());
  return *found;
}

std::string words(const Argv& argv) {
  return joined(argv, " ");
}

const std::string kRepository =
    "Add the repository "
    "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64, signed by "
    "EB693B3035CD5710E231E123A4B469963BF863CC";

TEST_SUITE_BEGIN("envs driver plan");

TEST_CASE("a bare machine gets everything, in an order that works") {
  CHECK(titles(plan(l40s(), recipe_of("580", "13.0", "9"))) ==
        std::vector<std::string>{
            "Pause unattended upgrades",
            "Install the build tools for modules of kernel 6.1.0-18-amd64",
            kRepository,
            "Read the repository's index",
            "Install driver 580, open modules",
            "Install CUDA 13.0",
            "Install cuDNN 9 for CUDA 13",
            "Load driver 580",
            "Resume unattended upgrades",
        });
}

TEST_CASE(
    "once the index is read, the newest driver of the branch is named, pinned and installed") {
  NodeFacts facts = l40s();
  read_index(facts);

  const DriverPlan made = plan(facts, recipe_of("580"));

  const DriverStep& install = find(made, "Install driver");
  CHECK(install.title == "Install driver 580.95.05, open modules");
  CHECK(words(install.commands.at(0)).ends_with("nvidia-open=580.95.05-1"));
  CHECK(find(made, "Read the repository's index").state == StepState::done);
  CHECK(words(find(made, "Keep driver packages at 580.95.05").commands.at(0))
            .find("Pin: version 580.95.05-*") != std::string::npos);
}

TEST_CASE("an index that may be old is read again before anything is installed from it") {
  NodeFacts facts = l40s();
  read_index(facts);
  const DriverPlan made =
      plan_for(driver_goal(recipe_of("580"), builtin_matrix()), facts, Index::perhaps_old);
  const DriverStep& index = find(made, "Read the repository's index");
  CHECK(index.state == StepState::to_do);
  CHECK(index.reads_index);
  CHECK(index.note.empty());
}

TEST_CASE("an exact driver is that one") {
  NodeFacts facts = l40s();
  read_index(facts);
  const DriverPlan made = plan(facts, recipe_of("580.65.06"));
  CHECK(words(find(made, "Install driver").commands[0]).ends_with("nvidia-open=580.65.06-1"));
}

TEST_CASE("what the repository does not have is said, and its index read again") {
  NodeFacts facts = l40s();
  read_index(facts);
  const DriverPlan made = plan(facts, recipe_of("580.1.2"));
  CHECK(made.next()->title == "Pause unattended upgrades");
  const DriverStep& index = find(made, "Read the repository's index");
  CHECK(index.state == StepState::to_do);
  CHECK(index.note ==
        "the repository does not have driver 580.1.2 (available: 590.44.01-1, 580.95.05-1, "
        "580.65.06-1)");
}

TEST_CASE("with NVSwitch the driver is the newest that has a fabric manager of its own version") {
  NodeFacts facts = machine("2330", 8);
  facts.nvidia.nvswitches = 4;
  read_index(facts);
  const DriverPlan made = plan(facts, recipe_of("580"));
  CHECK(words(find(made, "Install fabric manager 580.95.05").commands[0])
            .ends_with("nvidia-fabricmanager=580.95.05-1"));
  CHECK(made.steps.at(made.steps.size() - 2).title == "Start the fabric manager");

  facts.candidates.erase("nvidia-fabricmanager");
  const DriverPlan older = plan(facts, recipe_of("580"));
  CHECK(words(find(older, "Install fabric manager 580.65.06").commands[0])
            .ends_with("nvidia-fabricmanager-580=580.65.06-1"));

  facts.candidates.erase("nvidia-fabricmanager-580");
  const DriverPlan none = plan(facts, recipe_of("580"));
  CHECK(find(none, "Read the repository's index").note.find("580") != std::string::npos);
}

TEST_CASE("a machine where all is done has nothing to do, and says each step") {
  NodeFacts facts = machine("2330", 8);
  read_index(facts);
  facts.nvidia = {.loaded = "580.95.05",
                  .installed = "580.95.05",
                  .answers = true,
                  .open = true,
                  .nvswitches = 4};
  facts.installed = {{"nvidia-open", "580.95.05-1"},
                     {"nvidia-fabricmanager", "580.95.05-1"},
                     {"cuda-toolkit-13-0", "13.0.2-1"}};
  facts.services = {"nvidia-fabricmanager"};
  const DriverPlan made = plan(facts, recipe_of("580", "13.0"));
  CHECK(made.next() == nullptr);
  CHECK(titles(made) ==
        std::vector<std::string>{"+ Install driver 580.95.05, open modules",
                                 "+ Install fabric manager 580.95.05, exactly the driver's version",
                                 "+ Install CUDA 13.0", "+ Load driver 580.95.05",
                                 "+ Start the fabric manager"});
}

TEST_CASE("a driver that works, from wherever it came, stays where none is asked for") {
  NodeFacts facts = l40s();
  facts.nvidia = {.loaded = "550.90.07", .answers = true};
  CHECK(plan(facts, {}).next() == nullptr);
  CHECK(plan(facts, recipe_of("", "12.4")).next() != nullptr);  // The toolkit alone.
  CHECK(find(plan(facts, recipe_of("", "12.4")), "Install driver").state == StepState::done);
  CHECK(find(plan(facts, recipe_of("", "13.0")), "Install driver").title ==
        "Install driver 580, open modules");
}

TEST_CASE("another driver or nouveau in the kernel takes a reboot, an empty kernel does not") {
  NodeFacts facts = l40s();
  read_index(facts);
  facts.installed["nvidia-open"] = "580.95.05-1";
  CHECK(words(plan(facts, recipe_of("580")).next()->commands[0]) != "systemctl reboot");
  const DriverStep load = find(plan(facts, recipe_of("580")), "Load driver 580.95.05");
  CHECK(load.commands == std::vector<Argv>{{"modprobe", "nvidia"}});
  CHECK_FALSE(load.reboots);

  facts.nvidia.loaded = "550.54.14";
  const DriverStep reboot = find(plan(facts, recipe_of("580")), "Reboot into driver 580.95.05");
  CHECK(reboot.reboots);
  CHECK(reboot.note == "driver 550.54.14 is loaded");

  facts.nvidia = {.nouveau = true};
  CHECK(find(plan(facts, recipe_of("580")), "Reboot into").note == "nouveau is loaded");
}

TEST_CASE("GPUs before Turing get the closed modules, and no driver that has dropped them") {
  NodeFacts facts = machine("1db1", 1);
  read_index(facts);
  const DriverPlan made = plan(facts, recipe_of(""));
  CHECK(words(find(made, "Install driver 580.95.05").commands[0])
            .ends_with("cuda-drivers=580.95.05-1"));
  const Error error = failure_of([&] { plan(facts, recipe_of("595")); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(mentions(error, "V100 (Volta) is supported up to driver 580, not 595"));
  CHECK(mentions(failure_of([] { plan(l40s(), recipe_of("470")); }),
                 "L40S needs driver 535 or newer, not 470"));
}

TEST_CASE("adapters with RDMA get what lets them reach GPU memory, where they are there") {
  NodeFacts facts = l40s();
  facts.pci_adapters = {"1d0f:efa1", "1ded:107f", "15b3:1021"};
  read_index(facts);
  const DriverPlan made = plan(facts, recipe_of("580"));
  CHECK(find(made, "Install EFA 1.41.0").commands.at(2).back() ==
        "SHA256:3506354cdfbe31ff552fe75f5d0d9bb7efd29cf79bd99457347d29c751c38f9f");
  CHECK(find(made, "Install eRDMA 1.5.7").state == StepState::to_do);
  CHECK(find(made, "Load nvidia-peermem").state == StepState::to_do);
  CHECK(find(made, "Install GDRCopy").state == StepState::left_out);
  const DriverStep& libraries =
      find(made, "Install the libraries for RDMA: rdma-core, ibverbs-providers, libfabric1");
  CHECK(words(libraries.commands.back()).ends_with("rdma-core ibverbs-providers libfabric1"));
  CHECK(words(find(made, "Let programs lock memory for RDMA adapters").commands.at(0))
            .find("* - memlock unlimited") != std::string::npos);

  facts.candidates["gdrdrv-dkms"] = {"2.5-1"};
  for (const char* name : {"rdma-core", "ibverbs-providers", "libfabric1"})
    facts.installed[name] = "1";
  facts.files["/etc/security/limits.d/90-fastgpu-rdma.conf"] =
      transfer::sha256_hex("* - memlock unlimited\nroot - memlock unlimited\n");
  facts.efa = "1.44.0";
  facts.modules = {"erdma"};
  const DriverPlan again = plan(facts, recipe_of("580"));
  CHECK(find(again, "Install GDRCopy").state == StepState::to_do);
  CHECK(find(again, "Install EFA").state == StepState::done);
  CHECK(find(again, "Install eRDMA").state == StepState::done);
  CHECK(find(again, "Install the libraries for RDMA").state == StepState::done);
  CHECK(find(again, "Let programs lock memory").state == StepState::done);
}

TEST_CASE("an adapter whose installer brings its libraries gets no others") {
  NodeFacts facts = l40s();
  facts.pci_adapters = {"1d0f:efa1"};
  const auto has_libraries = [](const DriverPlan& made) {
    return std::ranges::any_of(made.steps, [](const DriverStep& step) {
      return step.title.starts_with("Install the libraries for RDMA");
    });
  };
  CHECK_FALSE(has_libraries(plan(facts, recipe_of("580"))));
  find(plan(facts, recipe_of("580")), "Let programs lock memory");
  facts.pci_adapters = {"1ded:107f"};
  find(plan(facts, recipe_of("580")), "Install the libraries for RDMA: libfabric1");
  facts.pci_adapters = {};
  CHECK_FALSE(has_libraries(plan(facts, recipe_of("580"))));
}

bool has_step(const DriverPlan& made, const std::string& beginning) {
  return std::ranges::any_of(
      made.steps, [&](const DriverStep& step) { return step.title.starts_with(beginning); });
}

TEST_CASE("a node without a GPU that has RDMA gets the software for that, and no driver") {
  NodeFacts facts = machine("", 0);
  facts.pci_adapters = {"15b3:1021"};
  CHECK(titles(plan(facts, recipe_of("580", "13.0"))) ==
        std::vector<std::string>{
            "Pause unattended upgrades",
            "Install the libraries for RDMA: rdma-core, ibverbs-providers, libfabric1",
            "Let programs lock memory for RDMA adapters", "Resume unattended upgrades"});
  facts.pci_adapters = {"1d0f:efa1"};
  CHECK(has_step(plan(facts, recipe_of("580")), "Install EFA 1.41.0"));
  facts.pci_adapters = {"8086:1521"};
  CHECK(failure_of([&] { plan(facts, recipe_of("580")); }).kind() == ErrorKind::usage);
  // An adapter of another maker, whose device the kernel shows.
  facts.rdma = {{"irdma0", "ice"}};
  CHECK(has_step(plan(facts, recipe_of("580")), "Install the libraries for RDMA: rdma-core"));
}

TEST_CASE("the modules by which programs reach a device are loaded where its files are missing") {
  constexpr const char* kTitle = "Load the kernel's modules for RDMA";
  NodeFacts facts = machine("", 0);
  facts.rdma = {{"mlx5_0", "mlx5_core"}};
  CHECK(find(plan(facts, {}), kTitle).commands.at(1) ==
        Argv{"modprobe", "-a", "ib_uverbs", "rdma_ucm"});
  facts.rdma_files = {{"uverbs0", true}};
  CHECK(find(plan(facts, {}), kTitle).state == StepState::to_do);
  facts.rdma_files = {{"uverbs0", true}, {"rdma_cm", true}};
  CHECK(find(plan(facts, {}), kTitle).state == StepState::done);
  facts.rdma = {{"rdmap0s6", "efa"}};
  facts.rdma_files = {{"uverbs0", true}};
  CHECK(find(plan(facts, {}), kTitle).state == StepState::done);
  // Without a device in the kernel there is no file to wait for.
  facts.rdma = {};
  facts.pci_adapters = {"1d0f:efa1"};
  CHECK_FALSE(has_step(plan(facts, {}), kTitle));
}

TEST_CASE("devices that only some users may open are opened to all, and others left alone") {
  constexpr const char* kTitle = "Let programs open RDMA devices";
  NodeFacts facts = machine("", 0);
  facts.rdma = {{"mlx5_0", "mlx5_core"}};
  facts.rdma_files = {{"uverbs0", true}, {"rdma_cm", true}};
  CHECK_FALSE(has_step(plan(facts, {}), kTitle));
  facts.rdma_files = {{"uverbs0", false}, {"rdma_cm", true}};
  const DriverStep step = find(plan(facts, {}), kTitle);
  CHECK(step.state == StepState::to_do);
  CHECK(words(step.commands.at(0)).ends_with("/etc/udev/rules.d/99-fastgpu-rdma.rules"));
  const std::string rules = step.commands.at(0).at(step.commands.at(0).size() - 2);
  CHECK(rules.find("KERNEL==\"uverbs*\", MODE=\"0666\"") != std::string::npos);
  CHECK(words(step.commands.at(2)).starts_with("udevadm trigger --settle"));
  facts.rdma_files.front().is_open = true;
  facts.files["/etc/udev/rules.d/99-fastgpu-rdma.rules"] = transfer::sha256_hex(rules);
  CHECK(find(plan(facts, {}), kTitle).state == StepState::done);
}

TEST_CASE("an environment that wants RDMA changes the nodes that have it, and no others") {
  NodeFacts facts = machine("", 0);
  CHECK(plan_for(rdma_goal({}), facts, Index::perhaps_old).steps.empty());
  facts.pci_adapters = {"15b3:1021"};
  CHECK(has_step(plan_for(rdma_goal({}), facts, Index::perhaps_old), "Install the libraries"));
}

TEST_CASE("unattended upgrades that an earlier run held off go on, even with nothing else to do") {
  NodeFacts facts = l40s();
  facts.nvidia = {.loaded = "580.95.05", .answers = true};
  facts.files["/etc/apt/apt.conf.d/99fastgpu-hold"] = "00";
  CHECK(plan(facts, {}).next()->title == "Resume unattended upgrades");
}

TEST_CASE("an installation that was cut off is finished first") {
  NodeFacts facts = l40s();
  facts.packages_broken = true;
  const DriverPlan made = plan(facts, recipe_of("580"));
  CHECK(made.next()->title == "Finish the interrupted installation");
  CHECK(words(made.next()->commands[0]).ends_with("dpkg --force-confold --configure -a"));
}

NodeFacts rocky() {
  NodeFacts facts = l40s();
  facts.os = {"rocky", {"rhel", "centos", "fedora"}, "9.4", "", "Rocky Linux 9.4"};
  facts.kernel = "5.14.0-427.el9.x86_64";
  facts.packages = Packages::dnf;
  facts.installed = {{"dkms", "3.0-1"}, {"kernel-devel", "5.14.0-427.el9"}};
  facts.candidates["nvidia-open"] = {"580.95.05-1.el9"};
  return facts;
}

TEST_CASE("dnf gets a module's stream, the key by its file, and the same versions") {
  const DriverPlan made = plan(rocky(), recipe_of("580"));
  CHECK(find(made, "Install the build tools for modules").state == StepState::done);
  CHECK(find(made, "Add the repository").title.find("rhel9/x86_64, signed by 610C7B14") !=
        std::string::npos);
  const DriverStep& install = find(made, "Install driver");
  CHECK(words(install.commands.at(0)).ends_with("nvidia-driver:$1\" sh 580-open"));
  CHECK(words(install.commands.at(1)).ends_with("install nvidia-open-580.95.05-1.el9"));
}

/// The files of that step are there, as they should be.
void carry_out(NodeFacts& facts, const std::vector<NodeFile>& files) {
  for (const NodeFile& file : files)
    facts.files[file.path] = transfer::sha256_hex(file.content);
}

TEST_CASE("dnf-automatic is kept from running first, and runs again at the end") {
  NodeFacts facts = rocky();
  const DriverPlan made = plan(facts, recipe_of("580"));

  CHECK(made.next()->title == "Pause unattended upgrades");
  const std::vector<Argv>& hold = made.next()->commands;
  CHECK(words(hold.at(0))
            .ends_with("[Unit]\nConditionPathExists=!/etc/dnf/fastgpu-hold\n "
                       "/etc/systemd/system/dnf-automatic.service.d/fastgpu-hold.conf"));
  CHECK(words(hold.at(hold.size() - 2)).ends_with("systemctl daemon-reload"));
  CHECK(words(hold.back()).ends_with(" /etc/dnf/fastgpu-hold"));
  const DriverStep& last = made.steps.back();
  CHECK(last.title == "Resume unattended upgrades");
  CHECK(words(last.commands.front()) == "rm -f -- /etc/dnf/fastgpu-hold");
  CHECK(words(last.commands.back()).ends_with("systemctl daemon-reload"));
}

TEST_CASE("dnf-automatic held off in part, by a run that was killed, is held off in full") {
  NodeFacts facts = rocky();
  std::vector<NodeFile> files = package_manager(facts)->hold_files();
  const NodeFile last = files.back();
  files.pop_back();
  carry_out(facts, files);

  const std::vector<Argv> rest = plan(facts, recipe_of("580")).next()->commands;
  CHECK(rest.size() == 2);
  CHECK(words(rest.front()).ends_with("systemctl daemon-reload"));

  carry_out(facts, {last});
  const DriverPlan held = plan(facts, recipe_of("580"));
  CHECK(find(held, "Pause unattended upgrades").state == StepState::done);

  facts.nvidia = {.loaded = "580.95.05", .answers = true};
  CHECK(plan(facts, {}).next()->title == "Resume unattended upgrades");
}

TEST_CASE("the distribution's own driver needs no repository of NVIDIA") {
  NodeFacts facts = l40s();
  facts.os = {"ubuntu", {"debian"}, "22.04", "jammy", "Ubuntu 22.04.4 LTS"};
  facts.candidates["nvidia-headless-580-server-open"] = {"580.95.05-0ubuntu0.22.04.1"};
  Recipe recipe = recipe_of("580");
  recipe.source = PackageSource::distribution;
  const DriverPlan made = plan(facts, recipe);
  CHECK(words(find(made, "Install driver 580.95.05").commands[0])
            .ends_with("nvidia-headless-580-server-open nvidia-utils-580-server"));
  for (const DriverStep& step : made.steps)
    CHECK(step.title.find("Add the repository") == std::string::npos);
  facts.os.id = "rocky";
  CHECK(mentions(failure_of([&] { plan(facts, recipe); }), "has no driver packages"));
}

TEST_CASE("no GPU is a clear refusal, and an assumed one is planned for") {
  NodeFacts facts = machine("", 0);
  const Error error = failure_of([&] { plan(facts, recipe_of("580")); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(mentions(error, "the node has no GPU and no RDMA device; --assume-gpu L40S:8 --dry-run"));

  const Matrix matrix = builtin_matrix();
  const NodeFacts assumed = with_assumed_gpus(facts, "h100:8", matrix);
  CHECK(describe_gpus(assumed) == "8 x NVIDIA H100");
  CHECK(find(plan(assumed, recipe_of("")), "Install fabric manager").state == StepState::to_do);
  CHECK(describe_gpus(with_assumed_gpus(facts, "L40S", matrix)) == "1 x NVIDIA L40S");
  for (const char* text : {"L40S:", "L40S:0", "L40S:x", "L40S:100", "L4OS:1", ""})
    CHECK(failure_of([&] { with_assumed_gpus(facts, text, matrix); }).kind() == ErrorKind::usage);
  CHECK(mentions(failure_of([&] { with_assumed_gpus(facts, "L40X:1", matrix); }),
                 "did you mean L40?"));
}

TEST_CASE("recipes that cannot be are refused before anything is asked of a node") {
  const Matrix matrix = builtin_matrix();
  const auto refusal = [&](const Recipe& recipe) {
    return std::string(failure_of([&] { check_recipe(recipe, matrix); }).what());
  };
  CHECK(refusal(recipe_of("535", "13.0")) ==
        "driver 535 does not support CUDA 13.0: it supports CUDA 12.2 and older, but CUDA 13.0 "
        "needs driver 580.65.06 or newer");
  CHECK(refusal(recipe_of("abc")).find("--driver 'abc' is not a version") == 0);
  CHECK(refusal(recipe_of("581")).find("is not of a known branch; maintained: 580") !=
        std::string::npos);
  CHECK(refusal(recipe_of("", "10.0")).find("in no package repository") != std::string::npos);
  CHECK(refusal(recipe_of("", "12.7")).find("--cuda 12.7 is unknown") == 0);
  CHECK(refusal(recipe_of("", "13.0", "8")) == "cuDNN 8 is not available for CUDA 13.0, but 9 is");
  check_recipe(recipe_of("535", "12.4", "9"), matrix);

  Recipe secret;
  secret.mirror = "https://joe:s3cret@mirror.example/cuda";
  CHECK(refusal(secret) ==
        "--repository 'https://****@mirror.example/cuda' has a password in it, which every user of "
        "the nodes could read in the package manager's files");
}

TEST_CASE("each system has its folder, and those without are told which have") {
  const auto folder = [](const char* id, const char* version, const char* arch) {
    NodeFacts facts;
    facts.os.id = id;
    facts.os.version = version;
    facts.os.name = id;
    facts.arch = arch;
    return repository_folder(facts);
  };
  CHECK(folder("ubuntu", "24.04", "aarch64") == "ubuntu2404/sbsa");
  CHECK(folder("debian", "12", "x86_64") == "debian12/x86_64");
  CHECK(folder("rhel", "9.4", "x86_64") == "rhel9/x86_64");
  CHECK(folder("alinux", "3", "x86_64") == "rhel8/x86_64");
  CHECK(folder("amzn", "2023", "x86_64") == "amzn2023/x86_64");
  CHECK(mentions(failure_of([&] { folder("alpine", "3.20", "x86_64"); }), "'alpine'"));
}

NodeFacts plain_machine() {
  NodeFacts facts = machine("", 0);
  facts.installed["libaio1"] = "0.3.113-4";
  facts.candidates["ffmpeg"] = {"7:5.1.6-0+deb12u1"};
  return facts;
}

TEST_CASE("packages of the distribution are installed where they are missing, on any machine") {
  const auto made =
      plan_for(package_goal({"libaio1", "ffmpeg"}), plain_machine(), Index::perhaps_old);

  CHECK(titles(made) ==
        std::vector<std::string>{"Read the distribution's index", "Pause unattended upgrades",
                                 "Install libaio1, ffmpeg", "Resume unattended upgrades"});
  CHECK(words(find(made, "Install").commands.at(0)).ends_with("--allow-downgrades ffmpeg"));
  CHECK(titles(plan_for(package_goal({"libaio1"}), plain_machine(), Index::perhaps_old)) ==
        std::vector<std::string>{"+ Install libaio1"});
}

TEST_CASE("a package that no repository has is told once they have been read") {
  const NodeGoal goal = package_goal({"libaio1", "ffmepg"});
  CHECK(plan_for(goal, plain_machine(), Index::perhaps_old).next() != nullptr);
  CHECK(mentions(failure_of([&] { plan_for(goal, plain_machine(), Index::just_read); }),
                 "no repository of 'Debian GNU/Linux 12 (bookworm)' has the package ffmepg"));
}

TEST_CASE("packages and a driver are one plan: upgrades are held off once, around both") {
  NodeGoal goal = package_goal({"ffmpeg"});
  add(goal, driver_goal(recipe_of("580"), builtin_matrix()));
  NodeFacts facts = l40s();
  facts.candidates["ffmpeg"] = {"7:5.1.6-0+deb12u1"};

  const auto lines = titles(plan_for(goal, facts, Index::perhaps_old));

  CHECK(lines.at(1) == "Pause unattended upgrades");
  CHECK(lines.at(2) == "Install ffmpeg");
  CHECK(lines.back() == "Resume unattended upgrades");
  CHECK(std::ranges::count(lines, "Pause unattended upgrades") == 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
