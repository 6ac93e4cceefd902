#include "cli/workflows/local_place.hpp"

#include "state/private_place.hpp"

namespace fastgpu::cli {

std::filesystem::path local_place(const state::Environment& environment,
                                  const std::filesystem::path& state_directory) {
  const std::string chosen = environment("FASTGPU_LOCAL_DIR").value_or("");
  if (chosen.empty()) return state_directory / "local";
  std::filesystem::path place = std::filesystem::absolute(chosen);
  state::require_private_place(place);
  return place;
}

}  // namespace fastgpu::cli
