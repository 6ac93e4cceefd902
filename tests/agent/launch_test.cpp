#include <doctest/doctest.h>
#include <signal.h>

#include <set>
#include <sstream>

#include "agent/protocol/plan.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::read_text;
using test::running;
using test::ScratchHome;
using test::write_file;

/// Two nodes, each a home directory; an `ssh` that runs its command in the second one.
class TwoHomes {
 public:
  explicit TwoHomes(const std::string& program, int ranks_each = 2) {
    write_file(first.path() / "job/hostfile", "localhost slots=2\nnode-1 slots=2\n");
    for (int node = 0; node < 2; ++node) {
      JobPlan plan;
      plan.id = "plain-" + first.path().filename().string();
      plan.argv = {"sh", "-c", program};
      plan.world_size = 2 * ranks_each;
      plan.grace = 800ms;
      for (int i = 0; i < ranks_each; ++i)
        plan.ranks.push_back(node * ranks_each + i);
      write_file(home(node).path() / "job/rank", to_text(plan));
      write_file(home(node).path() / "job/variables", variables_text({"GIVEN=by-the-job"}));
    }
    const auto ssh = first.path() / "bin/ssh";
    write_file(ssh, "#!/bin/sh\nfor word; do line=$word; done\nexport HOME='" +
                        second.path().string() + "'\ncd\nexec sh -c \"$line\"\n");
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
  }

  process::Command command() const {
    process::Command command = test::agent_command(
        first, {"launch", "job", "exec '" + test::agent_path() + "' node-ranks job", "--ssh-config",
                "none", "--pass", "MEET_PORT"});
    process::set_variable(*command.environment, "MEET_PORT=4711");
    process::set_variable(*command.environment,
                          "PATH=" + (first.path() / "bin").string() + ":" + ::getenv("PATH"));
    return command;
  }
  const ScratchHome& home(int node) const { return node == 0 ? first : second; }
  std::string log(int rank, int ranks_each = 2) const {
    return read_text(home(rank / ranks_each).path() / "job/ranks" /
                     (std::to_string(rank) + ".out"));
  }

  ScratchHome first, second;
};

TEST_SUITE_BEGIN("agent/launch");

TEST_CASE("ranks start on all nodes without MPI, and know their places") {
  const TwoHomes nodes("echo \"$RANK/$WORLD_SIZE $LOCAL_RANK $MEET_PORT $GIVEN\"");
  CHECK(process::Child(nodes.command()).wait().ok());
  CHECK(nodes.log(0) == "0/4 0 4711 by-the-job\n");
  CHECK(nodes.log(1) == "1/4 1 4711 by-the-job\n");
  CHECK(nodes.log(2) == "2/4 0 4711 by-the-job\n");
  CHECK(nodes.log(3) == "3/4 1 4711 by-the-job\n");
}

TEST_CASE("a rank that fails ends the others by SIGTERM, and its code is that of the job") {
  for (const int failed : {0, 3}) {
    CAPTURE(failed);
    const TwoHomes nodes("[ $RANK = " + std::to_string(failed) +
                         " ] && { sleep 0.5; exit 7; }; trap 'echo saved; exit 0' TERM; "
                         "while :; do sleep 0.01; done");
    CHECK(process::Child(nodes.command()).wait().code == 7);
    for (int rank = 0; rank < 4; ++rank)
      CHECK(nodes.log(rank) == (rank == failed ? "" : "saved\n"));
  }
}

TEST_CASE("an order to stop, and the end of the launcher, end all ranks") {
  for (const int number : {SIGTERM, kStopOrder, SIGKILL}) {
    CAPTURE(number);
    const TwoHomes nodes("trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.01; done");
    process::Child launcher(nodes.command());
    CHECK(eventually([&] {
      for (int rank = 0; rank < 4; ++rank)
        if (nodes.log(rank) != "up\n") return false;
      return true;
    }));
    launcher.signal(number);
    CHECK(eventually([&] {
      for (int rank = 0; rank < 4; ++rank)
        if (nodes.log(rank) != "up\nsaved\n") return false;
      return true;
    }));
    launcher.wait();
  }
}

TEST_CASE("daemons of a rank serve the others until the job ends, and no longer") {
  const TwoHomes nodes(
      "if [ $RANK = 2 ]; then env -i setsid -f sleep 4719.1; exit 0; fi; "
      "while [ ! -e \"$HOME/go\" ]; do sleep 0.01; done");
  process::Child launcher(nodes.command());
  CHECK(eventually([] { return running("sleep 4719.1") == 1; }));
  write_file(nodes.second.path() / "go", "");
  std::this_thread::sleep_for(500ms);
  CHECK(running("sleep 4719.1") == 1);  // Ranks of the other node may need it.
  write_file(nodes.first.path() / "go", "");
  CHECK(launcher.wait().ok());
  CHECK(eventually([] { return running("sleep 4719.1") == 0; }));
}

TEST_CASE("a node that does not begin is named as late, and then ends the job") {
  const TwoHomes nodes("exec sleep 4719.7");
  write_file(nodes.first.path() / "bin/ssh", "#!/bin/sh\nexec sleep 4719.8\n");
  write_file(nodes.first.path() / "job/nodes", "localhost demo-0\nnode-1 demo-1\n");
  process::Command command = nodes.command();
  command.argv.insert(command.argv.end() - 2, {"--limit", "2500"});
  const auto answer = process::capture(command, {}, Cancel());
  CHECK(answer.status.code == 1);
  CHECK(answer.err ==
        "still waiting for node demo-1 to begin\n"
        "node demo-1 has not begun: it has not answered for 2.5s\n");
  CHECK(running("sleep 4719.7") == 0);
  CHECK(running("sleep 4719.8") == 0);
}

TEST_CASE("a node that cannot be reached is named, and nothing is left") {
  const TwoHomes nodes("exec sleep 4719.2");
  write_file(nodes.first.path() / "bin/ssh", "#!/bin/sh\nexit 255\n");
  process::CaptureOptions options;
  const Cancel never;
  const auto answer = process::capture(nodes.command(), options, never);
  CHECK(answer.status.code == 255);
  CHECK(answer.err.find("the connection to node-1 has failed\n") != std::string::npos);
  CHECK(eventually([] { return running("sleep 4719.2") == 0; }));
}

TEST_CASE("the words of an ssh that fails are passed on, and the last of them are the reason") {
  const TwoHomes nodes("exec sleep 4719.3");
  write_file(nodes.first.path() / "bin/ssh",
             "#!/bin/sh\necho 'debug: x' >&2; echo 'ssh_config line 10: invalid quotes' >&2; exit "
             "255\n");
  const auto told = process::capture(nodes.command(), {}, Cancel());
  const std::string wanted =
      "debug: x\nssh_config line 10: invalid quotes\n"
      "the connection to node-1 has failed: ssh_config line 10: invalid quotes\n";
  CHECK_MESSAGE(told.err.find(wanted) != std::string::npos, told.err);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
