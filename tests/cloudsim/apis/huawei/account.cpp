// Services that do not deal with machines: accounts and prices.
#include <algorithm>

#include "cloudsim/apis/huawei/call.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

Answered list_projects(const HuaweiCall& call) {
  Json projects = Json::array();
  for (const auto& [region, zones] : call.catalogue().regions)
    if (call.asked("name", region) == region)
      projects.push_back({{"id", project_of(region)},
                          {"name", region},
                          {"domain_id", call.scope.account},
                          {"parent_id", call.scope.account},
                          {"is_domain", false},
                          {"enabled", true},
                          {"description", ""}});
  return {200, {{"projects", projects}, {"links", Json::object()}}};
}

Answered list_domains(const HuaweiCall& call) {
  const Json domain = {{"id", call.scope.account}, {"name", "simulated"}, {"enabled", true}};
  return {200, {{"domains", Json::array({domain})}, {"links", Json::object()}}};
}

Answered list_regions(const HuaweiCall& call) {
  Json regions = Json::array();
  for (const auto& [region, zones] : call.catalogue().regions)
    regions.push_back({{"id", region}, {"type", "public"}, {"description", ""}});
  return {200, {{"regions", regions}, {"links", Json::object()}}};
}

bool is_disk(const Json& product) {
  return product.at("cloud_service_type") == "hws.service.type.ebs" &&
         product.at("resource_type") == "hws.resource.type.volume";
}

double disk_price(const HuaweiCall& call, const Json& product) {
  constexpr int kGigabytes = 17;
  if (product.value("size_measure_id", 0) != kGigabytes || !product.contains("resource_size"))
    throw ProtocolViolation(400, "CBC.0100", "a disk's size is told in GB");
  return product.at("resource_size").get<int>() * call.catalogue().disk_price;
}

/// Returns an offer of "<type>.linux" in any zone of the region.
const Offer& offer_of(const HuaweiCall& call, const Json& product) {
  const std::string region = product.at("region");
  std::string type = product.at("resource_spec");
  const bool is_machine = product.at("cloud_service_type") == "hws.service.type.ec2" &&
                          product.at("resource_type") == "hws.resource.type.vm" &&
                          type.ends_with(".linux");
  if (!is_machine || product.at("usage_factor") != "Duration" ||
      product.at("usage_measure_id") != 4)
    throw ProtocolViolation(400, "CBC.0100",
                            "only machines with Linux by the hour are priced here");
  type.erase(type.size() - std::string_view(".linux").size());
  const auto zones = call.catalogue().regions.find(region);
  if (zones != call.catalogue().regions.end())
    for (const std::string& zone : zones->second)
      if (const Offer* offer = call.catalogue().offer(zone, type)) return *offer;
  throw Refusal(400, "CBC.99006066", "The product " + type + " is not sold in " + region);
}

Answered rate(const HuaweiCall& call) {
  if (call.request.header("x-domain-id").value_or(call.scope.account) != call.scope.account)
    throw Refusal(403, "CBC.0156", "Access denied: another account");
  Json results = Json::array();
  double all = 0;
  for (const Json& product : call.body.at("product_infos")) {
    const double each =
        is_disk(product) ? disk_price(call, product) : offer_of(call, product).price;
    const double amount = each * product.at("subscription_num").get<int>();
    all += amount;
    results.push_back({{"id", product.at("id")},
                       {"product_id", "00301-000-0--0"},
                       {"amount", amount},
                       {"official_website_amount", amount},
                       {"measure_id", 1}});
  }
  return {200,
          {{"amount", all},
           {"currency", call.catalogue().currency},
           {"measure_id", 1},
           {"product_rating_results", results}}};
}

constexpr HuaweiAction kAccountActions[] = {
    {"iam", "KeystoneListProjects", "GET", "/v3/projects", "", list_projects},
    {"iam", "KeystoneListAuthDomains", "GET", "/v3/auth/domains", "", list_domains},
    {"iam", "KeystoneListRegions", "GET", "/v3/regions", "", list_regions},
    {"bss", "ListOnDemandResourceRatings", "POST", "/v2/bills/ratings/on-demand-resources", "",
     rate},
};

}  // namespace

std::span<const HuaweiAction> account_actions() {
  return kAccountActions;
}

}  // namespace fastgpu::cloudsim::huawei
