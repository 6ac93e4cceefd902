#include "state/store.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "sample.hpp"
#include "state/words.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

using test::failure_of;
using test::sample_cluster;
using test::sample_intent;
using test::sample_node;
using test::TempDirectory;

int mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return static_cast<int>(status.st_mode & 0777);
}

TEST_SUITE_BEGIN("state/store");

TEST_CASE("a new store is empty, and nobody else may look into it") {
  const TempDirectory temp;
  const auto place = temp.path() / "a" / "b";
  const Store store(place);
  CHECK(store.clusters().empty());
  CHECK(store.jobs().empty());
  CHECK(store.open_intents().empty());
  CHECK(store.writable());
  CHECK(mode_of(place) == 0700);
  CHECK(mode_of(place / "state.db") == 0600);
}

TEST_CASE("clusters whose nodes would have the same host names are not beside each other") {
  const TempDirectory temp;
  Store store(temp.path());
  store.insert_cluster(sample_cluster("Lab.gpu", "1"));
  for (const char* name : {"lab.gpu", "lab-gpu", "LAB.GPU", "Lab.gpu"}) {
    CAPTURE(name);
    CHECK(failure_of([&] { store.insert_cluster(sample_cluster(name, "2")); }).kind() ==
          ErrorKind::conflict);
  }
  store.insert_cluster(sample_cluster("lab.gpu1", "2"));
  CHECK(failure_of([&] { store.update_cluster(sample_cluster("lab-GPU", "2")); }).kind() ==
        ErrorKind::conflict);
  store.update_cluster(sample_cluster("lab-gpu", "1"));
  CHECK(store.find_cluster(ClusterName{"lab-gpu"}));
}

TEST_CASE("a cluster is remembered with all its fields by the next run") {
  const TempDirectory temp;
  const Cluster cluster = sample_cluster();
  Store(temp.path()).insert_cluster(cluster);
  const Store store(temp.path());
  const auto found = store.find_cluster(ClusterName{"demo"});
  REQUIRE(found);
  CHECK(found->id == cluster.id);
  CHECK(found->provider == "local");
  CHECK(found->state == ClusterState::creating);
  CHECK(found->slots == 4);
  CHECK(found->user == "root");
  CHECK(found->local().link_rate == cluster.local().link_rate);
  CHECK(std::get<HostNetwork>(*found->network).range == "10.7.0.0/24");
  CHECK(found->created == cluster.created);
  CHECK(store.find_cluster(ClusterId{"0badcafe"})->name.value == "demo");
  CHECK_FALSE(store.find_cluster(ClusterName{"dem"}));
}

