// The state of all clouds. Not thread-safe: the caller holds the simulation's lock.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cloudsim/world/api_failure.hpp"
#include "cloudsim/world/catalogue.hpp"
#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct Settings {
  milliseconds boot{0};  ///< The time from pending or starting to running.
  milliseconds stop{0};  ///< The time from stopping to stopped.
  milliseconds terminate{0};
  milliseconds image{600};  ///< The time from the request for an image until it is complete.
  milliseconds listing_delay{300};  ///< Lists do not show a new instance for this long.
  /// Calls that name a new instance do not know it for this long, and never longer than lists.
  milliseconds known_delay = milliseconds::max();
  milliseconds reclaim_notice{120'000};
  milliseconds terminated_listed{3'600'000};
  /// A token is kept for this long after all its instances are gone.
  milliseconds token_lifetime{86'400'000};
  milliseconds skew{0};  ///< How far the clouds' clocks are ahead of ours.
};

/// Real machines behind the instances, if there are any. Calls return at once; the machines report
/// through SimulatedWorld::booted and SimulatedWorld::machine_gone.
class Machines {
 public:
  virtual ~Machines() = default;
  virtual void boot(const Instance& instance) = 0;
  virtual void stop(const Instance& instance) = 0;
  virtual void destroy(const Instance& instance) = 0;
  /// Copies the present content of the instance's disk. Instances of that image start with it.
  virtual void keep_image(const Instance& instance, const std::string& image) = 0;
};

struct LaunchOrder {
  Scope scope;
  Instance like;  ///< The template for each instance: type, zone, image, tags, ...
  int minimum = 1, maximum = 1;
  std::string token;  ///< The idempotency token; may be empty.
  /// A digest of all parameters, to distinguish a repetition from a wrong use of the token.
  std::string fingerprint;
  bool token_outlives = false;  ///< The token returns its instances even after they are gone.
  /// The price limit for spot instances; below zero for the market price.
  double highest_price = -1;
};

/// Whether a stopped instance keeps its capacity and its cost.
enum class Charging : std::uint8_t { stops, goes_on };

/// Makes the next boots fail.
struct BootFailure {
  int count = 0;
  std::string reason;
};

class SimulatedWorld {
 public:
  SimulatedWorld(std::uint64_t seed, Settings with) : settings(with), random_(seed) {}

  Time now() const;
  /// Returns the time against which clients' clocks are checked: the real time plus the skew.
  /// advance() does not change it.
  Time wall_clock() const;
  void advance(milliseconds by) { ahead_ += by; }
  /// Performs all changes that are due.
  void settle();

  /// Returns `prefix` followed by `length` characters of 0-9 a-f.
  std::string new_id(const std::string& prefix, int length);

  /// Returns the ids of the created instances, or of those that this token created before. Throws
  /// ApiFailure.
  std::vector<std::string> launch(const LaunchOrder& order, const std::string& id_prefix,
                                  int id_length);
  void start(Instance& instance);
  void stop(Instance& instance, Charging charging = Charging::stops);
  void terminate(Instance& instance);
  /// Takes a spot instance back after the notice time.
  void reclaim(Instance& instance, milliseconds notice);

  /// Powers the instance off, as `poweroff` would.
  void power_off(Instance& instance);

  void booted(const std::string& id, const std::string& address);
  void boot_failed(const std::string& id, const std::string& reason);
  void machine_stopped(const std::string& id);

  /// Returns an instance that reads show; null if there is none.
  Instance* find_instance(const Scope& scope, const std::string& id);
  /// Returns all such instances, in no particular order.
  std::vector<Instance*> instances_of(const Scope& scope);

  Resource& add(const Scope& scope, const std::string& kind, const std::string& id);
  Resource* find(const Scope& scope, const std::string& kind, const std::string& id);
  std::vector<Resource*> resources_of(const Scope& scope, const std::string& kind);
  /// Deletes the resource and its parts. Throws ApiFailure in_use if a live object uses it.
  void remove(Resource& resource);
  /// Returns the id of a live object that uses it; "" if there is none.
  std::string user_of(const std::string& id) const;
  void remove_parts_of(const std::string& id);

  /// Takes a free address of the subnet for ever. Throws ApiFailure addresses_used_up.
  std::string take_address(const Resource& subnet);
  int free_addresses(const Resource& subnet) const;
  std::string new_public_address();
  double cost(const Instance& instance) const;
  double quota_used(const Scope& scope, const std::string& group) const;

  Settings settings;
  Machines* machines = nullptr;
  std::map<std::string, Catalogue> catalogues;
  std::vector<Account> accounts;
  std::map<std::string, Instance> instances;
  std::map<std::string, Resource> resources;
  BootFailure boot_failure;
  int image_failures = 0;  ///< The number of next images that will fail.

 private:
  struct Launched {
    std::string fingerprint;
    std::vector<std::string> ids;
  };
  std::vector<std::string> repeated(const LaunchOrder& order, const Launched& before) const;
  int affordable(const LaunchOrder& order, Offer& offer) const;
  std::string add_instance(const LaunchOrder& order, const std::string& id, int index);
  void settle(Instance& instance);
  void begin(Instance& instance, State state, milliseconds takes);
  void end(Instance& instance);
  void take_stock(Instance& instance);
  void give_back_stock(Instance& instance);
  void begin_boot(Instance& instance, State state);
  void end_boot(Instance& instance);
  void settle_timers(Instance& instance);

  std::map<std::pair<Scope, std::string>, Launched> tokens_;
  std::map<std::string, std::set<std::uint32_t>> taken_;
  std::uint32_t public_addresses_ = 0;
  milliseconds ahead_{0};
  std::mt19937_64 random_;
};

}  // namespace fastgpu::cloudsim
