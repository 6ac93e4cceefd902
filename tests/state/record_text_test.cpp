#include "state/record_text.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <string>

#include "sample.hpp"
#include "state/store.hpp"
#include "support/failure.hpp"
#include "support/sample_cloud_spec.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;
using test::sample_cloud_spec;
using test::sample_cluster;
using test::TempDirectory;

Guards guards() {
  return {.max_life = 8h,
          .max_cost = Money{99.5, kUsd},
          .unattended = 2h,
          .idle_stop = 30min,
          .idle_delete = 168h};
}

Cluster cluster_in(const std::string& provider) {
  return {.id = {"0badcafe"}, .name = {"demo"}, .provider = provider};
}

Cluster read(const std::string& provider, const ClusterText& text) {
  Cluster cluster = cluster_in(provider);
  read_record_text(cluster, text);
  return cluster;
}

/// Returns the cluster as the next run reads it.
Cluster reread(const Cluster& cluster) {
  return read(cluster.provider, record_text_of(cluster));
}

Cluster sample_in_cloud() {
  Cluster cluster = cluster_in("aws");
  cluster.provider_spec = sample_cloud_spec();
  cluster.guards = guards();
  return cluster;
}

/// The text of a cluster in a cloud that fastgpu 0.1 wrote, with a field of a newer fastgpu.
const std::string kOldSpec =
    R"({"disk_gib":100,"from_tomorrow":{"x":[1]},"guards":{"max_cost":50,"max_life_seconds":28800},)"
    R"("image":"","key_pairs":["mine"],)"
    R"("places":[{"currency":"CNY","price_per_hour":30.5,"region":"r","type":"t","zone":"z"}],)"
    R"("rdma":false,"region":"","ssh_from":["203.0.113.0/24","banana"],"ssh_keys":[],"vpc":"",)"
    R"("wish":{"gpu":"V100","gpu_memory_gib":0,"gpus":1,"max_price":31,"nodes":2,"spot":true,)"
    R"("type":"","zone":""}})";

TEST_SUITE_BEGIN("state/record_text");

TEST_CASE("a request to a cloud and its guards are read as they were written") {
  const Cluster there = reread(sample_in_cloud());
  CHECK(record_text_of(there).spec == record_text_of(sample_in_cloud()).spec);
  CHECK(*there.guards == guards());
  const CloudSpec& spec = there.cloud();
  CHECK(spec.request.max_price == Money{20.5, kUsd});
  CHECK(spec.request.data_disk == DataDisk{500, "gp3"});
  CHECK(spec.mounts == sample_cloud_spec().mounts);
  CHECK(spec.public_address == PublicAddress::all);
  REQUIRE(spec.places.size() == 2);
  CHECK(spec.places[0].price_per_hour->currency == kUsd);
  CHECK(!spec.places[1].price_per_hour);
  Cluster other = sample_in_cloud();
  other.provider_spec = CloudSpec{.public_address = PublicAddress::head};
  CHECK(reread(other).cloud().public_address == PublicAddress::head);
  CHECK_THROWS_AS(parse_public_address("some"), Error);
}

TEST_CASE("a cluster is at its first place until another one is on record") {
  Cluster cluster = sample_in_cloud();
  CHECK(record_text_of(cluster).network.empty());
  CHECK(reread(cluster).placement().place == 0);
  cluster.network = CloudPlacement{.place = 2, .image = "ami", .parts = {{"vpc", "v"}}};
  CHECK(reread(cluster).placement().place == 2);
  CHECK(reread(cluster).placement().parts.at("vpc") == "v");
}

