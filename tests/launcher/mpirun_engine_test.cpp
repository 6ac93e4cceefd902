#include "launcher/mpirun_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/facts.hpp"
#include "fakes/fake_ssh.hpp"
#include "launcher/frame_text.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameKind;
using test::failure_of;
using test::FakeReply;
using test::FakeSsh;
using test::frame;

/// Two nodes, of which the second one lacks the agent.
struct NodeWithoutAgent {
  FakeReply answer(const FakeSsh::Seen& asked) {
    const bool calls_agent = asked.command.find("exec ~/.fastgpu/bin/") != std::string::npos;
    if (!calls_agent) {
      if (refusal) return {.failure = *refusal};
      is_installed = true;
      return {};
    }
    if (asked.host == "n-0") return {.out = head_frames};
    if (!is_installed)
      return {.exit = {.status = 127},
              .err = "fastgpu-agent-" + agent.hash.value + " is missing or empty\n"};
    was_swept = was_swept || asked.command.find("job-sweep train-1") != std::string::npos;
    return {.exit = {.status = sweep_status}, .err = sweep_error};
  }

  std::unique_ptr<JobEngine> engine() {
    std::vector<ClusterNode> nodes(2);
    nodes[0].host.name = {"n-0"};
    nodes[1].host.name = {"n-1"};
    return make_mpirun_engine(client, nodes, {"c0ffee00", Secret("none")}, {.agent = agent});
  }

  test::TempDirectory directory;
  remote::AgentProgram agent = [this] {
    std::ofstream(directory.path() / "agent") << "the program";
    return remote::read_agent_program(directory.path() / "agent");
  }();
  JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}},
                .placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}}};
  std::string head_frames{};
  std::optional<Error> refusal{};  ///< The failure of the installation.
  int sweep_status = 0;
  std::string sweep_error{};
  bool is_installed = false;
  bool was_swept = false;
  FakeSsh client{[this](const FakeSsh::Seen& asked) { return answer(asked); }};
};

/// One node that answers until the job is to be started there.
struct NodeThatIsCutOff {
  FakeReply answer(const FakeSsh::Seen& asked) const {
    const auto has = [&](const char* part) {
      return asked.command.find(part) != std::string::npos;
    };
    if (has("--start") || (has("job-stop") && !can_stop))
      return {.failure = Error(ErrorKind::transient, "n-0: the connection was lost")};
    if (has("--new-job")) return {.out = to_text(agent::JobNodeFacts{.home = "/root"})};
    return {};
  }

  bool can_stop = false;
  JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}, .launcher = Launcher::plain},
                .placement = {{{"n-0"}, 0, 1}}};
  FakeSsh client{[this](const FakeSsh::Seen& asked) { return answer(asked); }};
};

/// One node on which mpirun has failed by itself, in a job that nothing follows.
struct NodeWithFailedLauncher {
  FakeReply answer(const FakeSsh::Seen& asked) const {
    if (asked.command.find("mktemp") != std::string::npos) return {.out = full_directory};
    if (asked.command.find("job-follow") == std::string::npos) return {};
    agent::JobEnd end;
    end.how = how;
    end.ended = ended;
    return {.out = frame({.kind = FrameKind::job_status}, to_text(end))};
  }

  std::unique_ptr<JobEngine> engine() {
    std::vector<ClusterNode> nodes(1);
    nodes[0].host.name = {"n-0"};
    return make_mpirun_engine(client, nodes, {"c0ffee00", Secret("none")},
                              {.agent = {.file = {}, .hash = {"0123456789abcdef"}}});
  }

  JobOutcome seen_at_a_glance() { return engine()->glance("train-1", job).outcome.value(); }

  process::ExitStatus how{.code = 213};
  std::int64_t ended{0};
  std::string full_directory{};
  JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}}, .placement = {{{"n-0"}, 0, 1}}};
  FakeSsh client{[this](const FakeSsh::Seen& asked) { return answer(asked); }};
};

/// A job of three nodes, one of which has left the cluster.
struct ClusterWithoutNode {
  explicit ClusterWithoutNode(std::string node_that_left) : left(std::move(node_that_left)) {}

