#include "agent/environments/builder.hpp"

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {

std::unique_ptr<PackageBuilder> package_builder(const BuilderChoice& choice,
                                                const std::filesystem::path& cache) {
  if (choice.name == "uv") return uv_builder(choice, cache);
  if (choice.name == "conda") return conda_builder(choice, cache);
  throw Error(ErrorKind::usage, "there is no builder '" + printable(choice.name) + "'");
}

}  // namespace fastgpu::agent
