// The errors that are made of the answer of a script on a node.
#include "cli/workflows/node_scripts/node_script.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

std::string failure_with(int status, const std::string& errors) {
  const launcher::NodeAnswer answer{
      .result = {{"demo-0"}, ssh::Exit{.status = status}}, .out = {}, .err = errors};
  return fastgpu::test::failure_of([&] { check_script(answer, "set up Slurm"); }).what();
}

TEST_SUITE_BEGIN("cli/node_script");

TEST_CASE("a script that fails is told with its first complaint, or its status") {
  CHECK(failure_with(1, "no room\nmore\n") == "demo-0 could not set up Slurm: no room");
  CHECK(failure_with(3, "") == "demo-0 could not set up Slurm: exit status 3");
}

TEST_CASE("only the commands that need root become root") {
  CHECK(script_command({.user = "ada"}, "id", {"a b"}) == "sudo -n sh -c id sh 'a b'");
  CHECK(script_command({.user = "root"}, "id", {}) == "sh -c id sh");
  CHECK(user_script_command("id", {"a b"}) == "sh -c id sh 'a b'");
}

TEST_CASE("what sudo says of the name of its host is not the cause") {
  const std::string name = "sudo: unable to resolve host h10: Name or service not known\n";
  CHECK(failure_with(1, name + "sudo: a password is required\n") ==
        "demo-0 could not set up Slurm: sudo: a password is required");
  CHECK(failure_with(2, name) == "demo-0 could not set up Slurm: exit status 2");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
