#include <doctest/doctest.h>

#include <string>

#include "launcher/kubernetes_world.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;
using test::failure_of;

/// Returns the job as it is before its start has succeeded.
JobRecord new_job() {
  JobRecord job = kubernetes_job();
  job.engine_job.id.clear();
  return job;
}

/// The way in which a start has failed.
struct FailedStart {
  ErrorKind kind = ErrorKind::internal;
  bool may_run = false;
};

FailedStart failed_start(KubernetesWorld& world) {
  try {
    world.engine->start("train-1", new_job(), world.never, {});
  } catch (const JobMayRun& e) {
    return {e.kind(), true};
  } catch (const Error& e) {
    return {e.kind(), false};
  }
  return {};
}

/// Throws as a client does whose connection is cut.
[[noreturn]] void cut() {
  throw Error(ErrorKind::transient, "connection reset");
}

TEST_SUITE_BEGIN("launcher/kubernetes_start");

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

TEST_CASE("a job whose creation can neither be confirmed nor undone may run") {
  struct Row {
    std::string when;
    FakeServer::Answer answer;
    ErrorKind kind;
  };
  int posts = 0;
  const Row rows[] = {
      {"the server fails after it has acted",
       [](const http::Request&) { return status_answer(500, "etcd is slow"); },
       ErrorKind::transient},
      {"the connection is cut, and the server is silent",
       [](const http::Request&) -> http::Response { cut(); }, ErrorKind::transient},
      {"the login is refused after a try without an answer",
       [&](const http::Request&) -> http::Response {
         if (++posts == 1) cut();
         return status_answer(401, "Unauthorized");
       },
       ErrorKind::denied},
      {"the role may create jobs, and not get them",
       [&, tries = 0](const http::Request& request) mutable -> http::Response {
         if (request.method != "POST") return status_answer(403, "cannot get resource");
         if (++tries == 1) cut();
         return status_answer(409, "mpijobs \"train-1\" already exists");
       },
       ErrorKind::denied},
  };
  for (const Row& row : rows) {
    CAPTURE(row.when);
    KubernetesWorld world(row.answer);
    const FailedStart failed = failed_start(world);
    CHECK(failed.may_run);
    CHECK(failed.kind == row.kind);
  }
}

TEST_CASE("a job does not run if nothing of its creation was sent or accepted") {
  struct Row {
    std::string when;
    FakeServer::Answer answer;
    ErrorKind kind;
  };
  const Row rows[] = {
      {"nothing listens there",
       [](const http::Request&) -> http::Response {
         throw http::RequestNotSent(Error(ErrorKind::transient, "no connection"));
       },
       ErrorKind::transient},
      {"the authority is not trusted",
       [](const http::Request&) -> http::Response {
         throw http::RequestNotSent(Error(ErrorKind::remote, "its certificate cannot be trusted"));
       },
       ErrorKind::remote},
      {"the request cannot be made",
       [](const http::Request&) -> http::Response {
         throw Error(ErrorKind::usage, "the proxy cannot be used");
       },
       ErrorKind::usage},
      {"the server has too much to do",
       [](const http::Request&) { return status_answer(429, "too many requests"); },
       ErrorKind::transient},
      {"the login is refused",
       [](const http::Request&) { return status_answer(401, "Unauthorized"); }, ErrorKind::denied},
  };
  for (const Row& row : rows) {
    CAPTURE(row.when);
    KubernetesWorld world(row.answer);
    const FailedStart failed = failed_start(world);
    CHECK_FALSE(failed.may_run);
    CHECK(failed.kind == row.kind);
    for (const std::string& asked : world.server->asked)
      CHECK(asked.starts_with("POST "));
  }
}

TEST_CASE("a creation whose answer cannot be read is undone") {
  json created;
  KubernetesWorld world([&](const http::Request& request) -> http::Response {
    if (request.method == "DELETE") return json_answer(200, json::object());
    if (request.method == "GET") return json_answer(200, created);
    created = json::parse(request.body);
    return {.status = 201, .headers = {}, .body = "<html>"};
  });
  CHECK_FALSE(failed_start(world).may_run);
  CHECK(world.server->asked.back().starts_with("DELETE "));
}

