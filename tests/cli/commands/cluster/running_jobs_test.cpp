#include "cli/commands/cluster/running_jobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/workflows/job_owner.hpp"
#include "fakes/hosts_context.hpp"
#include "launcher/job.hpp"
#include "launcher/job_store.hpp"
#include "state/directory.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::FakeReply;
using fastgpu::test::FakeSsh;
using state::JobState;

/// Hosts of which one answers for Slurm.
class LabContext final : public test::HostsContext {
 public:
  using HostsContext::HostsContext;

  std::string slurm_nodes{};  ///< The nodes that Slurm names for each of its jobs.

 protected:
  void answer(const FakeSsh::Seen& seen, FakeReply& reply) override {
    if (seen.command.find(" sh state ") != std::string::npos)
      reply.out = "scontrol\nJobId=7 JobState=RUNNING ExitCode=0:0 NodeList=" + slurm_nodes + "\n";
  }
};

/// A cluster of the hosts one, two and three, and its jobs.
class Lab {
 public:
  explicit Lab(const std::string& provider)
      : ui_(out_, err, {}, [] { return std::string(); }), context(ui_, cancel_) {
    context.set_state_directory(directory_.path());
    cluster = {.id = {"0a1b2c3d"},
               .name = {"lab"},
               .provider = provider,
               .state = state::ClusterState::running,
               .user = "root"};
    cluster.provider_spec = state::StaticSpec{.hosts = {{}, {}, {}}};
    if (provider == "local") cluster.provider_spec = state::LocalSpec{};
    context.store().insert_cluster(cluster);
    for (int i = 0; i < 3; ++i)
      context.store().put_node({.cluster = cluster.id,
                                .index = i,
                                .name = {std::vector{"one", "two", "three"}.at(std::size_t(i))},
                                .state = state::NodeState::running,
                                .address = "192.0.2." + std::to_string(i + 1),
                                .user = "root"});
    const auto key = state::identity_file(directory_.path(), cluster.id);
    std::filesystem::create_directories(key.parent_path());
    state::write_private_file(key, "a key");
  }

  /// Records a job with a rank on each of the hosts.
  state::Job add_job(const std::string& name, const std::vector<std::string>& hosts,
                     JobState how = JobState::running) {
    launcher::JobRecord record;
    record.spec.name = {name};
    record.spec.argv = {"sleep", "600"};
    record.spec.presence = launcher::Presence::detached;
    for (const std::string& host : hosts)
      record.placement.push_back({{host}, static_cast<int>(record.placement.size()), 1});
    state::Job job = launcher::insert_job(context.store(), cluster.id, record);
    job.state = how;
    context.store().update_job(job);
    return job;
  }

  /// Records a job in Slurm, submitted on the first host, that had `nodes` when it was last asked
  /// about.
  state::Job add_slurm_job(const std::string& name, const std::string& nodes) {
    state::Job job = add_job(name, {"one"});
    launcher::JobRecord record = *job.record;
    record.spec.engine = launcher::EngineKind::slurm;
    record.engine_job = {.id = "7", .nodes = nodes};
    job.record = record;
    context.store().update_job(job);
    return job;
  }

  /// Makes a job one that uses this environment.
  void enter(const state::Job& job, const std::string& name, const std::string& prefix) {
    state::Job entered = now(job);
    launcher::JobRecord record = *entered.record;
    record.spec.used_environment = {.name = name, .prefix = prefix};
    entered.record = record;
    context.store().update_job(entered);
  }

  /// Returns the jobs on the first hosts, before this index, that use an environment of the name.
  UnfinishedJobs using_before(int end, const std::string& name) {
    std::vector<state::Node> nodes = context.store().nodes(cluster.id);
    nodes.erase(nodes.begin() + end, nodes.end());
    return jobs_using(context, cluster, nodes,
                      [&](const state::UsedEnvironment& used) { return used.name == name; });
  }

  /// Returns the jobs that are named before the last hosts go, from this index on.
  UnfinishedJobs named_from(int first, JobSource source) {
    std::vector<state::Node> nodes = context.store().nodes(cluster.id);
    nodes.erase(nodes.begin(), nodes.begin() + first);
    return jobs_on(context, cluster, nodes, source);
  }

  /// Stops the jobs of the last hosts, from this index on.
  void stop_jobs_from(int first) {
    std::vector<state::Node> nodes = context.store().nodes(cluster.id);
    nodes.erase(nodes.begin(), nodes.begin() + first);
    stop_leaving_jobs(context, cluster, nodes, "its cluster was deleted");
  }

  bool was_asked(const std::string& host, const std::string& words) const {
    return std::ranges::any_of(context.asked, [&](const std::string& one) {
      return one.starts_with(host + ": ") && one.find(words) != std::string::npos;
    });
  }

  state::Job now(const state::Job& job) { return context.store().find_job(job.id).value(); }

 private:
  fastgpu::test::TempDirectory directory_;
  Cancel cancel_;
  StringSink out_;

 public:
  StringSink err;

 private:
  Ui ui_;

 public:
  LabContext context;
  state::Cluster cluster;
};

TEST_SUITE_BEGIN("cli/running_jobs");

TEST_CASE("the jobs of a host that leaves are stopped on all of their hosts, and others are not") {
  Lab lab("static");
  const state::Job both = lab.add_job("both", {"one", "two"});
  const state::Job other = lab.add_job("other", {"one", "three"});
  lab.stop_jobs_from(2);
  CHECK(lab.was_asked("one", "job-stop .fastgpu/jobs/other-1"));
  CHECK(lab.was_asked("three", "job-sweep other-1"));
  CHECK_FALSE(lab.was_asked("one", "both-1"));
  CHECK(lab.now(other).state == JobState::cancelled);
  CHECK(lab.now(other).reason == "its cluster was deleted");
  CHECK(lab.now(both).state == JobState::running);
  CHECK(lab.err.text.find("warning") == std::string::npos);
}

