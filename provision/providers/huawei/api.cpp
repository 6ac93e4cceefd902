#include "provision/providers/huawei/api.hpp"

#include <algorithm>
#include <array>

#include "base/join.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;

constexpr std::string_view kProject = "{project}";
constexpr std::size_t kPage = 1000;
constexpr int kMostListPages = 1'000;

/// Returns true for services that serve all regions from one host, and have no project in their
/// paths.
bool is_global(const std::string& service) {
  return service == "iam" || service == "bss";
}

/// Returns text for people, without content that may be secret.
std::string shown(const json& body, const Parameters& query) {
  std::string text;
  for (const auto& [name, value] : query)
    append_item(text, name + "=" + value, " ");
  if (body.is_null()) return text;
  json open = body;
  if (open.contains("server") && open["server"].contains("user_data"))
    open["server"]["user_data"] = "***";
  append_item(text, cloud::body_text(open), " ");
  return text;
}

/// Returns true for a region's own project, whose name is the region's. "cn-north-4_team" is a
/// project of a part of the account.
bool is_region(const std::string& project) {
  return project.find('-') != std::string::npos && project.find('_') == std::string::npos;
}

}  // namespace

std::string host_of(const std::string& service, const std::string& region) {
  // The cloud in Europe has hosts of its own.
  const std::string domain =
      region.starts_with("eu-west-1") ? ".myhuaweicloud.eu" : ".myhuaweicloud.com";
  return is_global(service) && !region.starts_with("eu-west-1") ? service + domain
                                                                : service + "." + region + domain;
}

cloud::CloudCall Api::made(const HuaweiCall& call, const Cancel& cancel) {
  const auto target = endpoint_.of(call.service, call.region, host_of(call.service, call.region));
  http::Request request{.method = call.method, .url = {}, .headers = call.headers};
  request.headers.push_back({"Host", target.host});
  request.headers.push_back({"Content-Type", "application/json"});
  std::string path = call.path;
  if (is_global(call.service)) {
    const std::string domain = call.service == "iam" ? caller_.credentials().domain_id
                                                     : project(call.region, cancel).domain;
    if (!domain.empty()) request.headers.push_back({"X-Domain-Id", domain});
  } else {
    const std::string id = project(call.region, cancel).id;
    request.headers.push_back({"X-Project-Id", id});
    if (const auto at = path.find(kProject); at != std::string::npos)
      path.replace(at, kProject.size(), id);
  }
  request.url = target.url + path;
  if (!call.query.empty()) request.url += "?" + http::encode_query(call.query);
  if (!call.body.is_null()) request.body = cloud::body_text(call.body);
  return {.service = call.service,
          .action = call.action,
          .region = call.region,
          .request = std::move(request),
          .shown = shown(call.body, call.query),
          .is_repeatable = call.is_repeatable,
          .outwaits_use = call.outwaits_use,
          .is_start = call.is_start,
          .holds = call.holds};
}

std::variant<JsonAnswer, cloud::Failure> Api::try_call(const HuaweiCall& call,
                                                       const Cancel& cancel) {
  const cloud::CloudCall made = this->made(call, cancel);
  auto reply = caller_.try_call(made, cancel);
  if (auto* failure = std::get_if<cloud::Failure>(&reply)) return std::move(*failure);
  const auto& response = std::get<http::Response>(reply);
  if (response.body.empty()) return JsonAnswer(json::object());
  return cloud::parse_answer(response, "huawei to " + made.action);
}

JsonAnswer Api::call(const HuaweiCall& call, const Cancel& cancel) {
  auto reply = try_call(call, cancel);
  if (const auto* failure = std::get_if<cloud::Failure>(&reply))
    throw cloud::error_of(*failure, "huawei: " + call.doing);
  return std::move(std::get<JsonAnswer>(reply));
}

std::vector<JsonAnswer> Api::list(HuaweiCall call, const char* name, const Cancel& cancel) {
  std::vector<JsonAnswer> all;
  std::string marker;
  const std::size_t own = call.query.size();
  call.holds = name;
  for (int page = 0; page < kMostListPages; ++page) {
    call.query.resize(own);
    call.query.emplace_back("limit", std::to_string(kPage));
    if (!marker.empty()) call.query.emplace_back("marker", marker);
    std::vector<JsonAnswer> found = this->call(call, cancel).take(name).take_items();
    const std::size_t count = found.size();
    std::ranges::move(found, std::back_inserter(all));
    if (count < kPage) return all;
    const std::string last = all.back()["id"].text();
    if (last.empty() || last == marker) break;
    marker = last;
  }
  throw Error(ErrorKind::remote, "huawei: " + call.doing + ": the list does not end");
}

std::string region_of_project(const std::string& name) {
  return name.substr(0, name.find('_'));
}

/// An account with a single project may have no permission to list projects. An empty result then
/// means that the credentials' project is used.
std::string Api::home_region(const std::string& project, const Cancel& cancel) {
  {
    const std::lock_guard lock(mutex_);
    if (home_region_) return *home_region_;
  }
  std::string region;
  const auto reply = try_call({.service = "iam",
                               .action = "KeystoneListProjects",
                               .path = "/v3/projects",
                               .holds = "projects",
                               .doing = "looking for the region of project " + project},
                              cancel);
  if (const auto* answer = std::get_if<JsonAnswer>(&reply))
    for (const Answer& each : (*answer)["projects"].items())
      if (each["id"].text() == project) region = region_of_project(each["name"].text());
  const std::lock_guard lock(mutex_);
  home_region_ = region;
  return region;
}

Project Api::project(const std::string& region, const Cancel& cancel) {
  const credentials::Credentials own = caller_.credentials();
  if (own.project_id.empty()) return listed_project(region, cancel);
  const std::string home = home_region(own.project_id, cancel);
  if (home.empty() || home == region) return {own.project_id, own.domain_id};
  return listed_project(region, cancel);
}

Project Api::listed_project(const std::string& region, const Cancel& cancel) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = projects_.find(region); found != projects_.end()) return found->second;
  }
  const JsonAnswer answer = call({.service = "iam",
                                  .region = region,
                                  .action = "KeystoneListProjects",
                                  .path = "/v3/projects",
                                  .query = {{"name", region}},
                                  .holds = "projects",
                                  .doing = "looking for the project of " + region},
                                 cancel);
  const auto projects = answer["projects"].items();
  if (projects.empty())
    throw Error(ErrorKind::not_found, "huawei: the account has no project in " + region);
  if (projects.size() > 1)
    throw Error(ErrorKind::conflict, "huawei: the account has " + std::to_string(projects.size()) +
                                         " projects named " + region +
                                         ": set HUAWEICLOUD_SDK_PROJECT_ID to one of them");
  Project found{projects.front()["id"].text(), projects.front()["domain_id"].text()};
  if (found.id.empty())
    throw Error(ErrorKind::remote, "huawei: the project of " + region + " comes without its id");
  const std::lock_guard lock(mutex_);
  return projects_[region] = found;
}

std::vector<std::string> Api::regions(const Cancel& cancel) {
  const JsonAnswer answer = call({.service = "iam",
                                  .action = "KeystoneListProjects",
                                  .path = "/v3/projects",
                                  .holds = "projects",
                                  .doing = "listing projects"},
                                 cancel);
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (const Answer& project : answer["projects"].items()) {
    const std::string name = project["name"].text();
    if (!is_region(name) || project["id"].text().empty()) continue;
    projects_[name] = {project["id"].text(), project["domain_id"].text()};
    names.push_back(name);
  }
  return names;
}

}  // namespace fastgpu::provision::huawei
