// The form of an answer before anything in it is read.
#pragma once

#include <string_view>

#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// Returns true if an answer is a web page, which comes from a proxy or from the login page of a
/// network, and never from an API.
bool is_web_page(const http::Response& response);

/// Returns true if a JSON text is within the limits of any cloud's answers: brackets at most 64
/// deep, at most 500,000 values. Reading it then takes memory in proportion to its length. True for
/// any text other than JSON.
bool is_bounded_json(std::string_view text);

}  // namespace fastgpu::provision::cloud
