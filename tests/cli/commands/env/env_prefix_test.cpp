#include <doctest/doctest.h>

#include "cli/commands/env/env_tools.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using test::Session;
using Words = std::vector<std::string>;

TEST_SUITE_BEGIN("cli/env_prefix");

TEST_CASE("every command on environments refuses a prefix that is not an absolute path") {
  const std::vector<Words> commands = {
      {"env", "create", "train"},        {"env", "list"},
      {"env", "remove", "train"},        {"env", "activate", "train"},
      {"env", "verify", "train"},        {"env", "install-frameworks", "train"},
      {"env", "lock", "-f", "env.yaml"},
  };
  for (const Words& command : commands)
    for (const std::string prefix : {"~/e", "relative", "./here"}) {
      Words words = command;
      words.push_back("--prefix=" + prefix);
      CAPTURE(command[1]);
      Session session;
      const Error e = failure_of([&] { session.run(words); });
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(mentions(e, "--prefix: '" + prefix + "' is not an absolute path: write the full path"));
    }
}

TEST_CASE("a prefix is kept in one form") {
  struct Row {
    const char* given;
    const char* kept;
  };
  for (const Row& row : {Row{"/srv/envs", "/srv/envs"}, Row{"/srv/envs/", "/srv/envs"},
                         Row{"/srv//a/../envs/.", "/srv/envs"}, Row{"/", "/"}}) {
    Arguments arguments;
    EnvTarget target;
    describe_env_target(arguments, target);
    arguments.find("--prefix")->take(row.given);
    CHECK(target.prefix == row.kept);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
