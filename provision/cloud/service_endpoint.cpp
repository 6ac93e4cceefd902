#include "provision/cloud/service_endpoint.hpp"

#include <algorithm>
#include <array>

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
std::string host_and_port_of(const std::string& url) {
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
  if (!url.empty() && (!is_url || host_and_port_of(url).empty()))
    throw Error(
        ErrorKind::usage,
        "'" + printable(url) +
            "' is not a service URL: write one such as https://{service}.intl.tencentcloudapi.com");
}

/// The services whose addresses can be replaced one by one.
constexpr std::array kServices = {"ecs", "vpc", "ims", "iam", "bss", "cvm", "tag", "sts"};

/// Returns "FASTGPU_HUAWEI_ENDPOINT_VPC" for "FASTGPU_HUAWEI_ENDPOINT" and "vpc".
std::string variable_of_service(std::string_view variable, std::string service) {
  for (char& c : service)
    c = static_cast<char>(c - 'a' + 'A');
  return std::string(variable) + "_" + service;
}

}  // namespace

CloudEndpoint::CloudEndpoint(std::string all, std::map<std::string, std::string> by_service)
    : all_(std::move(all)), by_service_(std::move(by_service)) {
  check(all_);
  for (const auto& [service, url] : by_service_)
    check(url);
}

CloudEndpoint::Target CloudEndpoint::of(const std::string& service, const std::string& region,
                                        const std::string& usual) const {
  const auto own = by_service_.find(service);
  std::string url = own != by_service_.end() && !own->second.empty() ? own->second : all_;
  if (url.empty()) return {"https://" + usual, usual};
  replace_all(url, "{service}", service);
  replace_all(url, "{region}", region);
  const std::string host = host_and_port_of(url);
  return {url, stands_in(host) ? usual : host};
}

bool CloudEndpoint::mentions(const std::string& text) const {
  return all_.find(text) != std::string::npos ||
         std::ranges::any_of(by_service_, [&](const auto& one) {
           return one.second.find(text) != std::string::npos;
         });
}

CloudEndpoint CloudEndpoint::in_variables(
    std::string_view variable, const std::function<std::string(const std::string&)>& url_in) {
  std::map<std::string, std::string> by_service;
  for (const char* service : kServices)
    by_service[service] = url_in(variable_of_service(variable, service));
  return CloudEndpoint(url_in(std::string(variable)), by_service);
}

std::vector<std::string> endpoint_variables(std::string_view variable) {
  std::vector<std::string> names{std::string(variable)};
  for (const char* service : kServices)
    names.push_back(variable_of_service(variable, service));
  return names;
}

}  // namespace fastgpu::provision::cloud
