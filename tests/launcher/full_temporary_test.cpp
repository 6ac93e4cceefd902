// A directory of temporary files that is full, by the command that finds it and its answers.
#include "launcher/full_temporary.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/full_temporary");

TEST_CASE("only nodes that name a directory have a full one") {
  const std::vector<NodeAnswer> answers = {
      {.result = {{"n0"}, ssh::Exit{}}, .out = "", .err = ""},
      {.result = {{"n1"}, ssh::Exit{}}, .out = "/tmp\n", .err = ""},
      {.result = {{"n2"}, Error(ErrorKind::transient, "n2: lost")}, .out = "/tmp\n", .err = ""},
      {.result = {{"n3"}, ssh::Exit{}}, .out = "welcome\n", .err = ""},
      {.result = {{"n4"}, ssh::Exit{}}, .out = "/t\x1b[0m\n", .err = ""}};
  const auto full = full_directories_in(answers);
  REQUIRE(full.size() == 2);
  CHECK(full[0].node.value == "n1");
  CHECK(full[0].path == "/tmp");
  CHECK(full[1].path == "/t\\x1b[0m");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
