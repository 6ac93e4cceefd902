#include "envs/environments/record.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::envs {
namespace {

MachineStatus machine(const std::string& name, const std::vector<agent::FoundVersion>& versions,
                      const std::string& active = "") {
  MachineStatus found{.machine = name, .status = {}};
  found.status.prefix = "/p";
  found.status.active = active;
  found.status.versions = versions;
  return found;
}

const agent::FoundVersion kGoodNode{"train", "v1", "spec", "manifest", true};
const agent::FoundVersion kHalfNode{"train", "v1", "", "", false};

TEST_SUITE_BEGIN("envs/record");

TEST_CASE("what machines say is taken up, and comes out of the file as it went in") {
  const test::TempDirectory folder;
  EnvironmentsRecord record;
  take_up(record,
          std::vector{machine("a", {kGoodNode}), machine("b", {kHalfNode}), machine("c", {})});

  CHECK(record.prefix.at("train") == "/p");
  CHECK(is_on(record, "train", "a"));
  CHECK_FALSE(is_on(record, "train", "b"));
  CHECK_FALSE(is_on(record, "train", "c"));
  CHECK_FALSE(is_on(record, "other", "a"));
  CHECK(runner_in(record, "train") == "/p/train/current/.fastgpu/run");
  CHECK(programs_in(record, "train") == "/p/train/current/bin");
  write_record(folder.path(), record);
  CHECK(read_record(folder.path()) == record);
  forget(record, "train");
  CHECK(record.used_prefixes == std::set<std::string>{"/p"});
  write_record(folder.path(), record);
  CHECK(read_record(folder.path()) == record);
  const Error e = test::failure_of([&] { runner_in(record, "train"); });
  CHECK(e.kind() == ErrorKind::not_found);
}

TEST_CASE("a machine that has lost an environment is not counted any more") {
  EnvironmentsRecord record;
  take_up(record, std::vector{machine("a", {kGoodNode}), machine("b", {kGoodNode})});
  take_up(record, std::vector{machine("b", {})});
  CHECK(is_on(record, "train", "a"));
  CHECK_FALSE(is_on(record, "train", "b"));
}

TEST_CASE("what is remembered is not moved by what lies in another place") {
  EnvironmentsRecord record{.active = "", .prefix = {{"train", "/q"}}, .machines = {}};
  take_up(record, std::vector{machine("a", {kGoodNode}, "train")});
  CHECK(record.prefix.at("train") == "/q");
  CHECK_FALSE(is_on(record, "train", "a"));
  CHECK(record.active.empty());
}

TEST_CASE("a prefix stays on record until all environments are removed there") {
  EnvironmentsRecord record{.active = "b",
                            .prefix = {{"a", "/p"}, {"b", "/q"}},
                            .used_prefixes = {"/p", "/q", "/r"},
                            .machines = {{"a", {"m"}}, {"b", {"m"}}}};

  forget_prefix(record, "/p");
  CHECK(record.active == "b");
  CHECK(record.prefix == std::map<std::string, std::string>{{"b", "/q"}});
  CHECK(record.used_prefixes == std::set<std::string>{"/q", "/r"});
  CHECK_FALSE(is_on(record, "a", "m"));
  forget_prefix(record, "/q");
  CHECK(record == EnvironmentsRecord{.used_prefixes = {"/r"}});
}

TEST_CASE("an empty place is not recorded as a used prefix") {
  EnvironmentsRecord record;
  take_up(record, std::vector{machine("a", {})});
  CHECK(record == EnvironmentsRecord{});
}

TEST_CASE("what logins get on all machines is what jobs get, where nothing else was said") {
  struct Row {
    std::string before;
    std::vector<MachineStatus> found;
    std::string after;
  };
  const std::vector<Row> rows = {
      {"", {machine("a", {kGoodNode}, "train"), machine("b", {kGoodNode}, "train")}, "train"},
      {"", {machine("a", {kGoodNode}, "train"), machine("b", {kGoodNode})}, ""},
      {"", {machine("a", {kGoodNode}, "train"), machine("b", {kHalfNode}, "train")}, ""},
      {"", {}, ""},
      {"other", {machine("a", {kGoodNode}, "train")}, "other"},
  };
  for (const Row& row : rows) {
    EnvironmentsRecord record{.active = row.before, .prefix = {}, .machines = {}};
    take_up(record, row.found);
    CHECK(record.active == row.after);
  }
}

TEST_CASE("a file that an earlier program has written is read") {
  const test::TempDirectory folder;
  std::ofstream(folder.path() / "environments.json")
      << R"({"schema": "fastgpu.environments-record/1", "active": "x", "prefix": {"x": "/p"}})";
  const auto record = read_record(folder.path());
  CHECK(record.active == "x");
  CHECK_FALSE(is_on(record, "x", "a"));
  CHECK(record.used_prefixes == std::set<std::string>{"/p"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
