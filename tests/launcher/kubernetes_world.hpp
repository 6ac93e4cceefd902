// A server of Kubernetes that answers from a function, and an engine that asks it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "launcher/kubernetes_engine.hpp"

namespace fastgpu::launcher {

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

inline http::Response json_answer(int status, const nlohmann::json& body,
                                  std::vector<http::Header> headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = body.dump()};
}

inline http::Response status_answer(int status, const std::string& message,
                                    std::vector<http::Header> headers = {}) {
  return json_answer(status, {{"kind", "Status"}, {"message", message}}, std::move(headers));
}

inline nlohmann::json mpijob(const std::string& condition) {
  nlohmann::json conditions = nlohmann::json::array();
  if (!condition.empty()) conditions.push_back({{"type", condition}, {"status", "True"}});
  const nlohmann::json token = {{"name", "TOKEN"}, {"value", "hunter22"}};
  const nlohmann::json pod = {{"spec", {{"containers", {{{"env", {token}}}}}}}};
  return {{"kind", "MPIJob"},
          {"spec", {{"mpiReplicaSpecs", {{"Launcher", {{"template", pod}}}}}}},
          {"status", {{"conditions", conditions}}}};
}

inline nlohmann::json pods(const nlohmann::json& state) {
  return {{"items",
           {{{"metadata", {{"name", "train-1-launcher-x"}}},
             {"spec", {{"nodeName", "n1"}}},
             {"status", {{"containerStatuses", {{{"name", "launcher"}, {"state", state}}}}}}}}}};
}

/// Returns a job of two ranks that has been started as train-1.
inline JobRecord kubernetes_job() {
  JobRecord job;
  job.spec.name = {"train"};
  job.spec.argv = {"./train"};
  job.spec.engine = EngineKind::kubernetes;
  job.spec.ranks = 2;
  job.spec.kubernetes.image = "image";
  job.placement = {{.node = {"kubernetes"}, .first = 0, .count = 2}};
  job.engine_job.id = "train-1";
  return job;
}

struct KubernetesWorld {
  explicit KubernetesWorld(FakeServer::Answer answer) {
    auto made = std::make_unique<FakeServer>(std::move(answer));
    server = made.get();
    KubernetesAccess access{.context = "lab", .server = "https://k", .name_space = "ns"};
    access.token = Secret("t0ken");
    engine = make_kubernetes_engine(
        std::move(made), access,
        KubernetesTimes{.between_questions = std::chrono::milliseconds(1),
                        .server_timeout = std::chrono::milliseconds(20),
                        .backoff = {.base = std::chrono::milliseconds(1),
                                    .cap = std::chrono::milliseconds(2),
                                    .attempts = 3,
                                    .deadline = std::chrono::milliseconds(10'000)}});
  }
  FakeServer* server;
  std::unique_ptr<JobEngine> engine;
  Cancel never;
};

inline bool asks(const http::Request& request, const std::string& part) {
  return request.url.find(part) != std::string::npos;
}

}  // namespace fastgpu::launcher
