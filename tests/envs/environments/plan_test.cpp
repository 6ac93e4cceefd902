#include "envs/environments/environment_plan.hpp"

#include <doctest/doctest.h>

namespace fastgpu::envs {
namespace {

using agent::EnvironmentStatus;
using agent::FoundVersion;

const FoundVersion kGood{"train", "v1", "spec", "manifest", true};
const FoundVersion kUnused{"train", "v1", "spec", "manifest", false};
const FoundVersion kHalf{"train", "v1", "", "", false};
const FoundVersion kOther{"train", "v0", "older", "m0", true};
const WantedEnvironment kWanted{.name = "train", .spec = "spec"};

EnvironmentStatus node_with(const std::vector<FoundVersion>& versions) {
  EnvironmentStatus status;
  status.prefix = "/p";
  status.machine = "x86_64";
  status.libc = "glibc 2.36";
  status.versions = versions;
  return status;
}

std::vector<EnvironmentStatus> nodes(const std::vector<std::vector<FoundVersion>>& each) {
  std::vector<EnvironmentStatus> out;
  for (const auto& versions : each)
    out.push_back(node_with(versions));
  return out;
}

/// "brs" for a node that builds, receives and switches; "d" discards, "u" unpacks an archive.
std::string steps(const EnvironmentPlan& plan) {
  std::string out;
  for (const NodeSteps& node : plan.nodes) {
    if (node.discards) out += 'd';
    if (node.builds) out += 'b';
    if (node.unpacks) out += 'u';
    if (node.receives) out += 'r';
    if (node.switches) out += 's';
    out += '|';
  }
  return out;
}

TEST_SUITE_BEGIN("envs/plan");

TEST_CASE("what lies on the nodes decides who does what") {
  struct Row {
    std::vector<std::vector<FoundVersion>> found;
    std::string steps;
  };
  const std::vector<Row> rows = {
      {{{}, {}}, "bs|rs|"},
      {{{kGood}, {kGood}}, "||"},
      {{{kGood}, {}}, "|rs|"},
      {{{}, {kGood}}, "rs||"},
      {{{kUnused}, {}}, "s|rs|"},
      {{{kOther}, {kGood}}, "rs||"},
      {{{kOther}, {kOther}}, "bs|rs|"},
      {{{kGood}, {{"train", "v1", "spec", "damaged", true}}, {kGood}}, "|drs||"},
      {{{{"other", "v1", "spec", "manifest", true}}}, "bs|"},
  };
  for (const Row& row : rows) {
    const auto plan = plan_environment(nodes(row.found), kWanted);
    CHECK(steps(plan) == row.steps);
    CHECK(plan.done() == (row.steps.find_first_not_of('|') == std::string::npos));
  }
}

TEST_CASE("with a lock only its own build counts, and what is left of one is removed") {
  WantedEnvironment wanted = kWanted;
  wanted.version = "v2";
  CHECK(steps(plan_environment(nodes({{kGood}, {kGood}}), wanted)) == "bs|rs|");
  wanted.version = "v1";
  CHECK(steps(plan_environment(nodes({{kGood}, {kHalf}}), wanted)) == "|drs|");
}

TEST_CASE("of an archive that very build counts, and one node unpacks it where none has it") {
  WantedEnvironment wanted = kWanted;
  wanted.version = "v1";
  wanted.machine = "x86_64";
  wanted.libc = "glibc 2.36";
  wanted.manifest = "manifest";
  const FoundVersion again{"train", "v1", "spec", "of another build", true};
  CHECK(steps(plan_environment(nodes({{}, {}}), wanted)) == "us|rs|");
  CHECK(steps(plan_environment(nodes({{kGood}, {kGood}}), wanted)) == "||");
  CHECK(steps(plan_environment(nodes({{kOther}, {kUnused}}), wanted)) == "rs|s|");
  CHECK(steps(plan_environment(nodes({{again}, {again}, {kGood}}), wanted)) == "drs|drs||");
  CHECK(steps(plan_environment(nodes({{again}, {again}}), wanted)) == "dus|drs|");
  auto found = nodes({{}, {}});
  found[0].machine = "aarch64";
  const auto plan = plan_environment(found, wanted);
  CHECK(plan.source == 1);
  CHECK(plan.must_unpack());
  CHECK(!plan.must_build());
  CHECK(describe(plan, 1).front() == "unpack the archive");
}

TEST_CASE("who builds has the oldest C library among those with the usual processor") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> nodes;
    std::size_t builder;
  };
  const std::vector<Row> rows = {
      {{{"x86_64", "glibc 2.36"}}, 0},
      {{{"x86_64", "glibc 2.36"}, {"x86_64", "glibc 2.36"}}, 0},
      {{{"x86_64", "glibc 2.36"}, {"x86_64", "glibc 2.9"}, {"x86_64", "glibc 2.9"}}, 1},
      {{{"aarch64", "glibc 2.9"}, {"x86_64", "glibc 2.36"}, {"x86_64", "glibc 2.35"}}, 2},
      {{{"x86_64", "glibc 2.36"}, {"aarch64", "glibc 2.17"}}, 0},
      {{{"x86_64", "musl 1.2.4"}, {"x86_64", "glibc 2.36"}, {"x86_64", "glibc 2.36"}}, 1},
      {{{"x86_64", ""}, {"x86_64", "glibc 2.36"}, {"x86_64", "glibc 2.31"}}, 2},
  };
  for (const Row& row : rows) {
    std::vector<EnvironmentStatus> found;
    for (const auto& [machine, libc] : row.nodes) {
      found.push_back(node_with({}));
      found.back().machine = machine;
      found.back().libc = libc;
    }
    const auto plan = plan_environment(found, kWanted);
    CHECK(plan.source == row.builder);
    CHECK(plan.nodes[row.builder].builds);
    CHECK_FALSE(plan.nodes[row.builder].receives);
  }
}

