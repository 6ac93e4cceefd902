// The common part of Tencent Cloud's actions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::tencent {

struct TencentCall {
  SimulatedWorld& world;
  const Scope& scope;
  const Json& body;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
  std::string text(const char* name, const std::string& otherwise = "") const {
    return body.value(name, otherwise);
  }
  std::vector<std::string> list(const char* name) const {
    return body.value(name, std::vector<std::string>());
  }
};

struct TencentAction {
  std::string_view service, name;
  /// The allowed names. "!" marks required ones. The names of filters, except for tags, follow
  /// "Filters:".
  std::string_view parameters;
  Json (*handle)(const TencentCall& call);  ///< Returns the Response without its RequestId.
};

std::span<const TencentAction> instance_actions();
std::span<const TencentAction> launch_actions();
std::span<const TencentAction> catalogue_actions();
std::span<const TencentAction> image_actions();
std::span<const TencentAction> network_actions();
std::span<const TencentAction> group_actions();
std::span<const TencentAction> address_actions();
std::span<const TencentAction> other_actions();

/// Errors have HTTP status 200.
Refusal refusal(const std::string& code, const std::string& message);
ProtocolViolation violation(const std::string& code, const std::string& message);

/// Returns the action. Throws ProtocolViolation if a parameter is unknown or missing.
const TencentAction& find_action(const Call& call, const Json& body);

Resource& resource(const TencentCall& call, const std::string& kind, const std::string& id);

/// Convert between tags and [{"Key", "Value"}].
Json tag_list(const Tags& tags);
Tags read_tags(const Json& list);
/// Returns the tags in TagSpecification. Its ResourceType must be `type`.
Tags specified_tags(const TencentCall& call, const std::string& type);

/// The values of one object by the names of filters.
using Facts = std::map<std::string, std::vector<std::string>>;
/// Returns true if the object passes the filters. `facts` must have the values for all filters of
/// the action.
bool passes(const TencentCall& call, const Facts& facts, const Tags& tags);

/// Returns {"TotalCount", name: [...]} with the items that Offset and Limit select. Services differ
/// in whether these two are numbers or texts.
enum class Numbers : std::uint8_t { whole, text };
Json paged(const TencentCall& call, const std::string& name, const std::vector<Json>& items,
           Numbers numbers);

/// Throws if the request has both ids and filters.
void check_one_of(const TencentCall& call, const char* ids);

}  // namespace fastgpu::cloudsim::tencent
