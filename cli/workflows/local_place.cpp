#include "cli/workflows/local_place.hpp"

#include "state/private_place.hpp"

namespace fastgpu::cli {

std::filesystem::path local_place(const state::Environment& environment,
                                  const std::filesystem::path& state_directory) {
  const std::string chosen = environment("FASTGPU_LOCAL_DIR").value_or("");
  if (chosen.empty()) return state_directory / "local";
  const ChosenPlace place{.name = "FASTGPU_LOCAL_DIR", .path = std::filesystem::absolute(chosen)};
  state::require_private_place(place);
  return place.path;
}

}  // namespace fastgpu::cli
