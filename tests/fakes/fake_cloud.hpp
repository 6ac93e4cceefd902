// A cloud of machines that exist in a list: what it is asked for is counted, and it refuses as it
// is told.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/contains.hpp"
#include "provision/cloud/cloud.hpp"

namespace fastgpu::test {

class FakeCloud final : public provision::cloud::Cloud {
  using Machine = provision::cloud::Machine;
  using MachineState = provision::cloud::MachineState;

 public:
  std::vector<Machine> all;                              ///< Every machine there ever was.
  std::map<std::string, std::vector<Machine>> by_token;  ///< What a launch was answered with.
  std::vector<provision::cloud::Launch> launches;
  std::set<std::string> networks;    ///< Clusters that have one.
  std::map<std::string, int> stock;  ///< Live ones that a zone has room for; plenty where untold.
  std::function<void()> on_launch;   ///< Called before each launch.
  std::function<void(const provision::cloud::Site&)> on_network;  ///< Before each is made.
  std::set<std::string> closed_regions;  ///< Where machines may not be listed.
  std::set<std::string> unlisted;        ///< Machines that there are, and that no list has yet.
  std::string newest_image = "image-1";
  bool lists_late = false;      ///< Machines are made and not listed.
  bool is_launch_lost = false;  ///< Machines are made and not listed, and nobody is told.
  std::vector<provision::cloud::CloudPart> parts_found;
  int end_after = 0;   ///< So many listings show a machine as ending before it is gone.
  int in_use_for = 0;  ///< So many removals of a network are refused.
  bool credentials = true;
  bool is_known = false;  ///< It has accepted something of ours.
  int accounts_asked = 0;
  int lists_asked = 0;                                           ///< Of machines.
  std::vector<provision::cloud::NetworkRequest> network_wishes;  ///< In their order.
  provision::cloud::Parts known_parts;                           ///< Of the last removal.
  int most_a_launch = 100;
  bool gives_parts = true;

