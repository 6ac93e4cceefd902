// Key pairs that a cloud keeps for its customers, of which it gives the public half.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// RSA with 4,096 bits takes 724 characters.
constexpr std::size_t kMostOfPublicKey = 1024;

/// Whose public key is asked for.
struct KeyPairName {
  std::string_view cloud;
  std::string_view region;
  std::string_view name;
};

/// A public key as the cloud gave it, fit for authorized_keys: one line without its comment. Throws
/// ErrorKind::remote for what is none, or is longer than kMostOfPublicKey.
std::string public_key_of(const KeyPairName& pair, std::string_view given);

/// That the cloud has none of that name.
Error no_such_key_pair(const KeyPairName& pair);

}  // namespace fastgpu::provision::cloud