  static FakeReply answer(const FakeSsh::Seen& asked) {
    if (asked.command.find("job-follow") == std::string::npos) return {};
    const int rank = asked.host.back() - '0';
    std::string frames = frame({.kind = FrameKind::data, .rank = rank}, asked.host + " writes\n");
    if (rank == 0) frames += frame({.kind = FrameKind::job_status}, to_text(agent::JobEnd{}));
    return {.out = frames + frame({.kind = FrameKind::end}, "")};
  }

  std::unique_ptr<JobEngine> engine() {
    std::vector<ClusterNode> nodes;
    for (const char* name : {"n-0", "n-1", "n-2"}) {
      if (name == left) continue;
      nodes.emplace_back();
      nodes.back().host.name = {name};
    }
    return make_mpirun_engine(client, nodes, {"c0ffee00", Secret("none")},
                              {.agent = {.file = {}, .hash = {"0123456789abcdef"}}});
  }

  std::string left;
  JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}},
                .placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}, {{"n-2"}, 2, 1}}};
  FakeSsh client{[](const FakeSsh::Seen& asked) { return answer(asked); }};
};

struct Notes final : JobObserver {
  void output(int, agent::OutputStream, std::string_view bytes) override { text += bytes; }
  void node_left(const NodeName& node) override { left.push_back(node); }
  std::string text{};
  std::vector<NodeName> left{};
};

/// Notes the commands whose connections are kept for the next one.
class KeepingSsh final : public ssh::Client {
 public:
  std::vector<HostResult<ssh::Exit>> run(std::vector<ssh::Task> tasks,
                                         const ssh::RunOptions& options,
                                         const Cancel& cancel) override {
    for (const ssh::Task& task : tasks)
      (options.keeps_connections ? kept : closed).push_back(task.command);
    return client_.run(std::move(tasks), options, cancel);
  }

  std::vector<std::string> kept{};
  std::vector<std::string> closed{};

 private:
  FakeSsh client_{ClusterWithoutNode::answer};
};

TEST_SUITE_BEGIN("launcher/mpirun_engine");

TEST_CASE("the connections by which a job is seen or followed are kept to stop it") {
  KeepingSsh client;
  std::vector<ClusterNode> nodes(1);
  nodes[0].host.name = {"n-0"};
  const JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}}, .placement = {{{"n-0"}, 0, 1}}};
  const auto engine = make_mpirun_engine(client, nodes, {"c0ffee00", Secret("none")},
                                         {.agent = {.file = {}, .hash = {"0123456789abcdef"}}});
  engine->glance("train-1", job);
  Notes notes;
  const Cancel never;
  engine->follow("train-1", job, OnCancel::stop_job, {}, notes, never);
  CHECK(client.kept.size() >= 2);
  CHECK(client.closed.empty());
}

TEST_CASE("the logs of the other nodes are read if one has left the cluster, which is an error") {
  const Cancel never;
  for (const LogMode mode : {LogMode::what_there_is, LogMode::follow})
    for (const std::string left : {"n-0", "n-2"}) {
      CAPTURE(left);
      ClusterWithoutNode world(left);
      Notes notes;
      const Error e = failure_of(
          [&] { world.engine()->logs("train-1", world.job, {.mode = mode}, notes, never); });
      CHECK(e.kind() == ErrorKind::not_found);
      CHECK(std::string(e.what()) == "node " + left +
                                         " is no longer in the cluster: the output of the ranks "
                                         "there is missing");
      CHECK(notes.text ==
            (left == "n-0" ? "n-1 writes\nn-2 writes\n" : "n-0 writes\nn-1 writes\n"));
    }
}

TEST_CASE("the logs of a rank whose node is there are whole if another one has left the cluster") {
  ClusterWithoutNode world("n-2");
  const Cancel never;
  Notes notes;
  world.engine()->logs("train-1", world.job, {.rank = 1}, notes, never);
  CHECK(notes.text == "n-1 writes\n");
  CHECK(failure_of([&] {
          world.engine()->logs("train-1", world.job, {.rank = 2}, notes, never);
        }).kind() == ErrorKind::not_found);
}

