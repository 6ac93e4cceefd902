#include "provision/providers/tencent/tencent_api.hpp"

#include <algorithm>

namespace fastgpu::provision::tencent {
namespace {

constexpr std::size_t kPage = 100;  // The most that the cloud returns at once.
constexpr std::size_t kMostPages = 1'000;

/// Returns text for people, without the content of UserData: it may be a key.
std::string shown(json body) {
  if (body.contains("UserData")) body["UserData"] = "***";
  return cloud::body_text(body);
}

/// Returns a number in the service's form: VPC wants a string.
json number_for(const TencentCall& call, std::size_t number) {
  return call.service == "vpc" ? json(std::to_string(number)) : json(number);
}

}  // namespace

json filter(const std::string& name, const std::vector<std::string>& values) {
  return {{"Name", name}, {"Values", values}};
}

cloud::CloudCall TencentApi::form(const TencentCall& call) const {
  const auto target =
      endpoint_.of(call.service, call.region, call.service + ".tencentcloudapi.com");
  http::Request request{.method = "POST",
                        .url = target.url + "/",
                        .headers = {{"Host", target.host},
                                    {"Content-Type", "application/json; charset=utf-8"},
                                    {"X-TC-Action", call.action},
                                    {"X-TC-Version", std::string(version_of(call.service))},
                                    {"X-TC-Language", "en-US"}},
                        .body = cloud::body_text(call.body)};
  if (!call.region.empty()) http::set_header(request.headers, "X-TC-Region", call.region);
  return {.service = call.service,
          .action = call.action,
          .region = call.region,
          .request = std::move(request),
          .shown = shown(call.body),
          .is_repeatable = call.is_repeatable,
          .outwaits_use = call.outwaits_use,
          .is_start = call.is_start};
}

JsonAnswer TencentApi::call(const TencentCall& call, const Cancel& cancel) {
  const http::Response response = caller_.call(form(call), "tencent: " + call.doing, cancel);
  JsonAnswer answer = cloud::parse_answer(response, "tencent to " + call.action).take("Response");
  if (!answer.root().is_object())
    throw Error(ErrorKind::remote, "the answer of tencent to " + call.action + " has no Response");
  return answer;
}

std::optional<cloud::Failure> TencentApi::try_call(const TencentCall& call, const Cancel& cancel) {
  auto reply = caller_.try_call(form(call), cancel);
  if (auto* failure = std::get_if<cloud::Failure>(&reply)) return std::move(*failure);
  return std::nullopt;
}

struct TencentApi::Listed {
  std::vector<JsonAnswer> items;
  bool is_steady = true;  ///< False if the list's length changed from page to page.
};

TencentApi::Listed TencentApi::read_list(TencentCall call, const char* name, const Cancel& cancel) {
  Listed listed;
  int total = 0;
  for (std::size_t page = 0; page < kMostPages; ++page) {
    call.body["Offset"] = number_for(call, page * kPage);
    call.body["Limit"] = number_for(call, kPage);
    JsonAnswer answer = this->call(call, cancel);
    const int told = answer["TotalCount"].whole();
    if (page > 0 && told != total) listed.is_steady = false;
    total = told;
    std::vector<JsonAnswer> items = answer.take(name).take_items();
    if (items.empty()) return listed;
    std::ranges::move(items, std::back_inserter(listed.items));
    if (total <= 0 || (page + 1) * kPage >= static_cast<std::size_t>(total)) return listed;
  }
  throw Error(ErrorKind::remote, "tencent: " + call.doing + ": the list does not end");
}

/// Reads a list, up to three times until its length is steady. Pages are cut by position: while
/// items come and go, one may be missed between two pages.
std::vector<JsonAnswer> TencentApi::list(const TencentCall& call, const char* name,
                                         const Cancel& cancel) {
  constexpr int kLooks = 3;
  Listed listed;
  for (int look = 1; look <= kLooks; ++look) {
    listed = read_list(call, name, cancel);
    if (listed.is_steady) break;
  }
  return std::move(listed.items);
}

}  // namespace fastgpu::provision::tencent
