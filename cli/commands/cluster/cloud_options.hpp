// The options of a cluster in a cloud, and the plan that is made from them.
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
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/survey.hpp"
#include "provision/cluster_file/cluster_file.hpp"
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
  std::vector<std::string> ssh_keys;  ///< Public key files.
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

/// Adds --cloud and --region.
void describe_place_options(Arguments& arguments, CloudOptions& options);
/// Adds the options on the type and the price of machines.
void describe_machine_options(Arguments& arguments, CloudOptions& options);
/// Adds the options above, and those on the cluster.
void describe_cloud_options(Arguments& arguments, CloudOptions& options);

/// Returns true if the options ask for machines of a cloud, even without naming one.
bool wants_a_cloud(const CloudOptions& options);

/// Returns the first given option that only clouds understand, such as "--spot"; "" if there is
/// none.
std::string given_option(const CloudOptions& options);

/// Returns the options, with the cluster file's values for options that are absent.
CloudOptions over_file(CloudOptions options, const provision::CloudFields& file);

/// Returns what to do if no place has capacity for all nodes. Throws ErrorKind::usage for an
/// invalid amount.
provision::GangPolicy gang_policy_of(const CloudOptions& options,
                                     const provision::cloud::ExchangeRates& rates);

/// Returns the ranges of --ssh-from, each once. Throws ErrorKind::usage, naming the flag, for
/// malformed ranges and for IPv6, because nodes have only IPv4 addresses.
std::vector<IpRange> parse_ssh_from(const std::vector<std::string>& texts);

/// Warns of ranges that let a large part of the world try to log in.
void warn_of_world(Ui& ui, const std::vector<IpRange>& ranges);

/// A region of a cloud that is to be searched.
struct CloudPlace {
  provision::cloud::Cloud* cloud;
  std::string region;
};

/// Returns the regions that the options name, or the usual regions of all clouds with credentials.
std::vector<CloudPlace> places_of(Context& context, const CloudOptions& options);

/// Returns the offers for the options, including unusable ones with the reason. Without a GPU or a
/// type, returns all types with GPUs.
provision::cloud::RankedOffers offers_for(Context& context, const CloudOptions& options);

/// The plan of a cluster in a cloud: the places where it may be created, from the best one on.
struct CloudPlan {
  std::string provider;
  provision::cloud::CloudSpec spec;
  provision::cloud::RankedOffers offers;
  provision::cloud::ExchangeRates rates = provision::cloud::ExchangeRates::built_in();
};

/// Asks the clouds for offers and returns a plan. A recorded cluster keeps its planned places.
/// Throws capacity, with what is missing, if no offer is usable.
CloudPlan plan_in_clouds(Context& context, const CloudOptions& options, const std::string& provider,
                         const std::string& cluster, int nodes);

/// Returns the same plan for the cloud with the best offer, without the clouds in `refused`; absent
/// if no cloud is left.
std::optional<CloudPlan> plan_elsewhere(const CloudPlan& plan,
                                        const std::set<std::string>& refused);

}  // namespace fastgpu::cli
