// What Huawei Cloud's actions share.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim::huawei {

/// What a job waits for with one server.
enum class Goal : std::uint8_t { created, started, stopped, deleted };

/// One of a job's parts; without a server where not even that was made.
struct SubJob {
  std::string server{};
  std::string code{};  ///< Of a part that has failed for good.
  std::string reason{};
};

struct JobRecord {
  Goal goal = Goal::created;
  Time begun{};
  std::vector<SubJob> parts{};
};

/// What a client token stands for.
struct TokenRecord {
  Time since{};
  std::string fingerprint{};
  Json answer{};
};

/// What the vendor keeps beside its resources.
struct Memory {
  std::map<std::pair<Scope, std::string>, JobRecord> jobs{};
  std::map<std::pair<Scope, std::string>, TokenRecord> tokens{};
};

struct HuaweiCall {
  World& world;
  Memory& memory;
  const Scope& scope;
  const std::map<std::string, std::string>& path;  ///< What stands for "{server_id}" and its like.
  const std::map<std::string, std::string>& query;
  const Json& body;
  const Request& request;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
  std::string asked(const char* name, const std::string& otherwise = "") const {
    const auto found = query.find(name);
    return found == query.end() ? otherwise : found->second;
  }
};

/// An answer's status and body; no body at all where `body` is null.
struct Answered {
  int status = 200;
  Json body{};
};

struct HuaweiAction {
  std::string_view service, name, method;
  std::string_view path;  ///< "/v1/{project_id}/jobs/{job_id}"
  std::string_view
      member;  ///< Tells actions of one path apart: the body has it, or its "action" is.
  Answered (*handle)(const HuaweiCall& call);
};

std::span<const HuaweiAction> launch_actions();
std::span<const HuaweiAction> server_actions();
/// Looked at last: its path has any word where others have their own.
std::span<const HuaweiAction> one_server_actions();
std::span<const HuaweiAction> flavor_actions();
std::span<const HuaweiAction> network_actions();
std::span<const HuaweiAction> group_actions();
std::span<const HuaweiAction> address_actions();
std::span<const HuaweiAction> account_actions();
std::span<const HuaweiAction> image_actions();
std::span<const HuaweiAction> key_pair_actions();

/// What a request's path and body ask for.
struct Route {
  const HuaweiAction* action = nullptr;  ///< Null: nothing that we know.
  std::map<std::string, std::string> path{};
};
Route route(std::string_view service, const Request& request);

/// A region's project. The same for every account: nobody's rights hang on it.
std::string project_of(const std::string& region);

std::string new_uuid(World& world);
Resource& resource(const HuaweiCall& call, const std::string& kind, const std::string& id);
Instance& server(const HuaweiCall& call, const std::string& id);

/// {"<name>": [those after the marker, at most the limit]}
Json marked_page(const HuaweiCall& call, const char* name, const std::vector<Json>& items);

/// A number of the query between the bounds. Throws Violation.
std::size_t asked_number(const HuaweiCall& call, const char* name, std::size_t otherwise,
                         std::size_t most);

/// Keeps a job and gives its id.
std::string begin_job(const HuaweiCall& call, Goal goal, std::vector<SubJob> parts);

/// A timer that ends a server, at least half an hour ahead; seconds are cut off.
std::optional<Time> read_timer(const HuaweiCall& call, const std::string& text);

}  // namespace fastgpu::cloudsim::huawei
