// Our credentials for a cloud, found by the vendor's own rules and in the vendor's order. They are
// never stored.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "http/client.hpp"
#include "provision/signing/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::provision::credentials {

using TimePoint = std::chrono::system_clock::time_point;

struct Credentials {
  signing::Keys keys;
  std::string
      source{};  ///< Shown in messages: "AWS_ACCESS_KEY_ID", "profile dev in /home/x/.aws/config"
  std::optional<TimePoint> expires{};
  std::string region{};      ///< The region in the environment or the profile; empty: unset.
  std::string project_id{};  ///< Huawei's; empty: unset.
  std::string domain_id{};   ///< Huawei's; empty: unset.
};

/// All sources that a search for credentials may read.
struct Sources {
  state::Environment environment;
  std::filesystem::path home;
  http::Client& http;
  const Cancel& cancel;
  TimePoint now;
  /// The address of a machine's metadata: "http://169.254.169.254"; empty: the vendor's.
  std::string metadata_url{};
};

/// Finds the credentials for the cloud. Throws denied without credentials, with the searched
/// places and advice; usage for a file that cannot be understood, with its line; denied, remote or
/// transient if a service failed to give temporary keys; interrupted after a cancel.
///
/// The keys of a role expire: search again shortly before `expires`.
Credentials find_aws(const Sources& sources);
Credentials find_alibaba(const Sources& sources);
Credentials find_tencent(const Sources& sources);
Credentials find_huawei(const Sources& sources);

}  // namespace fastgpu::provision::credentials