TEST_CASE("an answer that is no MPIJob is not taken for one, in a trial and in a start") {
  struct Row {
    http::Response answer;
    std::string said;
  };
  const auto with = [](int status, const std::string& body) {
    return http::Response{.status = status, .headers = {}, .body = body};
  };
  const Row rows[] = {{with(200, "\n<html>login</html>"), "is an HTML page"},
                      {with(200, ""), "is empty (HTTP status 200)"},
                      {with(204, ""), "is empty (HTTP status 204)"},
                      {with(201, "null"), "is JSON of the type null"},
                      {with(201, "[]"), "is JSON of the type array"},
                      {with(201, "{}"), "is a JSON object without a kind"},
                      {with(201, "ok"), "is text that is not JSON"},
                      {with(201, R"({"kind": "Status"})"), "is an object of the kind Status"}};
  for (const Row& row : rows) {
    CAPTURE(row.said);
    KubernetesWorld world([&](const http::Request&) { return row.answer; });
    const Error e = failure_of([&] { world.engine->try_start(new_job(), world.never); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(std::string(e.what()) ==
          "Kubernetes (context lab): the answer of https://k to "
          "/apis/kubeflow.org/v2beta1/namespaces/ns/mpijobs?dryRun=All " +
              row.said +
              ", and not an MPIJob: a login page or a proxy may have answered instead of the API "
              "server");
    CHECK(failed_start(world).kind == ErrorKind::remote);
  }
  KubernetesWorld world([](const http::Request&) { return json_answer(201, mpijob("")); });
  CHECK(world.engine->try_start(new_job(), world.never).note ==
        "the API server of context lab accepts the job");
}

TEST_CASE("a job whose start is unclear is found, or found not to be there") {
  bool is_there = true;
  KubernetesWorld world([&](const http::Request& request) {
    if (asks(request, "/pods?")) return json_answer(200, {{"items", json::array()}});
    return is_there ? json_answer(200, mpijob("Running"))
                    : status_answer(404, "mpijobs \"train-1\" not found");
  });
  const JobGlance found = world.engine->glance("train-1", new_job());
  CHECK_FALSE(found.is_unknown);
  CHECK(found.engine_id == "train-1");
  is_there = false;
  const JobGlance missing = world.engine->glance("train-1", new_job());
  CHECK(missing.is_unknown);
  CHECK_FALSE(missing.outcome);
}

/// Returns an MPIJob as it is in Kubernetes, with that key.
json mpijob_with_key(const std::string& key) {
  json job = mpijob("Running");
  job["metadata"] = {{"name", "train-1"}, {"uid", "u-1"}, {"annotations", {{"fastgpu/key", key}}}};
  return job;
}

TEST_CASE("a job is created with the key that is on its record") {
  KubernetesWorld world([](const http::Request&) { return json_answer(201, mpijob("")); });
  JobRecord job = new_job();
  job.engine_job.key = "c0ffee";
  world.engine->start("train-1", job, world.never, {});
  CHECK(json::parse(world.server->last.body)["metadata"]["annotations"]["fastgpu/key"] == "c0ffee");
}

TEST_CASE("an MPIJob without the job's key is not taken for it, is named, and stays") {
  struct Row {
    std::string engine_id;
    std::string reason;
  };
  for (const Row& row :
       {Row{"",
            "MPIJob train-1 in namespace ns is not of this job, and is left alone: the job's "
            "own was not created"},
        Row{"train-1",
            "MPIJob train-1 in namespace ns is not of this job, and is left alone: the "
            "job's own was deleted in Kubernetes"}}) {
    CAPTURE(row.engine_id);
    for (const json& there : {mpijob("Running"), mpijob_with_key("of-another")}) {
      KubernetesWorld world([&](const http::Request&) { return json_answer(200, there); });
      JobRecord job = new_job();
      job.engine_job.id = row.engine_id;
      job.engine_job.key = "c0ffee";
      const JobGlance glance = world.engine->glance("train-1", job);
      REQUIRE(glance.outcome);
      CHECK(glance.outcome->state == state::JobState::lost);
      CHECK(glance.outcome->reason == row.reason);
      CHECK(world.engine->stop("train-1", job).front().ok());
      CHECK(world.engine->remove("train-1", job, world.never).front().ok());
      for (const std::string& asked : world.server->asked)
        CHECK(asked.starts_with("GET "));
    }
  }
}

TEST_CASE("an MPIJob with the job's key is found to be ours, and only that one is deleted") {
  KubernetesWorld world([](const http::Request& request) {
    if (asks(request, "/pods?")) return json_answer(200, {{"items", json::array()}});
    return json_answer(200, mpijob_with_key("c0ffee"));
  });
  JobRecord job = new_job();
  job.engine_job.key = "c0ffee";
  CHECK(world.engine->glance("train-1", job).engine_id == "train-1");
  CHECK(world.engine->stop("train-1", job).front().ok());
  CHECK(world.server->asked.back().starts_with("DELETE "));
  CHECK(json::parse(world.server->last.body)["preconditions"]["uid"] == "u-1");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
