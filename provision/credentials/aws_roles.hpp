// Keys of a role of AWS, from its Security Token Service.
#pragma once

#include <string>

#include "provision/credentials/search.hpp"

namespace fastgpu::provision::credentials {

struct AwsRole {
  std::string arn;
  std::string session_name{};  ///< Empty: fastgpu's own.
  std::string external_id{};
  std::string duration_seconds{};
  std::string region{};  ///< The region of the service; empty: the global one.
  std::string source{};  ///< Shown in messages.
};

/// Assumes the role as `caller`. Throws denied if that is refused, transient if no answer comes.
Credentials assume_role(const Search& search, const AwsRole& role, const signing::Keys& caller);

/// Assumes the role by the token of another identity provider, which is in `token_file`.
Credentials assume_role_with_token(const Search& search, const AwsRole& role,
                                   const std::string& token_file);

}  // namespace fastgpu::provision::credentials
