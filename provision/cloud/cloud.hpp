// What fastgpu asks of a cloud's API. One implementation per vendor lives in provision/providers/;
// what follows from the answers is decided by those who call, alike for all.
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

namespace fastgpu::provision::cloud {

/// What one call of a cloud can carry.
struct Limits {
  int machines_a_launch = 100;
  int machines_a_call = 100;       ///< Of start, stop, terminate.
  std::size_t user_data = 16384;   ///< Bytes before encoding.
  bool has_partial_launch = true;  ///< Whether Launch::least below count means anything.
  /// Whether the cloud ends machines by a timer of its own. One that has none does not charge for
  /// computing while a machine is off that has powered itself off; the others do.
  bool has_timer = true;
  bool has_reservations = false;  ///< Whether Wish::reservation means anything.
  /// Whether an image that is asked for twice is one image: by its name, or by the token.
  bool knows_images_again = true;
};

/// Tags on everything that we make.
constexpr std::string_view kClusterTag = "fastgpu-cluster";  ///< The cluster's identity.
constexpr std::string_view kNameTag = "fastgpu-name";        ///< The cluster's name.
constexpr std::string_view kOwnerTag = "fastgpu-owner";      ///< The state directory's identity.
constexpr std::string_view kFirstTag = "fastgpu-first";      ///< Index of the launch's first node.
constexpr std::string_view kTakenTag = "fastgpu-taken";      ///< Tags::taken
constexpr std::string_view kLaunchedTag = "fastgpu-launched-as";  ///< Tags::launched_as
constexpr std::string_view kHostKeyTag = "fastgpu-host-key";      ///< Tags::host_key

/// The tags that are not empty, under the names above.
std::vector<std::pair<std::string, std::string>> pairs_of(const Tags& tags);

using state::TimePoint;

/// Calls may be made from several threads at once. They throw Error as cloud::error_of(Failure)
/// makes it: denied, capacity, not_found, conflict, remote; transient once repeating has not
/// helped; interrupted after a cancel.
class Cloud {
 public:
  virtual ~Cloud() = default;

  virtual std::string_view name() const noexcept = 0;
  virtual Limits limits() const noexcept = 0;

  /// Whether there is anything to sign requests with; whether it is accepted only a call tells.
  virtual bool has_credentials() = 0;

  /// Whether it has accepted a signed request of ours already.
  virtual bool has_accepted_us() noexcept { return false; }

  /// Who we are there, as the cloud writes it. The cheapest way to find that credentials work.
  virtual std::string account(const Cancel& cancel) = 0;

  virtual std::vector<std::string> regions(const Cancel& cancel) = 0;

  /// The regions that are asked where the user names none.
  virtual std::vector<std::string> usual_regions();

  /// What suits the wish in one region, at most one offer a zone and type. Types that the region
  /// does not have are no offers.
  virtual std::vector<Offer> offers(const std::string& region, const Wish& wish,
                                    const Cancel& cancel) = 0;

  /// The images of that name or id; for an empty name the newest that suits a machine of `type`
  /// first. Throws not_found for a name that no image has.
  virtual std::vector<Image> images(const std::string& region, const std::string& name,
                                    const std::string& type, const Cancel& cancel) = 0;

  /// The public key of one of the user's key pairs, as public_key_of gives it. Throws not_found
  /// where the region has none of that name.
  virtual std::string public_key(const std::string& region, const std::string& key_pair,
                                 const Cancel& cancel) = 0;

  /// The images in the region that carry our marks, and what an interrupted removal has left of
  /// one, as a failed one.
  virtual std::vector<OwnImage> own_images(const std::string& region, const Cancel& cancel) = 0;

  /// Asks for an image of a machine's system disk as it is at this moment; returns once the cloud
  /// has accepted. May be known to `own_images` some seconds later. Throws conflict where an image
  /// has that name already.
  virtual void make_image(const ImageWish& wish, const Cancel& cancel) = 0;

  /// With its snapshots. One that is gone already is a success.
  virtual void remove_image(const std::string& region, const OwnImage& image) = 0;

  virtual std::vector<Quota> quotas(const std::string& region, const Cancel& cancel) = 0;

  /// Throws not_found if the user's network (a name or an id) is not in the region, or has no
  /// subnet at the site. Changes nothing.
  virtual void check_network(const Site& site, const std::string& vpc, const Cancel& cancel) = 0;

  /// Finds the cluster's parts by their marks and makes what is missing, in order. May be repeated.
  virtual Parts make_network(const NetworkWish& wish, const Cancel& cancel) = 0;

  /// Removes every part of the cluster in the region, those that need others first; fine where
  /// there is none. Parts without our marks stay, but for those of `known`, which are on record as
  /// the cluster's own.
  virtual void remove_network(const std::string& region, const state::ClusterId& cluster,
                              const Parts& known) = 0;

  /// Asks for machines; returns once the cloud has accepted or refused. The same launch again is
  /// answered as at first, as far as the cloud's tokens reach. A refusal for want of stock, quota
  /// or price throws capacity.
  virtual std::vector<Machine> launch(const Launch& launch, const Cancel& cancel) = 0;

  /// What the cloud says of a launch without launching, which may hang on a network that is not
  /// made yet; nothing, or dry_run_passed, where it would launch. A permission is looked at first.
  virtual std::optional<Failure> try_launch(const Trial& trial, const Cancel& cancel) = 0;

  /// Every machine in the region that carries the cluster's mark, or, for an empty identity, any
  /// cluster's; those that are gone are left out.
  virtual std::vector<Machine> machines(const std::string& region, const state::ClusterId& cluster,
                                        const Cancel& cancel) = 0;

  virtual void start(const std::string& region, std::span<const std::string> ids,
                     const Cancel& cancel) = 0;

  /// So that computing is not charged any more, where the cloud can do that.
  virtual void stop(const std::string& region, std::span<const std::string> ids,
                    const Cancel& cancel) = 0;

  /// Ends machines with their disks and addresses; returns once the cloud has accepted. One that is
  /// gone already is a success.
  virtual void terminate(const std::string& region, std::span<const std::string> ids) = 0;

  /// Moves the time at which the cloud ends the machines by itself; absent: it does not. A time
  /// that is nearer than the cloud takes becomes the nearest that it does. Where the cloud has no
  /// timer this says whether a machine that powers itself off is ended (at whatever time that is)
  /// or only stopped.
  virtual void release_at(const std::string& region, std::span<const std::string> ids,
                          std::optional<std::chrono::system_clock::time_point> when,
                          const Cancel& cancel) = 0;

  /// Returns the time at which a timer runs out that is set at `now` for `wished`: the nearest that
  /// the cloud takes.
  virtual TimePoint timer_at(TimePoint wished, TimePoint /*now*/) const { return wished; }

  /// Writes on machines what of `tags` is not empty, in place of what stood there. May be repeated.
  virtual void tag(const std::string& region, std::span<const std::string> ids, const Tags& tags,
                   const Cancel& cancel) = 0;

  /// What of clusters' parts there is in the region, machines excepted.
  virtual std::vector<Part> parts(const std::string& region, const Cancel& cancel) = 0;
};

}  // namespace fastgpu::provision::cloud
