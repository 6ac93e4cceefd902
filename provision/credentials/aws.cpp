#include <set>
#include <utility>

#include "base/names.hpp"
#include "provision/credentials/aws_machine.hpp"
#include "provision/credentials/aws_process.hpp"
#include "provision/credentials/aws_profiles.hpp"
#include "provision/credentials/aws_roles.hpp"

namespace fastgpu::provision::credentials {
namespace {

std::optional<Credentials> aws_in_environment(const Search& search) {
  std::string token = search.key("AWS_SESSION_TOKEN");
  if (token.empty()) token = search.key("AWS_SECURITY_TOKEN");
  Credentials found{.keys = {.access_key = search.key("AWS_ACCESS_KEY_ID"),
                             .secret_key = Secret(search.key("AWS_SECRET_ACCESS_KEY")),
                             .session_token = Secret(std::move(token))},
                    .source = "AWS_ACCESS_KEY_ID"};
  if (found.keys.access_key.empty()) return std::nullopt;
  if (found.keys.secret_key.reveal().empty())
    throw Error(ErrorKind::denied, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not");
  return found;
}

/// One search through profiles that may lead to each other.
class ProfileSearch {
 public:
  ProfileSearch(const Search& search, const AwsProfiles& profiles, std::string region)
      : search_(search), profiles_(profiles), region_(std::move(region)) {}

  /// Finds keys in the order of AWS's own tools: a role before keys, keys before programs.
  std::optional<Credentials> find(const std::string& profile) {
    if (auto found = by_role(profile)) return found;
    if (auto found = by_token(profile)) return found;
    return by_keys(profile);
  }

 private:
  std::string where(const std::string& profile) const {
    return "profile " + printable(profile) + " in " + profiles_.config_file.string();
  }
  std::string setting(const std::string& profile, const char* key) const {
    return profiles_.setting(profile, key);
  }

  AwsRole role_of(const std::string& profile) const {
    return {.arn = setting(profile, "role_arn"),
            .session_name = setting(profile, "role_session_name"),
            .external_id = setting(profile, "external_id"),
            .duration_seconds = setting(profile, "duration_seconds"),
            .region = region_,
            .source = where(profile)};
  }

  std::optional<Credentials> by_role(const std::string& profile) {
    const std::string source = setting(profile, "source_profile");
    const std::string place = setting(profile, "credential_source");
    if (setting(profile, "role_arn").empty() || (source.empty() && place.empty()))
      return std::nullopt;
    if (!setting(profile, "mfa_serial").empty())
      throw Error(ErrorKind::denied, where(profile) + " requires an MFA code from " +
                                         printable(setting(profile, "mfa_serial")) + ": " +
                                         export_advice(profile));
    const Credentials caller =
        source.empty() ? at_place(profile, place) : of_source(profile, source);
    return assume_role(search_, role_of(profile), caller.keys);
  }

  Credentials of_source(const std::string& profile, const std::string& source) {
    // True if the profile's own keys are meant, not its role.
    const bool is_own = source == profile;
    if (!is_own && !seen_.insert(profile).second)
      throw Error(ErrorKind::usage, where(profile) + " refers to itself through source_profile");
    if (!profiles_.has(source))
      throw Error(ErrorKind::usage, where(profile) + " names the source_profile " +
                                        printable(source) + ", which does not exist");
    const auto found = is_own ? by_keys(source) : find(source);
    if (found) return *found;
    throw Error(ErrorKind::denied,
                where(profile) + ": its source_profile " + printable(source) + " has no keys");
  }

  Credentials at_place(const std::string& profile, const std::string& place) {
    std::optional<Credentials> found;
    if (place == "Environment") found = aws_in_environment(search_);
    if (place == "EcsContainer") found = aws_container_keys(search_);
    if (place == "Ec2InstanceMetadata") found = aws_instance_keys(search_);
    if (found) return *found;
    throw Error(ErrorKind::denied,
                where(profile) + ": its credential_source " + printable(place) + " has no keys");
  }

  std::optional<Credentials> by_token(const std::string& profile) const {
    const std::string file = setting(profile, "web_identity_token_file");
    if (file.empty() || setting(profile, "role_arn").empty()) return std::nullopt;
    return assume_role_with_token(search_, role_of(profile), file);
  }

  std::optional<Credentials> by_keys(const std::string& profile) const {
    for (const char* key : {"sso_session", "sso_start_url"})
      if (!setting(profile, key).empty())
        throw Error(ErrorKind::denied,
                    where(profile) + " signs in by SSO: " + export_advice(profile));
    if (auto found = profiles_.keys_of(profile, profiles_.keys_file)) return found;
    if (const auto command = setting(profile, "credential_process"); !command.empty())
      return run_credential_process(search_, command, where(profile));
    return profiles_.keys_of(profile, profiles_.config_file);
  }

  static std::string export_advice(const std::string& profile) {
    return "run 'eval \"$(aws configure export-credentials --format env --profile " +
           printable(profile) + ")\"' first";
  }

  const Search& search_;
  const AwsProfiles& profiles_;
  std::string region_;
  std::set<std::string> seen_;
};

std::optional<Credentials> by_token_in_environment(const Search& search,
                                                   const std::string& region) {
  const std::string file = search.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string arn = search.variable("AWS_ROLE_ARN");
  if (file.empty() || arn.empty()) return std::nullopt;
  const AwsRole role{.arn = arn,
                     .session_name = search.variable("AWS_ROLE_SESSION_NAME"),
                     .region = region,
                     .source = "AWS_WEB_IDENTITY_TOKEN_FILE"};
  return assume_role_with_token(search, role, file);
}

}  // namespace

Credentials find_aws(const Sources& sources) {
  Search search(sources);
  const AwsProfiles profiles = read_aws_profiles(search);
  const std::string given = search.first_variable({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string profile = given.empty() ? "default" : given;
  std::string region = search.first_variable({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = profiles.setting(profile, "region");

  search.looked_at("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  search.looked_at("profile " + printable(profile) + " in " + profiles.keys_file.string());
  search.looked_at(profiles.config_file.string());
  search.looked_at("the container's and the instance's metadata");
  std::optional<Credentials> found = aws_in_environment(search);
  if (!found && !given.empty() && !profiles.has(given))
    throw Error(ErrorKind::denied, "AWS_PROFILE names the profile " + printable(given) +
                                       ", which is neither in " + profiles.keys_file.string() +
                                       " nor in " + profiles.config_file.string());
  if (!found) found = by_token_in_environment(search, region);
  if (!found) found = ProfileSearch(search, profiles, region).find(profile);
  if (!found) found = aws_container_keys(search);
  if (!found) found = aws_instance_keys(search);
  if (!found)
    throw search.not_found("AWS",
                           "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run 'aws "
                           "configure'");
  found->region = region;
  return *found;
}

}  // namespace fastgpu::provision::credentials
