// The common part of Alibaba Cloud's actions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/apis/aws/params.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::alibaba {

using aws::Params;  // Both vendors write lists and structures in the same way.

struct AlibabaCall {
  SimulatedWorld& world;
  const Scope& scope;
  const Params& params;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
};

struct AlibabaAction {
  std::string_view service, name;
  /// The allowed names, up to their first dot. "!" marks required ones.
  std::string_view parameters;
  Json (*handle)(const AlibabaCall& call);  ///< Returns the answer without its RequestId.
};

std::span<const AlibabaAction> launch_actions();
std::span<const AlibabaAction> instance_actions();
std::span<const AlibabaAction> power_actions();
std::span<const AlibabaAction> tag_actions();
std::span<const AlibabaAction> catalogue_actions();
std::span<const AlibabaAction> price_actions();
std::span<const AlibabaAction> image_actions();
std::span<const AlibabaAction> key_pair_actions();
std::span<const AlibabaAction> network_actions();
std::span<const AlibabaAction> group_actions();
std::span<const AlibabaAction> hpc_actions();

/// Returns the action. Throws ProtocolViolation if a parameter is unknown or missing.
const AlibabaAction& find_action(const Call& call, const Params& params);

/// Returns the live resource with this id. Otherwise throws the refusal for its kind, such as
/// InvalidVpcId.NotFound.
Resource& resource(const AlibabaCall& call, const std::string& kind, const std::string& id);
Instance& instance(const AlibabaCall& call, const std::string& id);

/// Returns a boolean parameter. Any case is accepted, as by the vendor: its own kits write "True".
bool is_on(const Params& params, const std::string& name);

struct DataDisk {
  std::string category;
  int size_gb = 0;
};

/// Reads one of "DataDisk.N". Throws if that category does not exist or does not have that size.
DataDisk read_data_disk(const Params& disk);

/// Throws a refusal with `code` if the request is a dry run.
void stop_if_dry_run(const Params& params, const std::string& code);

/// Reads the tags of a request: "Tag.N.Key" and "Tag.N.Value".
Tags read_tags(const Params& params);
/// Returns true if an object with these tags passes the filter "Tag.N". A filter without a value
/// checks only the key.
bool passes_tags(const Params& params, const Tags& tags);
/// Return the tags in the form of ECS's and VPC's answers.
Json ecs_tags(const Tags& tags);
Json vpc_tags(const Tags& tags);

/// Returns the resource that an earlier request with the same ClientToken created, even if it is
/// deleted; null if there is none.
const Resource* made_before(const AlibabaCall& call, const std::string& kind);

/// Returns {outer: {inner: [...]}} with the page of `items` that MaxResults and NextToken, or
/// PageNumber and PageSize, select.
Json paged(const AlibabaCall& call, const std::string& outer, const std::string& inner,
           const std::vector<Json>& items, int largest_page);

/// Returns true if the network resource is usable: new ones are not for some time.
bool is_available(const SimulatedWorld& world, const Resource& resource);

/// Reads the time at which the cloud should release an instance. Throws Refusal if it is too early
/// or too late.
Time read_release_time(const AlibabaCall& call, const std::string& text);

}  // namespace fastgpu::cloudsim::alibaba
