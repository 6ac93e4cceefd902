// The profiles of AWS's two files.
#pragma once

#include <filesystem>
#include <string>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

struct AwsProfiles {
  std::filesystem::path keys_file;    ///< ~/.aws/credentials
  std::filesystem::path config_file;  ///< ~/.aws/config
  Sections keys;
  Sections config;  ///< The sections by the profile's bare name.

  bool has(const std::string& profile) const {
    return keys.contains(profile) || config.contains(profile);
  }
  /// Returns a setting of the profile, from the keys file or else from the config file; "" if
  /// neither has it.
  std::string setting(const std::string& profile, const char* key) const;
  /// Returns the keys that the profile itself has in one of the files.
  std::optional<Credentials> keys_of(const std::string& profile,
                                     const std::filesystem::path& file) const;
};

AwsProfiles read_aws_profiles(const Search& search);

}  // namespace fastgpu::provision::credentials