  std::string_view name() const noexcept override { return "fake"; }
  provision::cloud::Limits limits() const noexcept override {
    return {.machines_a_launch = most_a_launch,
            .machines_a_call = 2,
            .has_partial_launch = gives_parts,
            .has_timer = has_timer,
            .knows_images_again = knows_images_again};
  }
  bool has_credentials() override { return credentials; }
  bool has_accepted_us() noexcept override { return is_known; }
  std::string account(const Cancel&) override {
    ++accounts_asked;
    return "account";
  }
  std::vector<std::string> regions(const Cancel&) override { return {"r1", "r2"}; }
  std::vector<provision::cloud::Offer> offers(const std::string&,
                                              const provision::cloud::MachineRequest&,
                                              const Cancel&) override {
    return offered;
  }
  std::vector<provision::cloud::Offer> offered;  ///< In every region, whatever is wished.
  std::set<std::string> bare_regions;  ///< Without images, key pairs and networks of the user.
  std::vector<provision::cloud::Image> images(const std::string& region, const std::string& name,
                                              const std::string&, const Cancel&) override {
    if (name == "none") return {};
    if (!name.empty() && bare_regions.contains(region))
      throw Error(ErrorKind::not_found, "there is no image '" + name + "' in " + region);
    return {{.id = newest_image}};
  }
  std::string public_key(const std::string& region, const std::string& key_pair,
                         const Cancel&) override {
    if (key_pair == "unknown" || bare_regions.contains(region))
      throw Error(ErrorKind::not_found, "there is no key pair '" + key_pair + "' in " + region);
    return "ssh-rsa " + key_pair + region;
  }
  std::vector<provision::cloud::OwnImage> own_images(const std::string& region,
                                                     const Cancel&) override {
    return region == "r1" ? images_made : std::vector<provision::cloud::OwnImage>{};
  }
  std::optional<provision::cloud::Failure> try_launch(const provision::cloud::Trial& trial,
                                                      const Cancel&) override {
    trials.push_back(trial);
    return trial_failure;
  }
  std::vector<provision::cloud::Trial> trials;
  std::optional<provision::cloud::Failure> trial_failure;
  void make_image(const provision::cloud::ImageRequest& request, const Cancel&) override {
    image_wishes.push_back(request);
    if (on_image) on_image(request);
  }
  void remove_image(const std::string&, const provision::cloud::OwnImage& image) override {
    std::erase_if(images_made, [&](const auto& one) { return one.image.id == image.image.id; });
  }
  std::vector<provision::cloud::OwnImage> images_made;  ///< In region r1.
  std::vector<provision::cloud::ImageRequest> image_wishes;
  std::function<void(const provision::cloud::ImageRequest&)> on_image;  ///< Makes it, or throws.
  std::vector<provision::cloud::Quota> quotas(const std::string&, const Cancel&) override {
    return {};
  }
  void check_network(const provision::cloud::Site& site, const std::string& vpc,
                     const Cancel&) override {
    if (!vpcs.contains(vpc) || bare_regions.contains(site.region))
      throw Error(ErrorKind::not_found, "there is no VPC '" + vpc + "' in " + site.region);
  }
  std::set<std::string> vpcs;  ///< The networks of the user, in every region.
  provision::cloud::Parts make_network(const provision::cloud::NetworkRequest& request,
                                       const Cancel&) override {
    network_wishes.push_back(request);
    if (on_network) on_network(request.site);
    for (const IpRange& range : request.ssh_from)
      if (!contains(open, range)) open.push_back(range);
    networks.insert(request.marks.cluster.value);
    return {{"subnet", "subnet-" + request.site.zone}};
  }
  std::vector<IpRange> open_ranges(const provision::cloud::NetworkRequest&,
                                   const Cancel&) override {
    return open;
  }
  void close_ranges(const provision::cloud::NetworkRequest& request, const Cancel&) override {
    std::erase_if(open, [&](const IpRange& range) { return contains(request.ssh_from, range); });
  }
  std::vector<IpRange> open{};  ///< The ranges that networks admit.
  void remove_network(const std::string&, const state::ClusterId& cluster,
                      const provision::cloud::Parts& known) override {
    const std::lock_guard lock(mutex_);
    if (!known.empty()) known_parts = known;
    if (in_use_for-- > 0) throw Error(ErrorKind::conflict, "still in use");
    networks.erase(cluster.value);
  }

  std::vector<Machine> launch(const provision::cloud::Launch& launch, const Cancel&) override {
    const std::lock_guard lock(mutex_);
    if (on_launch) on_launch();
    launches.push_back(launch);
    if (const auto before = by_token.find(launch.token); before != by_token.end())
      return before->second;
    const auto limit = stock.find(launch.site.zone);
    const int room = limit == stock.end() ? launch.count : limit->second - alive(launch.site.zone);
    const int got = std::min(launch.count, room);
    if (got < std::max(1, launch.least))
      throw Error(ErrorKind::capacity, "no stock in " + launch.site.zone);
    std::vector<Machine> made;
    for (int i = 0; i < got; ++i)
      made.push_back({.id = "m" + std::to_string(all.size() + made.size()),
                      .index = launch.first + i,
                      .state = MachineState::running,
                      .address = provision::cloud::MachineAddress(IpAddress::parse("198.51.100.1")),
                      .site = launch.site,
                      .type = launch.type,
                      .launched = std::to_string(all.size() + made.size() + 1000),
                      .marks = launch.marks});
    std::ranges::copy(made, std::back_inserter(all));
    by_token[launch.token] = made;
    if (is_launch_lost || lists_late)
      for (const Machine& machine : made)
        unlisted.insert(machine.id);
    if (!is_launch_lost) return made;
    throw Error(ErrorKind::transient, "the line is cut");
  }

