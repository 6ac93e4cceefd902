// What a user may wish of a cluster in a cloud, and the plan that comes of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/context.hpp"
#include "cli/ui/view.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/survey.hpp"

namespace fastgpu::cli {

struct CloudOptions {
  std::vector<std::string> clouds;
  std::string gpus;
  std::string type;
  std::string region;
  std::string zone;
  std::string image;
  std::string vpc;
  std::string max_price;
  std::vector<std::string> ssh_from;
  std::optional<int> disk;
  std::optional<std::chrono::milliseconds> max_life;
  bool spot = false;
  bool rdma = false;
};

void describe_cloud_options(Arguments& arguments, CloudOptions& options);

/// Whether the options wish for machines of a cloud, whichever it be.
bool wants_a_cloud(const CloudOptions& options);

/// A cluster in a cloud: where it may be made, the best place first.
struct CloudPlan {
  std::string provider;
  provision::cloud::CloudSpec spec;
  provision::cloud::RankedOffers offers;
};

/// Asks the clouds. A cluster that is on record keeps the places that it was planned for. Throws
/// capacity, with what the offers lack, where none is usable.
CloudPlan plan_in_clouds(Context& context, const CloudOptions& options, const std::string& provider,
                         const std::string& cluster, int nodes);

/// The offers as a table, the best first.
View view_of_offers(const provision::cloud::RankedOffers& offers);

/// "12.24 USD/h"; "price unknown".
std::string price_text(const std::optional<provision::cloud::Money>& price, int machines);

}  // namespace fastgpu::cli
