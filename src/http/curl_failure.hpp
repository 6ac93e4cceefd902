// Converts libcurl's failures to errors.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "http/client.hpp"

namespace fastgpu::http {

/// A transfer that failed without an answer.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail{};  ///< The text of libcurl.
  long system_error = 0;
  bool reached = false;  ///< True if the request may have reached the server.
};

Error curl_error(const CurlFailure& failure, const Request& request, std::string_view host);

}  // namespace fastgpu::http
