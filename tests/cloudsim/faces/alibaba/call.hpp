// What Alibaba Cloud's actions share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/face.hpp"
#include "cloudsim/faces/aws/params.hpp"

namespace fastgpu::cloudsim::alibaba {

using aws::Params;  // Both vendors write lists and structures in the same way.

struct AlibabaCall {
  World& world;
  const Scope& scope;
  const Params& params;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
};

struct AlibabaAction {
  std::string_view service, name;
  /// The names that it takes, without what follows their first dot; "!" marks what must be there.
  std::string_view parameters;
  Json (*handle)(const AlibabaCall& call);  ///< Returns the answer but for its RequestId.
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

/// The action, once its parameters are known to it and complete. Throws Violation.
const AlibabaAction& find_action(const Call& call, const Params& params);

/// A live one of that id, or the refusal that its kind has: InvalidVpcId.NotFound.
Resource& resource(const AlibabaCall& call, const std::string& kind, const std::string& id);
Instance& instance(const AlibabaCall& call, const std::string& id);

/// A yes or no, which the vendor takes in any case: its own kits write "True".
bool is_on(const Params& params, const std::string& name);

struct DataDisk {
  std::string category;
  int size_gb = 0;
};

/// One of "DataDisk.N". Throws where there are none of that kind and size.
DataDisk read_data_disk(const Params& disk);

/// Refuses with `code` where the request was for a rehearsal.
void stop_if_dry_run(const Params& params, const std::string& code);

/// The tags of a request, "Tag.N.Key" and "Value".
Tags read_tags(const Params& params);
/// Whether "Tag.N" lets a thing with these tags pass; one without a value asks for the key alone.
bool passes_tags(const Params& params, const Tags& tags);
/// As ECS writes them in answers, and as VPC does.
Json ecs_tags(const Tags& tags);
Json vpc_tags(const Tags& tags);

/// What an earlier request with the same ClientToken made, deleted or not; nullptr for none.
const Resource* made_before(const AlibabaCall& call, const std::string& kind);

/// {outer: {inner: [...]}} with those of MaxResults and NextToken, or of PageNumber and PageSize.
Json paged(const AlibabaCall& call, const std::string& outer, const std::string& inner,
           const std::vector<Json>& items, int largest_page);

/// Networks are not there for use at once.
bool is_available(const World& world, const Resource& resource);

/// "2026-11-21T22:00:00Z"; nothing for what is not that.
std::optional<Time> parse_time(const std::string& text);
/// A time for the cloud to release an instance at. Throws Refusal where it is too near or far.
Time read_release_time(const AlibabaCall& call, const std::string& text);

}  // namespace fastgpu::cloudsim::alibaba
