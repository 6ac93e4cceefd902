// The interface of a cloud's API. Each vendor has one implementation in provision/providers/. The
// callers make all decisions, in the same way for all clouds.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/cloud/model.hpp"
#include "provision/cloud/own_image.hpp"
#include "provision/cloud/tags.hpp"

namespace fastgpu::provision::cloud {

/// The capacities and features of a cloud's calls.
struct Limits {
  int machines_a_launch = 100;
  int machines_a_call = 100;       ///< The maximum number for start, stop and terminate.
  std::size_t user_data = 16384;   ///< The maximum size in bytes, before encoding.
  bool has_partial_launch = true;  ///< True if the cloud obeys Launch::least below Launch::count.
  /// True if the cloud ends machines by a timer of its own. A cloud without a timer does not charge
  /// for the computing of a machine that has powered itself off; the others do.
  bool has_timer = true;
  bool has_reservations = false;  ///< True if the cloud obeys MachineRequest::reservation.
  /// True if a repeated request for an image yields the same image: by its name, or by the token.
  bool knows_images_again = true;
};

/// Returns the tags that are not empty, under the names above.
std::vector<std::pair<std::string, std::string>> pairs_of(const Tags& tags);

using state::TimePoint;

/// The API of one cloud. Several threads may call at once. The calls throw the Error that
/// cloud::error_of(Failure) makes: denied, capacity, not_found, conflict, remote; transient if
/// repetitions have not helped; interrupted after a cancel.
class Cloud {
 public:
  virtual ~Cloud() = default;

  virtual std::string_view name() const noexcept = 0;
  virtual Limits limits() const noexcept = 0;

  /// Returns true if credentials exist. Only a call can check whether the cloud accepts them.
  virtual bool has_credentials() = 0;

  /// Returns true if the cloud has accepted a signed request of ours already.
  virtual bool has_accepted_us() noexcept { return false; }

  /// Returns the name of our account, in the cloud's form. The cheapest check of credentials.
  virtual std::string account(const Cancel& cancel) = 0;

  virtual std::vector<std::string> regions(const Cancel& cancel) = 0;

  /// Returns the regions that are searched if the user names no region.
  virtual std::vector<std::string> usual_regions();

  /// Returns the offers of one region that suit the request, at most one for a zone and type. Types
  /// that the region does not have are left out.
  virtual std::vector<Offer> offers(const std::string& region, const MachineRequest& request,
                                    const Cancel& cancel) = 0;

  /// Returns the images of that name or id. For an empty name, the newest image that suits a
  /// machine of `type` comes first. Throws not_found for an unknown name.
  virtual std::vector<Image> images(const std::string& region, const std::string& name,
                                    const std::string& type, const Cancel& cancel) = 0;

  /// Returns the public key of one of the user's key pairs, in the form of public_key_of. Throws
  /// not_found if the region has no key pair of that name.
  virtual std::string public_key(const std::string& region, const std::string& key_pair,
                                 const Cancel& cancel) = 0;

  /// Returns the images in the region that have our marks. The remains of an image after an
  /// interrupted removal are returned as a failed image.
  virtual std::vector<OwnImage> own_images(const std::string& region, const Cancel& cancel) = 0;

  /// Requests an image of a machine's system disk in its present state. Returns once the cloud has
  /// accepted. `own_images` may list the image some seconds later. Throws conflict if an image has
  /// that name already.
  virtual void make_image(const ImageRequest& request, const Cancel& cancel) = 0;

  /// Removes an image with its snapshots. Succeeds for one that is gone already.
  virtual void remove_image(const std::string& region, const OwnImage& image) = 0;

  virtual std::vector<Quota> quotas(const std::string& region, const Cancel& cancel) = 0;

  /// Throws not_found if the user's network (a name or an id) is not in the region, or has no
  /// subnet at the site. Changes nothing.
  virtual void check_network(const Site& site, const std::string& vpc, const Cancel& cancel) = 0;

  /// Finds the cluster's parts by their marks, and makes the missing ones, in order. May be
  /// repeated.
  virtual Parts make_network(const NetworkRequest& request, const Cancel& cancel) = 0;

  /// Returns the ranges that may reach port 22 of the cluster's machines in the request's region.
  /// Empty without a security group.
  virtual std::vector<IpRange> open_ranges(const NetworkRequest& request, const Cancel& cancel) = 0;

  /// Closes port 22 to the ranges `ssh_from` of the request. Succeeds for ranges that are closed
  /// already.
  virtual void close_ranges(const NetworkRequest& request, const Cancel& cancel) = 0;

  /// Removes every part of the cluster in the region, each before the parts that it depends on.
  /// Succeeds without any part. Parts without our marks stay, except for those of `known`, which
  /// are on record as the cluster's own.
  virtual void remove_network(const std::string& region, const state::ClusterId& cluster,
                              const Parts& known) = 0;

  /// Requests machines. Returns once the cloud has accepted; throws if it refuses: capacity for a
  /// lack of stock or quota, or for a price. A repeated launch gets the first answer again, for as
  /// long as the cloud remembers its token.
  virtual std::vector<Machine> launch(const Launch& launch, const Cancel& cancel) = 0;

  /// Tries a launch without launching. Returns the cloud's refusal, which may be about a network
  /// that is not made yet. Returns nothing, or dry_run_passed, if the cloud would launch. Clouds
  /// check the permission first.
  virtual std::optional<Failure> try_launch(const Trial& trial, const Cancel& cancel) = 0;

  /// Returns every machine in the region with the cluster's mark, or with any cluster's mark for an
  /// empty identity. Machines that are gone are left out.
  virtual std::vector<Machine> machines(const std::string& region, const state::ClusterId& cluster,
                                        const Cancel& cancel) = 0;

  /// Returns the machines of one cluster, and those that are gone for as long as the cloud lists
  /// them. A machine that is listed as gone has ended; one that is missing may only be new.
  virtual std::vector<Machine> machines_and_ended(const std::string& region,
                                                  const state::ClusterId& cluster,
                                                  const Cancel& cancel) {
    return machines(region, cluster, cancel);
  }

  virtual void start(const std::string& region, std::span<const std::string> ids,
                     const Cancel& cancel) = 0;

  /// Stops machines, in a way that ends the charge for computing if the cloud has one.
  virtual void stop(const std::string& region, std::span<const std::string> ids,
                    const Cancel& cancel) = 0;

  /// Ends machines with their disks and addresses. Returns once the cloud has accepted. Succeeds
  /// for a machine that is gone already.
  virtual void terminate(const std::string& region, std::span<const std::string> ids) = 0;

  /// Sets the time at which the cloud ends the machines by itself; absent: never. A time outside
  /// the cloud's limits becomes the nearest possible one. For a cloud without a timer, `when` only
  /// decides whether a machine that powers itself off is ended (at any time) or only stopped.
  virtual void release_at(const std::string& region, std::span<const std::string> ids,
                          std::optional<std::chrono::system_clock::time_point> when,
                          const Cancel& cancel) = 0;

  /// Returns the time at which a timer ends that is set at `now` for `wished`: the nearest time
  /// that the cloud accepts.
  virtual TimePoint timer_at(TimePoint wished, TimePoint /*now*/) const { return wished; }

  /// Writes those of `tags` that are not empty on machines, in place of earlier values. May be
  /// repeated.
  virtual void tag(const std::string& region, std::span<const std::string> ids, const Tags& tags,
                   const Cancel& cancel) = 0;

  /// Returns the parts of clusters in the region, without machines.
  virtual std::vector<CloudPart> parts(const std::string& region, const Cancel& cancel) = 0;
};

}  // namespace fastgpu::provision::cloud
