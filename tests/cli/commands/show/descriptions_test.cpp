#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/show/job_description.hpp"

#include <doctest/doctest.h>

#include "cli/commands/shared/machine.hpp"
#include "cli/ui/description.hpp"
#include "launcher/job.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "state/record_text.hpp"
#include "support/cli_session.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;

const auto kNow = std::chrono::system_clock::from_time_t(1'772'370'000);  // 2026-03-01T13:00:00Z

ClusterAndNodes local_cluster() {
  ClusterAndNodes shown;
  shown.cluster = {.id = {"0a1b2c3d"},
                   .name = {"demo"},
                   .provider = "local",
                   .state = state::ClusterState::running,
                   .user = "root",
                   .provider_spec = state::LocalSpec{.link_rate = BitRate{1'000'000'000}},
                   .network = state::HostNetwork{"10.64.1.0/24"},
                   .created = kNow - 1h};
  for (int i = 0; i < 2; ++i)
    shown.nodes.push_back({.cluster = shown.cluster.id,
                           .index = i,
                           .name = {"demo-" + std::to_string(i)},
                           .state = state::NodeState::running,
                           .instance_id = "0a1b2c3d/" + std::to_string(i),
                           .address = "10.64.1.1" + std::to_string(i),
                           .private_address = "10.64.1.1" + std::to_string(i),
                           .user = "root",
                           .host_keys = {"ssh-ed25519 AAAA"}});
  shown.status.price = Money{0, kUsd};
  return shown;
}

ClusterAndNodes cloud_cluster() {
  using namespace provision::cloud;
  ClusterAndNodes shown = local_cluster();
  shown.cluster.provider = "aws";
  CloudSpec spec{.request = {.market = Market::spot, .data_disk = {.gib = 100, .type = "gp3"}},
                 .disk_gib = 60,
                 .ssh_from = {IpRange::parse("203.0.113.7/32")},
                 .public_address = PublicAddress::head,
                 .mounts = {{"10.0.0.4:/models", "/models"}},
                 .places = {{.site = {"us-east-1", "us-east-1a"},
                             .type = "p4d.24xlarge",
                             .price_per_hour = Money{32.7726, kUsd},
                             .gpus = "8xA100-40G"}}};
  shown.cluster.provider_spec = spec;
  shown.cluster.network = provision::cloud::CloudPlacement{
      .image = "ami-1", .parts = {{"vpc", "vpc-1"}, {"security-group", "sg-1"}}};
  shown.nodes[1].private_address = "10.77.0.5";
  shown.nodes[1].port = 2222;
  shown.status.price = Money{32.7726, kUsd};
  shown.status.spending = {.so_far = Money{65.5, kUsd}, .per_hour = Money{65.5452, kUsd}};
  shown.status.runs = {{.index = 0, .began = kNow - 2h},
                       {.index = 1, .began = kNow - 1h, .ended = kNow - 30min}};
  return shown;
}

std::string text_of(const Json& description) {
  return print_description(description, {}).str();
}

TEST_SUITE_BEGIN("cli/descriptions");

TEST_CASE("a local cluster is described by what it has, and nothing that it has not is shown") {
  ClusterAndNodes shown = local_cluster();
  shown.status.guards.max_life = 2h;
  shown.status.end = provision::End{.when = kNow + 1h, .cause = provision::EndCause::max_life};
  CHECK(text_of(description_of(shown, {}, OpenChanges{}, kNow)) ==
        "Name:       demo\n"
        "ID:         0a1b2c3d\n"
        "Provider:   local\n"
        "State:      running\n"
        "Size:       2 of 2 running\n"
        "User:       root\n"
        "Created:    2026-03-01T12:00:00Z (60m ago)\n"
        "Network:    10.64.1.0/24\n"
        "Link rate:  1gbit\n"
        "Guards:\n"
        "  Max life:  2h\n"
        "  Ends:      2026-03-01T14:00:00Z (in 60m) by max-life\n"
        "Nodes:\n"
        "  NAME    STATE    ADDRESS     SLOTS  INSTANCE\n"
        "  demo-0  running  10.64.1.10  1      0a1b2c3d/0\n"
        "  demo-1  running  10.64.1.11  1      0a1b2c3d/1\n");
}

TEST_CASE("a cluster of a cloud is described with its machines, network, storage and cost") {
  const ClusterAndNodes shown = cloud_cluster();
  CHECK(text_of(description_of(shown, {}, OpenChanges{}, kNow)) ==
        "Name:      demo\nID:        0a1b2c3d\nProvider:  aws\nState:     running\nSize:      2 of "
        "2 running\nUser:      root\nCreated:   2026-03-01T12:00:00Z (60m ago)\nMachine:\n  Type:  "
        "       p4d.24xlarge\n  GPUs:         8xA100-40G\n  Region:       us-east-1\n  Zone:       "
        "  us-east-1a\n  Market:       spot\n  Price:        32.77 USD/h\n  Image:        ami-1\n  "
        "System disk:  60 GiB\nNetwork:\n  Security group:    sg-1\n  VPC:               vpc-1\n  "
        "Public addresses:  only the first node\n  SSH from:          203.0.113.7/32\nStorage:\n  "
        "Data disk:  100 GiB gp3 at /data\n  /models:    10.0.0.4:/models\nCost:\n  Now:     65.55 "
        "USD/h\n  So far:  65.50 USD\nNodes:\n  NAME    STATE    ADDRESS          PRIVATE ADDRESS  "
        "SLOTS  INSTANCE    COST\n  demo-0  running  10.64.1.10                        1      "
        "0a1b2c3d/0  65.55 USD\n  demo-1  running  10.64.1.11:2222  10.77.0.5        1      "
        "0a1b2c3d/1  16.39 USD\n");
  CHECK(network_word(shown.cluster) == "vpc-1");
}

TEST_CASE("a cluster is described with its unfinished changes and the jobs that run on it") {
  const ClusterAndNodes shown = local_cluster();
  std::vector<state::Job> jobs = {
      {.id = "train-1", .cluster = shown.cluster.id, .created = kNow - 5min},
      {.id = "old-1", .cluster = shown.cluster.id, .created = kNow - 1h, .ended = kNow},
      {.id = "other-1", .cluster = {"ffffffff"}, .created = kNow}};
  const std::string text = text_of(description_of(shown, jobs, OpenChanges{.unfinished = 1}, kNow));
  CHECK(text.find("Unfinished:  1 change, in progress or interrupted: fastgpu gc finishes "
                  "interrupted ones\n") != std::string::npos);
  CHECK(text.find("Not reached") == std::string::npos);
  CHECK(text.ends_with("Jobs:\n  JOB      STATE     AGE\n  train-1  starting  5m\n"));
}

TEST_CASE("nodes that no command has reached yet are no unfinished change") {
  const std::string text =
      text_of(description_of(local_cluster(), {}, OpenChanges{.unmet_nodes = 2}, kNow));
  CHECK(text.find("Not reached:  2 nodes so far: the first command that uses the nodes waits for "
                  "them\n") != std::string::npos);
  CHECK(text.find("Unfinished") == std::string::npos);
}

TEST_CASE("machines that were given up and may still appear are no unfinished change") {
  const std::string text =
      text_of(description_of(local_cluster(), {}, OpenChanges{.late_machines = 2}, kNow));
  CHECK(text.find("Given up:   2 machines that the cloud may still list: fastgpu gc ends what has "
                  "appeared\n") != std::string::npos);
  CHECK(text.find("Unfinished") == std::string::npos);
}

TEST_CASE("a node is described with its machine, its cost and the way to it") {
  ClusterAndNodes shown = cloud_cluster();
  shown.nodes[0].jumps = {{.address = "gate", .port = 22, .user = "ops"}};
  CHECK(text_of(description_of(shown.nodes[0], shown, {}, kNow)) ==
        "Name:             demo-0\n"
        "Cluster:          demo\n"
        "State:            running\n"
        "Running since:    2026-03-01T11:00:00Z (2h ago)\n"
        "Slots:            1\n"
        "User:             root\n"
        "Address:          10.64.1.10\n"
        "Reached through:  ops@gate\n"
        "Instance:         0a1b2c3d/0\n"
        "Machine:\n"
        "  Type:    p4d.24xlarge\n"
        "  GPUs:    8xA100-40G\n"
        "  Region:  us-east-1\n"
        "  Zone:    us-east-1a\n"
        "  Market:  spot\n"
        "  Price:   32.77 USD/h\n"
        "Cost so far:      65.55 USD\n"
        "Host keys:\n"
        "  - ssh-ed25519 AAAA\n");
}

/// A node with two ports, of which the second has no address.
NodeReport report_with_ports() {
  return {
      .obstacle = "/dev/infiniband/uverbs0 may not be opened: give the user the permission",
      .ports = {{.device = "mlx5_0",
                 .number = "1",
                 .state = "ACTIVE",
                 .has_address = true,
                 .numa_node = 1,
                 .driver = "mlx5_core",
                 .link_layer = "Ethernet",
                 .mbit = 100'000,
                 .interface = "eth1",
                 .gids = {{.index = 3, .gid = "fe80:1", .type = "RoCE v2", .interface = "eth1"}}},
                {.device = "siw0", .number = "1", .state = "DOWN", .driver = "siw"}}};
}

TEST_CASE("a node is described with its RDMA devices, their addresses and what is in the way") {
  const ClusterAndNodes shown = local_cluster();
  const auto described = [&](const NodeReport& report) {
    return text_of(description_of(shown.nodes[0], shown, report, kNow));
  };
  const std::string text = described(report_with_ports());
  INFO(text);
  CHECK(text.find("RDMA devices:\n"
                  "  DEVICE  PORT  DRIVER  STATE   SPEED       LINK      INTERFACE  NUMA NODE\n"
                  "  mlx5_0  1     mlx5    ACTIVE  100 Gbit/s  Ethernet  eth1       1\n"
                  "  siw0    1     siw     DOWN\n"
                  "RDMA addresses:\n"
                  "  DEVICE  PORT  INDEX  GID     TYPE     INTERFACE\n"
                  "  mlx5_0  1     3      fe80:1  RoCE v2  eth1\n"
                  "RDMA obstacle:  /dev/infiniband/uverbs0 may not be opened: give the user the "
                  "permission\n") != std::string::npos);
  CHECK(described({}) == text_of(description_of(shown.nodes[0], shown, {}, kNow)));
  CHECK(described({.failure = "connection refused"})
            .find("RDMA devices:  unknown: connection refused\n") != std::string::npos);
}

TEST_CASE("programs get the RDMA ports of a node in full, and null where they are unknown") {
  CHECK(rdma_fields({}) == Json{{"rdma_ports", nullptr}, {"rdma_obstacle", nullptr}});
  CHECK(rdma_fields(NodeReport{.failure = "x"})["rdma_ports"].is_null());
  CHECK(rdma_fields(NodeReport{})["rdma_ports"] == Json::array());
  const Json fields = rdma_fields(report_with_ports());
  CHECK(fields["rdma_ports"][0]["bits_per_second"] == 100'000'000'000);
  CHECK(fields["rdma_ports"][0]["gids"][0]["type"] == "RoCE v2");
  CHECK(fields["rdma_ports"][1]["bits_per_second"].is_null());
  CHECK(fields["rdma_obstacle"] == report_with_ports().obstacle);
}

/// A node with four GPUs, of which bridges join two pairs.
NodeReport report_with_gpus() {
  agent::MachineTopology topology;
  for (int i = 0; i < 4; ++i)
    topology.gpus.push_back({.name = "0000:0" + std::to_string(i) + ":00.0", .numa = i / 2});
  topology.gpu_links = {{.first = 0, .second = 1, .count = 12},
                        {.first = 2, .second = 3, .count = 12}};
  return {.topology = topology};
}

TEST_CASE("a node is described with its GPUs, and the pairs that NVLink joins") {
  const ClusterAndNodes shown = local_cluster();
  NodeReport report = report_with_gpus();
  const auto described = [&] {
    return text_of(description_of(shown.nodes[0], shown, report, kNow));
  };
  const std::string pairs = described();
  INFO(pairs);
  CHECK(pairs.find("GPUs:\n"
                   "  GPU  ADDRESS       NUMA NODE\n"
                   "  0    0000:00:00.0  0\n"
                   "  1    0000:01:00.0  0\n"
                   "  2    0000:02:00.0  1\n"
                   "  3    0000:03:00.0  1\n"
                   "NVLink:\n"
                   "  12 links:  0-1, 2-3\n") != std::string::npos);
  report.topology->gpu_links.clear();
  CHECK(described().find("NVLink") == std::string::npos);
  report.topology->is_gpu_tool_silent = true;
  CHECK(described().find("unknown: nvidia-smi does not answer on this node") != std::string::npos);
  report.topology->is_gpu_tool_silent = false;
  report.topology->gpus.clear();
  CHECK(described().find("GPU") == std::string::npos);
}

TEST_CASE("programs get the GPUs of a node and their links, and null where they are unknown") {
  CHECK(gpu_fields({}) == Json{{"gpu_devices", nullptr}, {"nvlinks", nullptr}});
  CHECK(gpu_fields(NodeReport{})["gpu_devices"].is_null());
  NodeReport report = report_with_gpus();
  report.topology->gpus[3].numa = -1;
  const Json fields = gpu_fields(report);
  CHECK(fields["gpu_devices"][2] == Json{{"address", "0000:02:00.0"}, {"numa_node", 1}});
  CHECK(fields["gpu_devices"][3]["numa_node"].is_null());
  CHECK(fields["nvlinks"][1] == Json{{"gpus", {2, 3}}, {"links", 12}});
  report.topology.emplace();
  CHECK(gpu_fields(report) == Json{{"gpu_devices", Json::array()}, {"nvlinks", Json::array()}});
  report.topology->is_gpu_tool_silent = true;
  CHECK(gpu_fields(report)["nvlinks"].is_null());
}

TEST_CASE("a job is described with its times, its ranks by node and the place of its logs") {
  const launcher::JobRecord record{.spec = {.name = {"train"},
                                            .argv = {"sh", "-c", "a b"},
                                            .environment = {"SEED=3", "TOKEN=x"},
                                            .timeout = 30min,
                                            .presence = launcher::Presence::detached},
                                   .placement = {{{"demo-0"}, 0, 4}, {{"demo-1"}, 4, 1}}};
  state::Job job{.id = "train-1",
                 .state = state::JobState::failed,
                 .exit_code = 3,
                 .reason = "rank 0 on demo-0: exited with 3",
                 .created = kNow - 200s,
                 .ended = kNow - 80s};
  read_record_text(job, record_text_of(record));
  CHECK(text_of(description_of({job, "demo"}, {}, kNow)) ==
        "ID:         train-1\n"
        "Cluster:    demo\n"
        "State:      failed\n"
        "Exit code:  3\n"
        "Reason:     rank 0 on demo-0: exited with 3\n"
        "Created:    2026-03-01T12:56:40Z (3m ago)\n"
        "Ended:      2026-03-01T12:58:40Z (80s ago)\n"
        "Duration:   2m\n"
        "Command:    sh -c 'a b'\n"
        "Variables:  SEED, TOKEN\n"
        "Timeout:    30m\n"
        "Detached:   yes\n"
        "Ranks:      5 ranks on 2 nodes\n"
        "Nodes:\n"
        "  NODE    RANKS\n"
        "  demo-0  0-3\n"
        "  demo-1  4\n"
        "Logs:       ~/.fastgpu/jobs/train-1 on demo-[0-1]\n");
}

TEST_CASE("a job's duration is from its start, and its command is the one in the environment") {
  launcher::JobRecord record{
      .spec = {.name = {"train"},
               .argv = {"/opt/envs/train/current/.fastgpu/run", "python", "train.py"}},
      .placement = {{{"demo-0"}, 0, 1}}};
  record.started = kNow - 30s;
  state::Job job{.id = "train-1", .state = state::JobState::running, .created = kNow - 200s};
  read_record_text(job, record_text_of(record));
  const std::string text = text_of(description_of({job, "demo"}, {}, kNow));
  CHECK_MESSAGE(text.find("Started:      2026-03-01T12:59:30Z (30s ago)\n"
                          "Duration:     30s\n"
                          "Command:      python train.py\n"
                          "Environment:  train\n") != std::string::npos,
                text);
  const Json fields = to_json(job);
  CHECK(fields["started"] == "2026-03-01T12:59:30Z");
  CHECK(fields["spec"]["command"].size() == 3);
}

TEST_CASE("a failed job is described with its first failure, its lost nodes and its full disks") {
  launcher::JobRecord record{.spec = {.name = {"train"}, .argv = {"true"}},
                             .placement = {{{"demo-0"}, 0, 1}}};
  record.failure = state::FirstFailure{.rank = 3,
                                       .node = {"demo-1"},
                                       .exit_code = 137,
                                       .signal = "SIGKILL",
                                       .out_of_memory = true,
                                       .full_disk = "/jobs",
                                       .last_lines = {"step 1", "step 2\x1b[31m"}};
  record.lost_nodes = {{"demo-1"}, {"demo-2"}};
  record.full_disks = {{{"demo-1"}, "/jobs"}};
  state::Job job{.id = "train-1", .state = state::JobState::failed, .created = kNow};
  read_record_text(job, record_text_of(record));
  const std::string text = text_of(description_of({job, "demo"}, {}, kNow));
  CHECK_MESSAGE(text.find("First failure:\n"
                          "  Rank:           3\n"
                          "  Node:           demo-1\n"
                          "  Exit code:      137\n"
                          "  Signal:         SIGKILL\n"
                          "  Out of memory:  yes\n"
                          "  Full disk:      /jobs\n"
                          "  Last lines:\n"
                          "    - step 1\n"
                          "    - step 2\\x1b[31m\n"
                          "Lost nodes:  demo-1, demo-2\n") != std::string::npos,
                text);
  const Json fields = to_json(job);
  CHECK(fields["failure"]["exit_code"] == 137);
  CHECK(fields["failure"]["last_lines"].size() == 2);
  CHECK(fields["lost_nodes"] == Json({"demo-1", "demo-2"}));
  CHECK(fields["full_disks"][0]["node"] == "demo-1");
}

TEST_CASE("a job that another version has written is described by what is known of every job") {
  state::Job job{.id = "train-1", .created = kNow};
  read_record_text(job, "{\"new\": 1}");
  CHECK(text_of(description_of({job, ""}, {}, kNow)) ==
        "ID:        train-1\n"
        "State:     starting\n"
        "Created:   2026-03-01T13:00:00Z (0s ago)\n"
        "Duration:  0s\n"
        "Logs:      ~/.fastgpu/jobs/train-1\n");
}

TEST_CASE("a job that waits in the queue of Slurm is shown as queued, whatever shows it") {
  launcher::JobRecord record{.spec = {.name = {"train"}, .argv = {"true"}},
                             .placement = {{{"demo-0"}, 0, 1}}};
  const auto shown = [&] {
    state::Job job{.id = "train-1",
                   .state = state::JobState::starting,
                   .reason = "waits in Slurm's queue (Resources)",
                   .created = kNow};
    read_record_text(job, record_text_of(record));
    const std::vector<JobAndCluster> jobs = {{job, "demo"}};
    const View view = view_of(jobs, kNow);
    CHECK(view.root["jobs"][0]["state"] == view.table.rows[0][2].text);
    CHECK(view.root["jobs"][0]["reason"] == "waits in Slurm's queue (Resources)");
    return view.table.rows[0][2].text;
  };
  record.spec.engine = launcher::EngineKind::slurm;
  CHECK(shown() == "starting");  // Its submission is not confirmed.
  record.engine_job.id = "7";
  CHECK(shown() == "queued");
  record.spec.engine = launcher::EngineKind::kubernetes;
  CHECK(shown() == "starting");
}

TEST_CASE("a job that waits shows what for, and why the end of that is unknown") {
  JobTable table(kNow, JobColumns::all);
  table.add({.line = {.id = "next-1",
                      .state = state::JobState::queued,
                      .reason = "the nodes of job first-1 do not answer: no connection",
                      .created = kNow},
             .state = "queued",
             .cluster = "demo",
             .waits_for = "first-1"});
  CHECK(std::move(table).take().table.rows.at(0).back().text ==
        "waits for first-1; the nodes of job first-1 do not answer: no connection");
}

TEST_CASE("a table of jobs has the columns of its request alone if all of them are shown") {
  JobRow row{.line = {.id = "train-1",
                      .state = state::JobState::succeeded,
                      .created = kNow,
                      .request = state::ListedRequest{.argv = {"echo", "a b"},
                                                      .priority = 3,
                                                      .ranks = 4,
                                                      .nodes = {"demo-0", "demo-1"}}},
             .state = "succeeded",
             .cluster = "demo"};
  const auto shown = [&row](JobColumns columns) {
    JobTable table(kNow, columns);
    table.add(row);
    return std::move(table).take();
  };
  const View usual = shown(JobColumns::usual);
  CHECK(usual.names == std::vector<std::string>{"train-1"});
  CHECK(usual.table.columns.size() == 5);
  REQUIRE(usual.table.rows[0].size() == 5);
  CHECK(usual.table.rows[0][2].text == "succeeded");
  const View all = shown(JobColumns::all);
  REQUIRE(all.table.rows[0].size() == all.table.columns.size());
  CHECK(all.table.rows[0][6].text == "4");
  CHECK(all.table.rows[0][7].text == "demo-[0-1]");
  CHECK(all.table.rows[0][8].text == "3");
  CHECK(all.table.rows[0][9].text.empty());
  CHECK(all.table.rows[0][10].text == "echo 'a b'");
  row.line.request->argv.insert(row.line.request->argv.begin(),
                                "/opt/envs/train/current/.fastgpu/run");
  row.line.request->start.started = kNow - 30s;
  row.line.created = kNow - 2min;
  const View in_environment = shown(JobColumns::all);
  CHECK(in_environment.table.rows[0][5].text == "30s");
  CHECK(in_environment.table.rows[0][9].text == "train");
  CHECK(in_environment.table.rows[0][10].text == "echo 'a b'");
  row.line.request.reset();  // Its record cannot be read.
  CHECK(shown(JobColumns::all).table.rows[0][7].text.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
