#include "cloudsim/apis/alibaba/call.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/world/times.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

constexpr auto kSettling = 200ms;  ///< A new network is pending for this long.

constexpr std::array kTables = {
    launch_actions, instance_actions, power_actions, tag_actions, catalogue_actions, price_actions,
    image_actions,  network_actions,  group_actions, hpc_actions, key_pair_actions};

void check_parameters(const AlibabaAction& action, const Params& params) {
  std::set<std::string> known;
  for (std::string name : split(action.parameters, ' ')) {
    const bool needed = name.ends_with('!');
    if (needed) name.pop_back();
    const bool there = std::ranges::any_of(params.values(), [&](const auto& entry) {
      return entry.first == name || entry.first.starts_with(name + ".");
    });
    if (needed && !there)
      throw ProtocolViolation(400, "Missing" + name,
                              "The input parameter \"" + name + "\" is mandatory.");
    known.insert(std::move(name));
  }
  for (const auto& [name, value] : params.values())
    if (!known.contains(name.substr(0, name.find('.'))))
      throw ProtocolViolation(400, "InvalidParameter",
                              "The parameter " + name + " is not recognized.");
}

std::string not_found_code(const std::string& kind) {
  static const std::map<std::string, std::string> codes = {
      {"vpc", "InvalidVpcId.NotFound"},
      {"subnet", "InvalidVSwitchId.NotFound"},
      {"group", "InvalidSecurityGroupId.NotFound"},
      {"snapshot", "InvalidSnapshotId.NotFound"},
  };
  return codes.at(kind);
}

Json tag_list(const Tags& tags, const char* key_name, const char* value_name) {
  Json list = Json::array();
  for (const auto& [key, value] : tags)
    list.push_back({{key_name, key}, {value_name, value}});
  return {{"Tag", list}};
}

int size_of_page(const Params& params, const char* name, int usual, int most) {
  const int size = params.number(name, usual);
  if (size < 1 || size > most)
    throw ProtocolViolation(400, "InvalidParameter",
                            std::string(name) + " is 1 to " + std::to_string(most) + ".");
  return size;
}

std::size_t offset_of(const Params& params) {
  const std::string token = params.get("NextToken");
  if (token.empty()) return 0;
  try {
    return std::stoul(base64_decode(token));
  } catch (const std::exception&) {
    throw ProtocolViolation(400, "InvalidParameter.NextToken", "The NextToken is not one of ours.");
  }
}

}  // namespace

const AlibabaAction& find_action(const Call& call, const Params& params) {
  for (const auto& table : kTables)
    for (const AlibabaAction& action : table())
      if (action.name == call.action && action.service == call.service) {
        check_parameters(action, params);
        return action;
      }
  throw ProtocolViolation(
      404, "InvalidAction.NotFound",
      "Specified api " + call.action + " is not found in " + call.service + ".");
}

Resource& resource(const AlibabaCall& call, const std::string& kind, const std::string& id) {
  Resource* found = call.world.find(call.scope, kind, id);
  if (found == nullptr)
    throw Refusal(404, not_found_code(kind), "The specified " + kind + " " + id + " is not found.");
  return *found;
}

Instance& instance(const AlibabaCall& call, const std::string& id) {
  if (!id.starts_with("i-"))
    throw ProtocolViolation(400, "InvalidInstanceId.Malformed",
                            "The InstanceId " + id + " is malformed.");
  Instance* found = call.world.find_instance(call.scope, id);
  if (found == nullptr)
    throw Refusal(404, "InvalidInstanceId.NotFound",
                  "The specified InstanceId " + id + " does not exist.");
  return *found;
}

bool is_on(const Params& params, const std::string& name) {
  const std::string value = ascii_lower(params.get(name, "false"));
  if (value != "true" && value != "false")
    throw ProtocolViolation(400, "InvalidParameter", value + " is no value for " + name + ".");
  return value == "true";
}

