// Requests held against a vendor's own description of its API, where such a file is at hand.
#pragma once

#include <filesystem>
#include <string>

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim {

/// Names, kinds, required parts and enumerations, by a file with
/// {services: {name: {actions: {Action: {request: {Parameter: {type, required, enum, ...}}}}}}}.
class ApiFacts {
 public:
  /// Knows nothing, so that everything passes.
  ApiFacts() = default;
  /// Throws ErrorKind::usage where the file cannot be read.
  explicit ApiFacts(const std::filesystem::path& file);

  /// `parameters` as a tree; a list may be an object with the keys "1", "2", ... and a scalar a
  /// string. Throws Violation. A service or action that the file lacks is one too.
  void check(const std::string& service, const std::string& action, const Json& parameters) const;

 private:
  Json services_;
};

}  // namespace fastgpu::cloudsim
