#include "cli/workflows/cloud_checks.hpp"

#include <optional>

#include "base/parallel.hpp"
#include "launcher/linked_cancel.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kCheckTimeout{10'000};

std::string kind_of_trouble(const Error& e) {
  if (e.kind() == ErrorKind::interrupted) return "no answer within 10s";
  return e.what();
}

/// Checks the credentials for a cloud. Absent without credentials.
std::optional<Check> look_at(provision::cloud::Cloud& cloud, const Cancel& users) {
  const std::string name = std::string(cloud.name()) + " credentials";
  try {
    if (!cloud.has_credentials()) return std::nullopt;
    const launcher::LinkedCancel timed(users, kCheckTimeout);
    return Check{name, Verdict::ok, "accepted: " + printable(cloud.account(timed.both()), 200), ""};
  } catch (const Error& e) {
    users.check();
    const bool is_refused = e.kind() == ErrorKind::denied;
    return Check{name, Verdict::warn, printable(kind_of_trouble(e), 300),
                 is_refused ? "renew or remove them" : "check the connection to the cloud"};
  }
}

}  // namespace

std::vector<Check> examine_clouds(Services& services) {
  std::vector<provision::cloud::Cloud*> clouds;
  for (const provision::ProviderInfo& info : provision::provider_table())
    if (info.is_cloud) clouds.push_back(&services.cloud(std::string(info.name)));
  std::vector<Check> checks;
  const auto looked = parallel_map(
      std::span<provision::cloud::Cloud* const>(clouds), clouds.size(),
      [&](provision::cloud::Cloud* cloud) { return look_at(*cloud, services.cancel()); });
  services.cancel().check();
  for (const auto& one : looked)
    if (one.ok() && one.value()) checks.push_back(*one.value());
  if (checks.empty())
    checks.push_back(
        {"clouds", Verdict::ok, "no cloud credentials found; local clusters need none", ""});
  return checks;
}

}  // namespace fastgpu::cli
