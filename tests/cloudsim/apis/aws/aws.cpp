#include "cloudsim/apis/aws/aws.hpp"

#include <algorithm>

#include "cloudsim/apis/aws/authenticate.hpp"
#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/apis/aws/services.hpp"
#include "cloudsim/apis/aws/xml.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim {
namespace {

constexpr const char* kEc2Space = "http://ec2.amazonaws.com/doc/2016-11-15/";
constexpr const char* kStsSpace = "https://sts.amazonaws.com/doc/2011-06-15/";

bool is_query(const std::string& service) {
  return service == "ec2" || service == "sts";
}

aws::Params params_of(const Request& request) {
  std::map<std::string, std::string> values;
  for (const std::string* text : {&request.query, &request.body})
    for (auto& [name, value] : parse_form(*text, Plus::is_space))
      values[name] = value;
  return aws::Params(std::move(values));
}

class AwsApi : public VendorApi {
 public:
  explicit AwsApi(ApiFacts facts) : facts_(std::move(facts)) {}

  std::string_view vendor() const noexcept override { return "aws"; }

  bool speaks(const Request& request) const override {
    return request.header("authorization").value_or("").starts_with("AWS4-HMAC-SHA256");
  }

  Call read(const Request& request) const override {
    const Claim claim = read_claim(request.header("authorization").value_or(""));
    Call call{claim.part(3), "", claim.part(2), &request};
    const std::string target = request.header("x-amz-target").value_or("");
    call.action = is_query(call.service) ? params_of(request).get("Action")
                                         : target.substr(target.find('.') + 1);
    return call;
  }

  const Account& authenticate(const Call& call, const SimulatedWorld& world) const override {
    return aws::authenticate(call, world);
  }

  Reply answer(const Call& call, const Account& account, SimulatedWorld& world) override {
    const Scope scope{"aws", account.name, call.region};
    if (!is_query(call.service)) {
      facts_.check(call.service == "servicequotas" ? "service-quotas" : call.service, call.action,
                   Json::parse(call.request->body, nullptr, false));
      return Reply{200, "application/x-amz-json-1.1", aws::answer_json(call, scope, world).dump()};
    }
    const aws::Params params = params_of(*call.request);
    facts_.check(call.service, call.action, params.tree());
    if (call.service == "sts") return answer_sts(call, account, world);
    if (params.get("Version") != "2016-11-15")
      throw ProtocolViolation(400, "NoSuchVersion", "The requested version is not supported");
    const aws::Ec2Action& action = aws::ec2_action(call.action, params);
    const std::string id = world.new_id("", 32);
    Json fields = {{"requestId", id}};
    fields.update(action.handle(aws::Ec2Call{world, scope, params}));
    return Reply{.status = 200,
                 .content_type = "text/xml;charset=UTF-8",
                 .body = aws::to_xml(call.action + "Response", kEc2Space, fields),
                 .headers = {{"x-amzn-requestid", id}}};
  }

  Refusal translate(const ApiFailure& failure) const override;

  Refusal throttled() const override {
    return {503, "RequestLimitExceeded", "Request limit exceeded."};
  }

  Refusal not_allowed(const Call& call) const override {
    if (call.service == "ec2")
      return {
          403, "UnauthorizedOperation",
          "You are not authorized to perform this operation. User is not authorized to perform: "
          "ec2:" +
              call.action};
    return {400, "AccessDeniedException",
            "User is not authorized to perform: " + call.service + ":" + call.action};
  }

  Refusal of_status(int status) const override {
    if (status == 429 || status == 503) return throttled();
    if (status == 500) return {500, "InternalError", "An internal error has occurred"};
    return {status, "Unavailable", "The server cannot answer now"};
  }

