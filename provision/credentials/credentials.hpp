// Who we are to a cloud, found by the vendor's own rules and in its own order. Nothing is stored.
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
      source{};  ///< For messages: "AWS_ACCESS_KEY_ID", "profile dev in /home/x/.aws/config"
  std::optional<TimePoint> expires{};
  std::string region{};      ///< Where the environment or the profile names one.
  std::string project_id{};  ///< Huawei's; empty where none is set.
  std::string domain_id{};   ///< Huawei's; empty where none is set.
};

/// Everything that a search for credentials may look at.
struct Sources {
  state::Environment environment;
  std::filesystem::path home;
  http::Client& http;
  const Cancel& cancel;
  TimePoint now;
  /// Where a machine asks its cloud about itself: "http://169.254.169.254"; empty: the vendor's.
  std::string metadata_url{};
};

/// Each throws denied where nothing is found, saying where it was looked and what to set; usage for
/// a file that cannot be understood, with its line; denied, remote or transient where a service
/// that was to give temporary keys did not; interrupted.
///
/// The keys of a role expire: ask again shortly before `expires`.
Credentials find_aws(const Sources& sources);
Credentials find_alibaba(const Sources& sources);
Credentials find_tencent(const Sources& sources);
Credentials find_huawei(const Sources& sources);

}  // namespace fastgpu::provision::credentials
