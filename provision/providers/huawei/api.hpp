// Calls of Huawei Cloud's services: paths and JSON in, JSON out.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/urls.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/service_endpoint.hpp"
#include "provision/providers/huawei/huawei_dialect.hpp"

namespace fastgpu::provision::huawei {

using cloud::JsonAnswer;
using http::Parameters;
using nlohmann::json;

/// One call, with its name for error messages.
struct HuaweiCall {
  std::string service = "ecs";  ///< The first label of the host's name.
  std::string region{};
  std::string action{};  ///< The name in the vendor's SDKs: "CreateServers".
  std::string method = "GET";
  std::string path{};  ///< "/v1/{project}/cloudservers/detail"; "{project}" is filled in.
  Parameters query{};
  json body{};  ///< The request's JSON; null: no body.
  std::vector<http::Header> headers{};
  std::string holds{};  ///< Equal to cloud::Call's.
  /// The action for error messages: "launching 4 p2s.2xlarge.8 in cn-north-4a".
  std::string doing{};
  bool is_repeatable = true;  ///< Equal to cloud::Call's.
  bool outwaits_use = true;   ///< Equal to cloud::Call's.
  bool is_start = false;      ///< Equal to cloud::Call's.
};

/// The project in which a region's calls are made.
struct Project {
  std::string id{};
  std::string domain{};  ///< The account; empty: unknown.
};

/// The caller of Huawei Cloud's services. Any number of threads may use one.
class Api {
 public:
  Api(cloud::ApiTools tools, cloud::CloudEndpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// Returns the answer's object, which is empty for an empty answer. Throws as cloud::Caller::call
  /// does.
  JsonAnswer call(const HuaweiCall& call, const Cancel& cancel);

  /// Returns the answer's object, or the refusal.
  std::variant<JsonAnswer, cloud::Failure> try_call(const HuaweiCall& call, const Cancel& cancel);

  /// Returns the members of the list `name`, from all pages. Each page begins after the last id of
  /// the one before it.
  std::vector<JsonAnswer> list(HuaweiCall call, const char* name, const Cancel& cancel);

  /// Returns the credentials' project if it is in that region, else the account's project there.
  /// Throws not_found without such a project, conflict for several.
  Project project(const std::string& region, const Cancel& cancel);

  /// Returns the regions in which the account has projects.
  std::vector<std::string> regions(const Cancel& cancel);

 private:
  cloud::CloudCall made(const HuaweiCall& call, const Cancel& cancel);
  /// Returns the region of the credentials' project; empty if the account may not read it.
  std::string home_region(const std::string& project, const Cancel& cancel);
  Project listed_project(const std::string& region, const Cancel& cancel);

  HuaweiDialect dialect_;
  cloud::CloudEndpoint endpoint_;
  cloud::Caller caller_;
  std::mutex mutex_;
  std::map<std::string, Project> projects_;  ///< The projects by region.
  std::optional<std::string> home_region_;   ///< Absent before the first question.
};

/// Returns the region of a project by its name: "cn-north-4" for "cn-north-4_team".
std::string region_of_project(const std::string& name);

/// Returns the host of a service: "ecs.cn-north-4.myhuaweicloud.com". The hosts of global services
/// have no region in their names.
std::string host_of(const std::string& service, const std::string& region);

}  // namespace fastgpu::provision::huawei
