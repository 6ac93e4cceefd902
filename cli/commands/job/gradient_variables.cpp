#include "cli/commands/job/gradient_variables.hpp"

#include <initializer_list>
#include <string_view>

#include "process/command.hpp"
#include "provision/cloud/gradient_defaults.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

bool has_one_of(const std::vector<std::string>& environment,
                std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (process::variable(environment, name)) return true;
  return false;
}

}  // namespace

void add_gradient_variables(const state::Cluster& cluster, std::vector<std::string>& environment) {
  if (!provision::is_cloud(cluster.provider)) return;
  const state::CloudSpec& spec = cluster.cloud();
  const std::size_t index = cluster.placement().place;
  if (index >= spec.places.size()) return;
  const auto defaults = provision::cloud::gradient_defaults(
      provision::cloud::usable_gbit(cluster.provider, spec, spec.places[index]));
  if (!defaults) return;
  if (!has_one_of(environment, {"FASTGPU_COMM_FUSION", "PERSEUS_ALLREDUCE_FUSION"}))
    environment.push_back("FASTGPU_COMM_FUSION=" + std::to_string(defaults->bucket.count >> 20U) +
                          "MiB");
  if (!has_one_of(environment, {"FASTGPU_COMM_LANES", "PERSEUS_ALLREDUCE_STREAMS"}))
    environment.push_back("FASTGPU_COMM_LANES=" + std::to_string(defaults->lanes));
}

}  // namespace fastgpu::cli
