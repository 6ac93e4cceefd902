// Key pairs that a cloud keeps for its customers, and whose public half it returns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// The maximum length in bytes. An RSA key of 4,096 bits has 724.
constexpr std::size_t kMostOfPublicKey = 1024;

/// The key pair of a requested public key.
struct KeyPairName {
  std::string_view cloud;
  std::string_view region;
  std::string_view name;
};

/// Returns a public key from the cloud, fit for authorized_keys: one line without its comment.
/// Throws ErrorKind::remote for any other text, or one longer than kMostOfPublicKey.
std::string public_key_of(const KeyPairName& pair, std::string_view given);

/// Returns the error that the cloud has no key pair of that name.
Error no_such_key_pair(const KeyPairName& pair);

}  // namespace fastgpu::provision::cloud