TEST_CASE("a lock is built by the first node that it fits") {
  auto found = nodes({{}, {}, {}});
  found[0].libc = "glibc 2.31";
  found[2].libc = "glibc 2.35";
  WantedEnvironment wanted = kWanted;
  wanted.version = "v2";
  wanted.machine = "x86_64";
  wanted.libc = "glibc 2.35";
  CHECK(plan_environment(found, wanted).source == 1);
  wanted.libc = "glibc 2.40";
  CHECK(plan_environment(found, wanted).source == 0);
}

TEST_CASE(
    "of the builds that all nodes have, one in use of the same environment is what a new one goes "
    "over") {
  const FoundVersion old{"train", "v1", "spec", "m1", false};
  const FoundVersion used{"train", "v2", "spec", "m2", true};
  const FoundVersion fresh{"train", "v3", "spec", "m3", false};
  const FoundVersion other{"other", "w1", "spec", "m4", true};
  const FoundVersion half{"train", "v0", "", "", false};
  const auto over = [](const std::vector<std::vector<FoundVersion>>& found) {
    const auto build = build_in_common(nodes(found), "train", "v3");
    return build ? build->version : "";
  };
  CHECK(over({{half, old, used, fresh, other}, {old, used, other}, {other, used, old}}) == "v2");
  CHECK(over({{old, used, fresh, other}, {old, other}}) == "v1");
  CHECK(over({{used, fresh, other}, {old, other}}) == "w1");
  CHECK(over({{half, fresh}, {half}}).empty());
  FoundVersion changed = used;
  changed.manifest = "another";
  CHECK(over({{used, fresh}, {changed}}).empty());
}

