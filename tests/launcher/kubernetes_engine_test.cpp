#include "launcher/kubernetes_engine.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using test::failure_of;

/// A server that answers from a function, and remembers what was asked.
class FakeServer final : public http::Client {
 public:
  using Answer = std::function<http::Response(const http::Request&)>;

  explicit FakeServer(Answer answer) : answer_(std::move(answer)) {}

  http::Response send(const http::Request& request, const Cancel& cancel) override {
    cancel.check();
    asked.push_back(request.method + " " + request.url);
    last = request;
    http::Response response = answer_(request);
    if (request.on_data && response.status == 200) {
      request.on_data(response.body);
      response.body.clear();
    }
    return response;
  }

  std::vector<std::string> asked{};
  http::Request last{};

 private:
  Answer answer_;
};

http::Response json_answer(int status, const json& body, std::vector<http::Header> headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = body.dump()};
}

http::Response status_answer(int status, const std::string& message,
                             std::vector<http::Header> headers = {}) {
  return json_answer(status, {{"kind", "Status"}, {"message", message}}, std::move(headers));
}

json mpijob(const std::string& condition) {
  json conditions = json::array();
  if (!condition.empty()) conditions.push_back({{"type", condition}, {"status", "True"}});
  const json token = {{"name", "TOKEN"}, {"value", "hunter22"}};
  const json pod = {{"spec", {{"containers", {{{"env", {token}}}}}}}};
  return {{"kind", "MPIJob"},
          {"spec", {{"mpiReplicaSpecs", {{"Launcher", {{"template", pod}}}}}}},
          {"status", {{"conditions", conditions}}}};
}

json pods(const json& state) {
  return {{"items",
           {{{"metadata", {{"name", "train-1-launcher-x"}}},
             {"spec", {{"nodeName", "n1"}}},
             {"status", {{"containerStatuses", {{{"name", "launcher"}, {"state", state}}}}}}}}}};
}

JobRecord kubernetes_job() {
  JobRecord job;
  job.spec.name = {"train"};
  job.spec.argv = {"./train"};
  job.spec.engine = EngineKind::kubernetes;
  job.spec.ranks = 2;
  job.spec.kubernetes.image = "image";
  job.placement = {{.node = {"kubernetes"}, .first = 0, .count = 2}};
  return job;
}

struct KubernetesWorld {
  explicit KubernetesWorld(FakeServer::Answer answer) {
    auto made = std::make_unique<FakeServer>(std::move(answer));
    server = made.get();
    KubernetesAccess access{.context = "lab", .server = "https://k", .name_space = "ns"};
    access.token = Secret("t0ken");
    engine = make_kubernetes_engine(std::move(made), access,
                                    KubernetesTimes{.between_questions = milliseconds(1),
                                                    .server_timeout = milliseconds(20),
                                                    .backoff = {.base = milliseconds(1),
                                                                .cap = milliseconds(2),
                                                                .attempts = 3,
                                                                .deadline = milliseconds(10'000)}});
  }
  FakeServer* server;
  std::unique_ptr<JobEngine> engine;
  Cancel never;
};

struct PodRecorder final : JobObserver {
  void connection_lost(const NodeName&, const Error& e) override { lost.emplace_back(e.what()); }
  void output(int rank, agent::OutputStream, std::string_view bytes) override {
    text += std::to_string(rank) + ":" + std::string(bytes);
  }
  std::string text;
  std::vector<std::string> lost;
};

bool asks(const http::Request& request, const std::string& part) {
  return request.url.find(part) != std::string::npos;
}

TEST_SUITE_BEGIN("launcher/kubernetes_engine");

TEST_CASE("a job is created by one request, with the token") {
  KubernetesWorld world([](const http::Request&) { return json_answer(201, mpijob("")); });
  CHECK(world.engine->start("train-1", kubernetes_job(), world.never, {}).engine_id == "train-1");
  CHECK(world.server->asked ==
        std::vector<std::string>{"POST https://k/apis/kubeflow.org/v2beta1/namespaces/ns/mpijobs"});
  CHECK(http::find_header(world.server->last.headers, "authorization") == "Bearer t0ken");
}

TEST_CASE("a creation that was lost on its way back is found to be ours") {
  json created;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (request.method == "GET") return json_answer(200, created);
    if (!created.is_null()) return status_answer(409, "mpijobs \"train-1\" already exists");
    created = json::parse(request.body);
    throw Error(ErrorKind::transient, "connection reset");
  });
  CHECK(world.engine->start("train-1", kubernetes_job(), world.never, {}).engine_id == "train-1");
}

TEST_CASE("a job of the same name that is not ours is a conflict, and stays") {
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (request.method == "GET") return json_answer(200, mpijob("Running"));
    return status_answer(409, "already exists");
  });
  const Error e =
      failure_of([&] { world.engine->start("train-1", kubernetes_job(), world.never, {}); });
  CHECK(e.kind() == ErrorKind::conflict);
  for (const std::string& asked : world.server->asked)
    CHECK_FALSE(asked.starts_with("DELETE"));
}

