// EC2's actions. Each is a function from parameters to the fields of the answer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/apis/aws/params.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::aws {

struct Ec2Call {
  SimulatedWorld& world;
  const Scope& scope;
  const Params& params;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
};

/// Returns the fields of the answer. An object becomes an element with children, an array a list of
/// <item>s.
using Ec2Handler = Json (*)(const Ec2Call& call);

struct Ec2Action {
  std::string_view name;
  /// The allowed names, up to their first dot. "!" marks required ones. The names of filters,
  /// except for tags, follow "Filter:".
  std::string_view parameters;
  Ec2Handler handle;
};

std::span<const Ec2Action> launch_actions();
std::span<const Ec2Action> instance_actions();
std::span<const Ec2Action> power_actions();
std::span<const Ec2Action> catalogue_actions();
std::span<const Ec2Action> image_actions();
std::span<const Ec2Action> network_actions();
std::span<const Ec2Action> route_actions();
std::span<const Ec2Action> group_actions();
std::span<const Ec2Action> address_actions();
std::span<const Ec2Action> other_actions();

/// Returns the action. Throws ProtocolViolation if the action is unknown, or if a parameter is
/// unknown or missing.
const Ec2Action& ec2_action(const std::string& name, const Params& params);

// The common part of several actions.

Json ok();  ///< Returns {"return": true}.
Json tag_set(const Tags& tags);

/// Returns the tags in TagSpecification for resources of `type`. Throws ProtocolViolation if it has
/// another type.
Tags tags_for(const Params& params, std::string_view type);

/// Throws the refusal DryRunOperation if the request is a dry run.
void stop_if_dry_run(const Params& params);

/// Returns the live resource of this kind and id. Otherwise throws the refusal for its kind, such
/// as InvalidVpcID.NotFound.
Resource& resource(const Ec2Call& call, const std::string& kind, const std::string& id);
Instance& instance(const Ec2Call& call, const std::string& id);

/// The values of one object by the names of filters.
using Facts = std::map<std::string, std::vector<std::string>>;
/// Returns true if the object passes the filters. `facts` must have the values for all filters of
/// the action.
bool passes(const Params& params, const Facts& facts, const Tags& tags);

/// Part of a list, selected by MaxResults and NextToken.
struct Page {
  std::size_t begin = 0, end = 0;
  std::string next;  ///< The NextToken for the next page; empty on the last page.
};
Page page(const Params& params, std::size_t items, int least, int most);

/// Returns {name: [descriptions]} of all resources of a kind that the ids and filters select.
Json describe(const Ec2Call& call, const std::string& kind, const std::string& ids_parameter,
              const std::string& name, Facts (*facts)(const Resource&),
              Json (*shape)(const Ec2Call&, const Resource&));

}  // namespace fastgpu::cloudsim::aws
