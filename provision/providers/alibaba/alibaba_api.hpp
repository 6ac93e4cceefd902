// Calls of Alibaba Cloud's services: parameters in, documents out.
#pragma once

#include <functional>
#include <string>

#include "base/json.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/parameters.hpp"
#include "provision/cloud/service_endpoint.hpp"
#include "provision/providers/alibaba/alibaba_dialect.hpp"

namespace fastgpu::provision::alibaba {

using cloud::Answer;
using http::Parameters;

/// One call, with its name for error messages.
struct AlibabaCall {
  std::string service = "ecs";  ///< "ecs", "vpc" or "sts".
  std::string region{};
  std::string action{};
  Parameters parameters{};  ///< The parameters without the region.
  /// The action for error messages: "launching 4 ecs.gn7-c13g1.26xlarge in cn-hangzhou-a".
  std::string doing{};
  bool outwaits_use = true;  ///< Equal to cloud::Call's.
  bool is_start = false;     ///< Equal to cloud::Call's.
};

class AlibabaApi {
 public:
  AlibabaApi(cloud::ApiTools tools, cloud::CloudEndpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// Returns the answer, an object. Throws as cloud::Caller::call does, and remote for any other
  /// answer.
  cloud::JsonAnswer call(const AlibabaCall& call, const Cancel& cancel);

  /// Returns the refusal; absent for a success.
  std::optional<cloud::Failure> try_call(const AlibabaCall& call, const Cancel& cancel);

  /// Reads every page, by tokens or by page numbers, whichever the action uses.
  void pages(AlibabaCall call, const std::function<void(const Answer&)>& take,
             const Cancel& cancel);

 private:
  cloud::CloudCall form(const AlibabaCall& call) const;

  AlibabaDialect dialect_;
  cloud::CloudEndpoint endpoint_;
  cloud::Caller caller_;
};

}  // namespace fastgpu::provision::alibaba
