// EC2's actions, each a function from parameters to the answer's fields.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/face.hpp"
#include "cloudsim/faces/aws/params.hpp"

namespace fastgpu::cloudsim::aws {

struct Ec2Call {
  World& world;
  const Scope& scope;
  const Params& params;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
};

/// The answer's fields. An object is an element with children, an array a list of <item>s.
using Ec2Handler = Json (*)(const Ec2Call& call);

struct Ec2Action {
  std::string_view name;
  /// The names that it takes, without what follows their first dot; "!" marks what must be there,
  /// and "Filter:" is followed by the names of filters, tags excepted.
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

/// Throws Violation where the action is unknown, or a parameter is unknown or missing.
const Ec2Action& ec2_action(const std::string& name, const Params& params);

// What several of them share.

Json ok();  ///< {"return": true}
Json tag_set(const Tags& tags);

/// The tags that TagSpecification asks for things of this type; Violation for other types than
/// `allowed`.
Tags tags_for(const Params& params, std::string_view type);

/// Refuses with DryRunOperation where the request was for a rehearsal.
void stop_if_dry_run(const Params& params);

/// A live resource of that kind and id, or the refusal that its kind has: InvalidVpcID.NotFound.
Resource& resource(const Ec2Call& call, const std::string& kind, const std::string& id);
Instance& instance(const Ec2Call& call, const std::string& id);

/// Values by filter name that one thing offers.
using Facts = std::map<std::string, std::vector<std::string>>;
/// Whether Filter.N lets this thing pass. `facts` has all that the action's filters ask.
bool passes(const Params& params, const Facts& facts, const Tags& tags);

/// Cuts `items` by MaxResults and NextToken and adds "nextToken" to the answer under `name`.
struct Page {
  std::size_t begin = 0, end = 0;
  std::string next;  ///< Empty on the last page.
};
Page page(const Params& params, std::size_t items, int least, int most);

/// {name: [described...]} of all resources of a kind that the ids and filters let pass.
Json describe(const Ec2Call& call, const std::string& kind, const std::string& ids_parameter,
              const std::string& name, Facts (*facts)(const Resource&),
              Json (*shape)(const Ec2Call&, const Resource&));

}  // namespace fastgpu::cloudsim::aws
