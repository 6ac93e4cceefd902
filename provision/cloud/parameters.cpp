#include "provision/cloud/parameters.hpp"

#include "base/join.hpp"

namespace fastgpu::provision::cloud {

void add_list(http::Parameters& parameters, const std::string& name,
              std::span<const std::string> values) {
  int n = 0;
  for (const std::string& value : values)
    parameters.emplace_back(name + "." + std::to_string(++n), value);
}

std::string shown(const http::Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    append_item(text, name + "=" + (name == "UserData" ? "***" : value), " ");
  return text;
}

}  // namespace fastgpu::provision::cloud