TEST_CASE("a job is followed on the nodes that have not left the cluster, and the others named") {
  const Cancel never;
  SUBCASE("its end is known if the first node is there") {
    ClusterWithoutNode world("n-1");
    Notes notes;
    const JobOutcome outcome =
        world.engine()->follow("train-1", world.job, OnCancel::leave_job, {}, notes, never);
    CHECK(outcome.state == state::JobState::succeeded);
    CHECK(notes.text == "n-0 writes\nn-2 writes\n");
    CHECK(notes.left == std::vector<NodeName>{{"n-1"}});
  }
  SUBCASE("it is lost with its first node") {
    ClusterWithoutNode world("n-0");
    Notes notes;
    const JobOutcome outcome =
        world.engine()->follow("train-1", world.job, OnCancel::leave_job, {}, notes, never);
    CHECK(outcome.state == state::JobState::lost);
    CHECK(outcome.lost == std::vector<NodeName>{{"n-0"}});
    CHECK(notes.text == "n-1 writes\nn-2 writes\n");
  }
}

TEST_CASE("a job is stopped on the nodes that have not left the cluster") {
  for (const std::string left : {"n-0", "n-1"}) {
    CAPTURE(left);
    ClusterWithoutNode world(left);
    const auto results = world.engine()->stop("train-1", world.job);
    REQUIRE(results.size() == 3);
    CHECK(results.front().host == NodeName{"n-0"});
    for (const auto& one : results)
      CHECK(one.ok());
    CHECK(world.client.seen.size() == 2);
    for (const FakeSsh::Seen& asked : world.client.seen)
      CHECK((asked.command.find("job-stop") != std::string::npos) == (asked.host == "n-0"));
  }
}

TEST_CASE("a glance at a job whose mpirun has failed names a full directory of temporary files") {
  NodeWithFailedLauncher world;
  CHECK(world.seen_at_a_glance().reason == "mpirun on n-0 exited with 213");
  world.full_directory = "/tmp\nNo space left on device\n";
  CHECK(world.seen_at_a_glance().reason ==
        "mpirun on n-0 exited with 213; no space left on n-0: /tmp");
}

TEST_CASE("a job that is followed after its end has ended then, as at a glance") {
  NodeWithFailedLauncher node;
  node.ended = 7'000'000'000;
  const state::TimePoint end(std::chrono::seconds(7));
  Notes notes;
  const Cancel never;
  CHECK(node.seen_at_a_glance().ended == end);
  CHECK(node.engine()->follow("train-1", node.job, OnCancel::leave_job, {}, notes, never).ended ==
        end);
}

TEST_CASE("a glance at a job that has succeeded looks for no full directories") {
  NodeWithFailedLauncher world{.how = {}};
  CHECK(world.seen_at_a_glance().state == state::JobState::succeeded);
  CHECK(world.client.seen.size() == 1);
}

TEST_CASE("a job whose start has no answer may run, unless its node confirms that it is stopped") {
  for (const bool can_stop : {true, false}) {
    CAPTURE(can_stop);
    NodeThatIsCutOff world{.can_stop = can_stop};
    std::vector<ClusterNode> nodes(1);
    nodes[0].host.name = {"n-0"};
    const auto engine = make_mpirun_engine(world.client, nodes, {"c0ffee00", Secret("none")},
                                           {.agent = {.file = {}, .hash = {"0123456789abcdef"}}});
    const Cancel never;
    bool may_run = false;
    try {
      engine->start("train-1", world.job, never, {});
      FAIL("the start has no answer");
    } catch (const JobMayRun&) {
      may_run = true;
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::transient);
    }
    CHECK(may_run == !can_stop);
  }
}

TEST_CASE("nodes that share a home directory get the files again, for their own disks") {
  FakeSsh client{[](const FakeSsh::Seen& asked) -> FakeReply {
    const auto has = [&](const char* part) {
      return asked.command.find(part) != std::string::npos;
    };
    if (!has("--new-job")) return {};
    if (asked.host == "n-1" && !has("--own-disk")) return {.exit = {.status = agent::kHomeShared}};
    return {.out = to_text(agent::JobNodeFacts{.home = "/root", .boot_id = asked.host})};
  }};
  const JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}, .launcher = Launcher::plain},
                      .placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}}};
  std::vector<ClusterNode> nodes(2);
  nodes[0].host.name = {"n-0"};
  nodes[1].host.name = {"n-1"};
  const auto engine = make_mpirun_engine(
      client, nodes, {"c0ffee00", Secret("none")},
      {.agent = {.file = {}, .hash = {"0123456789abcdef"}}, .network_check = NetworkCheck::off});
  const Cancel never;
  engine->start("train-1", job, never, {});
  const auto count = [&](const char* part, const char* host) {
    return std::ranges::count_if(client.seen, [&](const FakeSsh::Seen& asked) {
      return asked.command.find(part) != std::string::npos && asked.host == host;
    });
  };
  CHECK(count("job-remove", "n-0") == 1);
  CHECK(count("job-remove", "n-1") == 0);
  CHECK(count("--own-disk", "n-0") == 1);
  CHECK(count("--own-disk", "n-1") == 1);
}

