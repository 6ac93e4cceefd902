// Calls of Tencent Cloud's services: parameters in, documents out.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/service_endpoint.hpp"
#include "provision/providers/tencent/tencent_dialect.hpp"

namespace fastgpu::provision::tencent {

using cloud::Answer;
using cloud::JsonAnswer;
using nlohmann::json;

/// One call, with its name for error messages.
struct TencentCall {
  std::string service = "cvm";  ///< "cvm", "vpc" or "sts".
  std::string region{};         ///< Empty for an action that concerns all regions.
  std::string action{};
  json body = json::object();
  /// The action for error messages: "launching 4 GN10X.2XLARGE40 in ap-guangzhou-3".
  std::string doing{};
  bool is_repeatable = true;  ///< Equal to cloud::Call's.
  bool outwaits_use = true;   ///< Equal to cloud::Call's.
  bool is_start = false;      ///< Equal to cloud::Call's.
};

class TencentApi {
 public:
  TencentApi(cloud::ApiTools tools, cloud::CloudEndpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// Returns the currency of prices, whose answers do not name it: the international site has
  /// accounts of its own, and bills in dollars.
  Currency currency() const { return endpoint_.mentions(".intl.") ? kUsd : kCny; }

  /// Returns the member "Response" of the answer. Throws as cloud::Caller::call does, and remote
  /// for an answer without that member.
  JsonAnswer call(const TencentCall& call, const Cancel& cancel);

  /// Returns the refusal; absent for a success.
  std::optional<cloud::Failure> try_call(const TencentCall& call, const Cancel& cancel);

  /// Returns the members of the answer's list `name`, from all pages.
  std::vector<JsonAnswer> list(const TencentCall& call, const char* name, const Cancel& cancel);

 private:
  struct Listed;

  cloud::CloudCall form(const TencentCall& call) const;
  Listed read_list(TencentCall call, const char* name, const Cancel& cancel);

  TencentDialect dialect_;
  cloud::CloudEndpoint endpoint_;
  cloud::Caller caller_;
};

/// Returns {"Name": ..., "Values": [...]}, one of an action's "Filters".
json filter(const std::string& name, const std::vector<std::string>& values);

}  // namespace fastgpu::provision::tencent
