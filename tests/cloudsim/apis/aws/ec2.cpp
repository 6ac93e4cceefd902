#include "cloudsim/apis/aws/ec2.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/contains.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

constexpr std::array kTables = {launch_actions,  instance_actions, power_actions, catalogue_actions,
                                image_actions,   network_actions,  route_actions, group_actions,
                                address_actions, other_actions};

/// Checks the names of filters beforehand, so that a wrong one is reported even if nothing would be
/// found.
void check_filters(const Params& params, const std::vector<std::string>& known) {
  for (const Params& filter : params.structures("Filter")) {
    const std::string name = filter.get("Name");
    if (!name.starts_with("tag:") && name != "tag-key" && !contains(known, name))
      throw ProtocolViolation(400, "InvalidParameterValue", "The filter '" + name + "' is invalid");
  }
}

void check_parameters(const Ec2Action& action, const Params& params) {
  std::set<std::string> known = {"Action", "Version", "DryRun"};
  for (std::string name : split(action.parameters, ' ')) {
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      check_filters(params, split(std::string_view(name).substr(colon + 1), ','));
      name.resize(colon);
    }
    if (name.ends_with('!')) {
      name.pop_back();
      const bool there = std::ranges::any_of(params.values(), [&](const auto& entry) {
        return entry.first == name || entry.first.starts_with(name + ".");
      });
      if (!there)
        throw ProtocolViolation(400, "MissingParameter",
                                "The request must contain the parameter " + name);
    }
    known.insert(std::move(name));
  }
  for (const auto& [name, value] : params.values())
    if (!known.contains(name.substr(0, name.find('.'))))
      throw ProtocolViolation(400, "UnknownParameter",
                              "The parameter " + name + " is not recognized");
}

/// Returns the error code for a missing resource, such as InvalidVpcID.NotFound.
std::string not_found_code(const std::string& kind) {
  static const std::map<std::string, std::string> codes = {
      {"vpc", "InvalidVpcID.NotFound"},
      {"subnet", "InvalidSubnetID.NotFound"},
      {"gateway", "InvalidInternetGatewayID.NotFound"},
      {"route-table", "InvalidRouteTableID.NotFound"},
      {"group", "InvalidGroup.NotFound"},
      {"key", "InvalidKeyPair.NotFound"},
      {"address", "InvalidAllocationID.NotFound"},
      {"volume", "InvalidVolume.NotFound"},
      {"image", "InvalidAMIID.NotFound"},
      {"interface", "InvalidNetworkInterfaceID.NotFound"},
      {"placement", "InvalidPlacementGroup.Unknown"},
  };
  return codes.at(kind);
}

bool matches_any(const std::vector<std::string>& patterns, const std::vector<std::string>& values) {
  return std::ranges::any_of(values, [&](const std::string& value) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), value.c_str(), 0) == 0;
    });
  });
}

}  // namespace

const Ec2Action& ec2_action(const std::string& name, const Params& params) {
  for (const auto& table : kTables)
    for (const Ec2Action& action : table())
      if (action.name == name) {
        check_parameters(action, params);
        return action;
      }
  throw ProtocolViolation(400, "InvalidAction",
                          "The action " + name + " is not valid for this web service.");
}

Json ok() {
  return {{"return", true}};
}

Json tag_set(const Tags& tags) {
  Json out = Json::array();
  for (const auto& [key, value] : tags)
    out.push_back({{"key", key}, {"value", value}});
  return out;
}

Tags tags_for(const Params& params, std::string_view type) {
  Tags tags;
  for (const Params& specification : params.structures("TagSpecification")) {
    if (specification.get("ResourceType") != type) continue;
    for (const Params& tag : specification.structures("Tag"))
      tags[tag.get("Key")] = tag.get("Value");
  }
  return tags;
}

void stop_if_dry_run(const Params& params) {
  if (params.flag("DryRun"))
    throw Refusal(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
}

Resource& resource(const Ec2Call& call, const std::string& kind, const std::string& id) {
  Resource* found = call.world.find(call.scope, kind, id);
  if (found == nullptr)
    throw Refusal(400, not_found_code(kind), "The " + kind + " '" + id + "' does not exist");
  return *found;
}

Instance& instance(const Ec2Call& call, const std::string& id) {
  Instance* found = call.world.find_instance(call.scope, id);
  if (!id.starts_with("i-") || id.size() < 10)
    throw ProtocolViolation(400, "InvalidInstanceID.Malformed", "Invalid id: \"" + id + "\"");
  if (found == nullptr)
    throw Refusal(400, "InvalidInstanceID.NotFound", "The instance ID '" + id + "' does not exist");
  return *found;
}

bool passes(const Params& params, const Facts& facts, const Tags& tags) {
  for (const Params& filter : params.structures("Filter")) {
    const std::string name = filter.get("Name");
    const std::vector<std::string> wanted = filter.list("Value");
    std::vector<std::string> values;
    if (name.starts_with("tag:")) {
      if (const auto tag = tags.find(name.substr(4)); tag != tags.end()) values = {tag->second};
    } else if (name == "tag-key") {
      for (const auto& [key, value] : tags)
        values.push_back(key);
    } else {
      values = facts.at(name);
    }
    if (!matches_any(wanted, values)) return false;
  }
  return true;
}

Page page(const Params& params, std::size_t items, int least, int most) {
  const int size = params.number("MaxResults", most);
  if (size < least || size > most)
    throw ProtocolViolation(
        400, "InvalidParameterValue",
        "Value ( " + std::to_string(size) + " ) for parameter maxResults is invalid.");
  Page page;
  if (const auto token = params.find("NextToken")) {
    try {
      page.begin = std::stoul(base64_decode(*token));
    } catch (const std::exception&) {
      throw ProtocolViolation(400, "InvalidNextToken", "The token '" + *token + "' is invalid.");
    }
  }
  page.begin = std::min(page.begin, items);
  page.end = std::min(page.begin + std::size_t(size), items);
  if (page.end < items) page.next = base64_encode(std::to_string(page.end));
  return page;
}

Json describe(const Ec2Call& call, const std::string& kind, const std::string& ids_parameter,
              const std::string& name, Facts (*facts)(const Resource&),
              Json (*shape)(const Ec2Call&, const Resource&)) {
  const std::vector<std::string> ids = call.params.list(ids_parameter);
  for (const std::string& id : ids)
    resource(call, kind, id);
  std::vector<const Resource*> found;
  for (const Resource* each : call.world.resources_of(call.scope, kind))
    if ((ids.empty() || contains(ids, each->id)) && passes(call.params, facts(*each), each->tags))
      found.push_back(each);
  const Page part = page(call.params, found.size(), 5, 1000);
  Json out = {{name, Json::array()}};
  for (std::size_t i = part.begin; i < part.end; ++i)
    out[name].push_back(shape(call, *found[i]));
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

}  // namespace fastgpu::cloudsim::aws
