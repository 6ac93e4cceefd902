#include "cloudsim/apis/alibaba/alibaba.hpp"

#include <map>

#include "cloudsim/apis/alibaba/authenticate.hpp"
#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim {
namespace {

constexpr std::string_view kDomain = ".aliyuncs.com";

/// Returns the service of a request, by the version of its API.
std::string service_of(const Request& request) {
  static const std::map<std::string, std::string> services = {
      {"2014-05-26", "ecs"}, {"2016-04-28", "vpc"}, {"2015-04-01", "sts"}};
  const auto found = services.find(request.header("x-acs-version").value_or(""));
  return found == services.end() ? "" : found->second;
}

aws::Params alibaba_params(const Request& request) {
  std::map<std::string, std::string> values;
  for (const std::string* text : {&request.query, &request.body})
    for (auto& [name, value] : parse_form(*text, Plus::is_space))
      values[name] = value;
  return aws::Params(std::move(values));
}

/// Returns the region in a host name, "cn-hangzhou" in "ecs.cn-hangzhou.aliyuncs.com"; "" if the
/// host is not the vendor's.
std::string region_in(const std::string& host) {
  if (!host.ends_with(kDomain)) return "";
  const auto labels = split(host, '.');
  return labels.size() == 4 ? labels[1] : "";
}

class AlibabaApi : public VendorApi {
 public:
  explicit AlibabaApi(ApiFacts facts) : facts_(std::move(facts)) {}

  std::string_view vendor() const noexcept override { return "alibaba"; }

  bool speaks(const Request& request) const override {
    return request.header("authorization").value_or("").starts_with("ACS3-HMAC-SHA256");
  }

  Call read(const Request& request) const override {
    const std::string region = region_in(request.header("host").value_or(""));
    return Call{service_of(request), request.header("x-acs-action").value_or(""),
                alibaba_params(request).get("RegionId", region), &request};
  }

  const Account& authenticate(const Call& call, const SimulatedWorld& world) const override {
    return alibaba::authenticate(call, world, nonces_);
  }

  Reply answer(const Call& call, const Account& account, SimulatedWorld& world) override {
    check_envelope(call, world);
    if (call.service == "sts") return reply(200, identity(call, account), world);
    const aws::Params params = alibaba_params(*call.request);
    const alibaba::AlibabaAction& action = alibaba::find_action(call, params);
    facts_.check(call.service, call.action, params.tree());
    const Scope scope{"alibaba", account.name, call.region};
    return reply(200, action.handle(alibaba::AlibabaCall{world, scope, params}), world);
  }

  Refusal translate(const ApiFailure& failure) const override;

  Refusal throttled() const override {
    return {400, "Throttling.User", "Request was denied due to user flow control."};
  }

  Refusal not_allowed(const Call& call) const override {
    return {403, "Forbidden.RAM",
            "User not authorized to operate on the specified resource, or this API doesn't support "
            "RAM. (" +
                call.service + ":" + call.action + ")"};
  }

  Refusal of_status(int status) const override {
    if (status == 429) return {429, "Throttling", "Request was denied due to request throttling."};
    if (status == 503) return {503, "ServiceUnavailable", "The request has failed."};
    return {status, "InternalError", "The request processing has failed due to some error."};
  }

  Reply refuse(const Call& call, const Refusal& refusal, SimulatedWorld& world) const override {
    Reply out = reply(refusal.status(),
                      {{"HostId", call.request->header("host").value_or("")},
                       {"Code", refusal.code()},
                       {"Message", refusal.what()},
                       {"Recommend", "https://api.aliyun.com/troubleshoot"}},
                      world);
    if (refusal.code() == throttled().code())
      out.headers.emplace_back("x-ratelimit-user-api", "TimeWindow:1,LimitType:API,TimeLeft:300");
    return out;
  }

