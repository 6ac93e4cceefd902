// What an answer looks like before anything is read of it.
#pragma once

#include <string_view>

#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// Whether an answer is a web page: of a proxy or of the login page of a network, but of no API.
bool is_web_page(const http::Response& response);

/// Whether a JSON text is within what any cloud sends, so that reading it takes memory in
/// proportion to its length: brackets at most 64 deep, at most 500,000 values. True for a text that
/// is no JSON.
bool is_bounded_json(std::string_view text);

}  // namespace fastgpu::provision::cloud
