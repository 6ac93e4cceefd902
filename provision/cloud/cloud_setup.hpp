// The parts of which `make_cloud` in a vendor's folder makes its cloud.
#pragma once

#include <functional>
#include <string>

#include "provision/cloud/caller.hpp"

namespace fastgpu::provision::cloud {

using FindCredentials = credentials::Credentials (*)(const credentials::Sources&);

struct CloudSetup {
  /// Returns the tools for calls, with credentials that `find` finds by the vendor's rules.
  std::function<ApiTools(FindCredentials find)> tools;
  /// Returns the URL in an environment variable; empty if it is unset.
  std::function<std::string(const std::string& variable)> url_in;
};

}  // namespace fastgpu::provision::cloud
