// AWS's partitions: clouds of their own, with accounts, hosts and prices of their own.
#pragma once

#include <span>
#include <string_view>

#include "base/money.hpp"

namespace fastgpu::provision::aws {

struct Partition {
  std::string_view regions;    ///< What the names of its regions begin with; empty: any other.
  std::string_view domain;     ///< Of its hosts.
  std::string_view home;       ///< The region that is asked for what is alike in all of them.
  std::string_view prices;     ///< The region that its price list is in; empty: it has none.
  std::string_view canonical;  ///< The account that Ubuntu's images are of.
  Currency currency;           ///< Of its spot prices.
  std::span<const std::string_view> usual;  ///< The regions that are asked where none is named;
                                            ///< empty: those of the catalogue.
};

/// The partition of a region; that of most of the world for an empty name.
const Partition& partition_of(std::string_view region);

}  // namespace fastgpu::provision::aws
