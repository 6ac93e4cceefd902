// A directory of temporary files that is full or read-only, by the command that finds it and its
// answers.
#include "launcher/full_temporary.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/full_temporary");

TEST_CASE("only nodes that name a directory and a reason have one that cannot be written") {
  const std::vector<NodeAnswer> answers = {
      {.result = {{"n0"}, ssh::Exit{}}, .out = "", .err = ""},
      {.result = {{"n1"}, ssh::Exit{}}, .out = "/tmp\nRead-only file system\n", .err = ""},
      {.result = {{"n2"}, Error(ErrorKind::transient, "n2: lost")}, .out = "/tmp\nx\n", .err = ""},
      {.result = {{"n3"}, ssh::Exit{}}, .out = "welcome\nto n3\n", .err = ""},
      {.result = {{"n4"}, ssh::Exit{}}, .out = "/t\x1b[0m\nNo space left on device\n", .err = ""}};
  const auto faults = temporary_faults_in(answers);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].node.value == "n1");
  CHECK(faults[0].path == "/tmp");
  CHECK(faults[0].why == "Read-only file system");
  CHECK(faults[1].path == "/t\\x1b[0m");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
