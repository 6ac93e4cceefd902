#include "provision/credentials/aws_profiles.hpp"

#include "base/names.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::credentials {
namespace {

/// Returns [profile x] as x, and [default]; other sections, of services and sessions, are dropped.
Sections by_profile(const Sections& sections) {
  constexpr std::string_view kWord = "profile ";
  Sections profiles;
  for (const auto& [name, section] : sections) {
    if (name == "default") profiles[name] = section;
    if (name.starts_with(kWord))
      profiles[std::string(trimmed(std::string_view(name).substr(kWord.size())))] = section;
  }
  return profiles;
}

std::string look_up(const Sections& sections, const std::string& profile, const char* key) {
  const auto found = sections.find(profile);
  return found == sections.end() ? std::string() : setting(found->second, key);
}

}  // namespace

std::string AwsProfiles::setting(const std::string& profile, const char* key) const {
  std::string value = look_up(keys, profile, key);
  return value.empty() ? look_up(config, profile, key) : value;
}

std::optional<Credentials> AwsProfiles::keys_of(const std::string& profile,
                                                const std::filesystem::path& file) const {
  const Sections& sections = file == keys_file ? keys : config;
  const std::string where = "profile " + printable(profile) + " in " + file.string();
  Credentials found{
      .keys = {.access_key = look_up(sections, profile, "aws_access_key_id"),
               .secret_key = Secret(look_up(sections, profile, "aws_secret_access_key")),
               .session_token = Secret(look_up(sections, profile, "aws_session_token"))},
      .source = where};
  if (found.keys.access_key.empty()) return std::nullopt;
  if (found.keys.secret_key.reveal().empty())
    throw Error(ErrorKind::denied, where + " has aws_access_key_id and no aws_secret_access_key");
  return found;
}

AwsProfiles read_aws_profiles(const Search& search) {
  AwsProfiles profiles{.keys_file = search.path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
                       .config_file = search.path("AWS_CONFIG_FILE", ".aws/config"),
                       .keys = {},
                       .config = {}};
  profiles.keys = search.ini(profiles.keys_file);
  profiles.config = by_profile(search.ini(profiles.config_file));
  return profiles;
}

}  // namespace fastgpu::provision::credentials
