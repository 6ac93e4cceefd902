#include "cloudsim/apis/huawei/huawei.hpp"

#include <algorithm>

#include "cloudsim/apis/huawei/authenticate.hpp"
#include "cloudsim/apis/huawei/call.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"

namespace fastgpu::cloudsim {
namespace {

/// Returns true for services that are the same in all regions.
bool is_global(const std::string& service) {
  return service == "iam" || service == "bss";
}

/// Returns the name of a refusal in OpenStack's form.
const char* nova_name(int status) {
  if (status == 404) return "itemNotFound";
  if (status == 403) return "forbidden";
  if (status == 409) return "conflictingRequest";
  return status >= 500 ? "computeFault" : "badRequest";
}

/// Returns the service of a request: by its host or, for a host with another name, the service that
/// has such a path.
std::string service_label(const Request& request) {
  const std::string host = request.header("host").value_or("");
  const std::string label = host.substr(0, host.find('.'));
  for (const std::string& service : {label, std::string("ecs"), std::string("vpc"),
                                     std::string("ims"), std::string("iam"), std::string("bss")})
    if (huawei::route(service, request).action != nullptr) return service;
  return label;
}

class HuaweiApi : public VendorApi {
 public:
  explicit HuaweiApi(ApiFacts facts) : facts_(std::move(facts)) {}

  std::string_view vendor() const noexcept override { return "huawei"; }

  bool speaks(const Request& request) const override {
    return request.header("authorization").value_or("").starts_with("SDK-HMAC-SHA256");
  }

  /// Reads a request. The host is "<service>.<region>.myhuaweicloud.com", or "<service>.localhost"
  /// in tests.
  Call read(const Request& request) const override {
    const auto labels = split(request.header("host").value_or(""), '.');
    const std::string label = service_label(request);
    Call call{.service = label, .action = {}, .region = {}, .request = &request};
    if (labels.size() == 4 && labels.front() == label) call.region = labels[1];
    if (const huawei::Route found = huawei::route(label, request); found.action) {
      call.service = found.action->service;
      call.action = found.action->name;
    }
    return call;
  }

  const Account& authenticate(const Call& call, const SimulatedWorld& world) const override {
    return huawei::authenticate(call, world);
  }

  Reply answer(const Call& call, const Account& account, SimulatedWorld& world) override;
  Refusal translate(const ApiFailure& failure) const override;

  /// Returns the gateway's error and the service's own error by turns.
  Refusal throttled() const override {
    constexpr const char* kWhy = "The throttling threshold has been reached";
    return ++times_throttled_ % 2 == 1 ? Refusal(429, "APIGW.0308", kWhy)
                                       : Refusal(202, "Common.0024", kWhy);
  }

  Refusal not_allowed(const Call& call) const override {
    return {403, "Pdp.0001",
            "Policy doesn't allow " + call.service + ":" + call.action + " to be performed."};
  }

  Refusal of_status(int status) const override {
    if (status == 429) return {429, "APIGW.0308", "The throttling threshold has been reached"};
    if (status == 202) return {202, "Common.0024", "exceeds flow over limit"};
    if (status == 503) return {503, "Common.1503", "Service unavailable"};
    return {status, "Common.0500", "Internal error"};
  }

  Reply refuse(const Call& call, const Refusal& refusal, SimulatedWorld& world) const override;

 private:
  static Scope scope_of(const Call& call, const huawei::Route& route, const Account& account,
                        const SimulatedWorld& world);
  void check_facts(const Call& call, const huawei::Route& route,
                   const std::map<std::string, std::string>& query, const Json& body) const;

