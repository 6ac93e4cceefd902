#include "cli/workflows/helper_programs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/path_trust.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;

// Paths relative to the folder of the fastgpu program.
constexpr std::array kPlaces = {"../libexec/fastgpu",
                                "../src/agent",
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

constexpr const char* kSelf = "/proc/self/exe";

std::vector<fs::path> places() {
  const fs::path self = fs::read_symlink(kSelf).parent_path();
  std::vector<fs::path> out;
  for (const char* const place : kPlaces)
    out.push_back((self / place).lexically_normal());
  return out;
}

/// Returns the accounts whose files may be run: our own, and the owner of the fastgpu program, who
/// could replace the program as well.
std::vector<uid_t> trusted_owners() {
  std::vector<uid_t> owners = {::geteuid()};
  struct stat self {};
  if (::stat(kSelf, &self) == 0) owners.push_back(self.st_uid);
  return owners;
}

}  // namespace

void require_trusted_helper(const std::filesystem::path& file, const std::vector<uid_t>& owners) {
  const auto weakness = find_weakness(file, owners);
  if (!weakness) return;
  const std::string part = weakness->part.string();
  throw Error(ErrorKind::denied, file.string() + " is not used: " + part + " " + weakness->reason +
                                     ", so another account could replace the program; " +
                                     (weakness->kind == Weakness::Kind::mode
                                          ? "run `chmod go-w " + part + "`"
                                          : "install fastgpu in a folder of your own or root's"));
}

std::filesystem::path find_helper(std::string_view name) {
  if (auto found = seek_helper(name)) return *found;
  std::string tried;
  for (const fs::path& place : places())
    append_item(tried, (place / name).parent_path().string());
  throw Error(ErrorKind::local, std::string(name) + " is not in its place (" + tried +
                                    "): install or build fastgpu as a whole");
}

std::optional<std::filesystem::path> seek_helper(std::string_view name) {
  for (const fs::path& place : places()) {
    const fs::path file = place / name;
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) continue;
    require_trusted_helper(file, trusted_owners());
    return file;
  }
  return std::nullopt;
}

}  // namespace fastgpu::cli
