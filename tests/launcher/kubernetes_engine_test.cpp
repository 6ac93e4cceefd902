#include "launcher/kubernetes_engine.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/time_text.hpp"
#include "launcher/kubernetes_world.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using test::failure_of;

struct PodRecorder final : JobObserver {
  void connection_lost(const NodeName&, const Error& e) override { lost.emplace_back(e.what()); }
  void output(int rank, agent::OutputStream, std::string_view bytes) override {
    text += std::to_string(rank) + ":" + std::string(bytes);
  }
  std::string text;
  std::vector<std::string> lost;
};

TEST_SUITE_BEGIN("launcher/kubernetes_engine");

TEST_CASE("a job is created by one request, with the token") {
  KubernetesWorld world([](const http::Request&) { return json_answer(201, mpijob("")); });
  CHECK(world.engine->start("train-1", kubernetes_job(), world.never, {}).engine_id == "train-1");
  CHECK(world.server->asked ==
        std::vector<std::string>{"POST https://k/apis/kubeflow.org/v2beta1/namespaces/ns/mpijobs"});
  CHECK(http::find_header(world.server->last.headers, "authorization") == "Bearer t0ken");
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
  CHECK(test::mentions(e, "asks to wait: too many"));
}

TEST_CASE("a refused login is named, and not repeated") {
  KubernetesWorld world([](const http::Request&) { return status_answer(401, "Unauthorized"); });
  const Error e = failure_of([&] { world.engine->glance("train-1", kubernetes_job()); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(test::mentions(e, "a token or certificate may have expired"));
  CHECK_FALSE(test::mentions(e, "t0ken"));
  CHECK(world.server->asked.size() == 1);
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
  CHECK(test::mentions(e, "job train-1: "));
  for (const std::string& asked : world.server->asked)
    CHECK(asked.starts_with("GET"));
}

TEST_CASE("a job that somebody deletes is lost") {
  KubernetesWorld world([](const http::Request&) { return status_answer(404, "not found"); });
  PodRecorder seen;
  const JobOutcome outcome =
      world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, world.never);
  CHECK(outcome.state == state::JobState::lost);
  CHECK(outcome.reason == "the MPIJob is gone: it was deleted in Kubernetes");
  const JobGlance glance = world.engine->glance("train-1", kubernetes_job());
  REQUIRE(glance.outcome);
  CHECK(glance.outcome->state == state::JobState::lost);
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
  CHECK(glance.engine_id == "train-1");
}

/// Returns a time of this second, by a clock that is so far ahead, as the API writes it.
std::string api_time(std::chrono::seconds ahead) {
  return utc_text(std::chrono::system_clock::now() + ahead);
}

/// Returns the present time by a clock that is so far ahead, as the header "Date" has it.
http::Header date_header(std::chrono::seconds ahead) {
  const std::time_t time =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + ahead);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {"Date", text.data()};
}

/// Returns the seconds between two times, rounded.
long seconds_between(state::TimePoint first, state::TimePoint second) {
  return std::chrono::round<std::chrono::seconds>(second - first).count();
}

TEST_CASE("the times of a job are those of Kubernetes, on our clock") {
  using std::chrono::seconds;
  for (const int ahead : {0, 600, -3600}) {
    CAPTURE(ahead);
    bool is_over = false;
    KubernetesWorld world([&](const http::Request& request) {
      json running = {{"startedAt", api_time(seconds(ahead - 100))}};
      json ended = {{"exitCode", 0},
                    {"startedAt", api_time(seconds(ahead - 100))},
                    {"finishedAt", api_time(seconds(ahead - 40))}};
      const json state = is_over ? json{{"terminated", ended}} : json{{"running", running}};
      return json_answer(
          200, asks(request, "/pods?") ? pods(state) : mpijob(is_over ? "Succeeded" : "Running"),
          {date_header(seconds(ahead))});
    });
    const auto now = std::chrono::system_clock::now();
    const JobGlance running = world.engine->glance("train-1", kubernetes_job());
    REQUIRE(running.began);
    CHECK(std::abs(seconds_between(*running.began, now) - 100) <= 2);
    is_over = true;
    const JobGlance over = world.engine->glance("train-1", kubernetes_job());
    REQUIRE(over.outcome);
    REQUIRE(over.outcome->began);
    REQUIRE(over.outcome->ended);
    CHECK(std::abs(seconds_between(*over.outcome->began, now) - 100) <= 2);
    CHECK(std::abs(seconds_between(*over.outcome->ended, now) - 40) <= 2);
  }
}

TEST_CASE("a job that is cancelled, or deleted by others, while it is followed keeps its begin") {
  for (const bool is_cancelled : {true, false}) {
    CAPTURE(is_cancelled);
    Cancel cancel;
    bool is_gone = false;
    KubernetesWorld world([&](const http::Request& request) {
      if (request.method == "DELETE") return json_answer(200, json::object());
      if (asks(request, "/log?")) {
        if (is_cancelled) cancel.request();
        is_gone = !is_cancelled;
        return json_answer(404, json::object());
      }
      if (is_gone) return status_answer(404, "not found");
      if (!asks(request, "/pods?")) return json_answer(200, mpijob("Running"));
      return json_answer(200, pods({{"running", {{"startedAt", "2026-03-01T12:00:07Z"}}}}));
    });
    PodRecorder seen;
    const JobOutcome outcome =
        world.engine->follow("train-1", kubernetes_job(), OnCancel::stop_job, {}, seen, cancel);
    CHECK(outcome.state == (is_cancelled ? state::JobState::cancelled : state::JobState::lost));
    REQUIRE(outcome.began);
    CHECK(utc_text(*outcome.began) == "2026-03-01T12:00:07Z");
  }
}

TEST_CASE("the end of a job is awaited without its log, until its MPIJob has ended or is gone") {
  for (const std::string end : {"Succeeded", "Failed", ""}) {
    CAPTURE(end);
    int looks = 0;
    KubernetesWorld world([&](const http::Request& request) -> http::Response {
      if (asks(request, "/pods?")) return json_answer(200, {{"items", json::array()}});
      if (++looks < 3) return json_answer(200, mpijob("Running"));
      if (end.empty()) return status_answer(404, "mpijobs \"train-1\" not found");
      return json_answer(200, mpijob(end));
    });
    world.engine->await_end("train-1", kubernetes_job(), world.never);
    CHECK(looks == 3);
    for (const std::string& asked : world.server->asked) {
      CHECK(asked.starts_with("GET "));
      CHECK(asked.find("/log?") == asked.npos);
    }
  }
}

TEST_CASE("a server that cannot be asked ends the wait for a job's end, and so does a cancel") {
  KubernetesWorld refusing([](const http::Request&) { return status_answer(401, "Unauthorized"); });
  const Error e =
      failure_of([&] { refusing.engine->await_end("train-1", kubernetes_job(), refusing.never); });
  CHECK(e.kind() == ErrorKind::denied);

  Cancel cancel;
  KubernetesWorld running([&](const http::Request& request) {
    if (asks(request, "/pods?")) {
      cancel.request();
      return json_answer(200, {{"items", json::array()}});
    }
    return json_answer(200, mpijob("Running"));
  });
  running.engine->await_end("train-1", kubernetes_job(), cancel);
  CHECK(running.server->asked.size() == 2);
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
