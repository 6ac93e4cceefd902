#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "cli/program/context.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/job_queue.hpp"
#include "fakes/fake_ssh.hpp"
#include "launcher/job_store.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::FakeReply;
using fastgpu::test::FakeSsh;
using state::JobState;

/// The program on a machine that counts its questions to nodes.
class CountingContext final : public Context {
 public:
  CountingContext(Ui& ui, Cancel& cancel)
      : Context(ui, cancel, [](const char*) { return std::nullopt; }) {}

  int questions = 0;

 protected:
  std::unique_ptr<ssh::Client> make_ssh() override {
    return std::make_unique<FakeSsh>([this](const FakeSsh::Seen&) -> FakeReply {
      ++questions;
      return {};
    });
  }
};

/// A running cluster of one node, with a job that starts.
struct Preparation {
  explicit Preparation(bool is_preparing)
      : ui(out, err, {}, [] { return std::string(); }), context(ui, cancel) {
    context.set_state_directory(directory.path());
    state::Cluster cluster{.id = {"0a1b2c3d"},
                           .name = {"lab"},
                           .provider = "static",
                           .state = state::ClusterState::running,
                           .user = "root"};
    cluster.provider_spec = state::StaticSpec{.hosts = {{}}};
    context.store().insert_cluster(cluster);
    context.store().put_node({.cluster = cluster.id,
                              .index = 0,
                              .name = {"one"},
                              .state = state::NodeState::running,
                              .address = "192.0.2.1",
                              .user = "root"});
    launcher::JobRecord record;
    record.spec.name = {"train"};
    record.spec.argv = {"sleep", "600"};
    record.placement = {{{"one"}, 0, 1}};
    record.is_preparing = is_preparing;
    job = launcher::insert_job(context.store(), cluster.id, record);
    job.state = JobState::starting;
    context.store().update_job(job);
  }

  JobState recorded() { return context.store().find_job(job.id)->state; }

  fastgpu::test::TempDirectory directory;
  Cancel cancel;
  StringSink out;
  StringSink err;
  Ui ui;
  CountingContext context;
  state::Job job{};
};

TEST_SUITE_BEGIN("cli/cut_preparation");

TEST_CASE("a job whose fastgpu has ended before its order is lost, and no node is asked") {
  Preparation world(true);
  const auto seen = job_by_records(world.context, world.job);
  REQUIRE(seen);
  CHECK(seen->state == JobState::lost);
  CHECK(world.recorded() == JobState::lost);
  CHECK_FALSE(world.context.store().find_job(world.job.id)->record->is_preparing);
  CHECK(world.context.questions == 0);
  // A process that has outlived the owner sends no order then.
  const Error e = fastgpu::test::failure_of([&] { note_order(world.context, world.job); });
  CHECK(e.kind() == ErrorKind::interrupted);
}

TEST_CASE("a job whose fastgpu lives, and one whose order may have been sent, keep their slots") {
  Preparation owned(true);
  {
    const JobOwner owner(owned.directory.path(), owned.job.id);
    CHECK(without_cut_preparation(owned.context, owned.job).state == JobState::starting);
  }
  state::Job ordered = owned.job;
  note_order(owned.context, ordered);
  CHECK_FALSE(ordered.record->is_preparing);
  // It was read before the order was recorded.
  CHECK(without_cut_preparation(owned.context, owned.job).state == JobState::starting);
  CHECK(owned.recorded() == JobState::starting);

  Preparation older(false);
  CHECK(without_cut_preparation(older.context, older.job).state == JobState::starting);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
