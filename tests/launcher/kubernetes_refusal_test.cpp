#include "launcher/kubernetes/refusal.hpp"

#include <doctest/doctest.h>

#include <string>

#include "launcher/kubernetes_world.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::json;

/// Returns the Status that a server sends.
http::Response status_of(int code, const std::string& message, const std::string& reason,
                         const std::string& kind = {}) {
  json details = json::object();
  if (!kind.empty()) details["kind"] = kind;
  return json_answer(
      code, {{"kind", "Status"}, {"message", message}, {"reason", reason}, {"details", details}});
}

struct Row {
  http::Response response;
  ErrorKind kind;
  std::string said;      ///< A part of the message.
  std::string not_said;  ///< What the message must not have; empty for nothing.
};

TEST_SUITE_BEGIN("launcher/kubernetes_refusal");

TEST_CASE("the server's own words decide the kind of a refusal and its remedy") {
  const std::string none = "the server could not find the requested resource";
  const Row rows[] = {
      {status_of(403,
                 "mpijobs.kubeflow.org \"q-1\" is forbidden: exceeded quota: few, requested: "
                 "count/mpijobs.kubeflow.org=1, used: 1, limited: 1",
                 "Forbidden"),
       ErrorKind::capacity,
       "have its ResourceQuota raised",
       {}},
      {status_of(403, "unable to create new content in namespace ns because it is being terminated",
                 "Forbidden"),
       ErrorKind::conflict,
       "--set kubernetes.namespace=NAME",
       {}},
      {status_of(403, "User \"ann\" cannot create resource \"mpijobs\"", "Forbidden"),
       ErrorKind::denied, "cannot create resource", "quota"},
      {status_of(404, "namespaces \"nowhere\" not found", "NotFound", "namespaces"),
       ErrorKind::not_found, "create the namespace, or name another", "operator"},
      {status_answer(404, "namespaces \"nowhere\" not found"), ErrorKind::not_found,
       "create the namespace, or name another", "operator"},
      {status_of(404, none, "NotFound"), ErrorKind::not_found,
       "Kubeflow's MPI operator (MPIJob v2beta1) is not installed there", "namespace"},
      {{.status = 404, .headers = {}, .body = "404 page not found\n"},
       ErrorKind::not_found,
       "Kubeflow's MPI operator (MPIJob v2beta1) is not installed there",
       "namespace"},
      {{.status = 404, .headers = {}, .body = "<html>"},
       ErrorKind::not_found,
       "HTTP status 404",
       "operator"},
      {status_of(409, "mpijobs.kubeflow.org \"same-1\" already exists", "AlreadyExists"),
       ErrorKind::conflict,
       "already exists; give this job another name",
       {}},
      {status_of(409, "the object has been modified", "Conflict"), ErrorKind::transient,
       "the object has been modified", "another name"},
      {status_of(401, "Unauthorized", "Unauthorized"),
       ErrorKind::denied,
       "a token or certificate may have expired",
       {}},
      {status_of(422, "spec is invalid", "Invalid"), ErrorKind::remote, "spec is invalid", {}},
      {{.status = 429, .headers = {}, .body = ""},
       ErrorKind::transient,
       "the server is too busy, and asks to wait: HTTP status 429; run the command again later",
       {}},
      {status_of(503, "apiserver not ready", "ServiceUnavailable"),
       ErrorKind::transient,
       "Kubernetes (context lab): apiserver not ready",
       {}},
  };
  for (const Row& row : rows) {
    const Error e = refusal(row.response, "lab");
    CAPTURE(e.what());
    CHECK(e.kind() == row.kind);
    CHECK(test::mentions(e, row.said));
    const bool has_more = !row.not_said.empty() && test::mentions(e, row.not_said);
    CHECK_FALSE(has_more);
  }
}

TEST_CASE("only answers that a repetition may change are worth one") {
  CHECK(is_worth_repeating(status_of(429, "too many", "TooManyRequests")));
  CHECK(is_worth_repeating(status_of(500, "etcd", "InternalError")));
  CHECK(is_worth_repeating(status_of(409, "the object has been modified", "Conflict")));
  CHECK_FALSE(is_worth_repeating(status_of(409, "it already exists", "AlreadyExists")));
  CHECK_FALSE(is_worth_repeating(status_of(403, "exceeded quota", "Forbidden")));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
