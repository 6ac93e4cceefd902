#include "cli/workflows/job_end_watch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/program/context.hpp"
#include "fakes/fake_ssh.hpp"
#include "launcher/frame_text.hpp"
#include "launcher/job_store.hpp"
#include "state/directory.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::FakeReply;
using fastgpu::test::FakeSsh;
using state::JobState;

/// The program on a machine whose node answers each wait for the end of a job with that end.
class WatchContext final : public Context {
 public:
  WatchContext(Ui& ui, Cancel& cancel)
      : Context(ui, cancel, [](const char*) { return std::nullopt; }) {}

  const remote::AgentProgram& agent() override { return agent_; }

  /// Returns the commands so far, as "HOST: COMMAND".
  std::vector<std::string> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 protected:
  std::unique_ptr<ssh::Client> make_ssh() override {
    return std::make_unique<FakeSsh>([this](const FakeSsh::Seen& seen) -> FakeReply {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(seen.host + ": " + seen.command);
      return {.out = fastgpu::test::frame({.kind = agent::FrameKind::job_status},
                                          to_text(agent::JobEnd{}))};
    });
  }

 private:
  remote::AgentProgram agent_{"/dev/null", {"0123456789abcdef"}, {}};
  std::mutex mutex_;
  std::vector<std::string> asked_{};
};

/// A cluster of one node and its jobs.
class Watched {
 public:
  Watched() : ui_(out_, err_, {}, [] { return std::string(); }), context(ui_, cancel_) {
    context.set_state_directory(directory_.path());
    cluster_ = {.id = {"0a1b2c3d"},
                .name = {"lab"},
                .provider = "static",
                .state = state::ClusterState::running,
                .user = "root"};
    cluster_.provider_spec = state::StaticSpec{.hosts = {{}}};
    context.store().insert_cluster(cluster_);
    context.store().put_node({.cluster = cluster_.id,
                              .index = 0,
                              .name = {"one"},
                              .state = state::NodeState::running,
                              .address = "192.0.2.1",
                              .user = "root"});
    const auto key = state::identity_file(directory_.path(), cluster_.id);
    std::filesystem::create_directories(key.parent_path());
    state::write_private_file(key, "a key");
  }

  state::Job add_job(const std::string& name, JobState how) {
    launcher::JobRecord record;
    record.spec.name = {name};
    record.spec.argv = {"sleep", "600"};
    record.spec.presence = launcher::Presence::detached;
    record.placement = {{{"one"}, 0, 1}};
    state::Job job = launcher::insert_job(context.store(), cluster_.id, record);
    job.state = how;
    context.store().update_job(job);
    return job;
  }

 private:
  fastgpu::test::TempDirectory directory_;
  Cancel cancel_;
  StringSink out_;
  StringSink err_;
  Ui ui_;
  state::Cluster cluster_;

 public:
  WatchContext context;
};

/// Returns the ends of which the watch hears first.
std::set<std::string> first_ends(JobEndWatch& watch) {
  for (;;) {
    auto ends = watch.take_ends();
    if (!ends.empty()) return ends;
    std::this_thread::yield();
  }
}

TEST_SUITE_BEGIN("cli/job_end_watch");

TEST_CASE("the end of a running job is heard of once, at its node") {
  Watched world;
  const state::Job runs = world.add_job("runs", JobState::running);
  JobEndWatch watch(world.context);
  watch.watch(std::vector{runs});
  CHECK(watch.is_watched(runs));
  CHECK(first_ends(watch) == std::set<std::string>{runs.id});
  CHECK(watch.take_ends().empty());
  const std::vector<std::string> asked = world.context.asked();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].starts_with("one: "));
  CHECK(asked[0].find("job-follow .fastgpu/jobs/runs-1") != std::string::npos);
}

TEST_CASE("jobs that have not begun or have ended are not watched, and others no longer") {
  Watched world;
  const state::Job queued = world.add_job("queued", JobState::queued);
  const state::Job ended = world.add_job("ended", JobState::succeeded);
  const state::Job runs = world.add_job("runs", JobState::running);
  JobEndWatch watch(world.context);
  watch.watch(std::vector{queued, ended});
  CHECK_FALSE(watch.is_watched(queued));
  CHECK_FALSE(watch.is_watched(ended));
  CHECK(world.context.asked().empty());
  watch.watch(std::vector{runs});
  first_ends(watch);
  watch.watch({});
  CHECK_FALSE(watch.is_watched(runs));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
