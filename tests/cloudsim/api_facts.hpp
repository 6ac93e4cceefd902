// Checks requests against a vendor's own description of its API, if such a file is available.
#pragma once

#include <filesystem>
#include <string>

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim {

/// The names, types, required parameters and enumerations of an API, from a file with {services:
/// {name: {actions: {Action: {request: {Parameter: {type, required, enum, ...}}}}}}}.
class ApiFacts {
 public:
  /// Has no facts, so that every request passes.
  ApiFacts() = default;
  /// Reads the facts. Throws ErrorKind::usage if the file cannot be read.
  explicit ApiFacts(const std::filesystem::path& file);

  /// Throws ProtocolViolation if the request does not fit, also for a service or action that is not
  /// in the file. `parameters` is a tree; a list may be an object with the keys "1", "2", ..., and
  /// a scalar may be a string.
  void check(const std::string& service, const std::string& action, const Json& parameters) const;

 private:
  Json services_;
};

}  // namespace fastgpu::cloudsim
