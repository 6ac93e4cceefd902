// The flat parameters of a query request: "Filter.1.Value.2=x".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim::aws {

class Params {
 public:
  Params() = default;
  explicit Params(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  std::optional<std::string> find(const std::string& name) const;
  std::string get(const std::string& name, const std::string& otherwise = "") const;
  bool flag(const std::string& name, bool otherwise = false) const;
  /// Returns a whole number. Throws Refusal InvalidParameterValue for anything else.
  int number(const std::string& name, int otherwise) const;

  /// Returns the values of "name.1", "name.2", ... in this order.
  std::vector<std::string> list(const std::string& name) const;
  /// Returns "name.N.X" for each N as a Params with X.
  std::vector<Params> structures(const std::string& name) const;
  /// Returns "name.X" as a Params with X.
  Params structure(const std::string& name) const;

  const std::map<std::string, std::string>& values() const noexcept { return values_; }

  /// Returns all parameters except Action and Version as a tree: {"Filter": {"1": {"Name": "x"}}}.
  Json tree() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace fastgpu::cloudsim::aws