TEST_CASE("a name or an identity that is taken is a conflict") {
  const TempDirectory temp;
  Store store(temp.path());
  store.insert_cluster(sample_cluster("one", "11111111"));
  store.insert_cluster(sample_cluster("two", "22222222"));
  CHECK(failure_of([&] { store.insert_cluster(sample_cluster("one", "33333333")); }).kind() ==
        ErrorKind::conflict);
  CHECK(failure_of([&] { store.insert_cluster(sample_cluster("three", "11111111")); }).kind() ==
        ErrorKind::conflict);
  const Error e = failure_of([&] { store.update_cluster(sample_cluster("two", "11111111")); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(store.clusters().size() == 2);
  CHECK(store.clusters()[0].name.value == "one");
}

TEST_CASE("updating a cluster that is gone is not found") {
  const TempDirectory temp;
  Store store(temp.path());
  CHECK(failure_of([&] { store.update_cluster(sample_cluster()); }).kind() == ErrorKind::not_found);
}

TEST_CASE("a node is remembered with all its fields and replaced by its index") {
  const TempDirectory temp;
  Store store(temp.path());
  store.insert_cluster(sample_cluster());
  store.put_node(sample_node(1));
  store.put_node(sample_node(0));
  Node changed = sample_node(1);
  changed.state = NodeState::lost;
  store.put_node(changed);
  const std::vector<Node> nodes = store.nodes({"0badcafe"});
  REQUIRE(nodes.size() == 2);
  const Node& node = nodes[1];
  CHECK(nodes[0].index == 0);
  CHECK(node.state == NodeState::lost);
  CHECK(node.name.value == "demo-1");
  CHECK(node.token == "token-1");
  CHECK(node.instance_id == "i-1");
  CHECK(node.address == "fd00::1");
  CHECK(node.port == 2222);
  CHECK(node.private_address == "10.7.0.2");
  CHECK(node.user == "ada");
  CHECK(node.slots == 3);
  CHECK(node.identity_file == "/home/ada/key");
  CHECK(node.host_keys == changed.host_keys);
  REQUIRE(node.jumps.size() == 1);
  CHECK(node.jumps[0].address == "gate.example");
  CHECK(node.jumps[0].port == 2200);
  CHECK(node.jumps[0].user == "eve");
  CHECK(node.jumps[0].host_keys == changed.jumps[0].host_keys);
}

TEST_CASE("a node of a cluster that is gone is not found, and nodes go with their cluster") {
  const TempDirectory temp;
  Store store(temp.path());
  CHECK(failure_of([&] { store.put_node(sample_node(0)); }).kind() == ErrorKind::not_found);
  store.insert_cluster(sample_cluster());
  store.put_node(sample_node(0));
  store.erase_cluster({"0badcafe"});
  CHECK(store.nodes({"0badcafe"}).empty());
  store.erase_cluster({"0badcafe"});
}

TEST_CASE("jobs are numbered by name, and a number is never used again") {
  const TempDirectory temp;
  Store store(temp.path());
  Job first{.id = "", .cluster = {"0badcafe"}, .reason = ""};
  Job second = first;
  Job other = first;
  store.insert_job(first, {"train"});
  store.insert_job(second, {"train"});
  store.insert_job(other, {"eval"});
  CHECK(first.id == "train-1");
  CHECK(second.id == "train-2");
  CHECK(other.id == "eval-1");
  CHECK(store.jobs().front().id == "eval-1");
}

TEST_CASE("a job that is erased is gone, and its number is not given again") {
  const TempDirectory temp;
  Store store(temp.path());
  Job first{.id = "", .cluster = {"0badcafe"}, .reason = ""};
  Job second = first;
  store.insert_job(first, {"train"});
  store.erase_job(first.id);
  CHECK_FALSE(store.find_job(first.id).has_value());
  CHECK(store.jobs().empty());
  store.insert_job(second, {"train"});
  CHECK(second.id == "train-2");
  store.erase_job("nothing-1");
}

TEST_CASE("the jobs of a cluster that have not ended are found without the others") {
  const TempDirectory temp;
  Store store(temp.path());
  for (const JobState state :
       {JobState::queued, JobState::starting, JobState::running, JobState::succeeded,
        JobState::failed, JobState::cancelled, JobState::lost})
    for (const char* cluster : {"0badcafe", "11111111"}) {
      Job job{.id = "", .cluster = {cluster}, .state = state, .reason = ""};
      store.insert_job(job, {std::string(to_string(state))});
    }
  std::vector<std::string> ids;
  for (const Job& job : store.open_jobs({"0badcafe"}))
    ids.push_back(job.id);
  CHECK(ids == std::vector<std::string>{"running-1", "starting-1", "queued-1"});
}

TEST_CASE("a job is found by its id, and the jobs of an array by that of the array") {
  const TempDirectory temp;
  Store store(temp.path());
  for (const char* id : {"train-1", "train-2.1", "train-2.10", "train-20.1", "train-3"})
    store.insert_job_as({.id = id, .cluster = {"0badcafe"}, .reason = ""});
  const auto ids_of = [&](const std::string& id) {
    std::vector<std::string> ids;
    for (const Job& job : store.jobs_of(id))
      ids.push_back(job.id);
    return ids;
  };
  CHECK(ids_of("train-1") == std::vector<std::string>{"train-1"});
  CHECK(ids_of("train-2") == std::vector<std::string>{"train-2.10", "train-2.1"});
  CHECK(ids_of("train-2.1") == std::vector<std::string>{"train-2.1"});
  CHECK(ids_of("train-4").empty());
}

TEST_CASE("a job's end is remembered, and an unknown job cannot end") {
  const TempDirectory temp;
  Store store(temp.path());
  Job job{.id = "", .cluster = {"0badcafe"}, .reason = ""};
  store.insert_job(job, {"train"});
  CHECK_FALSE(store.find_job("train-1")->exit_code);
  CHECK_FALSE(store.find_job("train-1")->ended);
  job.state = JobState::failed;
  job.exit_code = 137;
  job.reason = "rank 3 was killed";
  job.ended = TimePoint(std::chrono::milliseconds(42));
  store.update_job(job);
  const auto found = store.find_job("train-1");
  REQUIRE(found);
  CHECK(found->state == JobState::failed);
  CHECK(found->exit_code == 137);
  CHECK(found->reason == job.reason);
  CHECK(found->ended == job.ended);
  job.id = "train-9";
  CHECK(failure_of([&] { store.update_job(job); }).kind() == ErrorKind::not_found);
  CHECK_FALSE(store.find_job("train-9"));
}

TEST_CASE(
    "jobs are listed without their records, the newest first, or those of one cluster alone") {
  const TempDirectory temp;
  Store store(temp.path());
  Job job{.id = "", .cluster = {"0badcafe"}, .reason = "why"};
  job.record =
      JobRecord{.spec = {.name = {"train"}, .argv = {"true"}}, .placement = {{{"demo-0"}, 0, 2}}};
  job.exit_code = 3;
  job.ended = TimePoint(std::chrono::milliseconds(42));
  store.insert_job(job, {"train"});
  Job other{.id = "", .cluster = {"another"}, .reason = ""};
  store.insert_job(other, {"train"});
  const auto listed = [&](JobLineParts parts, const std::optional<ClusterId>& cluster) {
    std::vector<JobLine> lines;
    store.for_each_job_line(parts, cluster, [&](JobLine&& line) { lines.push_back(line); });
    return lines;
  };

  const auto all = listed(JobLineParts::row, std::nullopt);
  REQUIRE(all.size() == 2);
  CHECK(all[0].id == "train-2");
  CHECK_FALSE(all[0].ended);
  CHECK(all[1].exit_code == 3);
  CHECK(all[1].reason == "why");
  CHECK(all[1].ended == job.ended);
  CHECK_FALSE(all[1].request);
  const auto one = listed(JobLineParts::row_and_request, job.cluster);
  REQUIRE(one.size() == 1);
  REQUIRE(one[0].request);
  CHECK(one[0].request->ranks == 2);
}

TEST_CASE("intents are listed oldest first until they are closed") {
  const TempDirectory temp;
  Store store(temp.path());
  const IntentId a = store.open_intent(sample_intent("demo-0"));
  store.open_intent(sample_intent("demo-1"));
  REQUIRE(store.open_intents().size() == 2);
  CHECK(store.open_intents()[0].subject == "demo-0");
  CHECK(store.open_intents()[0].opened > TimePoint{});
  store.close_intent(a);
  store.close_intent(a);
  CHECK(store.open_intents(ClusterId{"0badcafe"}).size() == 1);
  CHECK(store.open_intents(ClusterId{"other"}).empty());
}

TEST_CASE("a transaction that throws leaves nothing, also where it is nested") {
  const TempDirectory temp;
  Store store(temp.path());
  const auto half = [&] {
    store.atomically([&] {
      store.insert_cluster(sample_cluster());
      store.atomically([&] { store.put_node(sample_node(0)); });
      store.put_node(sample_node(0, "nowhere0"));
    });
  };
  CHECK(failure_of(half).kind() == ErrorKind::not_found);
  CHECK(store.clusters().empty());
  store.insert_cluster(sample_cluster());
  CHECK(store.clusters().size() == 1);
}

TEST_CASE("text of any bytes comes back unchanged") {
  const TempDirectory temp;
  Store store(temp.path());
  Cluster cluster = sample_cluster();
  using namespace std::string_literals;
  cluster.user = "a\0b'\"; DROP TABLE clusters; \xff ä"s;
  store.insert_cluster(cluster);
  CHECK(store.find_cluster(cluster.id)->user == cluster.user);
}

TEST_CASE("a job of another machine keeps its id, which no job here gets later") {
  const TempDirectory temp;
  Store store(temp.path());
  Job foreign{.id = "train-7", .cluster = {"0badcafe"}, .reason = ""};
  store.insert_foreign_job(foreign, {"train"}, 7);
  CHECK(store.find_job("train-7"));
  Job own{.id = "", .cluster = {"0badcafe"}, .reason = ""};
  store.insert_job(own, {"train"});
  CHECK(own.id == "train-8");
  foreign.id = "train-2";
  store.insert_foreign_job(foreign, {"train"}, 2);
  store.insert_job(own, {"train"});
  CHECK(own.id == "train-9");
}

TEST_CASE("numbers that are skipped are given to no job") {
  test::TempDirectory directory;
  Store store(directory.path());
  Job job{.id = "", .cluster = {"0badcafe"}, .reason = ""};
  store.insert_job(job, {"train"});
  store.skip_job_numbers({"train"}, 3);
  store.skip_job_numbers({"other"}, 3);  // No job has had this name.
  store.insert_job(job, {"train"});
  CHECK(job.id == "train-5");
  store.insert_job(job, {"other"});
  CHECK(job.id == "other-1");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
