#include "cli/helpers.hpp"

#include <array>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace fastgpu::cli {
namespace {

// From the folder of the fastgpu program.
constexpr std::array kPlaces = {"../libexec/fastgpu",
                                "../agent",
                                "../comm",
                                "../provision/providers/local/init",
                                "../lib",
                                "../lib64",
                                "../lib/x86_64-linux-gnu",
                                "../lib/aarch64-linux-gnu",
                                "../share/fastgpu/demo",
                                "../share/fastgpu/python",
                                "../comm/examples/python",
                                "../comm/bindings/python"};

}  // namespace

std::filesystem::path find_helper(std::string_view name) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string tried;
  for (const char* const place : kPlaces) {
    const std::filesystem::path file = (self / place / name).lexically_normal();
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
    tried += (tried.empty() ? "" : ", ") + file.parent_path().string();
  }
  throw Error(ErrorKind::local, std::string(name) + " is not where it should be (" + tried +
                                    "): install or build fastgpu as a whole");
}

}  // namespace fastgpu::cli