  ApiFacts facts_;
  huawei::Memory memory_;
  mutable int times_throttled_ = 0;
};

/// Returns the scope. A project belongs to one region, and path and headers must name the same
/// project.
Scope HuaweiApi::scope_of(const Call& call, const huawei::Route& route, const Account& account,
                          const SimulatedWorld& world) {
  Scope scope{"huawei", account.name, call.region};
  if (is_global(call.service)) return scope;
  const auto in_path = route.path.find("project_id");
  const std::string header = call.request->header("x-project-id").value_or("");
  const std::string project = in_path == route.path.end() ? header : in_path->second;
  if (header != project)
    throw ProtocolViolation(400, "Ecs.0023", "X-Project-Id is not the project of the path");
  for (const auto& [region, zones] : world.catalogues.at("huawei").regions) {
    if (huawei::project_of(region) != project) continue;
    if (!call.region.empty() && call.region != region) break;
    scope.region = region;
    return scope;
  }
  throw Refusal(403, "Common.0018", "The project is none of that region.");
}

void HuaweiApi::check_facts(const Call& call, const huawei::Route& route,
                            const std::map<std::string, std::string>& query,
                            const Json& body) const {
  Json all = Json::object();
  for (const auto& [name, value] : route.path)
    if (name != "project_id") all[name] = value;
  for (const auto& [name, value] : query)
    all[name] = value;
  if (const auto token = call.request->header("x-client-token")) all["X-Client-Token"] = *token;
  if (!body.is_null()) all["body"] = body;
  facts_.check(call.service, call.action, all);
}

Reply HuaweiApi::answer(const Call& call, const Account& account, SimulatedWorld& world) {
  const huawei::Route route = huawei::route(service_label(*call.request), *call.request);
  if (route.action == nullptr)
    throw ProtocolViolation(
        404, "APIGW.0101",
        "The API does not exist: " + call.request->method + " " + call.request->path);
  const Json body =
      call.request->body.empty() ? Json() : Json::parse(call.request->body, nullptr, false);
  if (body.is_discarded()) throw ProtocolViolation(400, "Ecs.0005", "The body is no JSON.");
  if (body.is_null() == (call.request->method == "POST"))
    throw ProtocolViolation(400, "Ecs.0005", "A body belongs to POST, and to nothing else.");
  std::map<std::string, std::string> query;
  for (const auto& [name, value] : parse_form(call.request->query, Plus::is_plus))
    query[name] = value;
  const Scope scope = scope_of(call, route, account, world);
  try {
    check_facts(call, route, query, body);
    const huawei::Answered answered = route.action->handle(
        huawei::HuaweiCall{world, memory_, scope, route.path, query, body, *call.request});
    Reply reply{answered.status, "application/json",
                answered.body.is_null() ? "" : answered.body.dump()};
    reply.headers.emplace_back("X-Request-Id", world.new_id("", 32));
    return reply;
  } catch (const nlohmann::json::exception& e) {
    throw ProtocolViolation(400, "Ecs.0005", e.what());
  }
}

Refusal HuaweiApi::translate(const ApiFailure& failure) const {
  const std::string said = failure.what();
  switch (failure.kind()) {
    case ApiFailureKind::no_stock:
      return {400, "Ecs.0319", "Insufficient flavor capacity: " + said};
    case ApiFailureKind::not_offered:
      return {400, "Ecs.0018", "The flavor is sold out: " + said};
    case ApiFailureKind::quota:
      return {400, "Ecs.0001", "The number of servers exceeds the quota: " + said};
    case ApiFailureKind::price_too_low:
      return {400, "Ecs.0703", "The spot price is lower than the market's: " + said};
    case ApiFailureKind::token_mismatch:
    case ApiFailureKind::token_terminated:
      return {400, "Ecs.0122", said};
    case ApiFailureKind::wrong_state:
      return {400, "Ecs.0025", failure.subject() + ": " + said};
    case ApiFailureKind::not_found:
      return {404, "Ecs.0114", said};
    case ApiFailureKind::in_use:
      return {409, "VPC.0209", said};
    case ApiFailureKind::duplicate:
      return {400, "VPC.0115", said};
    case ApiFailureKind::addresses_used_up:
      return {400, "Ecs.0012", said};
  }
  return {500, "Common.0500", said};
}

Reply HuaweiApi::refuse(const Call& call, const Refusal& refusal, SimulatedWorld& world) const {
  const std::string id = world.new_id("", 32);
  Json body;
  if (refusal.code().starts_with("APIGW.") || is_global(call.service))
    body = {{"error_code", refusal.code()}, {"error_msg", refusal.what()}, {"request_id", id}};
  else if (call.service == "vpc" || call.service == "eip")
    body = {{"code", refusal.code()}, {"message", refusal.what()}};
  else if (call.request->path.starts_with("/v2.1/"))
    body = {{nova_name(refusal.status()),
             {{"message", refusal.what()}, {"code", std::to_string(refusal.status())}}}};
  else
    body = {{"error", {{"code", refusal.code()}, {"message", refusal.what()}}}};
  Reply reply{refusal.status(), "application/json", body.dump()};
  reply.headers.emplace_back("X-Request-Id", id);
  return reply;
}

}  // namespace

std::unique_ptr<VendorApi> huawei_api(ApiFacts facts) {
  return std::make_unique<HuaweiApi>(std::move(facts));
}

}  // namespace fastgpu::cloudsim
