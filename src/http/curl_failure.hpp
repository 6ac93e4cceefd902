// What libcurl's failures mean to a caller.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "http/client.hpp"

namespace fastgpu::http {

/// How a transfer ended without an answer.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail{};  ///< libcurl's own words about it.
  long system_error = 0;
  bool reached = false;  ///< The request was on its way.
};

Error curl_error(const CurlFailure& failure, const Request& request, std::string_view host);

}  // namespace fastgpu::http
