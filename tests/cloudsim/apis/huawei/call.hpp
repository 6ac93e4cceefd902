// The common part of Huawei Cloud's actions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::huawei {

/// What a job waits for in each of its servers.
enum class Goal : std::uint8_t { created, started, stopped, deleted };

/// One part of a job. It has no server if even that could not be created.
struct SubJob {
  std::string server{};
  std::string code{};  ///< The error code of a part that has failed for good.
  std::string reason{};
};

struct JobRecord {
  Goal goal = Goal::created;
  Time begun{};
  std::vector<SubJob> parts{};
};

/// The recorded answer to a client token.
struct TokenRecord {
  Time since{};
  std::string fingerprint{};
  Json answer{};
};

/// Data that the vendor keeps in addition to its resources.
struct Memory {
  std::map<std::pair<Scope, std::string>, JobRecord> jobs{};
  std::map<std::pair<Scope, std::string>, TokenRecord> tokens{};
};

struct HuaweiCall {
  SimulatedWorld& world;
  Memory& memory;
  const Scope& scope;
  /// The values for "{server_id}" and similar parts of the path.
  const std::map<std::string, std::string>& path;
  const std::map<std::string, std::string>& query;
  const Json& body;
  const Request& request;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
  std::string asked(const char* name, const std::string& otherwise = "") const {
    const auto found = query.find(name);
    return found == query.end() ? otherwise : found->second;
  }
};

/// The status and body of an answer. There is no body if `body` is null.
struct Answered {
  int status = 200;
  Json body{};
};

struct HuaweiAction {
  std::string_view service, name, method;
  std::string_view path;  ///< "/v1/{project_id}/jobs/{job_id}"
  std::string_view
      /// Distinguishes actions with the same path: the body has this member, or its "action" has
      /// this name.
      member;
  Answered (*handle)(const HuaweiCall& call);
};

std::span<const HuaweiAction> launch_actions();
std::span<const HuaweiAction> server_actions();
/// Searched last, because its path accepts any word where others have fixed ones.
std::span<const HuaweiAction> one_server_actions();
std::span<const HuaweiAction> flavor_actions();
std::span<const HuaweiAction> network_actions();
std::span<const HuaweiAction> group_actions();
std::span<const HuaweiAction> address_actions();
std::span<const HuaweiAction> account_actions();
std::span<const HuaweiAction> image_actions();
std::span<const HuaweiAction> key_pair_actions();

/// The action for a request's path and body.
struct Route {
  const HuaweiAction* action = nullptr;  ///< Null for an unknown action.
  std::map<std::string, std::string> path{};
};
Route route(std::string_view service, const Request& request);

/// Returns the project of a region. It is the same for every account.
std::string project_of(const std::string& region);

std::string new_uuid(SimulatedWorld& world);
Resource& resource(const HuaweiCall& call, const std::string& kind, const std::string& id);
Instance& server(const HuaweiCall& call, const std::string& id);

/// Returns {"<name>": [...]} with the items after the marker, at most the limit.
Json marked_page(const HuaweiCall& call, const char* name, const std::vector<Json>& items);

/// Returns a number in the query. Throws ProtocolViolation if it is out of bounds.
std::size_t asked_number(const HuaweiCall& call, const char* name, std::size_t otherwise,
                         std::size_t most);

/// Records a job and returns its id.
std::string begin_job(const HuaweiCall& call, Goal goal, std::vector<SubJob> parts);

/// Reads the time at which a server should be deleted, at least half an hour ahead. Seconds are
/// dropped.
std::optional<Time> read_timer(const HuaweiCall& call, const std::string& text);

}  // namespace fastgpu::cloudsim::huawei
