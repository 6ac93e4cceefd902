#include "provision/credentials/aws_machine.hpp"

#include <array>

#include "base/contains.hpp"
#include "http/urls.hpp"
#include "provision/credentials/metadata.hpp"

namespace fastgpu::provision::credentials {
namespace {

using namespace std::chrono_literals;

constexpr KeyNames kAwsNames{"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};

/// Throws for a plain HTTP address outside this machine and its own host.
void check_container_url(const std::string& text) {
  constexpr std::array<std::string_view, 6> kNear = {
      "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  const http::Url url = http::parse_url(text);
  if (url.scheme == "https") return;
  if (!contains(kNear, http::host_of(url.authority)))
    throw Error(ErrorKind::usage, "AWS_CONTAINER_CREDENTIALS_FULL_URI names " + url.authority +
                                      " over plain HTTP: use https there");
}

std::vector<http::Header> container_token(const Search& search) {
  std::string token = search.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = search.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file.empty())
    token = search.file(file).value_or("");
  while (token.ends_with('\n') || token.ends_with('\r'))
    token.pop_back();
  if (token.empty()) return {};
  return {{"Authorization", token}};
}

}  // namespace

std::optional<Credentials> aws_container_keys(const Search& search) {
  const std::string relative = search.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = search.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  const std::string& base = search.sources().metadata_url;
  const std::string host = base.empty() ? "http://169.254.170.2" : base;
  const std::string url = relative.empty() ? full : host + relative;
  check_container_url(url);
  const http::Response answer = search.sources().http.send({.url = url,
                                                            .headers = container_token(search),
                                                            .limit = 5s,
                                                            .connect_limit = 2s,
                                                            .largest_answer = 1U << 16U,
                                                            .direct = true},
                                                           search.sources().cancel);
  const std::string source = "the container's role";
  if (answer.status != 200)
    throw Error(ErrorKind::denied,
                source + " returned no keys: HTTP " + std::to_string(answer.status));
  return keys_in(parse_object(answer.body, source, ErrorKind::remote), kAwsNames, source);
}

std::optional<Credentials> aws_instance_keys(const Search& search) {
  if (search.is_true("AWS_EC2_METADATA_DISABLED")) return std::nullopt;
  std::string base = search.sources().metadata_url;
  if (base.empty()) base = search.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (base.ends_with('/'))
    base.pop_back();
  Metadata metadata(search, base.empty() ? "http://169.254.169.254" : base);
  const auto need = search.is_true("AWS_EC2_METADATA_V1_DISABLED") ? Metadata::Token::required
                                                                   : Metadata::Token::wanted;
  const TokenStep step{.path = "/latest/api/token",
                       .lifetime_header = "x-aws-ec2-metadata-token-ttl-seconds",
                       .token_header = "x-aws-ec2-metadata-token"};
  if (!metadata.begin(step, need)) return std::nullopt;
  return role_keys(metadata, {.folder = "/latest/meta-data/iam/security-credentials/",
                              .names = kAwsNames,
                              .who = "the instance metadata of AWS"});
}

}  // namespace fastgpu::provision::credentials
