#include "provision/providers/aws/ec2.hpp"

namespace fastgpu::provision::aws {
namespace {

constexpr const char* kForm = "application/x-www-form-urlencoded; charset=utf-8";
constexpr int kMostPages = 10'000;

Ec2::Document parsed(const http::Response& response, const std::string& action) {
  Ec2::Document document = parse_xml(response.body);
  if (!document)
    throw Error(ErrorKind::remote, "the answer of aws to " + action + " is not XML (" +
                                       std::to_string(response.body.size()) + " bytes)");
  return document;
}

}  // namespace

void add_filter(Parameters& parameters, int n, const std::string& name,
                const std::vector<std::string>& values) {
  const std::string filter = "Filter." + std::to_string(n);
  parameters.emplace_back(filter + ".Name", name);
  add_list(parameters, filter + ".Value", values);
}

std::string Ec2::url(const std::string& service, const std::string& region) const {
  if (service == "ec2" && !endpoints_.ec2.empty()) return endpoints_.ec2;
  const auto own = endpoints_.others.find(service);
  if (own != endpoints_.others.end() && !own->second.empty()) return own->second;
  if (!endpoints_.all.empty()) return endpoints_.all;
  const std::string host = service == "pricing" ? "api.pricing" : service;
  return "https://" + host + "." + region + std::string(partition_of(region).domain);
}

cloud::CloudCall Ec2::form(const Ec2Call& call, const std::string& service,
                           const std::string& version) const {
  Parameters parameters = {{"Action", call.action}, {"Version", version}};
  parameters.insert(parameters.end(), call.parameters.begin(), call.parameters.end());
  return {.service = service,
          .action = call.action,
          .region = call.region,
          .request = {.method = "POST",
                      .url = url(service, call.region) + "/",
                      .headers = {{"Content-Type", kForm}},
                      .body = http::encode_query(parameters)},
          .shown = cloud::shown(call.parameters),
          .is_repeatable = call.is_repeatable,
          .outwaits_use = call.outwaits_use,
          .is_start = call.is_start};
}

Ec2::Document Ec2::call(const Ec2Call& call, const Cancel& cancel) {
  return parsed(caller_.call(form(call, "ec2", "2016-11-15"), "aws: " + call.doing, cancel),
                call.action);
}

std::optional<cloud::Failure> Ec2::try_call(const Ec2Call& call, const Cancel& cancel) {
  auto reply = caller_.try_call(form(call, "ec2", "2016-11-15"), cancel);
  if (auto* failure = std::get_if<cloud::Failure>(&reply)) return std::move(*failure);
  // A success may be from a host in between: checks its form.
  parsed(std::get<http::Response>(reply), call.action);
  return std::nullopt;
}

void Ec2::pages(Ec2Call call, const std::function<void(const pugi::xml_node&)>& take,
                const Cancel& cancel) {
  const std::size_t own = call.parameters.size();
  for (int page = 0; page < kMostPages; ++page) {
    const Document document = this->call(call, cancel);
    const pugi::xml_node root = document->document_element();
    take(root);
    const std::string next = root.child_value("nextToken");
    if (next.empty()) return;
    call.parameters.resize(own);
    call.parameters.emplace_back("NextToken", next);
  }
  throw Error(ErrorKind::remote, "aws: " + call.doing + ": the list does not end");
}

Ec2::Document Ec2::sts(const std::string& action, const Cancel& cancel) {
  const Ec2Call call{.region = std::string(partition().home),
                     .action = action,
                     .doing = "identifying the account"};
  return parsed(caller_.call(form(call, "sts", "2011-06-15"), "aws: " + call.doing, cancel),
                action);
}

cloud::JsonAnswer Ec2::json(const std::string& service, const std::string& region,
                            const std::string& target, const nlohmann::json& body,
                            const Cancel& cancel) {
  const cloud::CloudCall call{
      .service = service,
      .action = target.substr(target.find('.') + 1),
      .region = region,
      .request = {.method = "POST",
                  .url = url(service, region) + "/",
                  .headers = {{"Content-Type", "application/x-amz-json-1.1"},
                              {"X-Amz-Target", target}},
                  .body = cloud::body_text(body)},
      .shown = cloud::body_text(body),
      .is_essential = false};
  const http::Response response = caller_.call(call, "aws: " + service + " in " + region, cancel);
  return cloud::parse_answer(response, "aws to " + call.action);
}

}  // namespace fastgpu::provision::aws
