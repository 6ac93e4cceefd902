#include <algorithm>

#include "cloudsim/apis/alibaba/call.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

/// Returns the tags of the object with the request's ResourceType.
Tags& tags_of(const AlibabaCall& call, const std::string& id) {
  const std::string type = call.params.get("ResourceType");
  if (type == "instance") return instance(call, id).tags;
  if (type == "snapshot") return resource(call, "snapshot", id).tags;
  if (type == "securitygroup") return resource(call, "group", id).tags;
  throw ProtocolViolation(400, "InvalidResourceType.NotSupported", type + " has no tags here.");
}

Json tag(const AlibabaCall& call) {
  for (const std::string& id : call.params.list("ResourceId")) {
    Tags& tags = tags_of(call, id);
    for (const auto& [key, value] : read_tags(call.params))
      tags[key] = value;
  }
  return Json::object();
}

Json untag(const AlibabaCall& call) {
  for (const std::string& id : call.params.list("ResourceId")) {
    Tags& tags = tags_of(call, id);
    if (is_on(call.params, "All")) tags.clear();
    for (const std::string& key : call.params.list("TagKey"))
      tags.erase(key);
  }
  return Json::object();
}

Json list(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const std::string& id : call.params.list("ResourceId")) {
    const Tags& tags = tags_of(call, id);
    if (!passes_tags(call.params, tags)) continue;
    for (const auto& [key, value] : tags)
      items.push_back({{"ResourceId", id},
                       {"ResourceType", call.params.get("ResourceType")},
                       {"TagKey", key},
                       {"TagValue", value}});
  }
  return {{"NextToken", ""}, {"TagResources", {{"TagResource", items}}}};
}

constexpr AlibabaAction kTagsActions[] = {
    {"ecs", "TagResources", "RegionId! ResourceType! ResourceId! Tag!", tag},
    {"ecs", "UntagResources", "RegionId! ResourceType! ResourceId! TagKey All", untag},
    {"ecs", "ListTagResources", "RegionId! ResourceType! ResourceId! Tag NextToken", list},
};

}  // namespace

std::span<const AlibabaAction> tag_actions() {
  return kTagsActions;
}

}  // namespace fastgpu::cloudsim::alibaba
