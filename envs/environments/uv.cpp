#include "envs/environments/uv.hpp"

#include <array>

#include "envs/environments/pinned_file.hpp"
#include "envs/environments/wheel.hpp"
#include "state/directory.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;
constexpr std::array kUvWheels = {
    PinnedFile{"x86_64",
               "https://files.pythonhosted.org/packages/3d/aa/"
               "26d64642d808de4a652579ef950d7cd2d37f080a8babf9c67c6b75fc4c3f/"
               "uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
               "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19"},
    PinnedFile{
        "aarch64",
        "https://files.pythonhosted.org/packages/57/15/"
        "94b6cd62ac3ff6550288328e8035288875197cbc183f51554b266a69877b/"
        "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe"},
};

}  // namespace

fs::path fetch_uv(std::string_view machine, const fs::path& directory, const fs::path& scratch,
                  http::Client& http, const Cancel& cancel) {
  const PinnedFile& wheel = pinned_for(machine, kUvWheels, "uv");
  const fs::path kept = directory / wheel.url.substr(wheel.url.rfind('/') + 1);
  const std::string bytes = fetch_kept(wheel, kept, "to use a local uv: --uv FILE", http, cancel);
  const std::string content =
      file_in_wheel(bytes, "uv-" + std::string(kUvVersion) + ".data/scripts/uv");
  const fs::path program = scratch / ("uv-" + std::string(machine));
  state::write_private_file(program, content);
  fs::permissions(program, fs::perms::owner_all);
  return program;
}

}  // namespace fastgpu::envs
