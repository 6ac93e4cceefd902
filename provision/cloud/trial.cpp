#include "provision/cloud/trial.hpp"

#include <algorithm>

namespace fastgpu::provision::cloud {
namespace {

/// Returns true if a launch with a network would be refused for the same reason.
bool is_final(FailureKind kind) {
  switch (kind) {
    case FailureKind::permission:
    case FailureKind::credentials:
    case FailureKind::expired:
    case FailureKind::quota:
    case FailureKind::stock:
    case FailureKind::price:
    case FailureKind::money:
    case FailureKind::account:
      return true;
    case FailureKind::throttled:
    case FailureKind::busy:
    case FailureKind::clock_skew:
    case FailureKind::not_found:
    case FailureKind::name_taken:
    case FailureKind::in_use:
    case FailureKind::done_already:
    case FailureKind::token_used:
    case FailureKind::dry_run_passed:
    case FailureKind::invalid:
      return false;
  }
  return false;
}

}  // namespace

TrialOutcome try_best_place(Cloud& cloud, const CloudSpec& spec, int nodes, const Cancel& cancel) {
  const Place& best = spec.places.front();
  const auto images = cloud.images(best.site.region, spec.image, best.type, cancel);
  if (images.empty())
    throw Error(ErrorKind::not_found, "no image in " + best.site.region + " suits " + best.type);
  for (const std::string& key_pair : spec.key_pairs)
    cloud.public_key(best.site.region, key_pair, cancel);
  if (!spec.vpc.empty()) cloud.check_network(best.site, spec.vpc, cancel);
  const auto failure =
      cloud.try_launch({.site = best.site,
                        .type = best.type,
                        .image = images.front().id,
                        .count = std::min(nodes, cloud.limits().machines_a_launch)},
                       cancel);
  if (!failure || failure->kind == FailureKind::dry_run_passed) return TrialOutcome::accepted;
  if (is_final(failure->kind))
    throw error_of(*failure, std::string(cloud.name()) + ": launching " + best.type + " in " +
                                 best.site.zone + ", as a trial");
  return TrialOutcome::untold;
}

}  // namespace fastgpu::provision::cloud
