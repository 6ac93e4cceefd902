// AWS's partitions: separate clouds, each with accounts, hosts and prices of its own.
#pragma once

#include <span>
#include <string_view>

#include "base/money.hpp"

namespace fastgpu::provision::aws {

struct Partition {
  std::string_view regions;    ///< The beginning of its regions' names; empty: any other.
  std::string_view domain;     ///< The end of its hosts' names.
  std::string_view home;       ///< The region that answers questions about all of them.
  std::string_view prices;     ///< The region with its price list; empty: no price list.
  std::string_view canonical;  ///< The account that owns Ubuntu's images.
  Currency currency;           ///< The currency of its spot prices.
  /// The regions that are searched if the user names none; empty: those of the catalogue.
  std::span<const std::string_view> usual;
};

/// Returns the partition of a region; that of most of the world for an empty name.
const Partition& partition_of(std::string_view region);

}  // namespace fastgpu::provision::aws