TEST_CASE("hosts, and the rate of links, are read as they were written") {
  Cluster cluster = cluster_in("static");
  cluster.provider_spec = StaticSpec{
      {{.address = "10.0.0.1",
        .port = 2222,
        .user = "ada",
        .slots = 8,
        .host_keys = {"ssh-ed25519 AAAA"},
        .jumps = {{"gate", 22, "bob", "", {"ssh-ed25519 BBBB"}}},
        .inner = "10.1.0.1",
        .openssh = OpenSshUse{.name = "one", .config = "/c", .proxy = "", .always = true}},
       {.address = "10.0.0.2"}}};
  const Cluster there = reread(cluster);
  REQUIRE(there.hosts().size() == 2);
  CHECK(there.hosts()[0].jumps.at(0).host_keys == std::vector<std::string>{"ssh-ed25519 BBBB"});
  CHECK(there.hosts()[0].slots == 8);
  CHECK(there.hosts()[0].inner == "10.1.0.1");
  CHECK(there.hosts()[0].openssh->always);
  CHECK_FALSE(there.hosts()[1].slots);
  for (const char* none : {"", "{}", R"({"link_rate_bits":null})"})
    CHECK_FALSE(read("local", {.spec = none}).local().link_rate);
  const Cluster local =
      read("local", {.spec = R"({"link_rate_bits":1000})", .network = "10.0.0.0/8"});
  CHECK(local.local().link_rate == BitRate{1000});
  CHECK(std::get<HostNetwork>(*local.network).range == "10.0.0.0/8");
}

TEST_CASE("an older record is read: amounts without a currency, and ranges that are none") {
  const Cluster cluster = read("alibaba", {.spec = kOldSpec});
  CHECK(cluster.guards->max_cost == Money{50, kCny});
  CHECK(cluster.guards->max_life == 8h);
  CHECK(cluster.cloud().request.max_price == Money{31, kCny});
  CHECK(cluster.cloud().ssh_from == std::vector{IpRange::parse("203.0.113.0/24")});
  CHECK(cluster.cloud().public_address == PublicAddress::all);
  CHECK(read("local", {.spec = R"({"guards":{"max_cost":50}})"}).guards->max_cost ==
        Money{50, kUsd});
}

TEST_CASE("what is unchanged keeps its text, and what a newer fastgpu wrote stays in any case") {
  Cluster cluster = read("alibaba", {.spec = kOldSpec});
  CHECK(record_text_of(cluster).spec == kOldSpec);
  cluster.guards = Guards{.idle_stop = 1h};
  std::string text = record_text_of(cluster).spec;
  CHECK(text.find(R"("guards":{"idle_stop_seconds":3600})") != text.npos);
  CHECK(text.find("banana") != text.npos);
  CHECK(text.find("from_tomorrow") != text.npos);
  cluster.guards = Guards{};
  cluster.provider_spec = sample_cloud_spec();
  text = record_text_of(cluster).spec;
  CHECK(text.find("guards") == text.npos);
  CHECK(text.find("banana") == text.npos);
  CHECK(text.find("from_tomorrow") != text.npos);
}

