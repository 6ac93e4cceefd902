// What a user may wish of a cluster in a cloud, and the plan that comes of it.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ip.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/view.hpp"
#include "config/cluster_file.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/survey.hpp"
#include "provision/cluster_spec.hpp"

namespace fastgpu::cli {

struct CloudOptions {
  std::vector<std::string> clouds;
  std::string gpus;
  std::string type;
  std::string region;
  std::string zone;
  std::string image;
  std::string vpc;
  std::string reservation;
  std::string max_price;
  std::vector<std::string> exchange_rates;
  std::vector<std::string> ssh_from;
  std::vector<std::string> ssh_keys;  ///< Files.
  std::vector<std::string> key_pairs;
  std::optional<int> disk;
  std::string data_disk;
  std::vector<std::string> mounts;
  std::optional<int> min_nodes;
  std::optional<std::chrono::milliseconds> hold;
  std::string hold_cost;
  std::string public_address;
  bool spot = false;
  bool rdma = false;
};

/// --cloud and --region.
void describe_place_options(Arguments& arguments, CloudOptions& options);
/// What kind of machine, and at what price.
void describe_machine_options(Arguments& arguments, CloudOptions& options);
/// Both, and what belongs to a cluster.
void describe_cloud_options(Arguments& arguments, CloudOptions& options);

/// Whether the options wish for machines of a cloud, whichever it be.
bool wants_a_cloud(const CloudOptions& options);

/// The first option given that only clouds understand: "--spot"; empty: none.
std::string given_option(const CloudOptions& options);

/// The options, where they are given, over what a cluster file says.
CloudOptions over_file(CloudOptions options, const config::CloudFields& file);

/// What to do where no place has room for all.
provision::Holding holding_of(const CloudOptions& options,
                              const provision::cloud::ExchangeRates& rates);

/// The ranges of --ssh-from, each once. Throws ErrorKind::usage, naming the flag, for what is none
/// and for IPv6: nodes have IPv4 addresses alone.
std::vector<IpRange> parse_ssh_from(const std::vector<std::string>& texts);

/// Warns of ranges that let a large part of the world try to log in.
void warn_of_world(Ui& ui, const std::vector<IpRange>& ranges);

/// One of the places that the options mean.
struct CloudPlace {
  provision::cloud::Cloud* cloud;
  std::string region;
};

/// The usual regions of all clouds that there are credentials for, where the options name none.
std::vector<CloudPlace> places_of(Context& context, const CloudOptions& options);

/// What suits the options, whatever speaks against it. Any GPU where they name none.
provision::cloud::RankedOffers offers_for(Context& context, const CloudOptions& options);

/// A cluster in a cloud: where it may be made, the best place first.
struct CloudPlan {
  std::string provider;
  provision::cloud::CloudSpec spec;
  provision::cloud::RankedOffers offers;
  provision::cloud::ExchangeRates rates = provision::cloud::ExchangeRates::built_in();
};

/// Asks the clouds. A cluster that is on record keeps the places that it was planned for. Throws
/// capacity, with what the offers lack, where none is usable.
CloudPlan plan_in_clouds(Context& context, const CloudOptions& options, const std::string& provider,
                         const std::string& cluster, int nodes);

/// The same cluster in the cloud with the best offer among those that are not `refused`; absent
/// where there is none.
std::optional<CloudPlan> plan_elsewhere(const CloudPlan& plan,
                                        const std::set<std::string>& refused);

}  // namespace fastgpu::cli
