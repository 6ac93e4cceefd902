// What ends or stops a cluster by itself, as a user writes it.
#pragma once

#include <string>

#include "cli/arguments.hpp"
#include "config/cluster_file.hpp"
#include "provision/cloud/exchange_rates.hpp"
#include "provision/guards.hpp"

namespace fastgpu::cli {

/// As written; empty: not said.
struct GuardOptions {
  std::string max_life{};
  std::string max_cost{};
  std::string unattended{};
  std::string idle_stop{};
  std::string idle_delete{};
};

void describe_guard_options(Arguments& arguments, GuardOptions& options);

/// What of the file no flag says otherwise.
GuardOptions over_file(GuardOptions options, const config::GuardEntry& file);

bool says_nothing(const GuardOptions& options);

/// `before` with what the options change; "off" takes a guard away. A cost is turned into the
/// currency of `price`. Throws ErrorKind::usage for what is no time or no money.
provision::Guards with_options(provision::Guards before, const GuardOptions& options,
                               const std::optional<Money>& price,
                               const provision::cloud::ExchangeRates& rates);

}  // namespace fastgpu::cli