  Reply refuse(const Call& call, const Refusal& refusal, SimulatedWorld& world) const override {
    const Json error = {{"Code", refusal.code()}, {"Message", refusal.what()}};
    if (!is_query(call.service))
      return Reply{refusal.status(), "application/x-amz-json-1.1",
                   Json{{"__type", refusal.code()}, {"message", refusal.what()}}.dump()};
    const std::string id = world.new_id("", 32);
    if (call.service == "sts")
      return Reply{refusal.status(), "text/xml",
                   aws::to_xml("ErrorResponse", kStsSpace, {{"Error", error}, {"RequestId", id}})};
    return Reply{
        .status = refusal.status(),
        .content_type = "text/xml;charset=UTF-8",
        .body = aws::to_xml("Response", "", {{"Errors", {{"Error", error}}}, {"RequestID", id}}),
        .headers = {{"x-amzn-requestid", id}}};
  }

 private:
  ApiFacts facts_;

  static Reply answer_sts(const Call& call, const Account& account, SimulatedWorld& world) {
    if (call.action != "GetCallerIdentity")
      throw ProtocolViolation(400, "InvalidAction", "sts has no " + call.action + " here");
    const Json result = {{"Arn", "arn:aws:iam::" + account.name + ":user/" + account.access_key},
                         {"UserId", account.access_key},
                         {"Account", account.name}};
    return Reply{200, "text/xml",
                 aws::to_xml("GetCallerIdentityResponse", kStsSpace,
                             {{"GetCallerIdentityResult", result},
                              {"ResponseMetadata", {{"RequestId", world.new_id("", 32)}}}})};
  }
};

Refusal AwsApi::translate(const ApiFailure& failure) const {
  const std::string& subject = failure.subject();
  const std::string said = failure.what();
  switch (failure.kind()) {
    case ApiFailureKind::no_stock:
      return {500, "InsufficientInstanceCapacity",
              "We currently do not have sufficient " + subject +
                  " capacity in the Availability "
                  "Zone you requested. (" +
                  said + ")"};
    case ApiFailureKind::not_offered:
      return {400, "Unsupported",
              "Your requested instance type (" + subject +
                  ") is not supported in your requested "
                  "Availability Zone."};
    case ApiFailureKind::quota:
      if (subject.ends_with("/spot"))
        return {400, "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded"};
      return {400, "VcpuLimitExceeded",
              "You have requested more vCPU capacity than your current vCPU limit allows for the "
              "instance bucket that the specified instance type belongs to. (" +
                  said + ")"};
    case ApiFailureKind::price_too_low:
      return {400, "SpotMaxPriceTooLow",
              "Your Spot request price is lower than the minimum required Spot request fulfillment "
              "price. (" +
                  said + ")"};
    case ApiFailureKind::token_mismatch:
      return {400, "IdempotentParameterMismatch",
              "Arguments on this idempotent request are inconsistent with arguments used in "
              "previous request(s)."};
    case ApiFailureKind::token_terminated:
      return {400, "IdempotentInstanceTerminated",
              "The idempotent request refers to a terminated instance."};
    case ApiFailureKind::wrong_state:
      return {400, "IncorrectInstanceState",
              "The instance '" + subject + "' is not in a state from which it can do this."};
    case ApiFailureKind::not_found:
      return {400, "InvalidID", "The ID '" + subject + "' is not valid"};
    case ApiFailureKind::in_use:
      return {
          400, "DependencyViolation",
          "The resource '" + subject + "' has dependencies and cannot be deleted. (" + said + ")"};
    case ApiFailureKind::duplicate:
      return {400, "InvalidParameterValue", subject + " exists already"};
    case ApiFailureKind::addresses_used_up:
      return {400, "InsufficientFreeAddressesInSubnet",
              "There are not enough free addresses in subnet '" + subject + "'."};
  }
  return {500, "InternalError", said};
}

}  // namespace

std::unique_ptr<VendorApi> aws_api(ApiFacts facts) {
  return std::make_unique<AwsApi>(std::move(facts));
}

}  // namespace fastgpu::cloudsim
