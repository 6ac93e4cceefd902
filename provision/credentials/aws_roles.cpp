#include "provision/credentials/aws_roles.hpp"

#include <cstring>
#include <pugixml.hpp>

#include "base/names.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"
#include "provision/signing/signing.hpp"

namespace fastgpu::provision::credentials {
namespace {

/// Returns the text of the first element of that name, at any depth.
std::string element(const pugi::xml_document& document, const char* name) {
  return document
      .find_node([&](const pugi::xml_node& node) { return std::strcmp(node.name(), name) == 0; })
      .text()
      .get();
}

std::string endpoint(const Search& search, const std::string& region) {
  const std::string given = search.first_variable({"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
  if (!given.empty()) return given;
  if (region.empty()) return "https://sts.amazonaws.com/";
  const std::string suffix = region.starts_with("cn-") ? ".cn" : "";
  return "https://sts." + region + ".amazonaws.com" + suffix + "/";
}

http::Request sts_request(const Search& search, const AwsRole& role, const char* action) {
  http::Parameters form = {
      {"Action", action},
      {"Version", "2011-06-15"},
      {"RoleArn", role.arn},
      {"RoleSessionName", role.session_name.empty() ? "fastgpu" : role.session_name}};
  if (!role.external_id.empty()) form.emplace_back("ExternalId", role.external_id);
  if (!role.duration_seconds.empty()) form.emplace_back("DurationSeconds", role.duration_seconds);
  return {.method = "POST",
          .url = endpoint(search, role.region),
          .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}},
          .body = http::encode_query(form),
          .largest_answer = 1U << 20U};
}

ErrorKind kind_of(int status) {
  return status == 429 || status >= 500 ? ErrorKind::transient : ErrorKind::denied;
}

Credentials ask(const Search& search, const http::Request& request, const AwsRole& role) {
  const std::string what = role.source + ": assuming " + printable(role.arn);
  const http::Response answer = search.sources().http.send(request, search.sources().cancel);
  pugi::xml_document document;
  const bool is_xml =
      document.load_buffer(answer.body.data(), answer.body.size(), pugi::parse_default);
  if (answer.status != 200)
    throw Error(kind_of(answer.status), what + ": HTTP " + std::to_string(answer.status) + " " +
                                            printable(element(document, "Code")) + " " +
                                            printable(element(document, "Message")));
  Credentials found{.keys = {.access_key = element(document, "AccessKeyId"),
                             .secret_key = Secret(element(document, "SecretAccessKey")),
                             .session_token = Secret(element(document, "SessionToken"))},
                    .source = role.source,
                    .expires = parse_time(element(document, "Expiration"))};
  if (!is_xml || found.keys.access_key.empty() || found.keys.secret_key.reveal().empty())
    throw Error(ErrorKind::remote, what + ": the answer has no keys");
  return found;
}

}  // namespace

Credentials assume_role(const Search& search, const AwsRole& role, const signing::Keys& caller) {
  http::Request request = sts_request(search, role, "AssumeRole");
  signing::sign_aws_v4(request, caller, role.region.empty() ? "us-east-1" : role.region, "sts",
                       search.sources().now);
  return ask(search, request, role);
}

Credentials assume_role_with_token(const Search& search, const AwsRole& role,
                                   const std::string& token_file) {
  const auto token = search.file(search.expand(token_file));
  if (!token)
    throw Error(ErrorKind::denied,
                role.source + ": the token file " + printable(token_file) + " does not exist");
  http::Request request = sts_request(search, role, "AssumeRoleWithWebIdentity");
  const std::string_view text =
      trimmed(std::string_view(*token).substr(0, token->find_last_not_of("\r\n") + 1));
  request.body += "&" + http::encode_query({{"WebIdentityToken", std::string(text)}});
  return ask(search, request, role);
}

}  // namespace fastgpu::provision::credentials
