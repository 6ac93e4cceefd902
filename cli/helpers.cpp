#include "cli/helpers.hpp"

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

// From the folder of the fastgpu program.
constexpr std::array kPlaces = {"../libexec/fastgpu",
                                "../agent",
                                "../comm",
                                "../provision/providers/local/init",
                                "../lib",
                                "../lib64",
                                "../lib/x86_64-linux-gnu",
                                "../lib/aarch64-linux-gnu",
                                "../lib/fastgpu",
                                "../lib64/fastgpu",
                                "../lib/x86_64-linux-gnu/fastgpu",
                                "../lib/aarch64-linux-gnu/fastgpu",
                                "../share/fastgpu/demo",
                                "../share/fastgpu/python",
                                "../comm/examples/python",
                                "../comm/bindings/python"};

std::vector<fs::path> places() {
  const fs::path self = fs::read_symlink("/proc/self/exe").parent_path();
  std::vector<fs::path> out;
  for (const char* const place : kPlaces)
    out.push_back((self / place).lexically_normal());
  return out;
}

}  // namespace

std::filesystem::path find_helper(std::string_view name) {
  if (auto found = seek_helper(name)) return *found;
  std::string tried;
  for (const fs::path& place : places())
    tried += (tried.empty() ? "" : ", ") + (place / name).parent_path().string();
  throw Error(ErrorKind::local, std::string(name) + " is not where it should be (" + tried +
                                    "): install or build fastgpu as a whole");
}

std::optional<std::filesystem::path> seek_helper(std::string_view name) {
  for (const fs::path& place : places()) {
    std::error_code ignored;
    if (fs::is_regular_file(place / name, ignored)) return place / name;
  }
  return std::nullopt;
}

}  // namespace fastgpu::cli