DataDisk read_data_disk(const Params& disk) {
  constexpr std::array kCategories = {"cloud",      "cloud_efficiency", "cloud_ssd",
                                      "cloud_essd", "cloud_auto",       "cloud_essd_entry"};
  DataDisk out{.category = disk.get("Category", "cloud_efficiency"),
               .size_gb = disk.number("Size", 0)};
  if (!contains(kCategories, out.category))
    throw Refusal(400, "InvalidDataDiskCategory.ValueNotSupported",
                  "The category " + out.category + " is none of data disks.");
  if (out.size_gb < 20 || out.size_gb > 32768)
    throw Refusal(400, "InvalidDataDiskSize.ValueNotSupported", "A data disk has 20 to 32768 GiB.");
  return out;
}

void stop_if_dry_run(const Params& params, const std::string& code) {
  if (is_on(params, "DryRun"))
    throw Refusal(400, code, "Request validation has been passed with DryRun flag set.");
}

Tags read_tags(const Params& params) {
  constexpr std::size_t kMost = 20;
  Tags tags;
  for (const Params& tag : params.structures("Tag"))
    tags[tag.get("Key")] = tag.get("Value");
  if (tags.size() > kMost) throw ProtocolViolation(400, "InvalidTagCount", "At most 20 tags.");
  if (tags.contains(""))
    throw ProtocolViolation(400, "InvalidTagKey.Malformed", "A tag needs a key.");
  return tags;
}

bool passes_tags(const Params& params, const Tags& tags) {
  return std::ranges::all_of(params.structures("Tag"), [&](const Params& wanted) {
    const auto found = tags.find(wanted.get("Key"));
    return found != tags.end() && wanted.get("Value", found->second) == found->second;
  });
}

Json ecs_tags(const Tags& tags) {
  return tag_list(tags, "TagKey", "TagValue");
}
Json vpc_tags(const Tags& tags) {
  return tag_list(tags, "Key", "Value");
}

const Resource* made_before(const AlibabaCall& call, const std::string& kind) {
  const std::string token = call.params.get("ClientToken");
  if (token.size() > 64)
    throw ProtocolViolation(400, "InvalidClientToken.Malformed",
                            "ClientToken has more than 64 characters.");
  if (token.empty()) return nullptr;
  for (const auto& [id, each] : call.world.resources)
    if (each.scope == call.scope && each.kind == kind && each.data.value("token", "") == token)
      return &each;
  return nullptr;
}

Json paged(const AlibabaCall& call, const std::string& outer, const std::string& inner,
           const std::vector<Json>& items, int largest_page) {
  const Params& params = call.params;
  const bool by_token = params.find("MaxResults") || params.find("NextToken");
  const int number = params.number("PageNumber", 1);
  const int size = size_of_page(params, by_token ? "MaxResults" : "PageSize", 10, largest_page);
  if (number < 1) throw ProtocolViolation(400, "InvalidParameter", "PageNumber begins with 1.");
  const std::size_t begin =
      by_token ? offset_of(params) : std::size_t(number - 1) * std::size_t(size);
  const std::size_t end = std::min(begin + std::size_t(size), items.size());
  Json list = Json::array();
  for (std::size_t i = begin; i < end; ++i)
    list.push_back(items[i]);
  Json out = {{outer, {{inner, list}}}, {"TotalCount", items.size()}};
  out["PageSize"] = by_token ? 0 : size;
  out["PageNumber"] = by_token ? 0 : number;
  if (by_token) out["NextToken"] = end < items.size() ? base64_encode(std::to_string(end)) : "";
  return out;
}

bool is_available(const SimulatedWorld& world, const Resource& resource) {
  return resource.created + kSettling <= world.now();
}

Time read_release_time(const AlibabaCall& call, const std::string& text) {
  const auto time = parse_time(text);
  const auto ahead = time ? *time - call.world.now() : 0ms;
  if (!time || ahead < 30min || ahead > 24h * 365 * 3)
    throw Refusal(400, "InvalidAutoReleaseTime.Malformed",
                  "The specified AutoReleaseTime is no time between half an hour and three years "
                  "from now.");
  return *time;
}

}  // namespace fastgpu::cloudsim::alibaba
