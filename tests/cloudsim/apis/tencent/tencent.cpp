#include "cloudsim/apis/tencent/tencent.hpp"

#include <algorithm>
#include <map>

#include "cloudsim/apis/tencent/authenticate.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim {
namespace {

using tencent::refusal;
using tencent::violation;

const std::map<std::string, std::string>& versions() {
  static const std::map<std::string, std::string> known = {{"cvm", "2017-03-12"},
                                                           {"vpc", "2017-03-12"},
                                                           {"cbs", "2017-03-12"},
                                                           {"tag", "2018-08-13"},
                                                           {"sts", "2018-08-13"}};
  return known;
}

/// The region for calls that name none.
constexpr const char* kAnyRegion = "ap-guangzhou";

class TencentApi : public VendorApi {
 public:
  explicit TencentApi(ApiFacts facts) : facts_(std::move(facts)) {}

  std::string_view vendor() const noexcept override { return "tencent"; }

  bool speaks(const Request& request) const override {
    return request.header("authorization").value_or("").starts_with("TC3-HMAC-SHA256");
  }

  Call read(const Request& request) const override {
    const Claim claim = read_claim(request.header("authorization").value_or(""));
    const std::string host = request.header("host").value_or("");
    const std::string label = host.substr(0, host.find('.'));
    return Call{versions().contains(label) ? label : claim.part(2),
                request.header("x-tc-action").value_or(""),
                request.header("x-tc-region").value_or(""), &request};
  }

  const Account& authenticate(const Call& call, const SimulatedWorld& world) const override {
    return tencent::authenticate(call, world);
  }

  Reply answer(const Call& call, const Account& account, SimulatedWorld& world) override {
    check_envelope(call, world);
    const Json body = Json::parse(call.request->body, nullptr, false);
    const Scope scope{"tencent", account.name, call.region.empty() ? kAnyRegion : call.region};
    try {
      const tencent::TencentAction& action = tencent::find_action(call, body);
      facts_.check(call.service, call.action, body);
      return reply(action.handle(tencent::TencentCall{world, scope, body}), world);
    } catch (const nlohmann::json::exception& e) {
      throw violation("InvalidParameter", e.what());
    }
  }

  Refusal translate(const ApiFailure& failure) const override;

  Refusal throttled() const override {
    return refusal("RequestLimitExceeded",
                   "Your current request times have exceeded the limit of requests a second.");
  }

  Refusal not_allowed(const Call& call) const override {
    return refusal(
        "UnauthorizedOperation.CamNoAuth",
        "you are not authorized to perform operation (" + call.service + ":" + call.action + ")");
  }

  Refusal of_status(int status) const override {
    if (status == 429) return throttled();
    return {status, "InternalError", "An internal error has occurred."};
  }

  Reply refuse(const Call&, const Refusal& refusal, SimulatedWorld& world) const override {
    return reply({{"Error", {{"Code", refusal.code()}, {"Message", refusal.what()}}}}, world);
  }

 private:
  static Reply reply(Json response, SimulatedWorld& world) {
    response["RequestId"] = world.new_id("", 8) + "-" + world.new_id("", 4) + "-" +
                            world.new_id("4", 3) + "-" + world.new_id("a", 3) + "-" +
                            world.new_id("", 12);
    return Reply{200, "application/json", Json{{"Response", std::move(response)}}.dump()};
  }

  static void check_envelope(const Call& call, const SimulatedWorld& world) {
    const auto version = versions().find(call.service);
    if (version == versions().end())
      throw violation("NoSuchProduct", "There is no service `" + call.service + "` here.");
    if (call.request->header("x-tc-version").value_or("") != version->second)
      throw violation("NoSuchVersion", "The version of " + call.service + " is " + version->second);
    if (call.request->method != "POST" || call.request->path != "/")
      throw violation("UnsupportedProtocol", "Requests are POST / here.");
    const bool regional = call.service == "cvm" || call.service == "vpc" || call.service == "cbs";
    if (!regional || call.action == "DescribeRegions") return;
    if (call.region.empty()) throw violation("MissingParameter", "X-TC-Region is missing.");
    if (!world.catalogues.at("tencent").regions.contains(call.region))
      throw refusal("UnsupportedRegion", "The region `" + call.region + "` is not supported.");
  }

  ApiFacts facts_;
};

Refusal TencentApi::translate(const ApiFailure& failure) const {
  const std::string said = failure.what();
  switch (failure.kind()) {
    case ApiFailureKind::no_stock:
      return refusal("ResourceInsufficient.SpecifiedInstanceType", "Sold out: " + said);
    case ApiFailureKind::not_offered:
      return refusal("InvalidParameterValue.ZoneNotSupported", said);
    case ApiFailureKind::quota:
      return refusal(failure.subject().ends_with("/spot") ? "LimitExceeded.UserSpotQuota"
                                                          : "LimitExceeded.InstanceQuota",
                     said);
    case ApiFailureKind::price_too_low:
      return refusal("InvalidParameterValue.InsufficientPrice", said);
    case ApiFailureKind::token_mismatch:
    case ApiFailureKind::token_terminated:
    case ApiFailureKind::duplicate:
      return refusal("InvalidParameterValue", said);
    case ApiFailureKind::wrong_state:
      return refusal("InvalidInstanceState", failure.subject() + ": " + said);
    case ApiFailureKind::not_found:
      return refusal("ResourceNotFound", said);
    case ApiFailureKind::in_use:
      return refusal("ResourceInUse", said);
    case ApiFailureKind::addresses_used_up:
      return refusal("FailedOperation.NoAvailableIpAddressCountInSubnet", said);
  }
  return refusal("InternalError", said);
}

}  // namespace

std::unique_ptr<VendorApi> tencent_api(ApiFacts facts) {
  return std::make_unique<TencentApi>(std::move(facts));
}

}  // namespace fastgpu::cloudsim
