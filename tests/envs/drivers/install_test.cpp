#include "envs/drivers/install.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "envs/drivers/package_manager.hpp"
#include "fakes/fake_ssh.hpp"
#include "support/failure.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using test::FakeReply;

/// A Debian machine with a GPU that lives in a few sets of words.
struct FakeNode {
  std::set<std::string> lines = {
      "os\tdebian\t12\tbookworm\tDebian GNU/Linux 12 (bookworm)\t",
      "kernel\t6.1.0",
      "arch\tx86_64",
      "packages\tapt",
      "pci\t0000:01:00.0\t030200\t0x10de\t0x26b9",
  };
  std::string sudo = "not_needed";
  std::string password{};  ///< That sudo takes.
  std::string says{};      ///< What sudo says in place of that a password is wrong.
  std::string loaded{};
  int boot = 1;
  int away = 0;  ///< Looks at it that fail after a reboot.
  bool keeps_failing = false;
  int locked = 0;       ///< Installations of the driver that another's lock still stops.
  std::string waits{};  ///< What apt-get says first where it waits by itself.

  FakeReply answer(const test::FakeSsh::Seen& seen) {
    const auto has = [&](const char* words) {
      return seen.command.find(words) != seen.command.npos;
    };
    if (has("sh -s --")) return facts();
    if (has("-- true")) return sudo_answer(seen.input);
    if (has("fastgpu-nvidia.list -o")) lines.insert("candidate\tnvidia-open\t580.95.05-1");
    if (has("linux-headers")) {
      lines.insert("installed\tlinux-headers-6.1.0\t1");
      lines.insert("installed\tdkms\t3");
    }
    if (has("nvidia-open=580.95.05-1")) {
      if (!waits.empty())
        return {.exit = {.status = waits.find("never") == waits.npos ? 0 : 100},
                .out = waits,
                .err = "E: Unable to acquire the dpkg frontend lock (/x), is another using it?\n"};
      if (locked-- > 0)
        return {.exit = {.status = 100},
                .err = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7\n"};
      if (keeps_failing)
        return {.exit = {.status = 100}, .err = "E: Failed to fetch http://x  500 Error\n"};
      lines.insert("installed\tnvidia-open\t580.95.05-1");
    }
    if (has("modprobe nvidia")) loaded = "580.95.05";
    if (has("systemctl reboot")) {
      ++boot;
      away = 2;
      loaded = "580.95.05";
      return {.failure = Error(ErrorKind::transient, "connection reset")};
    }
    note_file(seen.command);
    return {};
  }

 private:
  FakeReply sudo_answer(const std::string& given) const {
    if (!says.empty()) return {.exit = {.status = 1}, .err = says};
    if (given == password + "\n") return {};
    return {.exit = {.status = 1}, .err = "Sorry, try again.\nsudo: no password was provided\n"};
  }

  FakeReply facts() {
    if (away > 0) {
      --away;
      return {.failure = Error(ErrorKind::transient, "connection refused")};
    }
    std::string text =
        "fastgpu-facts\t1\nuser\tuser\nsudo\t" + sudo + "\nboot\t" + std::to_string(boot) + "\n";
    if (!loaded.empty()) text += "nvidia_loaded\tModule  " + loaded + "  x\n";
    for (const std::string& line : lines)
      text += line + "\n";
    return {.out = text + "end\n"};
  }

  /// What a step writes is there from then on, until it is removed.
  void note_file(const std::string& command) {
    for (const NodeFile& file : files_of_plan()) {
      if ((command + " ").find(" " + file.path + " ") == command.npos) continue;
      const std::string line = "file\t" + file.path + "\t" + transfer::sha256_hex(file.content);
      lines.erase(line);
      if (command.find("rm -f") == command.npos) lines.insert(line);
    }
  }

  static std::vector<NodeFile> files_of_plan() {
    NodeFacts facts;
    facts.packages = Packages::apt;
    facts.arch = "x86_64";
    const Recipe recipe;
    const auto apt = package_manager(facts);
    std::vector<NodeFile> files = apt->hold_files();
    for (const NodeFile& file :
         apt->repository_files(recipe.mirror + "/debian12/x86_64", recipe.apt_key))
      files.push_back(file);
    for (const NodeFile& file : apt->pin_files("580.95.05"))
      files.push_back(file);
    return files;
  }
};

struct Recorder final : DriverEvents {
  void started(const NodeName& node, const DriverStep& step) override {
    said.push_back(node.value + ": " + step.title);
  }
  void finished(const NodeName&, const DriverStep&) override {}
  void waiting(const NodeName& node, const Error& why) override {
    waited.push_back(node.value + ": " + why.what());
  }
  std::vector<std::string> waited;
  std::vector<std::string> said;
};

struct NoClock final : Clock {
  time_point now() const noexcept override { return time; }
  void sleep(std::chrono::milliseconds duration) override { time += duration; }
  time_point time{};
};

/// Nodes of that state, and what comes of installing on them.
struct Site {
  std::map<std::string, FakeNode> nodes;
  test::FakeSsh ssh{
      [this](const test::FakeSsh::Seen& seen) { return nodes.at(seen.host).answer(seen); }};
  NoClock clock{};
  Cancel cancel{};
  Recorder events{};
  DriverInstallOptions options{};
  Recipe recipe = [] {
    Recipe wanted;
    wanted.driver = "580";
    return wanted;
  }();

