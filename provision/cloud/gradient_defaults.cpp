#include "provision/cloud/gradient_defaults.hpp"

#include <algorithm>
#include <array>

#include "provision/cloud/catalogue.hpp"

namespace fastgpu::provision::cloud {
namespace {

/// The rate of one network card without RDMA, in Gbit/s: types with more have several cards, of
/// which TCP uses one.
constexpr double kOneCard = 100;

struct GradientRow {
  double gbit;  ///< The least rate of the row.
  GradientDefaults defaults;
};

/// From the model of the library's tuner, for 100 MB of gradients and 50 us a message; its test
/// calculates the rows anew. Below 400 Gbit/s the library's 4 MiB and 2 lanes are within 5 % of the
/// best.
constexpr std::array kGradientRows = {GradientRow{1'600, {{32 << 20}, 2}},
                                      GradientRow{400, {{8 << 20}, 4}}};

}  // namespace

double usable_gbit(std::string_view cloud, const CloudSpec& spec, const Place& place) {
  InstanceType type{.name = place.type};
  complete(type, cloud);
  if (spec.rdma && type.rdma_interfaces > 0) return std::max(type.rdma_gbit, type.network_gbit);
  return std::min(type.network_gbit, kOneCard);
}

std::optional<GradientDefaults> gradient_defaults(double gbit) {
  for (const GradientRow& row : kGradientRows)
    if (gbit >= row.gbit) return row.defaults;
  return std::nullopt;
}

}  // namespace fastgpu::provision::cloud
