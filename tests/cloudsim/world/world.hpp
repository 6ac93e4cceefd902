// All clouds at one moment. Not thread safe: whoever calls holds the one lock.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cloudsim/world/catalogue.hpp"
#include "cloudsim/world/model.hpp"
#include "cloudsim/world/trouble.hpp"

namespace fastgpu::cloudsim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct Settings {
  milliseconds boot{0};  ///< From pending or starting to running.
  milliseconds stop{0};  ///< From stopping to stopped.
  milliseconds terminate{0};
  milliseconds image{600};          ///< From the request for an image until it is whole.
  milliseconds listing_delay{300};  ///< A new instance is unknown to reads for so long.
  milliseconds reclaim_notice{120'000};
  milliseconds terminated_listed{3'600'000};
  milliseconds token_lifetime{86'400'000};  ///< Kept so long after all its instances are gone.
  milliseconds skew{0};                     ///< The clouds' clocks ahead of ours.
};

/// Real machines behind the instances, where there are any. Calls return at once; the machines
/// report through World::booted and World::machine_gone.
class Machines {
 public:
  virtual ~Machines() = default;
  virtual void boot(const Instance& instance) = 0;
  virtual void stop(const Instance& instance) = 0;
  virtual void destroy(const Instance& instance) = 0;
  /// Copies what is on the instance's disk at this moment; instances of that image begin with it.
  virtual void keep_image(const Instance& instance, const std::string& image) = 0;
};

struct LaunchOrder {
  Scope scope;
  Instance like;  ///< What each instance is to be like: type, zone, image, tags, ...
  int minimum = 1, maximum = 1;
  std::string token;            ///< Idempotency; none where empty.
  std::string fingerprint;      ///< Of all parameters, to tell a repetition from an abuse.
  bool token_outlives = false;  ///< It answers with its instances even when they are gone.
  double highest_price = -1;    ///< Spot: below zero for the market's.
};

/// Whether a stopped instance keeps its place and its price.
enum class Charging : std::uint8_t { stops, goes_on };

/// What the next boots do instead of succeeding.
struct BootFailure {
  int count = 0;
  std::string reason;
};

class World {
 public:
  World(std::uint64_t seed, Settings with) : settings(with), random_(seed) {}

  Time now() const;
  /// What clients' clocks are held against: the real time, off by the skew. `advance` leaves it.
  Time wall_clock() const;
  void advance(milliseconds by) { ahead_ += by; }
  /// Lets everything happen that is due.
  void settle();

  /// `prefix` and `length` characters of 0-9 a-f.
  std::string new_id(const std::string& prefix, int length);

  /// Ids of the instances made, or of those that this token made before. Throws Trouble.
  std::vector<std::string> launch(const LaunchOrder& order, const std::string& id_prefix,
                                  int id_length);
  void start(Instance& instance);
  void stop(Instance& instance, Charging charging = Charging::stops);
  void terminate(Instance& instance);
  /// Takes a spot instance away once the notice has run out.
  void reclaim(Instance& instance, milliseconds notice);

  /// As when `poweroff` runs on it.
  void power_off(Instance& instance);

  void booted(const std::string& id, const std::string& address);
  void boot_failed(const std::string& id, const std::string& reason);
  void machine_stopped(const std::string& id);

  /// An instance that reads may know of already and still; nullptr where there is none.
  Instance* find_instance(const Scope& scope, const std::string& id);
  /// The same in no order that means anything.
  std::vector<Instance*> instances_of(const Scope& scope);

  Resource& add(const Scope& scope, const std::string& kind, const std::string& id);
  Resource* find(const Scope& scope, const std::string& kind, const std::string& id);
  std::vector<Resource*> resources_of(const Scope& scope, const std::string& kind);
  /// Deletes it and its parts. Throws Trouble in_use where something alive uses it.
  void remove(Resource& resource);
  /// What uses it and is alive; empty where nothing does.
  std::string user_of(const std::string& id) const;
  void remove_parts_of(const std::string& id);

  /// A free address of the subnet, for good. Throws Trouble addresses_used_up.
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
  int image_failures = 0;  ///< So many images to come fail.

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