  std::vector<Machine> machines(const std::string& region, const state::ClusterId& cluster,
                                const Cancel&) override {
    const std::lock_guard lock(mutex_);
    ++lists_asked;
    if (closed_regions.contains(region)) throw Error(ErrorKind::denied, "you may not list them");
    std::vector<Machine> found;
    for (Machine& machine : all) {
      const bool is_meant = cluster.value.empty() || machine.marks.cluster == cluster;
      if (machine.site.region != region || !is_meant || machine.state == MachineState::gone ||
          unlisted.contains(machine.id))
        continue;
      found.push_back(machine);
      if (machine.state == MachineState::ending && listings_[machine.id]++ >= end_after)
        machine.state = MachineState::gone;
    }
    return found;
  }

  void start(const std::string&, std::span<const std::string> ids, const Cancel&) override {
    check_takes_orders(ids);
    set(ids, MachineState::running);
  }
  void stop(const std::string&, std::span<const std::string> ids, const Cancel&) override {
    check_takes_orders(ids);
    set(ids, MachineState::stopped);
  }
  void terminate(const std::string&, std::span<const std::string> ids) override {
    set(ids, MachineState::ending);
  }
  void release_at(const std::string&, std::span<const std::string> ids,
                  std::optional<std::chrono::system_clock::time_point> when,
                  const Cancel&) override {
    const std::lock_guard lock(mutex_);
    for (const std::string& id : ids)
      timers[id] = when;
    calls.push_back(ids.size());
  }
  void tag(const std::string&, std::span<const std::string> ids, const provision::cloud::Tags& tags,
           const Cancel&) override {
    const std::lock_guard lock(mutex_);
    for (Machine& machine : all) {
      if (!contains(ids, machine.id)) continue;
      if (!tags.cluster_name.empty()) machine.marks.cluster_name = tags.cluster_name;
      if (!tags.launched_as.empty()) machine.launched_as = tags.launched_as;
      if (!tags.owner.empty()) machine.marks.owner = tags.owner;
      if (!tags.taken.empty()) machine.taken = tags.taken;
      if (!tags.host_key.empty()) machine.host_key = tags.host_key;
    }
  }
  std::map<std::string, std::optional<std::chrono::system_clock::time_point>> timers;  ///< By id.
  provision::cloud::TimePoint timer_at(provision::cloud::TimePoint wished,
                                       provision::cloud::TimePoint now) const override {
    return std::max(wished, now + nearest_timer);
  }
  std::chrono::minutes nearest_timer{-100'000'000};  ///< From now on.
  bool has_timer = true;
  bool knows_images_again = true;
  std::vector<provision::cloud::CloudPart> parts(const std::string& region,
                                                 const Cancel&) override {
    return region == "r1" ? parts_found : std::vector<provision::cloud::CloudPart>{};
  }

  int alive(const std::string& zone) const {
    return static_cast<int>(std::ranges::count_if(all, [&](const Machine& machine) {
      return machine.site.zone == zone &&
             (machine.state == MachineState::running || machine.state == MachineState::stopped);
    }));
  }

  std::vector<std::size_t> calls;  ///< How many machines each start, stop or terminate named.

 private:
  void check_takes_orders(std::span<const std::string> ids) const {
    for (const std::string& id : ids) {
      const auto machine = std::ranges::find(all, id, &Machine::id);
      if (machine == all.end()) throw Error(ErrorKind::not_found, "no machine " + id);
      if (machine->state == MachineState::pending || machine->state == MachineState::stopping)
        throw Error(ErrorKind::conflict, id + " is busy");
    }
  }

  void set(std::span<const std::string> ids, MachineState state) {
    const std::lock_guard lock(mutex_);
    calls.push_back(ids.size());
    for (Machine& machine : all)
      if (contains(ids, machine.id) && machine.state != MachineState::gone) machine.state = state;
  }

  std::mutex mutex_;
  std::map<std::string, int> listings_;
};

}  // namespace fastgpu::test
