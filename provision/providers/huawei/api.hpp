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
#include "provision/cloud/endpoint.hpp"
#include "provision/providers/huawei/huawei_dialect.hpp"

namespace fastgpu::provision::huawei {

using cloud::Document;
using http::Parameters;
using nlohmann::json;

/// One call, and how it is told of.
struct ApiCall {
  std::string service = "ecs";  ///< The first label of its host.
  std::string region{};
  std::string action{};  ///< As the vendor's kits call it: "CreateServers".
  std::string method = "GET";
  std::string path{};  ///< "/v1/{project}/cloudservers/detail"; "{project}" is filled in.
  Parameters query{};
  json body{};  ///< Null: none.
  std::vector<http::Header> headers{};
  std::string holds{};        ///< As cloud::Call has it.
  std::string doing{};        ///< "launching 4 p2s.2xlarge.8 in cn-north-4a", for errors.
  bool is_repeatable = true;  ///< As cloud::Call has it.
};

/// What a region's calls are made in.
struct Project {
  std::string id{};
  std::string domain{};  ///< The account; empty: not known.
};

/// May be used by any number of threads.
class Api {
 public:
  Api(cloud::ApiTools tools, cloud::Endpoint endpoint)
      : endpoint_(std::move(endpoint)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// The answer's object; an empty one for an empty answer. Throws as cloud::Caller::call does.
  Document call(const ApiCall& call, const Cancel& cancel);

  /// The refusal where there is one.
  std::variant<Document, cloud::Failure> try_call(const ApiCall& call, const Cancel& cancel);

  /// The members of the list `name`, from page to page: each begins after the last one's id.
  std::vector<Document> list(ApiCall call, const char* name, const Cancel& cancel);

  /// The one of the credentials where it is of that region, else the account's there. Throws
  /// not_found where it has none there, conflict for several.
  Project project(const std::string& region, const Cancel& cancel);

  /// The regions that the account has projects in.
  std::vector<std::string> regions(const Cancel& cancel);

 private:
  cloud::Call made(const ApiCall& call, const Cancel& cancel);
  /// The region of the credentials' project; empty where the account may not know.
  std::string home_region(const std::string& project, const Cancel& cancel);
  Project listed_project(const std::string& region, const Cancel& cancel);

  HuaweiDialect dialect_;
  cloud::Endpoint endpoint_;
  cloud::Caller caller_;
  std::mutex mutex_;
  std::map<std::string, Project> projects_;  ///< By region.
  std::optional<std::string> home_region_;   ///< Once it was asked for.
};

/// The region that a project of that name is in: "cn-north-4" for "cn-north-4_team".
std::string region_of_project(const std::string& name);

/// The host of a service: "ecs.cn-north-4.myhuaweicloud.com". Those that serve all regions alike
/// have no region in it.
std::string host_of(const std::string& service, const std::string& region);

}  // namespace fastgpu::provision::huawei