  std::vector<HostResult<DriverOutcome>> install() {
    std::vector<ssh::Host> hosts;
    for (const auto& [name, node] : nodes)
      hosts.push_back({.name = {name}});
    const remote::AgentProgram agent{.file = "/bin/true", .hash = {"0123456789abcdef"}};
    const DriverNodes reached{ssh, hosts, agent, clock, cancel};
    return install_on(reached, driver_goal(recipe, builtin_matrix()), options, events);
  }
};

TEST_SUITE_BEGIN("envs driver installation");

TEST_CASE("a machine is taken through its plan once, and a second run does nothing") {
  Site site;
  site.nodes["a"] = {};

  const auto first = site.install();
  const auto second = site.install();

  if (!first[0].ok()) FAIL(first[0].error().what());
  CHECK(first[0].value().did ==
        std::vector<std::string>{"Pause unattended upgrades",
                                 "Install the build tools for modules of kernel 6.1.0",
                                 "Add the repository https://developer.download.nvidia.com/compute/"
                                 "cuda/repos/debian12/x86_64, signed by "
                                 "EB693B3035CD5710E231E123A4B469963BF863CC",
                                 "Read the repository's index", "Keep driver packages at 580.95.05",
                                 "Install driver 580.95.05, open modules", "Load driver 580.95.05",
                                 "Resume unattended upgrades"});
  CHECK(second[0].value().did.empty());
  CHECK(second[0].value().plan.next() == nullptr);
}

TEST_CASE("nodes go on beside one that fails, and that one goes on where it stood") {
  Site site;
  site.nodes["a"] = {};
  site.nodes["b"] = {.keeps_failing = true};

  const auto first = site.install();
  site.nodes["b"].keeps_failing = false;
  const auto second = site.install();

  CHECK(first[0].ok());
  CHECK(first[1].error().kind() == ErrorKind::transient);
  CHECK(std::string(first[1].error().what()) ==
        "Install driver 580.95.05, open modules: apt-get exited with 100: E: Failed to fetch "
        "http://x  500 Error");
  CHECK(second[0].value().did.empty());
  CHECK(second[1].value().did == std::vector<std::string>{"Read the repository's index",
                                                          "Install driver 580.95.05, open modules",
                                                          "Load driver 580.95.05",
                                                          "Resume unattended upgrades"});
}

TEST_CASE("a lock that another holds is waited for, and said once") {
  Site site;
  site.nodes["a"] = {.locked = 100};
  site.nodes["b"] = {};

  const auto results = site.install();

  if (!results[0].ok()) FAIL(results[0].error().what());
  CHECK(results[1].ok());
  CHECK(site.events.waited ==
        std::vector<std::string>{"a: Install driver 580.95.05, open modules: apt-get exited with "
                                 "100: E: Could not get lock /var/lib/apt/lists/lock. It is held "
                                 "by process 7"});
}

TEST_CASE("a lock that is never given back is a conflict after a quarter of an hour") {
  Site site;
  site.nodes["a"] = {.locked = 10'000};
  const auto began = site.clock.now();

  const auto results = site.install();

  CHECK(results[0].error().kind() == ErrorKind::conflict);
  CHECK(site.clock.now() - began == std::chrono::minutes(15));
}

TEST_CASE("a lock that apt-get waits for is said once, and not tried for again where it gives up") {
  Site site;
  site.nodes["a"] = {.waits =
                         "Waiting for cache lock: never get it (apt)...\nWaiting for cache "
                         "lock: never get it (apt)..."};
  const auto began = site.clock.now();

  const auto results = site.install();

  CHECK(results[0].error().kind() == ErrorKind::conflict);
  CHECK(site.events.waited ==
        std::vector<std::string>{"a: Install driver 580.95.05, open modules: never get it (apt)"});
  CHECK(site.clock.now() == began);
}

TEST_CASE("a reboot is waited for, and the rest is done after it") {
  Site site;
  site.nodes["a"] = {.loaded = "550.54.14"};

  const auto results = site.install();

  if (!results[0].ok()) FAIL(results[0].error().what());
  const auto& did = results[0].value().did;
  REQUIRE(did.size() >= 2);
  CHECK(did[did.size() - 2] == "Reboot into driver 580.95.05");
  CHECK(did.back() == "Resume unattended upgrades");
}

TEST_CASE("without leave to reboot the node is left before that, and says so") {
  Site site;
  site.nodes["a"] = {.loaded = "550.54.14"};
  site.options.reboots = Reboots::never;

  const auto results = site.install();

  CHECK(results[0].value().wants_reboot);
  CHECK(results[0].value().plan.next()->title == "Reboot into driver 580.95.05");
  CHECK(site.nodes["a"].boot == 1);
}

TEST_CASE("a node that does not come back is given up after a while") {
  Site site;
  site.nodes["a"] = {.loaded = "550.54.14"};
  site.ssh = test::FakeSsh([&](const test::FakeSsh::Seen& seen) {
    FakeReply reply = site.nodes["a"].answer(seen);
    site.nodes["a"].away = site.nodes["a"].boot > 1 ? 1 : 0;
    return reply;
  });

  const auto results = site.install();

  CHECK(results[0].error().kind() == ErrorKind::timeout);
}

TEST_CASE("a step that runs and changes nothing is not run for ever") {
  Site site;
  site.nodes["a"] = {};
  site.recipe.driver = "580.1.1";

  const auto results = site.install();

  CHECK(results[0].error().kind() == ErrorKind::remote);
  CHECK(test::mentions(
      results[0].error(),
      "Read the repository's index: the commands succeeded, but the check still fails: "
      "the repository does not have driver 580.1.1 (available: 580.95.05-1)"));
}

TEST_CASE("without root's rights nothing is touched") {
  Site site;
  site.nodes["a"] = {.sudo = "password"};
  site.nodes["b"] = {.sudo = "none"};
  site.nodes["c"] = {.sudo = "free"};
  site.nodes["d"] = {.sudo = "terminal"};

  const auto results = site.install();

  CHECK(results[3].error().kind() == ErrorKind::denied);
  CHECK(test::mentions(results[3].error(),
                       "sudo requires a terminal there (requiretty in sudoers), but commands of "
                       "fastgpu have none: write 'Defaults:user !requiretty' in sudoers"));
  CHECK(results[0].error().kind() == ErrorKind::denied);
  CHECK(test::mentions(
      results[0].error(),
      "sudo asks 'user' for a password there: use --ask-sudo-password or --sudo-password-file"));
  CHECK(test::mentions(results[1].error(), "there is no sudo"));
  CHECK(results[2].ok());
  for (const auto& seen : site.ssh.seen)
    if (seen.command.find("apt-get") != seen.command.npos) {
      CHECK(seen.host == "c");
      CHECK(seen.command.find("exec sudo -n -- /bin/sh -c ") == 0);
      CHECK(seen.command.find("fastgpu-agent-0123456789abcdef exec -- env") != seen.command.npos);
      CHECK(seen.hold_input_open);
      CHECK(seen.input.empty());
    }
}

TEST_CASE("sudo's password is tried once on each node that asks, and stands before each command") {
  Site site;
  site.nodes["a"] = {.sudo = "password", .password = "a secret"};
  site.nodes["b"] = {.sudo = "free"};
  site.nodes["c"] = {};
  site.options.sudo_password = Secret("a secret");

  const auto results = site.install();

  int tried = 0;
  for (const auto& result : results)
    CHECK(result.ok());
  for (const auto& seen : site.ssh.seen) {
    CHECK(seen.command.find("secret") == seen.command.npos);
    const bool is_command = seen.command.find("fastgpu-agent-") != seen.command.npos;
    const bool is_try = seen.command.ends_with("sudo -k -S -p '' -- true");
    tried += is_try ? 1 : 0;
    if (is_command && seen.host == "a") {
      CHECK(seen.command.starts_with("exec sudo -k -S -p '' -- /bin/sh -c "));
      CHECK(seen.hold_input_open);
    }
    if (is_try || (is_command && seen.host == "a"))
      CHECK(seen.input == "a secret\n");
    else
      CHECK(seen.input.find("secret") == seen.input.npos);
    if (is_try) CHECK_FALSE(seen.hold_input_open);
  }
  CHECK(tried == 1);
}

TEST_CASE(
    "a wrong password of sudo is refused on the node that refuses it, and nothing runs there") {
  Site site;
  site.nodes["a"] = {.sudo = "password", .password = "another"};
  site.nodes["b"] = {.sudo = "password", .password = "a secret"};
  site.options.sudo_password = Secret("a secret");

  const auto results = site.install();

  CHECK(results[0].error().kind() == ErrorKind::denied);
  CHECK(std::string(results[0].error().what()) == "sudo refused the password of 'user'");
  CHECK(results[1].ok());
  for (const auto& seen : site.ssh.seen)
    if (seen.host == "a") CHECK(seen.command.find("fastgpu-agent-") == seen.command.npos);
}

TEST_CASE("who may not use sudo is told so, and not that the password is wrong") {
  Site site;
  site.nodes["a"] = {.sudo = "password", .says = "user is not in the sudoers file.\n"};
  site.nodes["b"] = {.sudo = "password", .says = "sudo: your account is locked\n"};
  site.options.sudo_password = Secret("a secret");

  const auto results = site.install();

  CHECK(std::string(results[0].error().what()) == "sudo does not let 'user' become root there");
  CHECK(
      std::string(results[1].error().what()) ==
      "sudo does not let 'user' become root there: it exited with 1: sudo: your account is locked");
}

TEST_CASE("where all is done no rights and no password are needed") {
  Site site;
  site.nodes["a"] = {};
  site.install();
  site.nodes["a"].sudo = "password";

  const auto results = site.install();

  REQUIRE(results[0].ok());
  CHECK(results[0].value().did.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
