#include "remote/agent.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "fakes/local_shell_ssh.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::remote {
namespace {

const AgentHash kHash{"0123456789abcdef"};
const std::vector<std::string> kStarter = {"env", "--", "STARTED=by it"};

struct Ended {
  ssh::Exit exit;
  std::string out;
  std::string err;
};

void put_agent(const test::TempDirectory& homes, const std::string& text) {
  const auto file = homes.path() / "n" / agent_path(kHash);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

/// What comes of a command by the real shell of a host that is a folder.
Ended run(const test::TempDirectory& homes, const std::string& command) {
  Ended ended;
  const auto results = test::LocalShellSsh(homes.path())
                           .run({{.host = {.name = {"n"}},
                                  .command = command,
                                  .on_stdout = [&](std::string_view text) { ended.out += text; },
                                  .on_stderr = [&](std::string_view text) { ended.err += text; }}},
                                {}, Cancel());
  REQUIRE(results.at(0).ok());
  ended.exit = results.at(0).value();
  return ended;
}

TEST_SUITE_BEGIN("remote/agent");

TEST_CASE("an agent that another program starts gets its words, and ends as it ends") {
  const test::TempDirectory homes;
  put_agent(homes, "#!/bin/sh\necho \"$STARTED\"; for word; do echo \"<$word>\"; done; exit 7\n");

  const Ended ended =
      run(homes,
          agent_command_by(kStarter, kHash, std::vector<std::string>{"exec", "--", "a  'b\" $c"}));

  CHECK(ended.out == "by it\n<exec>\n<-->\n<a  'b\" $c>\n");
  CHECK(ended.exit.code() == 7);
  CHECK_FALSE(agent_missing(kHash, ended.exit, ended.err));
}

TEST_CASE("an agent that is missing is noticed also where another program starts it") {
  const test::TempDirectory homes;
  const std::vector<std::string> words = {"x"};
  for (const std::string& command :
       {agent_command_by(kStarter, kHash, words), agent_command(kHash, words)}) {
    const Ended missing = run(homes, command);
    CHECK(agent_missing(kHash, missing.exit, missing.err));
  }
  put_agent(homes, "");  // As a power cut may leave it.
  for (const std::string& command :
       {agent_command_by(kStarter, kHash, words), agent_command(kHash, words)}) {
    const Ended empty = run(homes, command);
    CHECK(agent_missing(kHash, empty.exit, empty.err));
    CHECK(empty.err.find("is missing or empty: this version of fastgpu has started nothing here") !=
          std::string::npos);
  }
}

TEST_CASE(
    "a host whose PATH lacks the programs of the system is told apart from one with a full disk") {
  const test::TempDirectory homes;
  const test::TempDirectory place;
  std::ofstream(place.path() / "agent") << "#!/bin/sh\n";
  test::LocalShellSsh client(homes.path());
  std::filesystem::create_directory(place.path() / "bin");
  std::filesystem::create_symlink("/bin/sh", place.path() / "bin/sh");
  client.set_path(place.path() / "bin");
  const std::vector<ssh::Host> hosts = {{.name = {"n"}}};
  const auto results =
      install_agent(client, hosts, read_agent_program(place.path() / "agent", {}), {}, Cancel());
  REQUIRE_FALSE(results.at(0).ok());
  CHECK(std::string(results.at(0).error().what()) ==
        "n: installing the agent: PATH, as ~/.bashrc or another file of the login sets it, lacks "
        "programs of the system: uname (PATH=" +
            (place.path() / "bin").string() + ")");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::remote