TEST_CASE("a job starts although a node becomes silent while it tries the others") {
  FakeSsh client{[](const FakeSsh::Seen& asked) -> FakeReply {
    const auto has = [&](const char* part) {
      return asked.command.find(part) != std::string::npos;
    };
    const std::string address = asked.host == "n-0" ? "10.0.0.1" : "10.0.0.2";
    if (has("--new-job"))
      return {.out = to_text(agent::JobNodeFacts{
                  .home = "/root", .boot_id = asked.host, .addresses = {address + "/24"}})};
    if (has("reach-nodes") && asked.host == "n-1")
      return {.out = "unreached=", .failure = Error(ErrorKind::transient, "n-1: lost")};
    return {};
  }};
  const JobRecord job{.spec = {.name = {"train"}, .argv = {"x"}, .launcher = Launcher::plain},
                      .placement = {{{"n-0"}, 0, 1}, {{"n-1"}, 1, 1}}};
  std::vector<ClusterNode> nodes(2);
  nodes[0].host.name = {"n-0"};
  nodes[0].peer.address = "10.0.0.1";
  nodes[1].host.name = {"n-1"};
  nodes[1].peer.address = "10.0.0.2";
  const auto engine = make_mpirun_engine(client, nodes, {"c0ffee00", Secret("none")},
                                         {.agent = {.file = {}, .hash = {"0123456789abcdef"}}});
  const Cancel never;
  engine->start("train-1", job, never, {});
  CHECK(std::ranges::none_of(client.seen, [](const FakeSsh::Seen& asked) {
    return asked.command.find("job-stop") != std::string::npos;
  }));
  CHECK(std::ranges::any_of(client.seen, [](const FakeSsh::Seen& asked) {
    return asked.command.find("reach-nodes") != std::string::npos && asked.host == "n-1";
  }));
}

TEST_CASE("a node without the agent gets it, so that it can confirm that a job is stopped") {
  NodeWithoutAgent world;
  const auto results = world.engine()->stop("train-1", world.job);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok());
  CHECK(results[1].ok());
  CHECK(world.is_installed);
  CHECK(world.was_swept);
}

TEST_CASE("a node on which the agent cannot run has not confirmed that a job is stopped") {
  NodeWithoutAgent world;
  world.refusal = Error(ErrorKind::capacity, "n-1: no space left");
  const auto results = world.engine()->stop("train-1", world.job);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok());
  REQUIRE_FALSE(results[1].ok());
  CHECK(results[1].error().kind() == ErrorKind::capacity);
}

TEST_CASE("a node that cannot end the processes of a job reports it") {
  NodeWithoutAgent world;
  world.sweep_status = 1;
  SUBCASE("with a reason") {
    world.sweep_error = "n-1: 2 processes of job train-1 do not end, even by SIGKILL\n";
    const auto results = world.engine()->stop("train-1", world.job);
    REQUIRE_FALSE(results[1].ok());
    CHECK(std::string(results[1].error().what()) ==
          "n-1: 2 processes of job train-1 do not end, even by SIGKILL");
  }
  SUBCASE("without a reason") {
    const auto results = world.engine()->stop("train-1", world.job);
    REQUIRE_FALSE(results[1].ok());
    CHECK(std::string(results[1].error().what()) == "n-1: the command ended with 1");
  }
}

TEST_CASE("the end of a job is awaited at its first node, without output and without a lease") {
  NodeWithoutAgent world;
  world.head_frames = frame({.kind = FrameKind::job_status}, to_text(agent::JobEnd{}));
  const Cancel never;
  world.engine()->await_end("train-1", world.job, never);
  REQUIRE(world.client.seen.size() == 1);
  const FakeSsh::Seen& asked = world.client.seen.front();
  CHECK(asked.host == "n-0");
  CHECK(asked.command.find("job-follow .fastgpu/jobs/train-1") != std::string::npos);
  CHECK(asked.command.find("--no-data") != std::string::npos);
  CHECK(asked.command.find("--renew-lease") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