TEST_CASE("a lock does not fit another processor or an older C library") {
  const EnvironmentLock lock{.spec = {},
                             .builder = {},
                             .fastgpu = {},
                             .machine = "x86_64",
                             .libc = "glibc 2.36",
                             .python = {},
                             .python_version = {},
                             .artefacts = {}};
  const auto with = [](const std::string& machine, const std::string& libc) {
    EnvironmentStatus status;
    status.machine = machine;
    status.libc = libc;
    return status;
  };
  CHECK(misfit(lock, with("x86_64", "glibc 2.36")).empty());
  CHECK(misfit(lock, with("x86_64", "glibc 2.40")).empty());
  CHECK(misfit(lock, with("x86_64", "glibc 2.9")).find("glibc 2.9") != std::string::npos);
  CHECK(misfit(lock, with("x86_64", "")).find("unknown") != std::string::npos);
  CHECK(misfit(lock, with("aarch64", "glibc 2.36")).find("aarch64") != std::string::npos);
}

TEST_CASE("a node has room for a build, or says how much is missing where it is known") {
  EnvironmentStatus status;
  status.prefix = "/p";
  status.free_bytes = 1'000'000;
  CHECK(shortage({Bytes{1'000'000}}, status).empty());
  CHECK(shortage({Bytes{2'500'000}}, status) ==
        "the build needs 2.5 MB, but only 1 MB are free in /p: free some space there, or choose "
        "another place with --prefix");
  CHECK(shortage({Bytes{2'500'000}, Bytes{1'500'000}}, status).empty());
  CHECK(shortage({Bytes{2'500'000}, Bytes{1'000'000}}, status)
            .starts_with(
                "the build needs 1.5 MB in addition to the current one, but only 1 MB are free"));
  status.free_bytes = 0;
  CHECK(shortage({Bytes{2'500'000}}, status).empty());
}

TEST_CASE("a driver is too old for an environment's CUDA only where both are known") {
  const Matrix matrix = builtin_matrix();
  const auto objection = [&](const std::string& from, const std::string& driver) {
    EnvironmentSpec spec;
    spec.from = from;
    EnvironmentStatus status;
    status.driver = driver;
    return accelerator_objection(spec, status, matrix);
  };
  CHECK(objection("tr2.6.0_cu12.4_py311", "470.42.01") ==
        "its driver 470.42.01 does not support CUDA 12.4, which the environment needs: fastgpu env "
        "install-driver --cuda 12.4 installs one that does");
  CHECK(objection("tr2.6.0_cu12.4_py311", "535.54.03").empty());
  CHECK(objection("tr2.6.0_cu12.4_py311", "").empty());
  CHECK(objection("tr2.6.0_cpu_py311", "470.42.01").empty());
  CHECK(objection("", "470.42.01").empty());
}

TEST_CASE("an environment for CANN is no good on a node without that CANN") {
  const Matrix matrix = builtin_matrix();
  const auto objection = [&](const std::string& from, const std::vector<std::string>& cann) {
    EnvironmentSpec spec;
    spec.from = from;
    EnvironmentStatus status;
    status.cann = cann;
    return accelerator_objection(spec, status, matrix);
  };
  CHECK(objection("tr2.8.0_can8.5.0_py311", {}) ==
        "it has no CANN, but the environment needs CANN 8.5.0: list its installers as 'cann' in "
        "env.yaml, or install it there");
  CHECK(objection("tr2.8.0_can8.5.0_py311", {"8.3.RC1", "8.2.RC1"})
            .starts_with("its CANN is 8.3.RC1, 8.2.RC1, but the environment needs"));
  CHECK(objection("tr2.8.0_can8.5.0_py311", {"8.3.RC1", "8.5.0"}).empty());
  EnvironmentSpec brings_it;
  brings_it.from = "tr2.8.0_can8.5.0_py311";
  brings_it.needs.cann = Cann{.version = "8.5.0"};
  CHECK(accelerator_objection(brings_it, {}, matrix).empty());
  CHECK(objection("tr2.8.0_can8.5_py311", {"8.5.0"}).empty());
  CHECK(objection("tr2.8.0_cu12.8_py311", {}).empty());
  CHECK(objection("tr2.8.0_cpu_py311", {}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
