// Calls of Alibaba Cloud's services: parameters in, documents out.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/endpoint.hpp"
#include "provision/cloud/parameters.hpp"
#include "provision/providers/alibaba/alibaba_dialect.hpp"

namespace fastgpu::provision::alibaba {

using cloud::Answer;
using http::Parameters;

/// One call, and how it is told of.
struct ApiCall {
  std::string service = "ecs";  ///< "ecs", "vpc" or "sts".
  std::string region{};
  std::string action{};
  Parameters parameters{};  ///< But for the region.
  std::string doing{};      ///< "launching 4 ecs.gn7-c13g1.26xlarge in cn-hangzhou-a", for errors.
};

class AlibabaApi {
 public:
  AlibabaApi(cloud::ApiTools tools, cloud::Endpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// The answer, an object. Throws as cloud::Caller::call does, and remote for no JSON object.
  cloud::Document call(const ApiCall& call, const Cancel& cancel);

  /// The refusal where there is one.
  std::optional<cloud::Failure> try_call(const ApiCall& call, const Cancel& cancel);

  /// Reads every page, by tokens or by numbers as the action has them.
  void pages(ApiCall call, const std::function<void(const Answer&)>& take, const Cancel& cancel);

 private:
  cloud::Call form(const ApiCall& call) const;

  AlibabaDialect dialect_;
  cloud::Endpoint endpoint_;
  cloud::Caller caller_;
};

}  // namespace fastgpu::provision::alibaba
