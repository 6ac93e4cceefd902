// Refuses words about the place of a new cluster that would be ignored silently.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/cluster/cloud_options.hpp"

namespace fastgpu::cli {

/// Throws ErrorKind::usage if the options are for clouds but the cluster is not in one. `named` is
/// the provider that a flag or the file names.
void check_cloud_options(const CloudOptions& options, const std::string& named);

/// The words about a place, by where they are from.
struct PlaceWords {
  std::string provider_flag{};             ///< The value of --provider.
  std::vector<std::string> cloud_flags{};  ///< The values of --cloud.
  std::string provider{};                  ///< The value of --provider, or of the file.
  std::vector<std::string> clouds{};       ///< The values of --cloud, or of the file.
};

/// Throws ErrorKind::usage if the provider and the clouds to search contradict each other. A flag
/// --cloud alone may replace the provider of a file. Pure.
void check_one_place(const PlaceWords& words);

}  // namespace fastgpu::cli
