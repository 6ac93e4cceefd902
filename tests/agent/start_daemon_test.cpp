#include <doctest/doctest.h>

#include <tuple>

#include "agent/protocol/start_lines.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using test::running;
using test::ScratchHome;
using test::write_file;

/// A first node, and an `ssh` that runs its command on it as on another one.
class Daemon {
 public:
  Daemon() {
    write_program("bin/ssh",
                  "for word; do line=$word; done\ncd\n"
                  "exec env -u FASTGPU_JOB_ID sh -c \"$line\"\n");
    write_file(home.path() / ".fastgpu/jobs" / id() / "nodes", "10.0.0.2 demo-1\n");
    std::filesystem::create_directories(home.path() / ".fastgpu/bin");
    std::filesystem::create_symlink(test::agent_path(), home.path() / ".fastgpu/bin/fastgpu-agent");
  }
  ~Daemon() { test::run_agent(home, {"job-sweep", id()}); }

  void write_program(const std::string& name, const std::string& script) const {
    write_file(home.path() / name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(home.path() / name, std::filesystem::perms::owner_all);
  }

  process::Captured start(const std::string& daemon, const std::string& limit = "20000") const {
    process::Command command =
        test::agent_command(home, {"start-daemon", "--limit", limit, "-x", "-F", "config",
                                   "10.0.0.2", "env A=b", daemon, "--daemonize"});
    process::set_variable(*command.environment, "FASTGPU_JOB_ID=" + id());
    process::set_variable(*command.environment,
                          "PATH=" + (home.path() / "bin").string() + ":" + ::getenv("PATH"));
    return process::capture(command, {}, Cancel());
  }
  std::string id() const { return "daemon-" + home.path().filename().string(); }

  ScratchHome home;
};

TEST_SUITE_BEGIN("agent/start_daemon");

TEST_CASE("a daemon that is connected to mpirun has begun") {
  const Daemon node;
  node.write_program("bin/orted",
                     "python3 -c 'import socket, time\n"
                     "server = socket.create_server((\"127.0.0.1\", 0))\n"
                     "time.sleep(0.2)\n"
                     "client = socket.create_connection(server.getsockname())\n"
                     "time.sleep(4721.1)' >/dev/null 2>&1 &\n");
  const auto answer = node.start("orted");
  CHECK_MESSAGE(answer.status.ok(), answer.err);
  CHECK(answer.err.empty());
}

TEST_CASE("a daemon that ends, or is not there, is named by its node, with the reason") {
  const Daemon node;
  node.write_program("bin/orted", "exit 0\n");
  node.write_program("bin/refused", "echo 'orted: error while loading libs' >&2; exit 127\n");
  for (const auto& [daemon, code, why] :
       {std::tuple("orted", 1, "mpirun's daemon ended before it had reported to mpirun"),
        std::tuple("refused", 127, "orted: error while loading libs")}) {
    const auto answer = node.start(daemon);
    CHECK(answer.status.code == code);
    CHECK(answer.err.ends_with("node demo-1 has not begun: " + std::string(why) + "\n"));
  }
}

TEST_CASE("a daemon that does not answer is named as late, and then ends the wait") {
  const Daemon node;
  node.write_program("bin/ssh", "exec sleep 4721.2\n");
  const auto answer = node.start("orted", "2000");
  CHECK(answer.status.code == 1);
  CHECK(answer.err ==
        "still waiting for node demo-1 to begin\n"
        "node demo-1 has not begun: it has not answered for 2s\n");
}

TEST_CASE("lines about the start of nodes are found among others") {
  const std::string words = "noise\n" + failed_start_line({"demo-1", "ssh: no\nmore"}) +
                            late_start_line("demo-2") + failed_start_line({"demo-1", "again"}) +
                            "node  has not begun: x\nnode demo-3 has not\n";
  const auto failed = parse_failed_starts(words);
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].node == "demo-1");
  CHECK(failed[0].why == "ssh: no");
  CHECK(parse_late_starts(words) == std::set<std::string>{"demo-2"});
  CHECK(parse_late_starts("still waiting for node  to begin").empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
