#include "cloudsim/api_facts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "base/contains.hpp"
#include "base/error.hpp"

namespace fastgpu::cloudsim {
namespace {

/// Returns a member's name in requests: its own name, unless the file has another one.
std::string wire_name(const std::string& name, const Json& member) {
  return member.value("wire", name);
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_string()) return false;
  const std::string text = value;
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  return text.size() > begin && std::all_of(text.begin() + std::ptrdiff_t(begin), text.end(),
                                            [](unsigned char c) { return std::isdigit(c) != 0; });
}

void check_value(const Json& schema, const Json& value, const std::string& path);

void check_members(const Json& members, const Json& value, const std::string& path) {
  if (!value.is_object())
    throw ProtocolViolation(400, "InvalidParameter", path + " is no structure");
  for (const auto& [name, inner] : value.items()) {
    const Json* found = nullptr;
    for (const auto& [own, member] : members.items())
      if (wire_name(own, member) == name) found = &member;
    if (found == nullptr)
      throw ProtocolViolation(400, "UnknownParameter",
                              "The parameter " + path + name + " is not recognized");
    check_value(*found, inner, path + name + ".");
  }
  for (const auto& [own, member] : members.items())
    if (member.value("required", false) && !value.contains(wire_name(own, member)))
      throw ProtocolViolation(
          400, "MissingParameter",
          "The request must contain the parameter " + path + wire_name(own, member));
}

void check_list(const Json& schema, const Json& value, const std::string& path) {
  if (!value.is_array() && !value.is_object())
    throw ProtocolViolation(400, "InvalidParameter", path + " is no list");
  for (const auto& [index, inner] : value.items()) {
    if (value.is_object() && (!is_whole(Json(index)) || index == "0"))
      throw ProtocolViolation(400, "UnknownParameter",
                              "The parameter " + path + index + " is not recognized");
    check_value(schema.at("member"), inner, path + index + ".");
  }
}

void check_value(const Json& schema, const Json& value, const std::string& path) {
  const std::string type = schema.value("type", "");
  if (type == "structure" || type == "object" || type == "struct") {
    if (schema.contains("members")) check_members(schema.at("members"), value, path);
  } else if (type == "list" || type == "array") {
    check_list(schema, value, path);
  } else if (value.is_structured()) {
    throw ProtocolViolation(400, "InvalidParameter", path + " is one value");
  } else if ((type == "integer" || type == "int" || type == "int64" || type == "long") &&
             !is_whole(value)) {
    throw ProtocolViolation(400, "InvalidParameterValue", path + " is no whole number");
  } else if (schema.contains("enum")) {
    const Json& allowed = schema.at("enum");
    if (!contains(allowed, value))
      throw ProtocolViolation(
          400, "InvalidParameterValue",
          "Value (" + value.dump() + ") for " + path + " is none of " + allowed.dump());
  }
}

/// Actions that the vendors' kits have, but not the descriptions.
constexpr std::array<std::string_view, 9> kLeftOut = {
    "DeleteInstancesActionTimer", "CreateImage",    "DeregisterImage", "DeleteImage",
    "DescribeSnapshots",          "DeleteSnapshot", "DeleteImages",    "ShowJob",
    "GlanceDeleteImage"};  // ShowJob of the image service.

}  // namespace

ApiFacts::ApiFacts(const std::filesystem::path& file) try {
  std::ifstream in(file);
  services_ = Json::parse(in).at("services");
} catch (const nlohmann::json::exception& e) {
  throw Error(ErrorKind::usage, file.string() + ": " + e.what());
}

void ApiFacts::check(const std::string& service, const std::string& action,
                     const Json& parameters) const {
  if (services_.is_null()) return;
  if (!services_.contains(service) || !services_.at(service).at("actions").contains(action)) {
    if (contains(kLeftOut, action)) return;
    throw ProtocolViolation(400, "InvalidAction", service + " has no action " + action);
  }
  check_members(services_.at(service).at("actions").at(action).at("request"), parameters, "");
}

}  // namespace fastgpu::cloudsim
