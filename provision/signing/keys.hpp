// The keys that sign a request to a cloud.
#pragma once

#include <string>

#include "base/secret.hpp"

namespace fastgpu::provision::signing {

struct Keys {
  std::string access_key;  ///< The public half, which is sent with every request.
  Secret secret_key;
  Secret session_token{};  ///< Empty: none.
};

}  // namespace fastgpu::provision::signing