TEST_CASE("a creation without an answer is removed if it has taken effect") {
  for (const bool is_ours : {true, false}) {
    json created;
    KubernetesWorld world([&](const http::Request& request) -> http::Response {
      if (request.method == "DELETE") return json_answer(200, json::object());
      if (request.method == "GET") return json_answer(200, is_ours ? created : mpijob("Running"));
      created = json::parse(request.body);
      throw Error(ErrorKind::transient, "connection reset");
    });
    const Error e =
        failure_of([&] { world.engine->start("train-1", kubernetes_job(), world.never, {}); });
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(world.server->asked.back().starts_with(is_ours ? "DELETE" : "GET"));
  }
}

TEST_CASE("429 is repeated after the time that the server names, and 500 after a while") {
  int count = 0;
  KubernetesWorld world([&](const http::Request&) -> http::Response {
    ++count;
    if (count == 1) return status_answer(429, "too many", {{"Retry-After", "0"}});
    if (count == 2) return status_answer(500, "etcd is slow");
    return json_answer(201, mpijob(""));
  });
  world.engine->start("train-1", kubernetes_job(), world.never, {});
  CHECK(count == 3);
}

TEST_CASE("a server that asks for more time than there is is not asked again") {
  KubernetesWorld world([](const http::Request&) {
    return status_answer(429, "too many", {{"Retry-After", "3600"}});
  });
  const Error e = failure_of([&] { world.engine->glance("train-1", kubernetes_job()); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(world.server->asked.size() == 1);
  CHECK(test::mentions(e, "Kubernetes (context lab): too many"));
}

TEST_CASE("a refused login is named, and not repeated") {
  KubernetesWorld world([](const http::Request&) { return status_answer(401, "Unauthorized"); });
  const Error e = failure_of([&] { world.engine->glance("train-1", kubernetes_job()); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(test::mentions(e, "a token or certificate may have expired"));
  CHECK_FALSE(test::mentions(e, "t0ken"));
  CHECK(world.server->asked.size() == 1);
}

TEST_CASE("a cluster without the operator is named") {
  KubernetesWorld world([](const http::Request&) {
    return status_answer(404, "the server could not find the requested resource");
  });
  const Error e =
      failure_of([&] { world.engine->start("train-1", kubernetes_job(), world.never, {}); });
  CHECK(test::mentions(e, "MPI operator"));
}

TEST_CASE("answers that are no objects are refused") {
  for (const char* body : {"", "[]", "<html>", "{\"kind\":\"MPIJob\",\"status\":3}"}) {
    KubernetesWorld world([&](const http::Request&) -> http::Response {
      return {.status = 200, .headers = {}, .body = body};
    });
    const Error e = failure_of([&] { world.engine->glance("train-1", kubernetes_job()); });
    CHECK(e.kind() == ErrorKind::remote);
  }
}

TEST_CASE("a job is followed over a stream that breaks, to the exit code of its launcher") {
  int streams = 0;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (asks(request, "tailLines="))
      return {.status = 200,
              .headers = {},
              .body =
                  "2026-03-01T12:00:01Z [1,1]<stdout>:\x1b[31mb of hunter22\x1b[0m\n"
                  "2026-03-01T12:00:01Z   Process name: [[45543,1],1]\n"
                  "2026-03-01T12:00:01Z   Exit code:    7\n"};
    if (asks(request, "/log?")) {
      ++streams;
      const std::string first = "2026-03-01T12:00:00Z [1,0]<stdout>:a\n";
      if (streams == 1) {
        request.on_data(first + "2026-03-01T12:00:01Z [1,1]<std");
        throw Error(ErrorKind::transient, "the connection broke");
      }
      CHECK(asks(request, "sinceTime=2026-03-01T12%3A00%3A0"));
      return {
          .status = 200, .headers = {}, .body = first + "2026-03-01T12:00:01Z [1,1]<stdout>:b\n"};
    }
    const bool is_over = streams > 1;
    if (asks(request, "/pods?"))
      return json_answer(200, pods(is_over ? json{{"terminated", {{"exitCode", 7}}}}
                                           : json{{"running", json::object()}}));
    return json_answer(200, mpijob(is_over ? "Failed" : "Running"));
  });
  PodRecorder seen;
  const JobOutcome outcome =
      world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  CHECK(seen.text == "0:a\n1:b\n");
  CHECK(outcome.exit_code == 7);
  CHECK(outcome.reason == "rank 1 on train-1-worker-1: exited with 7");
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->last_lines == std::vector<std::string>{"b of ***"});
  CHECK(outcome.state == state::JobState::failed);
}

TEST_CASE("a server that comes back may refuse the login for a while") {
  int count = 0;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    ++count;
    if (count <= 3) throw Error(ErrorKind::transient, "connection refused");
    if (count == 4) return status_answer(403, "cannot get resource");
    if (count == 5) return status_answer(401, "Unauthorized");
    if (asks(request, "/pods?")) return json_answer(200, {{"items", json::array()}});
    return json_answer(200, mpijob("Succeeded"));
  });
  PodRecorder seen;
  const JobOutcome outcome =
      world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  CHECK(outcome.state == state::JobState::succeeded);
  CHECK(seen.lost.size() == 1);
}

