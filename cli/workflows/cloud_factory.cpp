#include "cli/workflows/cloud_factory.hpp"

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/random.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::ApiTools;
using provision::cloud::FindCredentials;

struct Maker {
  std::string_view cloud;
  std::unique_ptr<provision::cloud::Cloud> (*make)(const provision::cloud::CloudSetup& setup);
};

constexpr std::array kMakers = {
    Maker{provision::alibaba::kInfo.name, provision::alibaba::make_cloud},
    Maker{provision::aws::kInfo.name, provision::aws::make_cloud},
    Maker{provision::huawei::kInfo.name, provision::huawei::make_cloud},
    Maker{provision::tencent::kInfo.name, provision::tencent::make_cloud}};

/// A service of Amazon that returns the public address of the client.
constexpr const char* kAddressUrl = "https://checkip.amazonaws.com/";

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
                           const Cancel& cancel, const provision::cloud::RetryLimit& retry_limit)
    : environment_(environment),
      cancel_(cancel),
      retry_limit_(retry_limit),
      http_(http::curl_settings(environment)),
      calls_(messages) {}

ApiTools CloudFactory::tools(FindCredentials find) {
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
          .random = random_part,
          .backoff = backoff_,
          .retry_limit = &retry_limit_};
}

std::unique_ptr<provision::cloud::Cloud> CloudFactory::make(const std::string& name) {
  const auto found = std::ranges::find(kMakers, name, &Maker::cloud);
  if (found == kMakers.end()) return nullptr;
  return found->make({.tools = [this](FindCredentials find) { return tools(find); },
                      .url_in =
                          [this](const std::string& variable) {
                            return without_slash(environment_(variable.c_str()).value_or(""));
                          }});
}

IpRange CloudFactory::own_address() {
  const std::string url = environment_("FASTGPU_ADDRESS_URL").value_or(kAddressUrl);
  constexpr const char* kSay =
      ": name the addresses that may log in, as in --ssh-from 192.0.2.7/32";
  std::string answer;
  try {
    http::Request question{.url = url, .largest_answer = 1024};
    question.limit = retry_limit_.exchange_limit(question.limit, cancel_);
    const http::Response response = http_.send(question, cancel_);
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
