#include "provision/cloud/endpoint.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/ip.hpp"
#include "base/names.hpp"

namespace fastgpu::provision::cloud {
namespace {

void replace_all(std::string& text, const std::string& name, const std::string& value) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

/// Returns "[::1]:80" for "http://[::1]:80/x".
std::string host_of(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  return url.substr(begin, url.find_first_of("/?", begin) - begin);
}

bool stands_in(const std::string& host) {
  std::string name =
      host.starts_with('[') ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
  if (name == "localhost") return true;
  try {
    IpAddress::parse(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check(const std::string& url) {
  const bool is_url = url.starts_with("http://") || url.starts_with("https://");
  if (!url.empty() && (!is_url || host_of(url).empty()))
    throw Error(
        ErrorKind::usage,
        "'" + printable(url) +
            "' is not a service URL: write one such as https://{service}.intl.tencentcloudapi.com");
}

}  // namespace

Endpoint::Endpoint(std::string all, std::map<std::string, std::string> by_service)
    : all_(std::move(all)), by_service_(std::move(by_service)) {
  check(all_);
  for (const auto& [service, url] : by_service_)
    check(url);
}

Endpoint::Target Endpoint::of(const std::string& service, const std::string& region,
                              const std::string& usual) const {
  const auto own = by_service_.find(service);
  std::string url = own != by_service_.end() && !own->second.empty() ? own->second : all_;
  if (url.empty()) return {"https://" + usual, usual};
  replace_all(url, "{service}", service);
  replace_all(url, "{region}", region);
  const std::string host = host_of(url);
  return {url, stands_in(host) ? usual : host};
}

bool Endpoint::mentions(const std::string& text) const {
  return all_.find(text) != std::string::npos ||
         std::ranges::any_of(by_service_, [&](const auto& one) {
           return one.second.find(text) != std::string::npos;
         });
}

}  // namespace fastgpu::provision::cloud
