#include "cloudsim/apis/tencent/call.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/contains.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

constexpr std::array kTables = {instance_actions, launch_actions, catalogue_actions, image_actions,
                                network_actions,  group_actions,  address_actions,   other_actions};

/// Checks the names of filters beforehand, so that a wrong one is reported even if nothing would be
/// found.
void check_filters(const Json& body, const std::vector<std::string>& known) {
  constexpr std::size_t kMostFilters = 10, kMostValues = 5;
  const Json filters = body.value("Filters", Json::array());
  if (filters.size() > kMostFilters)
    throw violation("InvalidFilterValue.LimitExceeded", "at most 10 filters");
  for (const Json& filter : filters) {
    const std::string name = filter.at("Name");
    if (filter.at("Values").size() > kMostValues)
      throw violation("InvalidFilterValue.LimitExceeded", "at most 5 values in a filter");
    if (!name.starts_with("tag:") && name != "tag-key" && name != "tag-value" &&
        !contains(known, name))
      throw violation("InvalidFilter", "The filter `" + name + "` is not supported.");
  }
}

void check_parameters(const TencentAction& action, const Json& body) {
  std::set<std::string> known;
  for (std::string name : split(action.parameters, ' ')) {
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      check_filters(body, split(std::string_view(name).substr(colon + 1), ','));
      name.resize(colon);
    }
    const bool needed = name.ends_with('!');
    if (needed) name.pop_back();
    if (needed && !body.contains(name))
      throw violation("MissingParameter",
                      "The request is missing a required parameter `" + name + "`.");
    known.insert(std::move(name));
  }
  for (const auto& [name, value] : body.items())
    if (!known.contains(name))
      throw violation("UnknownParameter", "The parameter `" + name + "` is not recognized.");
}

std::size_t read_number(const TencentCall& call, const char* name, std::size_t otherwise,
                        Numbers numbers) {
  if (!call.body.contains(name)) return otherwise;
  const Json& value = call.body.at(name);
  if (numbers == Numbers::whole) {
    if (!value.is_number_unsigned())
      throw violation("InvalidParameter", std::string(name) + " is no whole number");
    return value;
  }
  std::size_t number = 0;
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const char* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, number).ptr != end)
    throw violation("InvalidParameter", std::string(name) + " is no number written as a string");
  return number;
}

std::string not_found_code(const std::string& kind) {
  static const std::map<std::string, std::string> codes = {
      {"vpc", "ResourceNotFound"},          {"subnet", "ResourceNotFound"},
      {"group", "ResourceNotFound"},        {"address", "InvalidAddressId.NotFound"},
      {"key", "InvalidKeyPairId.NotFound"}, {"hpc", "ResourceNotFound.HpcCluster"},
      {"disk", "InvalidDisk.NotFound"},
  };
  return codes.at(kind);
}

}  // namespace

Refusal refusal(const std::string& code, const std::string& message) {
  return {200, code, message};
}

ProtocolViolation violation(const std::string& code, const std::string& message) {
  return {200, code, message};
}

const TencentAction& find_action(const Call& call, const Json& body) {
  if (!body.is_object()) throw violation("InvalidParameter", "the body is no JSON object");
  for (const auto& table : kTables)
    for (const TencentAction& action : table())
      if (action.name == call.action && action.service == call.service) {
        check_parameters(action, body);
        return action;
      }
  throw violation("InvalidAction", "The request action=" + call.action +
                                       " is invalid or not found for service " + call.service +
                                       ".");
}

Resource& resource(const TencentCall& call, const std::string& kind, const std::string& id) {
  Resource* found = call.world.find(call.scope, kind, id);
  if (found == nullptr)
    throw refusal(not_found_code(kind), "The " + kind + " '" + id + "' does not exist.");
  return *found;
}

Json tag_list(const Tags& tags) {
  Json out = Json::array();
  for (const auto& [key, value] : tags)
    out.push_back({{"Key", key}, {"Value", value}});
  return out;
}

Tags read_tags(const Json& list) {
  Tags tags;
  for (const Json& tag : list)
    tags[tag.at("Key")] = tag.value("Value", "");
  return tags;
}

Tags specified_tags(const TencentCall& call, const std::string& type) {
  Tags tags;
  for (const Json& specification : call.body.value("TagSpecification", Json::array())) {
    if (specification.at("ResourceType") != type)
      throw violation("InvalidParameterValue", "TagSpecification is for `" + type + "` alone.");
    tags.merge(read_tags(specification.at("Tags")));
  }
  return tags;
}

bool passes(const TencentCall& call, const Facts& facts, const Tags& tags) {
  for (const Json& filter : call.body.value("Filters", Json::array())) {
    const std::string name = filter.at("Name");
    const auto wanted = filter.at("Values").get<std::vector<std::string>>();
    std::vector<std::string> values;
    if (name.starts_with("tag:")) {
      if (const auto tag = tags.find(name.substr(4)); tag != tags.end()) values = {tag->second};
    } else if (name == "tag-key" || name == "tag-value") {
      for (const auto& [key, value] : tags)
        values.push_back(name == "tag-key" ? key : value);
    } else {
      values = facts.at(name);
    }
    const bool any = std::ranges::any_of(
        values, [&](const std::string& value) { return contains(wanted, value); });
    if (!any) return false;
  }
  return true;
}

Json paged(const TencentCall& call, const std::string& name, const std::vector<Json>& items,
           Numbers numbers) {
  constexpr std::size_t kUsual = 20, kMost = 100;
  const std::size_t offset = read_number(call, "Offset", 0, numbers);
  const std::size_t limit = read_number(call, "Limit", kUsual, numbers);
  if (limit > kMost || limit == 0)
    throw violation("InvalidParameterValue.LimitExceeded", "Limit is 1 to 100.");
  Json out = {{"TotalCount", items.size()}, {name, Json::array()}};
  for (std::size_t i = offset; i < std::min(offset + limit, items.size()); ++i)
    out[name].push_back(items[i]);
  return out;
}

void check_one_of(const TencentCall& call, const char* ids) {
  if (call.body.contains(ids) && call.body.contains("Filters"))
    throw violation("InvalidParameter.InvalidParameterCoexist",
                    std::string(ids) + " and Filters exclude each other.");
}

}  // namespace fastgpu::cloudsim::tencent
