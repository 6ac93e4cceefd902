// The flat parameters of query APIs: "InstanceId.1=i-1&InstanceId.2=i-2".
#pragma once

#include <span>
#include <string>

#include "http/urls.hpp"

namespace fastgpu::provision::cloud {

/// Appends "Name.1", "Name.2", ...
void add_list(http::Parameters& parameters, const std::string& name,
              std::span<const std::string> values);

/// Returns text for people, without the content of UserData: it may be a key.
std::string shown(const http::Parameters& parameters);

}  // namespace fastgpu::provision::cloud
