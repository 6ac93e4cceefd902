// Stands in for comm/gradients/tuned_file.cpp on machines without a package for JSON: nothing is
// kept.
#include "comm/gradients/tuner_cache.hpp"

namespace fastgpu::comm {

std::optional<TunerSetting> load_setting(const std::filesystem::path&) {
  return std::nullopt;
}

void store_setting(const std::filesystem::path&, const TunerSetting&) {}

}  // namespace fastgpu::comm
