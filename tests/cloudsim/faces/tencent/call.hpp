// What Tencent Cloud's actions share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim::tencent {

struct TencentCall {
  World& world;
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
  /// The names that it takes; "!" marks what must be there, and "Filters:" is followed by the names
  /// of filters, tags excepted.
  std::string_view parameters;
  Json (*handle)(const TencentCall& call);  ///< Returns the Response but for its RequestId.
};

std::span<const TencentAction> instance_actions();
std::span<const TencentAction> launch_actions();
std::span<const TencentAction> catalogue_actions();
std::span<const TencentAction> image_actions();
std::span<const TencentAction> network_actions();
std::span<const TencentAction> group_actions();
std::span<const TencentAction> address_actions();
std::span<const TencentAction> other_actions();

/// Errors come with HTTP status 200.
Refusal refusal(const std::string& code, const std::string& message);
Violation violation(const std::string& code, const std::string& message);

/// The action, once its parameters are known to it and complete. Throws Violation.
const TencentAction& find_action(const Call& call, const Json& body);

Resource& resource(const TencentCall& call, const std::string& kind, const std::string& id);

/// [{"Key", "Value"}] both ways.
Json tag_list(const Tags& tags);
Tags read_tags(const Json& list);
/// Those of TagSpecification, whose ResourceType must be `type`.
Tags specified_tags(const TencentCall& call, const std::string& type);

/// Values by filter name that one thing offers.
using Facts = std::map<std::string, std::vector<std::string>>;
/// Whether Filters let it pass. `facts` has all that the action's filters ask.
bool passes(const TencentCall& call, const Facts& facts, const Tags& tags);

/// {"TotalCount", name: [those of Offset and Limit]}. The services differ in how they write these
/// two numbers.
enum class Numbers : std::uint8_t { whole, text };
Json paged(const TencentCall& call, const std::string& name, const std::vector<Json>& items,
           Numbers numbers);

/// Instances or resources are named by ids or by filters, not by both.
void check_one_of(const TencentCall& call, const char* ids);

}  // namespace fastgpu::cloudsim::tencent