TEST_CASE("a damaged part is an error of that cluster wherever it is used, and stays as it is") {
  for (const char* text :
       {"{", "[]", "{}", R"({"place": -1})", R"({"place": "x", "image": "", "parts": {}})"}) {
    CAPTURE(text);
    const Cluster cluster = read("aws", {.spec = text, .network = text});
    const Error spec = failure_of([&] { static_cast<void>(cluster.cloud()); });
    CHECK(spec.kind() == ErrorKind::local);
    CHECK(mentions(spec, "cluster 'demo': the cluster's wish on record is broken: "));
    const Error place = failure_of([&] { static_cast<void>(cluster.placement()); });
    CHECK(place.kind() == ErrorKind::local);
    CHECK(mentions(place, "cluster 'demo': the cluster's place on record is broken: "));
    CHECK(record_text_of(cluster).spec == text);
    CHECK(record_text_of(cluster).network == text);
  }
  for (const char* text : {"", "{}", "[]", R"({"hosts":[{}]})"}) {
    const Cluster cluster = read("static", {.spec = text});
    const Error e = failure_of([&] { static_cast<void>(cluster.hosts()); });
    CHECK(e.kind() == ErrorKind::local);
    CHECK(mentions(e, "cluster 'demo': "));
  }
  for (const char* text : {"[]", "{", R"({"link_rate_bits": 0})", R"({"link_rate_bits": -1})",
                           R"({"link_rate_bits": "fast"})"}) {
    const Cluster cluster = read("local", {.spec = text});
    CHECK(failure_of([&] { static_cast<void>(cluster.local()); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE(
    "the scheduler of a cluster is on record beside its guards, and absent in older records") {
  CHECK(*read("local", {.spec = "{}"}).scheduler == Scheduler::none);
  CHECK(*read("local", {.spec = ""}).scheduler == Scheduler::none);
  Cluster cluster =
      read("local", {.spec = R"({"from_tomorrow":1,"guards":{"idle_stop_seconds":3600}})"});
  cluster.scheduler = Scheduler::slurm;
  const std::string text = record_text_of(cluster).spec;
  CHECK(text == R"({"from_tomorrow":1,"guards":{"idle_stop_seconds":3600},"scheduler":"slurm"})");
  CHECK(*reread(cluster).scheduler == Scheduler::slurm);
  CHECK(reread(cluster).guards->idle_stop == 1h);
  cluster.scheduler = Scheduler::none;
  CHECK(record_text_of(cluster).spec.find("scheduler") == std::string::npos);
  const Cluster unknown = read("local", {.spec = R"({"scheduler":"pbs"})"});
  CHECK(failure_of([&] { static_cast<void>(*unknown.scheduler); }).kind() == ErrorKind::local);
  CHECK(failure_of([&] {
          static_cast<void>(*read("local", {.spec = R"({"scheduler":7})"}).scheduler);
        }).kind() == ErrorKind::local);
}

TEST_CASE("damaged guards are an error of their own, and none are written into a broken record") {
  const Cluster cluster = read("local", {.spec = R"({"guards":{"max_cost":"x"}})"});
  const Error e = failure_of([&] { static_cast<void>(*cluster.guards); });
  CHECK(e.kind() == ErrorKind::local);
  CHECK(mentions(e, "cluster 'demo': the cluster's guards on record are broken: "));
  CHECK_FALSE(cluster.local().link_rate);
  Cluster broken = read("local", {.spec = "[]"});
  broken.guards = guards();
  CHECK(failure_of([&] { record_text_of(broken); }).kind() == ErrorKind::local);
}

TEST_CASE("a mount on record that no user could have requested is refused") {
  std::string text = record_text_of(sample_in_cloud()).spec;
  const std::string good = "10.0.0.4:/models=/models";
  text.replace(text.find(good), good.size(), "10.0.0.4:/models=/etc");
  const Cluster cluster = read("aws", {.spec = text});
  CHECK(failure_of([&] { static_cast<void>(cluster.cloud()); }).kind() == ErrorKind::local);
}

TEST_CASE("a part of another kind of provider is a bug") {
  CHECK(failure_of([] { static_cast<void>(cluster_in("aws").cloud()); }).kind() ==
        ErrorKind::internal);
}

TEST_CASE("rows of an older fastgpu are read with their types, and updated without losses") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open((temp.path() / "state.db").c_str(), &connection) == SQLITE_OK);
  const std::string change = "UPDATE clusters SET provider='alibaba', spec='" + kOldSpec +
                             "', network='{\"image\":\"m\",\"parts\":{\"vpc\":\"v\"},\"place\":0}'";
  CHECK(sqlite3_exec(connection, change.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
  Store store(temp.path());
  Cluster cluster = *store.find_cluster(ClusterName{"demo"});
  CHECK(cluster.cloud().places.at(0).type == "t");
  CHECK(cluster.placement().image == "m");
  cluster.state = ClusterState::running;
  store.update_cluster(cluster);
  CHECK(record_text_of(*store.find_cluster(ClusterName{"demo"})).spec == kOldSpec);
}

JobRecord job_record() {
  return {.spec = {.name = {"train"},
                   .argv = {"python", "a b", "\xff"},
                   .environment = {"TOKEN=secret"},
                   .directory = "work",
                   .timeout = 90s,
                   .presence = Presence::detached},
          .placement = {{{"demo-0"}, 0, 2}, {{"demo-1"}, 2, 1}}};
}

Job read_job(const std::string& text) {
  Job job{.id = "train-1"};
  read_record_text(job, text);
  return job;
}

TEST_CASE("a job is read as it was written, without the values of variables") {
  const std::string text = record_text_of(job_record());
  CHECK(text.find("secret") == text.npos);
  const Job job = read_job(text);
  CHECK(job.record->variables == std::vector<std::string>{"TOKEN"});
  CHECK(job.record->spec.environment.empty());
  CHECK(job.record->spec.name.value == "train");
  CHECK(job.record->spec.argv[1] == "a b");
  CHECK(job.record->spec.timeout == 90s);
  CHECK(job.record->spec.presence == Presence::detached);
  REQUIRE(job.record->placement.size() == 2);
  CHECK(job.record->placement[1].node.value == "demo-1");
  CHECK(job.record->placement[1].first == 2);
  CHECK(record_text_of(*job.record) == text);
}

TEST_CASE("the place in an array, the restarts and the cause of an end are read as written") {
  JobRecord record = job_record();
  record.spec.array = ArrayElement{
      .index = 7, .count = 20, .variables = {"FASTGPU_PARAMETERS=0.1"}, .is_due = true};
  record.spec.retries = 3;
  record.spec.retry_on = {JobEndCause::node_loss, JobEndCause::hang};
  record.spec.hang_timeout = 10min;
  record.spec.checkpoints = "saved";
  record.spec.leftovers = Leftovers::kept;
  record.restarts = 2;
  record.cause = JobEndCause::preempted;
  record.outputs = Outputs::incomplete;
  record.bundle_awaited = true;
  record.is_preparing = true;
  record.not_done = {"the command of --notify exited with 4"};
  const std::string text = record_text_of(record);
  const Job job = read_job(text);
  REQUIRE(job.record->spec.array);
  CHECK(job.record->spec.array->index == 7);
  CHECK(job.record->spec.array->variables.at(0) == "FASTGPU_PARAMETERS=0.1");
  CHECK(job.record->spec.array->is_due);
  CHECK(job.record->spec.retry_on.at(1) == JobEndCause::hang);
  CHECK(job.record->spec.hang_timeout == 10min);
  CHECK(job.record->spec.leftovers == Leftovers::kept);
  CHECK(job.record->restarts == 2);
  CHECK(job.record->cause == JobEndCause::preempted);
  CHECK(job.record->outputs == Outputs::incomplete);
  CHECK(job.record->bundle_awaited);
  CHECK(job.record->is_preparing);
  CHECK(job.record->not_done.size() == 1);
  CHECK(record_text_of(*job.record) == text);
}

TEST_CASE("a job whose record is damaged is listed, and its record stays as it is") {
  for (const std::string text :
       {"", "{}", "[1]", R"({"schema":"fastgpu.job/9"})", R"({"schema":"fastgpu.job/1","name":3})",
        R"({"schema":"fastgpu.job/1","name":"x","command":[],
                                     "directory":"","sync":"","timeout_ms":0,"detached":false,
                                     "nodes":[{"name":"a","first":0,"ranks":1}],
                                     "retries":"many"})"}) {
    CAPTURE(text);
    const Job job = read_job(text);
    const Error e = failure_of([&] { static_cast<void>(*job.record); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "job 'train-1': "));
    CHECK(record_text_of(job) == text);
  }
}

TEST_CASE("a job's end is recorded without a change of the text of its request") {
  const TempDirectory temp;
  Store store(temp.path());
  Job job{.cluster = {"0badcafe"}, .record = job_record()};
  store.insert_job(job, {"train"});
  Job found = *store.find_job("train-1");
  found.state = JobState::failed;
  store.update_job(found);
  CHECK(record_text_of(*store.find_job("train-1")) == record_text_of(job_record()));
}

TEST_CASE("details of intents are read as they were written") {
  const TempDirectory temp;
  Store store(temp.path());
  const auto written = [&](std::string_view action, const IntentDetail& detail) {
    store.open_intent({.cluster = {"0badcafe"}, .action = std::string(action), .detail = detail});
    return *store.open_intents().back().detail;
  };
  CHECK(std::get<CloudPlacement>(written(kTryPlace, CloudPlacement{.place = 3})).place == 3);
  CHECK(std::get<NodeIndex>(written(kLateMachine, NodeIndex{7})).value == 7);
  const auto order =
      std::get<ImageOrder>(written(kBakeImage, ImageOrder{.name = "n", .was_asked = true}));
  CHECK(order.name == "n");
  CHECK(order.was_asked);
  CHECK(std::holds_alternative<std::monostate>(written("create-node", {})));
  Intent again = store.open_intents()[0];
  again.token = "t";
  store.open_intent(again);
  CHECK(std::get<CloudPlacement>(*store.open_intents().back().detail).place == 3);
}

TEST_CASE("the request that lists show is the same from the text of a record and from the record") {
  const auto check_same = [](const JobRecord& record) {
    const auto listed = listed_request(record_text_of(record));
    REQUIRE(listed);
    const ListedRequest whole = listed_request(record);
    CHECK(listed->argv == whole.argv);
    CHECK(listed->engine == whole.engine);
    CHECK(listed->priority == whole.priority);
    CHECK(listed->ranks == whole.ranks);
    CHECK(listed->nodes == whole.nodes);
    CHECK(listed->engine_nodes == whole.engine_nodes);
  };
  JobRecord record{.spec = {.name = {"train"}, .argv = {"sh", "-c", "echo \"{[\" \\ \n'\xc3\xa9'"}},
                   .placement = {{{"demo-0"}, 0, 2}, {{"demo-1"}, 2, 2}}};
  check_same(record);
  record.placement[0].cpus = {"0-3", "4-7"};
  record.placement[0].gpus = {0, 3};
  record.placement[1].workers = 8;
  record.spec.priority = -2;
  check_same(record);
  record.spec.engine = EngineKind::slurm;
  record.engine_job = {.id = "7", .nodes = "node[1-2]"};
  check_same(record);
}

TEST_CASE("the jobs that hold what a waiting job needs are on record") {
  JobRecord record{.spec = {.name = {"train"}, .argv = {"x"}}, .placement = {{{"demo-0"}, 0, 1}}};
  record.part_holders = {"a-1", "b-2"};
  record.part_ends = EndsNeeded::one;
  Job job{.id = "train-1", .cluster = {"0badcafe"}, .reason = ""};
  read_record_text(job, record_text_of(record));
  CHECK(job.record->part_holders == record.part_holders);
  CHECK(job.record->part_ends == record.part_ends);
}

TEST_CASE("the nodes among which a waiting job is placed are on record") {
  JobRecord record{.spec = {.name = {"train"}, .argv = {"x"}}, .placement = {{{"demo-0"}, 0, 1}}};
  Job job{.id = "train-1", .cluster = {"0badcafe"}, .reason = ""};
  read_record_text(job, record_text_of(record));
  CHECK(!job.record->choice);
  record.choice = PlaceChoice{.nodes = {{{"demo-0"}, 4}, {{"demo-1"}, 2}}, .per_node = 2};
  read_record_text(job, record_text_of(record));
  REQUIRE(job.record->choice);
  CHECK(job.record->choice->per_node == 2);
  REQUIRE(job.record->choice->nodes.size() == 2);
  CHECK(job.record->choice->nodes[1].name == NodeName{"demo-1"});
  CHECK(job.record->choice->nodes[1].slots == 2);
}

TEST_CASE("the record of a job that ended badly is read, and that of another need not be") {
  const auto read_back = [](const JobRecord& record) {
    Job job{.id = "train-1", .cluster = {"0badcafe"}, .reason = ""};
    read_record_text(job, record_text_of(record));
    return job;
  };
  JobRecord record{.spec = {.name = {"train"}, .argv = {"cause", "failure"}},
                   .placement = {{{"demo-0"}, 0, 1}}};
  CHECK_FALSE(may_have_bad_end(read_back(record)));
  record.lost_nodes = {{"demo-0"}};
  CHECK(may_have_bad_end(read_back(record)));
  record.lost_nodes.clear();
  record.cause = JobEndCause::timeout;
  CHECK(may_have_bad_end(read_back(record)));
  Job fresh{.id = "train-1", .cluster = {"0badcafe"}, .reason = ""};
  fresh.record = record;
  CHECK(may_have_bad_end(fresh));
}

TEST_CASE("a record that cannot be read has no request for lists") {
  const JobRecord record{.spec = {.name = {"train"}, .argv = {"true"}},
                         .placement = {{{"demo-0"}, 0, 1}}};
  const std::string whole = record_text_of(record);
  REQUIRE(listed_request(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(listed_request(whole.substr(0, size)));
  CHECK_FALSE(listed_request(R"({"schema":"fastgpu.job/2","nodes":[{"name":"a","ranks":1}]})"));
  CHECK_FALSE(listed_request(R"({"schema":"fastgpu.job/1","nodes":[]})"));
  CHECK_FALSE(listed_request(
      R"({"schema":"fastgpu.job/1","engine":"tomorrow","nodes":[{"name":"a","ranks":1}]})"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
