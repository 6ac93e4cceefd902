#include "base/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace fastgpu {
namespace {

constexpr std::size_t kKept = 12;
constexpr std::size_t kEnough = 65'536;

}  // namespace

std::size_t free_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > kEnough) return kEnough;
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (error == std::errc::too_many_files_open) return 1;  // The list needs a descriptor, too.
  const std::size_t taken = kKept + static_cast<std::size_t>(std::distance(begin(open), end(open)));
  return limit.rlim_cur > taken ? limit.rlim_cur - taken : 1;
}

}  // namespace fastgpu
