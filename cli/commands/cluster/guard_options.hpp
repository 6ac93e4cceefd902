// The guards that stop or delete a cluster automatically, as command-line options.
#pragma once

#include <string>

#include "cli/program/arguments.hpp"
#include "provision/cloud/exchange_rates.hpp"
#include "provision/cluster_file/cluster_file.hpp"
#include "provision/guards.hpp"

namespace fastgpu::cli {

/// The text of each option; empty if it is not set.
struct GuardOptions {
  std::string max_life{};
  std::string max_cost{};
  std::string unattended{};
  std::string idle_stop{};
  std::string idle_delete{};
};

void describe_guard_options(Arguments& arguments, GuardOptions& options);

/// Returns the options, with the file's values for options that are absent.
GuardOptions over_file(GuardOptions options, const provision::GuardEntry& file);

bool says_nothing(const GuardOptions& options);

/// Returns `before`, changed by the options; "off" removes a guard. A cost is converted into the
/// currency of `price`. Throws ErrorKind::usage for an invalid time or amount.
provision::Guards with_options(provision::Guards before, const GuardOptions& options,
                               const std::optional<Money>& price,
                               const provision::cloud::ExchangeRates& rates);

}  // namespace fastgpu::cli
