#include "base/names.hpp"
#include "provision/credentials/metadata.hpp"

namespace fastgpu::provision::credentials {
namespace {

using nlohmann::json;

bool is_complete(const Credentials& found) {
  return !found.keys.access_key.empty() && !found.keys.secret_key.reveal().empty();
}

std::optional<Credentials> tencent_in_environment(Search& search) {
  search.looked_at("TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY");
  Credentials found{.keys = {.access_key = search.key("TENCENTCLOUD_SECRET_ID"),
                             .secret_key = Secret(search.key("TENCENTCLOUD_SECRET_KEY")),
                             .session_token = Secret(search.key("TENCENTCLOUD_TOKEN"))},
                    .source = "TENCENTCLOUD_SECRET_ID"};
  if (!is_complete(found)) return std::nullopt;
  return found;
}

std::optional<Credentials> tencent_in_metadata(Search& search) {
  const std::string& base = search.sources().metadata_url;
  Metadata metadata(search, base.empty() ? "http://metadata.tencentyun.com" : base);
  return role_keys(metadata, {.folder = "/latest/meta-data/cam/security-credentials/",
                              .names = {"TmpSecretId", "TmpSecretKey", "Token", "Expiration"},
                              .who = "the instance metadata of Tencent Cloud"});
}

std::string profile_name(const Search& search) {
  const std::string given = search.variable("TCCLI_PROFILE");
  if (given.find('/') != given.npos)
    throw Error(ErrorKind::usage, "TCCLI_PROFILE='" + printable(given) + "' is not a profile");
  return given.empty() ? "default" : given;
}

json json_file(const Search& search, const std::filesystem::path& path) {
  const auto text = search.file(path);
  return text ? parse_object(*text, path.string(), ErrorKind::usage) : json::object();
}

/// Returns the keys in the file of `tccli configure` and `tccli auth login`.
std::optional<Credentials> in_tccli(Search& search) {
  const auto path = search.sources().home / ".tccli" / (profile_name(search) + ".credential");
  search.looked_at(path.string());
  const json profile = json_file(search, path);
  if (text_of(profile, "type") == "cvm-role") return tencent_in_metadata(search);
  if (!text_of(profile, "role-arn").empty())
    throw Error(ErrorKind::usage, path.string() +
                                      " assumes a role by role-arn, which fastgpu does not: set "
                                      "TENCENTCLOUD_SECRET_ID, TENCENTCLOUD_SECRET_KEY and "
                                      "TENCENTCLOUD_TOKEN to keys of that role");
  Credentials found{.keys = {.access_key = text_of(profile, "secretId"),
                             .secret_key = Secret(text_of(profile, "secretKey")),
                             .session_token = Secret(text_of(profile, "token"))},
                    .source = path.string()};
  if (!is_complete(found)) return std::nullopt;
  if (const auto expires = profile.find("expiresAt");
      expires != profile.end() && expires->is_number_unsigned())
    found.expires = TimePoint(std::chrono::seconds(expires->get<std::uint32_t>()));
  return found;
}

std::optional<Credentials> in_file(Search& search, const std::filesystem::path& path) {
  search.looked_at(path.string());
  Sections sections = search.ini(path);
  const Section& section = sections["default"];
  Credentials found{.keys = {.access_key = setting(section, "secret_id"),
                             .secret_key = Secret(setting(section, "secret_key"))},
                    .source = "[default] in " + path.string()};
  if (!is_complete(found)) return std::nullopt;
  return found;
}

std::string region(const Search& search) {
  const std::string given = search.variable("TENCENTCLOUD_REGION");
  if (!given.empty()) return given;
  const json settings =
      json_file(search, search.sources().home / ".tccli" / (profile_name(search) + ".configure"));
  const auto common = settings.find("_sys_param");
  return common == settings.end() ? std::string() : text_of(*common, "region");
}

}  // namespace

Credentials find_tencent(const Sources& sources) {
  Search search(sources);
  std::optional<Credentials> found = tencent_in_environment(search);
  if (!found) found = in_tccli(search);
  if (!found) found = in_file(search, sources.home / ".tencentcloud" / "credentials");
  if (!found) found = in_file(search, "/etc/tencentcloud/credentials");
  if (!found) {
    search.looked_at("the instance metadata");
    found = tencent_in_metadata(search);
  }
  if (!found)
    throw search.not_found("Tencent Cloud",
                           "set TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY, or run 'tccli "
                           "configure'");
  found->region = region(search);
  return *found;
}

}  // namespace fastgpu::provision::credentials
