#include "cloudsim/apis/aws/params.hpp"

#include <charconv>

#include "cloudsim/auth/signature.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

/// Returns the number at the start of `text`, and the rest after its dot; 0 without a number.
int leading_index(std::string_view text, std::string& rest) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const std::string_view left = text.substr(std::size_t(end - text.data()));
  if (error != std::errc{} || !(left.empty() || left.starts_with('.'))) return 0;
  rest = left.empty() ? "" : left.substr(1);
  return index;
}

}  // namespace

std::optional<std::string> Params::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::string Params::get(const std::string& name, const std::string& otherwise) const {
  return find(name).value_or(otherwise);
}

bool Params::flag(const std::string& name, bool otherwise) const {
  const auto value = find(name);
  if (!value) return otherwise;
  if (*value != "true" && *value != "false")
    throw ProtocolViolation(400, "InvalidParameterValue",
                            "Value (" + *value + ") for parameter " + name + " is invalid.");
  return *value == "true";
}

int Params::number(const std::string& name, int otherwise) const {
  const auto value = find(name);
  if (!value) return otherwise;
  int number = 0;
  const char* end = value->data() + value->size();
  if (std::from_chars(value->data(), end, number).ptr != end || value->empty())
    throw ProtocolViolation(400, "InvalidParameterValue",
                            "Value (" + *value + ") for parameter " + name + " is invalid.");
  return number;
}

std::vector<std::string> Params::list(const std::string& name) const {
  std::vector<std::string> out;
  for (const Params& each : structures(name))
    out.push_back(each.get(""));
  return out;
}

std::vector<Params> Params::structures(const std::string& name) const {
  std::map<int, std::map<std::string, std::string>> found;
  for (const auto& [key, value] : structure(name).values_) {
    std::string rest;
    if (const int index = leading_index(key, rest); index > 0) found[index][rest] = value;
  }
  std::vector<Params> out;
  for (auto& [index, values] : found)
    out.emplace_back(std::move(values));
  return out;
}

Params Params::structure(const std::string& name) const {
  std::map<std::string, std::string> inner;
  const std::string prefix = name + ".";
  for (auto at = values_.lower_bound(prefix); at != values_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    inner[at->first.substr(prefix.size())] = at->second;
  }
  return Params(std::move(inner));
}

Json Params::tree() const {
  Json out = Json::object();
  for (const auto& [name, value] : values_) {
    if (name == "Action" || name == "Version") continue;
    Json* node = &out;
    for (const std::string& part : split(name, '.'))
      node = &(*node)[part];
    *node = value;
  }
  return out;
}

}  // namespace fastgpu::cloudsim::aws
