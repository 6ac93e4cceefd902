#include "envs/drivers/cann.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/join.hpp"
#include "envs/drivers/goal.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;
using test::mentions;

const std::string kToolkit = "Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run";
const std::string kKernels = "Ascend-cann-kernels-910b_8.3.RC1_linux-aarch64.run";

Cann cann() {
  return {.version = "8.3.RC1",
          .installers = {{"https://i/" + kToolkit + "?type=run", std::string(64, 'a')},
                         {"/mnt/files/" + kKernels, std::string(64, 'b')}}};
}

NodeFacts npus(Packages packages = Packages::apt) {
  NodeFacts facts;
  facts.os = {"ubuntu", {"debian"}, "22.04", "jammy", "Ubuntu 22.04"};
  facts.arch = "aarch64";
  facts.sudo = Sudo::not_needed;
  facts.packages = packages;
  facts.gpus.assign(8, {.vendor = "ascend", .pci_id = "d802"});
  return facts;
}

/// What the commands of a step write down and take away; its packages are installed by it.
void carry_out(const DriverStep& step, NodeFacts& facts) {
  for (const Argv& argv : step.commands) {
    if (argv[0] == "rm")
      for (const std::string& word : argv)
        std::erase_if(facts.files, [&](const auto& file) { return file.first.starts_with(word); });
    if (argv[0] == "sh") facts.files[argv.back()] = "";
  }
  if (step.title.starts_with("Install python3"))
    facts.installed = {{"python3", "3.10.6"}, {"python3-pip", "22.0"}};
  if (step.title.find("toolkit") != std::string::npos) facts.canns = {"8.3.RC1"};
}

std::vector<std::string> to_do(const NodeFacts& facts) {
  std::vector<std::string> titles;
  for (const DriverStep& step : cann_steps(cann(), facts))
    if (step.state == StepState::to_do) titles.push_back(step.title);
  return titles;
}

DriverStep next_of(const NodeFacts& facts) {
  const DriverPlan plan{cann_steps(cann(), facts)};
  REQUIRE(plan.next() != nullptr);
  return *plan.next();
}

std::vector<std::string> lines_of(const DriverStep& step) {
  std::vector<std::string> lines;
  for (const Argv& argv : step.commands)
    lines.push_back(joined(argv, " "));
  return lines;
}

bool has(const std::vector<std::string>& lines, const std::string& words) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

}  // namespace

TEST_SUITE_BEGIN("envs CANN");

TEST_CASE("installers run in their order, each once, and then it is noted that all is there") {
  NodeFacts facts = npus();
  CHECK(to_do(facts) == std::vector<std::string>{"Install python3, python3-pip for CANN",
                                                 "Run " + kToolkit, "Run " + kKernels,
                                                 "Note that CANN 8.3.RC1 is complete"});
  std::vector<std::string> did;
  while (!to_do(facts).empty()) {
    REQUIRE(did.size() < 10);
    const DriverStep step = next_of(facts);
    did.push_back(step.title);
    carry_out(step, facts);
  }
  CHECK(did.size() == 4);
  CHECK(facts.files.empty());
  CHECK(cann_steps(cann(), facts).size() == 1);
  CHECK(cann_steps(cann(), facts)[0].title == "Install CANN 8.3.RC1");
}

TEST_CASE("an installer that was cut off runs again, and those before it do not") {
  NodeFacts facts = npus();
  carry_out(next_of(facts), facts);
  carry_out(next_of(facts), facts);  // The toolkit: from here on the version is there.
  CHECK(to_do(facts) ==
        std::vector<std::string>{"Run " + kKernels, "Note that CANN 8.3.RC1 is complete"});

  DriverStep cut = next_of(facts);
  cut.commands.erase(cut.commands.end() - 2, cut.commands.end());  // Without what notes its end.
  carry_out(cut, facts);
  CHECK(to_do(facts).front() == "Run " + kKernels);
}

TEST_CASE("notes of an installation that is not under way any more count for nothing") {
  NodeFacts facts = npus();
  for (int step = 0; step < 3; ++step)
    carry_out(next_of(facts), facts);
  std::erase_if(facts.files, [](const auto& file) { return file.first.ends_with(".begun"); });
  CHECK(to_do(facts).empty());  // The version is there.
  facts.canns.clear();          // Somebody has taken it away.
  CHECK(to_do(facts).size() == 3);
  carry_out(next_of(facts), facts);
  CHECK(to_do(facts).front() == "Run " + kKernels);
}

TEST_CASE("what is fetched is checked by the package manager, what lies on the node by us") {
  NodeFacts facts = npus();
  carry_out(next_of(facts), facts);
  const auto toolkit = lines_of(next_of(facts));
  CHECK(has(toolkit, "apt-helper download-file https://i/" + kToolkit + "?type=run"));
  CHECK(has(toolkit, "SHA256:" + std::string(64, 'a')));
  CHECK(has(toolkit, ".run --quiet --install --install-for-all"));
  CHECK_FALSE(has(toolkit, "set_env.sh"));
  carry_out(next_of(facts), facts);
  const auto kernels = lines_of(next_of(facts));
  CHECK(has(kernels, "cp -- /mnt/files/" + kKernels));
  CHECK(has(kernels, "sha256sum --check"));
  CHECK(has(kernels, "set_env.sh"));  // What comes after the toolkit asks for its environment.

  facts = npus(Packages::dnf);
  carry_out(next_of(facts), facts);
  CHECK(has(lines_of(next_of(facts)), "sha256sum --check"));
}

TEST_CASE("a CANN that is there without us is taken as it is, another one beside it is no matter") {
  NodeFacts facts = npus();
  facts.canns = {"8.1.RC1", "8.3.RC1"};
  CHECK(to_do(facts).empty());
  facts.canns = {"8.1.RC1"};
  CHECK(to_do(facts).size() == 4);
}

TEST_CASE("without Ascend processors there is a clear refusal, and assumed ones are planned for") {
  NodeFacts facts = npus();
  facts.gpus.clear();
  const Error error = failure_of([&] { cann_steps(cann(), facts); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(mentions(error, "CANN needs an Ascend processor"));
  facts.canns = {"8.3.RC1"};
  const NodeFacts assumed = with_assumed_gpus(facts, "Ascend910B:8", builtin_matrix());
  CHECK(describe_gpus(assumed) == "8 x Ascend910B");
  CHECK(to_do(assumed).size() == 4);
}

TEST_CASE("installers that bring another version than was said end in an error that says so") {
  NodeFacts facts = npus();
  for (int step = 0; step < 3; ++step) {
    carry_out(next_of(facts), facts);
    facts.canns = {"8.2.RC1"};
  }
  const Error error = failure_of([&] { cann_steps(cann(), facts); });
  CHECK(error.kind() == ErrorKind::remote);
  CHECK(mentions(
      error,
      "all installers of CANN 8.3.RC1 have run, but that version is not there, but 8.2.RC1"));
  CHECK(mentions(error, "'rm /var/lib/fastgpu/cann-8.3.RC1.begun' allows them to run again"));
}

TEST_SUITE_END();

}  // namespace fastgpu::envs
