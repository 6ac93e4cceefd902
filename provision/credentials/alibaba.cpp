#include <algorithm>

#include "base/names.hpp"
#include "provision/credentials/metadata.hpp"

namespace fastgpu::provision::credentials {
namespace {

using nlohmann::json;
using namespace std::string_literals;

constexpr KeyNames kAlibabaNames{"AccessKeyId", "AccessKeySecret", "SecurityToken", "Expiration"};

bool are_complete(const Credentials& found) {
  return !found.keys.access_key.empty() && !found.keys.secret_key.reveal().empty();
}

std::optional<Credentials> alibaba_in_environment(Search& search) {
  search.looked_at("ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET");
  for (const std::string prefix : {"ALIBABA_CLOUD_", "ALIBABACLOUD_", "ALICLOUD_", ""}) {
    const auto value = [&](const char* name) { return search.key((prefix + name).c_str()); };
    Credentials found{.keys = {.access_key = value("ACCESS_KEY_ID"),
                               .secret_key = Secret(value("ACCESS_KEY_SECRET")),
                               .session_token = Secret(value("SECURITY_TOKEN"))},
                      .source = prefix + "ACCESS_KEY_ID"};
    if (are_complete(found)) return found;
  }
  return std::nullopt;
}

std::optional<Credentials> in_metadata(Search& search, const std::string& role) {
  if (search.is_true("ALIBABA_CLOUD_ECS_METADATA_DISABLED")) return std::nullopt;
  const std::string& base = search.sources().metadata_url;
  Metadata metadata(search, base.empty() ? "http://100.100.100.200" : base);
  const auto need = search.is_true("ALIBABA_CLOUD_IMDSV1_DISABLED") ? Metadata::Token::required
                                                                    : Metadata::Token::wanted;
  const TokenStep step{.path = "/latest/api/token",
                       .lifetime_header = "X-aliyun-ecs-metadata-token-ttl-seconds",
                       .token_header = "X-aliyun-ecs-metadata-token"};
  if (!metadata.begin(step, need)) return std::nullopt;
  return role_keys(metadata,
                   {.folder = "/latest/meta-data/ram/security-credentials/",
                    .names = kAlibabaNames,
                    .who = "the instance metadata of Alibaba Cloud"},
                   role);
}

Error unsupported(const std::string& where, const std::string& mode) {
  return {ErrorKind::usage,
          where + " has the mode " + printable(mode) +
              ", which fastgpu does not support (supported: AK, StsToken, EcsRamRole): set "
              "ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and "
              "ALIBABA_CLOUD_SECURITY_TOKEN to keys from it"};
}

/// Returns the keys of one profile of `aliyun configure`.
std::optional<Credentials> in_profile(Search& search, const json& profile,
                                      const std::string& where) {
  const std::string mode = text_of(profile, "mode");
  if (mode == "EcsRamRole") return in_metadata(search, text_of(profile, "ram_role_name"));
  if (!mode.empty() && mode != "AK" && mode != "StsToken") throw unsupported(where, mode);
  Credentials found{
      .keys = {.access_key = text_of(profile, "access_key_id"),
               .secret_key = Secret(text_of(profile, "access_key_secret")),
               .session_token = Secret(mode == "StsToken" ? text_of(profile, "sts_token") : ""s)},
      .source = where};
  if (!are_complete(found)) return std::nullopt;
  return found;
}

std::optional<Credentials> in_config(Search& search) {
  if (search.is_true("ALIBABA_CLOUD_CLI_PROFILE_DISABLED")) return std::nullopt;
  const auto path = search.path("ALIBABA_CLOUD_CONFIG_FILE", ".aliyun/config.json");
  search.looked_at(path.string());
  const auto text = search.file(path);
  if (!text) return std::nullopt;
  const json config = parse_object(*text, path.string(), ErrorKind::usage);
  const std::string wanted = search.variable("ALIBABA_CLOUD_PROFILE");
  const std::string name = wanted.empty() ? text_of(config, "current") : wanted;
  const auto profiles = config.find("profiles");
  if (profiles != config.end() && profiles->is_array())
    for (const json& profile : *profiles)
      if (text_of(profile, "name") == name) {
        auto found =
            in_profile(search, profile, "profile " + printable(name) + " in " + path.string());
        if (found) found->region = text_of(profile, "region_id");
        return found;
      }
  return std::nullopt;
}

std::optional<Credentials> in_ini(Search& search) {
  const auto path = search.path("ALIBABA_CLOUD_CREDENTIALS_FILE", ".alibabacloud/credentials");
  search.looked_at(path.string());
  const Sections sections = search.ini(path);
  const std::string wanted = search.variable("ALIBABA_CLOUD_PROFILE");
  const auto found = sections.find(wanted.empty() ? "default" : wanted);
  if (found == sections.end()) return std::nullopt;
  const Section& section = found->second;
  const std::string where = "[" + printable(found->first) + "] in " + path.string();
  const std::string type = setting(section, "type");
  if (type == "ecs_ram_role") return in_metadata(search, setting(section, "role_name"));
  if (!type.empty() && type != "access_key" && type != "sts") throw unsupported(where, type);
  Credentials keys{.keys = {.access_key = setting(section, "access_key_id"),
                            .secret_key = Secret(setting(section, "access_key_secret")),
                            .session_token = Secret(setting(section, "security_token"))},
                   .source = where};
  if (!are_complete(keys)) return std::nullopt;
  return keys;
}

/// Returns the keys from a service of the user's own.
std::optional<Credentials> at_address(Search& search) {
  const std::string url = search.variable("ALIBABA_CLOUD_CREDENTIALS_URI");
  if (url.empty()) return std::nullopt;
  search.looked_at("ALIBABA_CLOUD_CREDENTIALS_URI");
  const http::Response answer = search.sources().http.send(
      {.url = url, .limit = std::chrono::seconds(10), .largest_answer = 1U << 16U},
      search.sources().cancel);
  const std::string source = "the service at ALIBABA_CLOUD_CREDENTIALS_URI";
  if (answer.status != 200)
    throw Error(ErrorKind::denied, source + " answers HTTP " + std::to_string(answer.status));
  return keys_in(parse_object(answer.body, source, ErrorKind::remote), kAlibabaNames, source);
}

}  // namespace

Credentials find_alibaba(const Sources& sources) {
  Search search(sources);
  std::optional<Credentials> found = alibaba_in_environment(search);
  if (!found && !search.variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE").empty() &&
      !search.variable("ALIBABA_CLOUD_ROLE_ARN").empty())
    throw unsupported("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "OIDC");
  if (!found) found = in_config(search);
  if (!found) found = in_ini(search);
  if (!found) {
    search.looked_at("the instance metadata");
    found = in_metadata(search, search.variable("ALIBABA_CLOUD_ECS_METADATA"));
  }
  if (!found) found = at_address(search);
  if (!found)
    throw search.not_found("Alibaba Cloud",
                           "set ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET, "
                           "or run 'aliyun configure'");
  const std::string region =
      search.first_variable({"ALIBABA_CLOUD_REGION_ID", "ALIBABACLOUD_REGION_ID",
                             "ALICLOUD_REGION_ID", "REGION_ID", "REGION"});
  if (!region.empty()) found->region = region;
  return *found;
}

}  // namespace fastgpu::provision::credentials
