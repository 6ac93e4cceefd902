// The form of an answer before anything in it is read.
#pragma once

#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// Returns true if an answer is a web page, which comes from a proxy or from the login page of a
/// network, and never from an API.
bool is_web_page(const http::Response& response);

}  // namespace fastgpu::provision::cloud
