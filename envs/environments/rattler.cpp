#include "envs/environments/rattler.hpp"

#include <array>

#include "envs/environments/pinned_file.hpp"
#include "state/directory.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClient =
#include "conda_client.inc"
    ;

constexpr std::array kRattlerWheels = {
    PinnedFile{"x86_64",
               "https://files.pythonhosted.org/packages/8f/6d/"
               "3fa200701f73ba8c2230d76f01c4e928c1abad98d6c43722f5cace3c12ab/"
               "py_rattler-0.28.0-cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
               "4f4ab1d34d5394e7ce130a86e59009c95ace4f5757d9c3af04de1351bcea47eb"},
    PinnedFile{"aarch64",
               "https://files.pythonhosted.org/packages/ab/d1/"
               "2160739ab3796b2285871c3b653ceefab19fa5d7dcf3179e7435f0bfacbd/"
               "py_rattler-0.28.0-cp310-abi3-manylinux_2_28_aarch64.whl",
               "61b24202374188e72130f1b3dc63b455befaafc3e49e5481a38b6a6c8828c1e0"},
};

}  // namespace

fs::path fetch_rattler(std::string_view machine, const fs::path& directory, http::Client& http,
                       const Cancel& cancel) {
  const PinnedFile& wheel = pinned_for(machine, kRattlerWheels, "py-rattler");
  const fs::path file = directory / wheel.url.substr(wheel.url.rfind('/') + 1);
  fetch_kept(wheel, file, "to use a local py-rattler: --py-rattler FILE", http, cancel);
  return file;
}

std::string_view conda_client() noexcept {
  return kClient;
}

}  // namespace fastgpu::envs
