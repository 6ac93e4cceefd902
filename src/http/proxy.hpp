// The proxy for a request, from the environment: curl's own rules.
#pragma once

#include <string>
#include <string_view>

#include "http/curl_client.hpp"

namespace fastgpu::http {

struct Proxy {
  std::string url{};     ///< The proxy's URL; empty: no proxy.
  std::string except{};  ///< The hosts that are reached without it, in the form of no_proxy.
};

/// Returns http_proxy for http, in lower case only (a web server sets HTTP_PROXY from a visitor's
/// header); https_proxy or HTTPS_PROXY for https; else all_proxy or ALL_PROXY.
Proxy choose_proxy(const Environment& environment, std::string_view scheme);

}  // namespace fastgpu::http