TEST_CASE("a host that does not answer is reported with what stays there, and the others go on") {
  Lab lab("static");
  const state::Job pair = lab.add_job("pair", {"one", "two"});
  const state::Job single = lab.add_job("single", {"one"});
  lab.context.silent_host = "two";
  lab.stop_jobs_from(0);
  CHECK(lab.was_asked("one", "job-stop .fastgpu/jobs/pair-1"));
  CHECK(lab.err.text.find("stopping job pair-1: two: connection timed out; its processes may "
                          "still run on two") != std::string::npos);
  CHECK(lab.now(pair).state == JobState::running);
  CHECK(lab.now(single).state == JobState::cancelled);
}

TEST_CASE("a job that waits is cancelled without asking its hosts") {
  Lab lab("static");
  const state::Job waits = lab.add_job("waits", {"one"}, JobState::queued);
  lab.stop_jobs_from(0);
  CHECK(lab.now(waits).state == JobState::cancelled);
  CHECK(lab.now(waits).reason == "its cluster was deleted before its turn");
  CHECK(lab.context.asked.empty());
}

TEST_CASE("a job in Slurm with ranks on a host that leaves is stopped where it was submitted") {
  Lab lab("static");
  const state::Job job = lab.add_slurm_job("train", "");
  SUBCASE("Slurm names the host") {
    lab.context.slurm_nodes = "two,three";
    CHECK(lab.named_from(2, JobSource::nodes).running.size() == 1);
    lab.stop_jobs_from(2);
    CHECK(lab.was_asked("one", " sh cancel "));
    CHECK(lab.now(job).state == JobState::cancelled);
    CHECK(lab.now(job).reason == "its cluster was deleted");
  }
  SUBCASE("Slurm names other hosts") {
    lab.context.slurm_nodes = "one";
    CHECK(lab.named_from(2, JobSource::nodes).empty());
    lab.stop_jobs_from(2);
    CHECK_FALSE(lab.was_asked("one", " sh cancel "));
    CHECK(lab.now(job).state == JobState::running);
  }
}

TEST_CASE("the record alone names a job in Slurm by the nodes that it had") {
  Lab lab("static");
  lab.add_slurm_job("old", "one,two");
  const state::Job other = lab.add_slurm_job("other", "three");
  const state::Job unknown = lab.add_slurm_job("unknown", "");
  CHECK(lab.named_from(2, JobSource::record).running == std::vector{other.id, unknown.id});
  CHECK(lab.context.asked.empty());
}

TEST_CASE("jobs on machines that go with their nodes are left to them") {
  Lab lab("local");
  const state::Job job = lab.add_job("goes", {"one"});
  lab.stop_jobs_from(0);
  CHECK(lab.context.asked.empty());
  CHECK(lab.now(job).state == JobState::running);
}

TEST_CASE("jobs that run on nodes are counted by themselves, and so are those that wait") {
  Lab lab("static");
  CHECK(jobs_text(lab.named_from(0, JobSource::record)).empty());
  lab.add_job("runs", {"one", "two"});
  const std::string runs = "1 job runs on it: runs-1";
  CHECK(jobs_text(lab.named_from(0, JobSource::record)) == runs);
  lab.add_job("first", {"one"}, JobState::queued);
  CHECK(jobs_text(lab.named_from(0, JobSource::record)) == runs + "; 1 job waits for it: first-1");
  lab.add_job("second", {"two"}, JobState::queued);
  CHECK(jobs_text(lab.named_from(0, JobSource::record)) ==
        runs + "; 2 jobs wait for it: first-1, second-1");
}

TEST_CASE("an environment is used by the unfinished jobs on these hosts that run in it") {
  Lab lab("static");
  lab.context.silent_host = "one";  // The record counts for a job whose host does not answer.
  const state::Job runs = lab.add_job("runs", {"one"});
  const state::Job second = lab.add_job("second", {"one", "three"});
  const state::Job over = lab.add_job("over", {"one"}, JobState::succeeded);
  const state::Job elsewhere = lab.add_job("elsewhere", {"three"});
  const state::Job other = lab.add_job("other", {"one"});
  lab.add_job("none", {"one"});
  for (const state::Job& job : {runs, second, over, elsewhere})
    lab.enter(job, "train", "/opt/fastgpu/envs");
  lab.enter(other, "infer", "/opt/fastgpu/envs");

  UnfinishedJobs jobs = lab.using_before(2, "train");

  CHECK(jobs.running == std::vector{runs.id, second.id});
  CHECK(jobs.queued.empty());
  const Error e = failure_of([&] { refuse_while_used(jobs, "environment 'train'"); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()) ==
        "2 jobs use environment 'train': runs-1, second-1; `fastgpu wait job runs-1` waits for the "
        "first, and `fastgpu cancel job runs-1 second-1` ends them");
  CHECK_NOTHROW(refuse_while_used({}, "environment 'train'"));
  const state::Job next = lab.add_job("next", {"one"}, JobState::queued);
  lab.enter(next, "train", "/opt/fastgpu/envs");
  const JobOwner waiting(lab.context.state_directory(), next.id);
  jobs = lab.using_before(2, "train");
  CHECK(jobs.queued == std::vector{next.id});
  jobs.running.pop_back();
  CHECK(
      std::string(failure_of([&] { refuse_while_used(jobs, "environment 'train'"); }).what()) ==
      "1 job uses environment 'train': runs-1; 1 job waits for environment 'train': next-1; "
      "`fastgpu wait job runs-1` waits for the first, and `fastgpu cancel job runs-1 next-1` ends "
      "them");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
