// The proxy for a request, chosen from the environment by curl's rules.
#pragma once

#include <string>
#include <string_view>

#include "http/environment.hpp"

namespace fastgpu::http {

struct Proxy {
  std::string url{};     ///< The URL of the proxy; empty for no proxy.
  std::string except{};  ///< The hosts to reach without it, in the form of no_proxy.
};

/// Returns the value of a variable: for http, http_proxy in lower case only, because a web server
/// sets HTTP_PROXY from a visitor's header; for https, https_proxy or HTTPS_PROXY; otherwise
/// all_proxy or ALL_PROXY.
Proxy choose_proxy(const Environment& environment, std::string_view scheme);

}  // namespace fastgpu::http
