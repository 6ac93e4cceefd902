#include "provision/credentials/metadata.hpp"

namespace fastgpu::provision::credentials {
namespace {

std::optional<Credentials> huawei_in_environment(Search& search) {
  search.looked_at("HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK");
  Credentials found{.keys = {.access_key = search.key("HUAWEICLOUD_SDK_AK"),
                             .secret_key = Secret(search.key("HUAWEICLOUD_SDK_SK")),
                             .session_token = Secret(search.key("HUAWEICLOUD_SDK_SECURITY_TOKEN"))},
                    .source = "HUAWEICLOUD_SDK_AK"};
  if (found.keys.access_key.empty() || found.keys.secret_key.reveal().empty()) return std::nullopt;
  return found;
}

/// Returns the keys in the file. Keys of projects are in [basic], those of whole domains in
/// [global].
std::optional<Credentials> in_file(Search& search) {
  const auto path = search.path("HUAWEICLOUD_SDK_CREDENTIALS_FILE", ".huaweicloud/credentials");
  search.looked_at(path.string());
  Sections sections = search.ini(path);
  for (const char* name : {"basic", "global"}) {
    const Section& section = sections[name];
    if (setting(section, "ak").empty() || setting(section, "sk").empty()) continue;
    return Credentials{.keys = {.access_key = setting(section, "ak"),
                                .secret_key = Secret(setting(section, "sk")),
                                .session_token = Secret(setting(section, "security_token"))},
                       .source = "[" + std::string(name) + "] in " + path.string(),
                       .project_id = setting(section, "project_id"),
                       .domain_id = setting(section, "domain_id")};
  }
  return std::nullopt;
}

std::optional<Credentials> huawei_in_metadata(Search& search) {
  const std::string& base = search.sources().metadata_url;
  Metadata metadata(search, base.empty() ? "http://169.254.169.254" : base);
  search.looked_at("the instance metadata");
  const TokenStep step{.path = "/meta-data/latest/api/token",
                       .lifetime_header = "X-Metadata-Token-Ttl-Seconds",
                       .token_header = "X-Metadata-Token"};
  if (!metadata.begin(step, Metadata::Token::wanted)) return std::nullopt;
  const auto answer = metadata.get("/openstack/latest/securitykey");
  if (!answer) return std::nullopt;
  const std::string source = "the agency in the instance metadata of Huawei Cloud";
  const auto object = parse_object(*answer, source, ErrorKind::remote);
  const auto keys = object.find("credential");
  return keys_in(keys == object.end() ? object : *keys,
                 {"access", "secret", "securitytoken", "expires_at"}, source);
}

}  // namespace

Credentials find_huawei(const Sources& sources) {
  Search search(sources);
  std::optional<Credentials> found = huawei_in_environment(search);
  if (!found) found = in_file(search);
  if (!found) found = huawei_in_metadata(search);
  if (!found)
    throw search.not_found(
        "Huawei Cloud",
        "set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or write ak and sk under "
        "[basic] in ~/.huaweicloud/credentials");
  if (const auto project = search.variable("HUAWEICLOUD_SDK_PROJECT_ID"); !project.empty())
    found->project_id = project;
  if (const auto domain = search.variable("HUAWEICLOUD_SDK_DOMAIN_ID"); !domain.empty())
    found->domain_id = domain;
  return *found;
}

}  // namespace fastgpu::provision::credentials