 private:
  static Reply reply(int status, Json fields, SimulatedWorld& world) {
    std::string id = world.new_id("", 8) + "-" + world.new_id("", 4) + "-" + world.new_id("4", 3) +
                     "-" + world.new_id("A", 3) + "-" + world.new_id("", 12);
    fields["RequestId"] = id;
    return Reply{status,
                 "application/json;charset=utf-8",
                 fields.dump(),
                 {{"x-acs-request-id", std::move(id)}}};
  }

  static void check_envelope(const Call& call, const SimulatedWorld& world) {
    if (call.service.empty())
      throw ProtocolViolation(404, "InvalidVersion", "Specified parameter Version is not valid.");
    const std::string host = call.request->header("host").value_or("");
    if (host.ends_with(kDomain) && !host.starts_with(call.service))
      throw ProtocolViolation(404, "InvalidAction.NotFound",
                              call.action + " is not known at " + host);
    if (call.request->path != "/")
      throw ProtocolViolation(404, "InvalidAction.NotFound",
                              "There is nothing at " + call.request->path);
    const bool is_everywhere = call.service == "sts" || call.action == "DescribeRegions" ||
                               call.action == "DescribeInstanceTypes";
    if (!is_everywhere && !world.catalogues.at("alibaba").regions.contains(call.region))
      throw Refusal(404, "InvalidRegionId.NotFound", "The specified RegionId does not exist.");
  }

  static Json identity(const Call& call, const Account& account) {
    if (call.action != "GetCallerIdentity")
      throw ProtocolViolation(404, "InvalidAction.NotFound", "sts has no " + call.action + " here");
    return {{"AccountId", account.name},
            {"Arn", "acs:ram::" + account.name + ":user/" + account.access_key},
            {"IdentityType", "RAMUser"},
            {"PrincipalId", account.access_key},
            {"UserId", account.access_key}};
  }

  ApiFacts facts_;
  mutable std::set<std::string> nonces_;
};

Refusal AlibabaApi::translate(const ApiFailure& failure) const {
  const std::string& subject = failure.subject();
  const std::string said = failure.what();
  switch (failure.kind()) {
    case ApiFailureKind::no_stock:
      return {403, "OperationDenied.NoStock",
              "The requested resource is sold out in the specified zone; try other types of "
              "resources or other regions and zones. (" +
                  said + ")"};
    case ApiFailureKind::not_offered:
      return {403, "Zone.NotOnSale",
              "The specified instance type " + subject + " is not available in the zone."};
    case ApiFailureKind::quota:
      return {403, "QuotaExceed.ElasticQuota",
              "The number of vCPUs has reached the quota of " + subject + ". (" + said + ")"};
    case ApiFailureKind::price_too_low:
      return {
          400, "InvalidSpotPriceLimit.LowerThanPublicPrice",
          "The specified spotPriceLimit is lower than the current public price. (" + said + ")"};
    case ApiFailureKind::token_mismatch:
    case ApiFailureKind::token_terminated:
      return {400, "IdempotentParameterMismatch",
              "The specified request uses the same client token as a previous, but non-identical "
              "request."};
    case ApiFailureKind::wrong_state:
      return {403, "IncorrectInstanceStatus",
              "The current status of the resource does not support this operation. (" + subject +
                  ": " + said + ")"};
    case ApiFailureKind::not_found:
      return {404, "InvalidParameter.NotFound", subject + " is not found."};
    case ApiFailureKind::in_use:
      return {400, "DependencyViolation",
              "There is still something attached to " + subject + ". (" + said + ")"};
    case ApiFailureKind::duplicate:
      return {400, "InvalidParameter.Duplicate", subject + " exists already."};
    case ApiFailureKind::addresses_used_up:
      return {403, "InvalidVSwitchId.IpNotEnough",
              "The specified VSwitch " + subject + " has not enough IpAddress."};
  }
  return {500, "InternalError", said};
}

}  // namespace

std::unique_ptr<VendorApi> alibaba_api(ApiFacts facts) {
  return std::make_unique<AlibabaApi>(std::move(facts));
}

}  // namespace fastgpu::cloudsim
