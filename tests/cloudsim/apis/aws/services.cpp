#include "cloudsim/apis/aws/services.hpp"

#include <algorithm>

namespace fastgpu::cloudsim::aws {
namespace {

struct JsonCall {
  const Json& body;
  const Scope& scope;
  SimulatedWorld& world;

  Catalogue& catalogue() const { return world.catalogues.at(scope.vendor); }
};

const Image* image_by_parameter(const JsonCall& call, const std::string& name) {
  const auto& images = call.catalogue().images;
  const auto found = std::ranges::find(images, name, &Image::parameter);
  return found == images.end() ? nullptr : &*found;
}

Json parameter(const Image& image) {
  return {{"Name", image.parameter},
          {"Type", "String"},
          {"Value", image.id},
          {"Version", 1},
          {"DataType", "text"}};
}

Json get_parameter(const JsonCall& call) {
  const Image* image = image_by_parameter(call, call.body.at("Name"));
  if (image == nullptr) throw Refusal(400, "ParameterNotFound", "");
  return {{"Parameter", parameter(*image)}};
}

Json get_parameters(const JsonCall& call) {
  Json out = {{"Parameters", Json::array()}, {"InvalidParameters", Json::array()}};
  for (const Json& name : call.body.at("Names")) {
    const Image* image = image_by_parameter(call, name);
    if (image != nullptr)
      out["Parameters"].push_back(parameter(*image));
    else
      out["InvalidParameters"].push_back(name);
  }
  return out;
}

struct Quota {
  const char* code;
  const char* name;
  const char* group;
};

constexpr Quota kQuotas[] = {
    {"L-1216C47A", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "Standard"},
    {"L-417A185B", "Running On-Demand P instances", "P"},
    {"L-DB2E81BA", "Running On-Demand G and VT instances", "G"},
    {"L-34B43A08", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
     "Standard/spot"},
    {"L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", "P/spot"},
    {"L-3819A6DF", "All G and VT Spot Instance Requests", "G/spot"},
};

Json shape_quota(const JsonCall& call, const Quota& quota) {
  constexpr double kEndless = 1e6;
  return {{"ServiceCode", "ec2"},
          {"ServiceName", "Amazon Elastic Compute Cloud (Amazon EC2)"},
          {"QuotaCode", quota.code},
          {"QuotaName", quota.name},
          {"Value", call.catalogue().quota(call.scope.region, quota.group).value_or(kEndless)},
          {"Unit", "None"},
          {"Adjustable", true},
          {"GlobalQuota", false}};
}

Json get_quota(const JsonCall& call) {
  const std::string code = call.body.at("QuotaCode");
  for (const Quota& quota : kQuotas)
    if (quota.code == code) return {{"Quota", shape_quota(call, quota)}};
  throw Refusal(400, "NoSuchResourceException",
                "The request failed because the specified service "
                "or quota does not exist.");
}

Json list_quotas(const JsonCall& call) {
  Json out = {{"Quotas", Json::array()}};
  for (const Quota& quota : kQuotas)
    out["Quotas"].push_back(shape_quota(call, quota));
  return out;
}

/// Returns a product of the price list, which is JSON in a string.
std::string product(const MachineType& type, const std::string& region, double price) {
  const Json attributes = {{"instanceType", type.name},
                           {"regionCode", region},
                           {"operatingSystem", "Linux"},
                           {"tenancy", "Shared"},
                           {"preInstalledSw", "NA"},
                           {"capacitystatus", "Used"},
                           {"marketoption", "OnDemand"},
                           {"servicecode", "AmazonEC2"},
                           {"vcpu", std::to_string(type.vcpus)}};
  const std::string sku = "SKU" + std::to_string(std::hash<std::string>{}(type.name + region));
  const Json dimension = {{"unit", "Hrs"}, {"pricePerUnit", {{"USD", std::to_string(price)}}}};
  const Json term = {{"priceDimensions", {{sku + ".T.D", dimension}}}};
  return Json{{"product",
               {{"productFamily", "Compute Instance"}, {"attributes", attributes}, {"sku", sku}}},
              {"serviceCode", "AmazonEC2"},
              {"terms", {{"OnDemand", {{sku + ".T", term}}}}}}
      .dump();
}

bool product_passes(const Json& filters, const Json& attributes) {
  return std::ranges::all_of(filters, [&](const Json& filter) {
    const std::string field = filter.at("Field");
    return attributes.contains(field) && attributes.at(field) == filter.at("Value");
  });
}

Json get_products(const JsonCall& call) {
  std::vector<std::string> all;
  const Json filters = call.body.value("Filters", Json::array());
  for (const auto& [region, zones] : call.catalogue().regions)
    for (const auto& [name, type] : call.catalogue().types)
      for (const std::string& zone : zones)
        if (const Offer* offer = call.catalogue().offer(zone, name)) {
          std::string text = product(type, region, offer->price);
          if (product_passes(filters, Json::parse(text).at("product").at("attributes")))
            all.push_back(std::move(text));
          break;
        }
  const std::size_t size = call.body.value("MaxResults", std::size_t{100});
  const std::size_t begin = std::stoul(call.body.value("NextToken", "0"));
  Json out = {{"FormatVersion", "aws_v1"}, {"PriceList", Json::array()}};
  for (std::size_t i = begin; i < std::min(begin + size, all.size()); ++i)
    out["PriceList"].push_back(all[i]);
  if (begin + size < all.size()) out["NextToken"] = std::to_string(begin + size);
  return out;
}

struct JsonAction {
  std::string_view service, name, required;
  Json (*handle)(const JsonCall&);
};

constexpr JsonAction kServicesActions[] = {
    {"ssm", "GetParameter", "Name", get_parameter},
    {"ssm", "GetParameters", "Names", get_parameters},
    {"servicequotas", "GetServiceQuota", "QuotaCode", get_quota},
    {"servicequotas", "ListServiceQuotas", "ServiceCode", list_quotas},
    {"pricing", "GetProducts", "ServiceCode", get_products},
};

}  // namespace

Json answer_json(const Call& call, const Scope& scope, SimulatedWorld& world) {
  const Json body = Json::parse(call.request->body, nullptr, false);
  if (!body.is_object())
    throw ProtocolViolation(400, "SerializationException", "the body is no JSON object");
  for (const JsonAction& action : kServicesActions)
    if (action.service == call.service && action.name == call.action) {
      if (!body.contains(action.required))
        throw ProtocolViolation(400, "ValidationException",
                                std::string(action.required) + " is missing");
      return action.handle(JsonCall{body, scope, world});
    }
  throw ProtocolViolation(400, "UnknownOperationException",
                          call.service + " has no " + call.action);
}

}  // namespace fastgpu::cloudsim::aws
