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
  CHECK(
      failure_with(1, name + "sudo: a password is required\n") ==
      "demo-0 could not set up Slurm: sudo: a password is required; allow sudo without a password "
      "(NOPASSWD in sudoers), or connect as root");
  CHECK(failure_with(2, name) == "demo-0 could not set up Slurm: exit status 2");
}

TEST_CASE("a node without root's rights is an error of rights, with what gives them") {
  const auto kind_of = [](const std::string& said) {
    const launcher::NodeAnswer answer{
        .result = {{"demo-0"}, ssh::Exit{.status = 1}}, .out = {}, .err = said};
    return fastgpu::test::failure_of([&] { check_script(answer, "set up Slurm"); }).kind();
  };
  for (const char* said : {"sudo: a password is required", "ada is not in the sudoers file.",
                           "Sorry, user ada is not allowed to execute '/bin/sh' as root on h10.",
                           "sudo: sorry, you must have a tty to run sudo", "sh: 1: sudo: not found",
                           "this needs root: log in as root"})
    CHECK(kind_of(said) == ErrorKind::denied);
  CHECK(kind_of("no room") == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
