// The meaning of libcurl's failures for a caller.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "http/client.hpp"

namespace fastgpu::http {

/// The failure of a transfer without an answer.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail{};  ///< libcurl's own text.
  long system_error = 0;
  bool reached = false;  ///< The request was being sent.
};

Error curl_error(const CurlFailure& failure, const Request& request, std::string_view host);

}  // namespace fastgpu::http
