#include "launcher/engines/mpijob.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/time_text.hpp"
#include "launcher/kubernetes/api.hpp"
#include "process/capture.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using test::failure_of;

JobSpec mpijob_spec() {
  JobSpec spec;
  spec.name = {"train"};
  spec.argv = {"./train", "--lr", "$(LR)"};
  spec.engine = EngineKind::kubernetes;
  spec.ranks = 4;
  spec.kubernetes.image = "registry.example/train:1";
  return spec;
}

json manifest_of(const JobSpec& spec) {
  return json::parse(mpijob_manifest("train-1", spec, "lab", "k3y").dump());
}

json with_conditions(const json& conditions) {
  return {{"kind", "MPIJob"}, {"status", {{"conditions", conditions}}}};
}

json condition(const std::string& type, const std::string& status = "True",
               const std::string& message = "") {
  return {{"type", type}, {"status", status}, {"reason", "MPIJob" + type}, {"message", message}};
}

TEST_SUITE_BEGIN("launcher/engines/mpijob");

TEST_CASE("a manifest names the job, its size and its image, and is found to be ours") {
  JobSpec spec = mpijob_spec();
  spec.per_node = 2;
  spec.timeout = std::chrono::seconds(90);
  spec.grace = std::chrono::milliseconds(1'500);
  spec.kubernetes.gpus = 2;
  spec.kubernetes.cpus = "8";
  spec.kubernetes.memory = "64Gi";
  const json job = manifest_of(spec);
  CHECK(job["apiVersion"] == "kubeflow.org/v2beta1");
  CHECK(job["kind"] == "MPIJob");
  CHECK(job["metadata"]["name"] == "train-1");
  CHECK(job["metadata"]["namespace"] == "lab");
  CHECK(job["metadata"]["annotations"][kKubernetesKey] == "k3y");
  const json& wanted = job["spec"];
  CHECK(wanted["slotsPerWorker"] == 2);
  CHECK(wanted["runPolicy"]["activeDeadlineSeconds"] == 90);
  CHECK(wanted["runPolicy"]["backoffLimit"] == 0);
  const json& worker = wanted["mpiReplicaSpecs"]["Worker"];
  CHECK(worker["replicas"] == 2);
  const json& container = worker["template"]["spec"]["containers"][0];
  CHECK(container["image"] == "registry.example/train:1");
  CHECK(container["resources"]["limits"] ==
        json{{"nvidia.com/gpu", 2}, {"cpu", "8"}, {"memory", "64Gi"}});
  CHECK(worker["template"]["spec"]["terminationGracePeriodSeconds"] == 2);
  CHECK(wanted["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] == "Never");
}

TEST_CASE("the launcher runs mpirun with the program and the variables, unchanged by Kubernetes") {
  JobSpec spec = mpijob_spec();
  spec.environment = {"LR=0.1", "MASTER_PORT=1", "PRICE=$(HOME)", "HASH=$$1$", "BOTH=$$(HOME)"};
  spec.directory = "/work";
  const json launcher =
      manifest_of(spec)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0];
  const auto command = launcher["command"].get<std::vector<std::string>>();
  CHECK(command.back() == "$$(LR)");
  for (const char* word : {"mpirun", "--tag-output", "--wdir", "/work", "LR", "MASTER_ADDR"})
    CHECK(std::ranges::find(command, word) != command.end());
  const auto np = std::ranges::find(command, "-np");
  REQUIRE(np != command.end());
  CHECK(*(np + 1) == "4");
  CHECK(command[2].find("MASTER_ADDR=$$(sed ") == 0);
  std::vector<std::string> assignments;
  for (const json& one : launcher["env"])
    assignments.push_back(one["name"].get<std::string>() + "=" + one["value"].get<std::string>());
  CHECK(assignments == std::vector<std::string>{"FASTGPU_COMM_MASTER_PORT=29399",
                                                "PYTHONUNBUFFERED=1", "FASTGPU_JOB_ID=train-1",
                                                "LR=0.1", "MASTER_PORT=1", "PRICE=$$(HOME)",
                                                "HASH=$$$1$", "BOTH=$$$$(HOME)"});
}

TEST_CASE("each rank knows all workers of TensorFlow, whose ports are those of no other") {
  JobSpec spec = mpijob_spec();
  spec.ranks = 3;
  spec.per_node = 2;
  const test::TempDirectory folder;
  std::ofstream(folder.path() / "hostfile")
      << "t-worker-0.t.lab.svc slots=2\nt-worker-1.t.lab.svc slots=2\n";
  const auto config_of = [&](const std::string& own) {
    const auto words = manifest_of(spec)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
                                        ["containers"][0]["command"]
                                            .get<std::vector<std::string>>();
    const auto unescaped = [](std::string word) {
      for (std::size_t at = 0; (at = word.find("$$", at)) != std::string::npos; ++at)
        word.erase(at, 1);
      return word;
    };
    // As the containers do it, with a rank's shell in place of mpirun.
    process::Command command{.argv = {"/bin/sh", "-c", unescaped(words[2]), "sh", "/bin/sh", "-c",
                                      unescaped(words[words.size() - 5]), "sh", "/bin/sh", "-c",
                                      "echo \"$TF_CONFIG$FASTGPU_JOB_WORKERS\""}};
    command.environment = {
        "PATH=/usr/bin:/bin", "MASTER_PORT=29400", "OMPI_COMM_WORLD_RANK=2",
        "OMPI_MCA_orte_default_hostfile=" + (folder.path() / "hostfile").string()};
    if (!own.empty()) command.environment->push_back("TF_CONFIG=" + own);
    const Cancel never;
    return process::capture(command, {}, never).out;
  };
  CHECK(config_of("") ==
        "{\"cluster\":{\"worker\":[\"t-worker-0.t.lab.svc:29400\",\"t-worker-0.t.lab.svc:29401\","
        "\"t-worker-1.t.lab.svc:29400\"]},\"task\":{\"type\":\"worker\",\"index\":2}}\n");
  CHECK(config_of("{\"own\":1}") == "{\"own\":1}\n");
  spec.ranks = 1;
  CHECK(config_of("") == "\n");
}

TEST_CASE("an image is required") {
  JobSpec spec = mpijob_spec();
  spec.kubernetes.image.clear();
  const Error e = failure_of([&] { manifest_of(spec); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(test::mentions(e, "kubernetes.image"));
}

TEST_CASE("ranks, workers and slots follow from each other") {
  struct Row {
    std::optional<int> ranks, per_node, workers;
    int wanted_workers, wanted_slots, wanted_ranks;
  };
  const std::vector<Row> table = {
      {4, {}, {}, 1, 4, 4}, {4, 2, {}, 2, 2, 4},  {5, 2, {}, 3, 2, 5},  {4, {}, 2, 2, 2, 4},
      {5, {}, 2, 2, 3, 5},  {{}, {}, 3, 3, 1, 3}, {{}, 8, 2, 2, 8, 16}, {3, 2, 2, 2, 2, 3},
  };
  for (const Row& row : table) {
    JobSpec spec = mpijob_spec();
    spec.ranks = row.ranks;
    spec.per_node = row.per_node;
    spec.kubernetes.workers = row.workers;
    const MpiJobSize size = mpijob_size(spec);
    CHECK(size.workers == row.wanted_workers);
    CHECK(size.slots == row.wanted_slots);
    CHECK(size.ranks == row.wanted_ranks);
  }
  JobSpec spec = mpijob_spec();
  spec.ranks.reset();
  CHECK(failure_of([&] { mpijob_size(spec); }).kind() == ErrorKind::usage);
  spec = mpijob_spec();
  spec.per_node = 1;
  spec.kubernetes.workers = 2;
  CHECK(failure_of([&] { mpijob_size(spec); }).kind() == ErrorKind::usage);
}

TEST_CASE("the conditions of an MPIJob decide its phase") {
  CHECK(parse_mpijob({{"kind", "MPIJob"}}).phase == MpiJobPhase::waiting);
  CHECK(parse_mpijob(with_conditions(json::array({condition("Created")}))).phase ==
        MpiJobPhase::waiting);
  CHECK(parse_mpijob(with_conditions({condition("Created"), condition("Running")})).phase ==
        MpiJobPhase::running);
  const MpiJobState failed =
      parse_mpijob(with_conditions({condition("Created"), condition("Running", "False"),
                                    condition("Failed", "True", "exit 3")}));
  CHECK(failed.phase == MpiJobPhase::failed);
  CHECK(failed.message == "exit 3");
  CHECK(parse_mpijob(with_conditions({condition("Succeeded"), condition("Running", "False")}))
            .phase == MpiJobPhase::succeeded);
}

TEST_CASE("the values of variables that sound like secrets are found in the manifest") {
  JobSpec spec = mpijob_spec();
  spec.environment = {"HF_TOKEN=a$(b$$c$$(d", "RATE=0.01"};
  CHECK(parse_mpijob(mpijob_manifest("train-1", spec, "ns", "key")).secrets ==
        std::vector<std::string>{"a$(b$$c$$(d"});
  const auto with_spec = [](const json& containers) {
    const json pod = {{"spec", {{"containers", containers}}}};
    const json job = {{"mpiReplicaSpecs", {{"Launcher", {{"template", pod}}}}}};
    return json{{"kind", "MPIJob"}, {"spec", job}};
  };
  CHECK(parse_mpijob(with_spec(json::array({json(7), json{{"env", json::array({7})}}})))
            .secrets.empty());
  CHECK(failure_of([&] { parse_mpijob(with_spec("x")); }).kind() == ErrorKind::remote);
}

TEST_CASE("an object that is no MPIJob is refused, with the field") {
  for (const json& bad :
       {json{{"kind", "Pod"}}, json::object(), json{{"kind", "MPIJob"}, {"status", "x"}},
        json{{"kind", "MPIJob"}, {"status", {{"conditions", 7}}}}})
    CHECK(failure_of([&] { parse_mpijob(bad); }).kind() == ErrorKind::remote);
}

TEST_CASE("the newest launcher's pod is read") {
  const json list = {
      {"items",
       {{{"metadata", {{"name", "old"}, {"creationTimestamp", "2026-03-01T12:00:00Z"}}}},
        {{"metadata", {{"name", "new"}, {"creationTimestamp", "2026-03-01T12:00:01Z"}}},
         {"spec", {{"nodeName", "n1"}}},
         {"status",
          {{"containerStatuses",
            {{{"name", "sidecar"}, {"state", {{"terminated", {{"exitCode", 9}}}}}},
             {{"name", "launcher"},
              {"state",
               {{"terminated",
                 {{"exitCode", 137},
                  {"reason", "OOMKilled"},
                  {"startedAt", "2026-03-01T12:00:07Z"},
                  {"finishedAt", "2026-03-01T12:00:59Z"}}}}}}}}}}}}}};
  const auto pod = parse_launcher_pod(list);
  REQUIRE(pod);
  CHECK(pod->name == "new");
  CHECK(pod->node == "n1");
  CHECK(pod->has_log);
  CHECK(pod->exit_code == 137);
  REQUIRE(pod->started);
  CHECK(utc_text(*pod->started) == "2026-03-01T12:00:07Z");
  REQUIRE(pod->ended);
  CHECK(utc_text(*pod->ended) == "2026-03-01T12:00:59Z");
  CHECK(pod->reason == "OOMKilled");
  CHECK_FALSE(parse_launcher_pod({{"items", json::array()}}));
  CHECK(failure_of([] { parse_launcher_pod({{"items", 3}}); }).kind() == ErrorKind::remote);
}

TEST_CASE("an MPIJob has times of its own, and its last condition one that stands in for its end") {
  json object = with_conditions({condition("Created"), condition("Failed")});
  json& status = object["status"];
  status["startTime"] = "2026-03-01T12:00:01Z";
  status["conditions"][0]["lastTransitionTime"] = "2026-03-01T12:00:01Z";
  status["conditions"][1]["lastTransitionTime"] = "2026-03-01T12:00:08Z";
  CHECK(utc_text(*parse_mpijob(object).started) == "2026-03-01T12:00:01Z");
  CHECK(utc_text(*parse_mpijob(object).ended) == "2026-03-01T12:00:08Z");
  status["completionTime"] = "2026-03-01T12:00:07Z";
  CHECK(utc_text(*parse_mpijob(object).ended) == "2026-03-01T12:00:07Z");
  status["completionTime"] = "yesterday";
  status["conditions"] = json::array({condition("Running")});
  CHECK_FALSE(parse_mpijob(object).ended);
  CHECK_FALSE(parse_mpijob({{"kind", "MPIJob"}}).started);
}

TEST_CASE("a job has the times of the launcher's container, and else those of the MPIJob") {
  const state::TimePoint zero{std::chrono::hours(400'000)};
  const auto at = [&](int seconds) { return zero + std::chrono::seconds(seconds); };
  const MpiJobState job{.phase = MpiJobPhase::succeeded, .started = at(1), .ended = at(9)};
  LauncherPod pod{.name = "p", .has_log = true, .started = at(3), .ended = at(7)};
  const auto times_of = [&](const std::optional<LauncherPod>& seen) {
    const JobOutcome outcome = decide_mpijob(job, seen, mpijob_spec());
    return std::pair(outcome.began, outcome.ended);
  };
  CHECK(times_of(pod) == std::pair(std::optional(at(3)), std::optional(at(7))));
  pod.ended.reset();
  CHECK(times_of(pod) == std::pair(std::optional(at(3)), std::optional(at(9))));
  CHECK(times_of({}) == std::pair(std::optional(at(1)), std::optional(at(9))));
  // A container that was never started, such as one without its image, has not run.
  CHECK(times_of(LauncherPod{.name = "p", .reason = "ErrImagePull"}) ==
        std::pair(std::optional(at(9)), std::optional(at(9))));
}

TEST_CASE("the outcome is that of the launcher's container") {
  const JobSpec spec = mpijob_spec();
  const MpiJobState failed{.phase = MpiJobPhase::failed, .reason = "MPIJobFailed"};
  CHECK(decide_mpijob({.phase = MpiJobPhase::succeeded}, {}, spec).exit_code == 0);
  const JobOutcome three = decide_mpijob(
      failed, LauncherPod{.name = "p", .has_log = true, .exit_code = 3, .reason = "Error"}, spec);
  CHECK(three.exit_code == 3);
  CHECK(three.reason == "the launcher p exited with 3");
  CHECK(
      decide_mpijob(failed, LauncherPod{.name = "p", .exit_code = 137, .reason = "OOMKilled"}, spec)
          .reason == "the launcher p exited with 137 (OOMKilled)");
  CHECK(decide_mpijob(failed, {}, spec).reason == "the MPIJob failed: MPIJobFailed");
  JobSpec limited = spec;
  limited.timeout = std::chrono::minutes(1);
  const JobOutcome late =
      decide_mpijob({.phase = MpiJobPhase::failed, .reason = "DeadlineExceeded"}, {}, limited);
  CHECK(late.exit_code == 124);
  CHECK(late.reason == "ran longer than 1m");
}

TEST_CASE("mpirun names the rank that failed first, and its pod follows from the slots") {
  const MpiJobSize size{.workers = 2, .slots = 2, .ranks = 4};
  const auto named = [&](const std::string& words) {
    return failure_named_by_mpirun(words, "train-1", size);
  };
  const auto exited = named(
      "----\nmpirun detected that one or more processes exited with non-zero status, thus causing\n"
      "the job to be terminated. The first process to do so was:\n\n"
      "  Process name: [[45543,1],3]\n  Exit code:    7\n----\n");
  REQUIRE(exited);
  CHECK(exited->rank == 3);
  CHECK(exited->node.value == "train-1-worker-1");
  CHECK(exited->exit_code == 7);
  CHECK(exited->signal.empty());
  const auto five = named("   Process name: [prterun-train-1-launcher-7@1,0] Exit code:    9\n");
  const auto aborted =
      named("MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD with errorcode 5.\n");
  REQUIRE(aborted);
  CHECK(aborted->rank == 2);
  CHECK(aborted->exit_code == 5);
  REQUIRE(five);
  CHECK(five->rank == 0);
  CHECK(five->exit_code == 9);
  const auto killed = named(
      "mpirun noticed that process rank 2 with PID 0 on node train-1-worker-1 exited on signal 11 "
      "(Segmentation fault).\n");
  REQUIRE(killed);
  CHECK(killed->rank == 2);
  CHECK(killed->exit_code == 139);
  CHECK(killed->signal == "SIGSEGV");
  for (const char* other :
       {"", "Process name: [", "Process name: [[1,1],x]\nExit code: 7", "Process name: [[1,1],3]\n",
        "Process name: [[1,1],4]\nExit code: 7", "Process name: [[1,1],3]\nExit code: 0",
        "Process name: [[1,1],3]\nExit code: 777", "noticed that process rank 2",
        "noticed that process rank -2 exited on signal 9"})
    CHECK_FALSE(named(other));
  JobOutcome outcome{.state = state::JobState::failed, .exit_code = 1};
  blame_rank(outcome, *killed);
  CHECK(outcome.reason == "rank 2 on train-1-worker-1: killed by SIGSEGV");
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.first_rank == 2);
}

TEST_CASE("paths hold what they name, encoded") {
  CHECK(mpijobs_path("lab") == "/apis/kubeflow.org/v2beta1/namespaces/lab/mpijobs");
  CHECK(launcher_pods_path("lab", "a-1") ==
        "/api/v1/namespaces/lab/pods?labelSelector=training.kubeflow.org%2Fjob-name%3Da-1%2C"
        "training.kubeflow.org%2Fjob-role%3Dlauncher");
  CHECK(pod_log_path("lab", "p", true, "", 5, 10) ==
        "/api/v1/namespaces/lab/pods/p/log?container=launcher&timestamps=true&follow=true&"
        "sinceSeconds=5&tailLines=10");
  CHECK(pod_log_path("lab", "p", false, "2026-03-01T12:00:00Z", 5, 10) ==
        "/api/v1/namespaces/lab/pods/p/log?container=launcher&timestamps=true&"
        "sinceTime=2026-03-01T12%3A00%3A00Z");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
