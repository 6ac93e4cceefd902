// Calls of Tencent Cloud's services: parameters in, documents out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/endpoint.hpp"
#include "provision/providers/tencent/tencent_dialect.hpp"

namespace fastgpu::provision::tencent {

using cloud::Answer;
using cloud::Document;
using nlohmann::json;

/// One call, and how it is told of.
struct ApiCall {
  std::string service = "cvm";  ///< "cvm", "vpc" or "sts".
  std::string region{};         ///< Empty where the action is about all.
  std::string action{};
  json body = json::object();
  std::string doing{};        ///< "launching 4 GN10X.2XLARGE40 in ap-guangzhou-3", for errors.
  bool is_repeatable = true;  ///< As cloud::Call has it.
};

class TencentApi {
 public:
  TencentApi(cloud::ApiTools tools, cloud::Endpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// Of prices, which name none: the international site has other accounts, and bills in dollars.
  Currency currency() const { return endpoint_.mentions(".intl.") ? kUsd : kCny; }

  /// What stands in the answer's "Response". Throws as cloud::Caller::call does, and remote for an
  /// answer without one.
  Document call(const ApiCall& call, const Cancel& cancel);

  /// The refusal where there is one.
  std::optional<cloud::Failure> try_call(const ApiCall& call, const Cancel& cancel);

  /// The members of the answer's list `name`, of all pages.
  std::vector<Document> list(const ApiCall& call, const char* name, const Cancel& cancel);

 private:
  struct Listed;

  cloud::Call form(const ApiCall& call) const;
  Listed read_list(ApiCall call, const char* name, const Cancel& cancel);

  TencentDialect dialect_;
  cloud::Endpoint endpoint_;
  cloud::Caller caller_;
};

/// {"Name": ..., "Values": [...]}, one of an action's "Filters".
json filter(const std::string& name, const std::vector<std::string>& values);

}  // namespace fastgpu::provision::tencent
