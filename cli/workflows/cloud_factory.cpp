#include "cli/workflows/cloud_factory.hpp"

#include <random>

#include "base/names.hpp"
#include "cli/workflows/cloud_endpoints.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::ApiTools;
using provision::credentials::Credentials;
using provision::credentials::Sources;

/// A service of Amazon that returns the public address of the client.
constexpr const char* kAddressUrl = "https://checkip.amazonaws.com/";

double random_part() {
  thread_local std::mt19937 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

std::string without_slash(std::string url) {
  while (url.ends_with('/'))
    url.pop_back();
  return url;
}

}  // namespace

void ShownCalls::attempted(const provision::cloud::CallReport& report) {
  if (!shows_) return;
  std::string line(report.cloud);
  line += " " + report.call.service + " " + report.call.action + " " + report.call.region + " " +
          report.call.request.method + " " + report.call.request.url;
  if (!report.call.shown.empty()) line += " " + printable(report.call.shown, 2000);
  line += ": " + (report.status == 0 ? "no answer" : std::to_string(report.status));
  if (!report.failure.empty()) line += " " + printable(report.failure, 200);
  if (!report.request_id.empty()) line += " request " + printable(report.request_id, 100);
  line += " " + std::to_string(report.took.count()) + " ms";
  if (report.attempt > 1) line += ", attempt " + std::to_string(report.attempt);
  const std::lock_guard lock(mutex_);
  try {
    messages_.note(line);
  } catch (const Error&) {  // A line that cannot be written must not stop the request.
  }
}

CloudFactory::CloudFactory(Messages& messages, const state::Environment& environment,
                           const Cancel& cancel)
    : environment_(environment),
      cancel_(cancel),
      http_(http::curl_settings(environment)),
      calls_(messages) {}

ApiTools CloudFactory::tools(Credentials (*find)(const Sources&)) {
  return {.http = http_,
          .observer = calls_,
          .find_credentials =
              [this, find] {
                return find({.environment = environment_,
                             .home = environment_("HOME").value_or("/"),
                             .http = http_,
                             .cancel = cancel_,
                             .now = std::chrono::system_clock::now()});
              },
          .wait = provision::cloud::wait_for,
          .random = random_part};
}

std::unique_ptr<provision::cloud::Cloud> CloudFactory::make(const std::string& name) {
  const auto variable = [&](const char* key) {
    return without_slash(environment_(key).value_or(""));
  };
  // Reads the address for all services and those for single ones, such as
  // FASTGPU_HUAWEI_ENDPOINT_VPC.
  const auto endpoint = [&](const std::string& key) {
    std::map<std::string, std::string> by_service;
    for (const char* service : kEndpointServices)
      by_service[service] = variable(endpoint_variable(key, service).c_str());
    return provision::cloud::Endpoint(variable(key.c_str()), by_service);
  };
  if (name == "aws")
    return std::make_unique<provision::aws::AwsCloud>(
        tools(provision::credentials::find_aws),
        provision::aws::Endpoints{
            variable("AWS_ENDPOINT_URL"),
            variable("AWS_ENDPOINT_URL_EC2"),
            {{"sts", variable("AWS_ENDPOINT_URL_STS")},
             {"pricing", variable("AWS_ENDPOINT_URL_PRICING")},
             {"servicequotas", variable("AWS_ENDPOINT_URL_SERVICE_QUOTAS")}}});
  if (name == "alibaba")
    return std::make_unique<provision::alibaba::AlibabaCloud>(
        tools(provision::credentials::find_alibaba), endpoint("FASTGPU_ALIBABA_ENDPOINT"));
  if (name == "huawei")
    return std::make_unique<provision::huawei::HuaweiCloud>(
        tools(provision::credentials::find_huawei), endpoint("FASTGPU_HUAWEI_ENDPOINT"));
  if (name == "tencent")
    return std::make_unique<provision::tencent::TencentCloud>(
        tools(provision::credentials::find_tencent), endpoint("FASTGPU_TENCENT_ENDPOINT"));
  return nullptr;
}

IpRange CloudFactory::own_address() {
  const std::string url = environment_("FASTGPU_ADDRESS_URL").value_or(kAddressUrl);
  constexpr const char* kSay =
      ": name the addresses that may log in, as in --ssh-from 192.0.2.7/32";
  std::string answer;
  try {
    const http::Response response = http_.send({.url = url, .largest_answer = 1024}, cancel_);
    answer = response.status == 200 ? response.body : "HTTP " + std::to_string(response.status);
  } catch (const Error& e) {
    cancel_.check();
    throw Error(e.kind(),
                "the public address of this machine is unknown: " + std::string(e.what()) + kSay);
  }
  while (!answer.empty() && answer.back() <= ' ')
    answer.pop_back();
  try {
    const IpAddress address = IpAddress::parse(answer);
    if (!address.is_v6()) return IpRange::parse(address.text());
  } catch (const Error&) {  // Named below.
  }
  throw Error(ErrorKind::remote, url + " returned no IPv4 address of this machine, but '" +
                                     printable(answer) + "'" + kSay);
}

}  // namespace fastgpu::cli