TEST_CASE("a login that is refused by a server that was there ends the following at once") {
  int count = 0;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (++count > 4) return status_answer(401, "Unauthorized");
    if (asks(request, "/pods?")) return json_answer(200, {{"items", json::array()}});
    return json_answer(200, mpijob("Running"));
  });
  PodRecorder seen;
  const Error e = failure_of([&] {
    world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(count == 5);
}

TEST_CASE("a job whose log cannot be read any more still has its exit code") {
  int logs = 0;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (asks(request, "/log?")) {
      ++logs;
      return status_answer(500, "dial tcp: connection refused");
    }
    const bool is_over = logs > 2;
    if (asks(request, "/pods?"))
      return json_answer(200, pods(is_over ? json{{"terminated", {{"exitCode", 7}}}}
                                           : json{{"running", json::object()}}));
    return json_answer(200, mpijob(is_over ? "Failed" : "Running"));
  });
  PodRecorder seen;
  const JobOutcome outcome =
      world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  CHECK(outcome.exit_code == 7);
  CHECK(seen.lost.size() == 1);
  CHECK(seen.lost.front() == "Kubernetes (context lab): dial tcp: connection refused");
}

TEST_CASE("a server that is silent for too long ends the following, and not the job") {
  KubernetesWorld world([](const http::Request&) -> http::Response {
    throw Error(ErrorKind::transient, "no route to host");
  });
  PodRecorder seen;
  const Error e = failure_of([&] {
    world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(test::mentions(e, "which is not affected"));
  for (const std::string& asked : world.server->asked)
    CHECK(asked.starts_with("GET"));
}

TEST_CASE("a job that somebody deletes is lost") {
  KubernetesWorld world([](const http::Request&) { return status_answer(404, "not found"); });
  PodRecorder seen;
  const JobOutcome outcome =
      world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  CHECK(outcome.state == state::JobState::lost);
}

TEST_CASE("a cancel deletes the job, or leaves it") {
  KubernetesWorld world([](const http::Request& request) {
    return request.method == "DELETE" ? json_answer(200, json::object())
                                      : json_answer(200, mpijob(""));
  });
  Cancel cancelled;
  cancelled.request();
  PodRecorder seen;
  const Error e = failure_of([&] {
    world.engine->follow("train-1", kubernetes_job(), OnCancel::leave_job, {}, seen, cancelled);
  });
  CHECK(e.kind() == ErrorKind::interrupted);
  CHECK(world.server->asked.empty());
  CHECK(world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, cancelled)
            .exit_code == 130);
  CHECK(world.server->asked.back() ==
        "DELETE https://k/apis/kubeflow.org/v2beta1/namespaces/ns/mpijobs/train-1");
}

TEST_CASE("a job that waits for its pods shows why") {
  KubernetesWorld world([](const http::Request& request) {
    if (asks(request, "/pods?"))
      return json_answer(200, pods({{"waiting", {{"reason", "ErrImagePull"}}}}));
    return json_answer(200, mpijob("Created"));
  });
  const JobGlance glance = world.engine->glance("train-1", kubernetes_job());
  CHECK(glance.waits);
  CHECK(glance.reason == "waits for its pods (ErrImagePull)");
  CHECK(glance.nodes == "n1");
}

TEST_CASE("the log of one rank is read by itself") {
  KubernetesWorld world([](const http::Request& request) -> http::Response {
    if (asks(request, "/log?"))
      return {
          .status = 200,
          .headers = {},
          .body = "2026-03-01T12:00:00Z [1,0]<stdout>:a\n2026-03-01T12:00:00Z [1,1]<stdout>:b\n"};
    if (asks(request, "/pods?")) return json_answer(200, pods({{"terminated", {{"exitCode", 0}}}}));
    return json_answer(200, mpijob("Succeeded"));
  });
  PodRecorder seen;
  world.engine->logs("train-1", kubernetes_job(), {.rank = 1}, seen, world.never);
  CHECK(seen.text == "1:b\n");
  CHECK(failure_of([&] {
          world.engine->logs("train-1", kubernetes_job(), {.rank = 2}, seen, world.never);
        }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
