#include "http/proxy.hpp"

#include <initializer_list>

namespace fastgpu::http {
namespace {

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto value = environment(name); value && !value->empty()) return *value;
  return {};
}

}  // namespace

Proxy choose_proxy(const Environment& environment, std::string_view scheme) {
  if (!environment) return {};
  Proxy proxy{.except = first_of(environment, {"no_proxy", "NO_PROXY"})};
  proxy.url = scheme == "https" ? first_of(environment, {"https_proxy", "HTTPS_PROXY"})
                                : first_of(environment, {"http_proxy"});
  if (proxy.url.empty()) proxy.url = first_of(environment, {"all_proxy", "ALL_PROXY"});
  return proxy;
}

}  // namespace fastgpu::http
