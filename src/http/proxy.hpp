// Which proxy a request goes by, from the environment: curl's own rules.
#pragma once

#include <string>
#include <string_view>

#include "http/curl_client.hpp"

namespace fastgpu::http {

struct Proxy {
  std::string url{};     ///< Empty: none.
  std::string except{};  ///< The hosts that are reached without it, as no_proxy lists them.
};

/// http_proxy for http, in lower case only (a web server sets HTTP_PROXY from what a visitor says);
/// https_proxy or HTTPS_PROXY for https; else all_proxy or ALL_PROXY.
Proxy choose_proxy(const Environment& environment, std::string_view scheme);

}  // namespace fastgpu::http
