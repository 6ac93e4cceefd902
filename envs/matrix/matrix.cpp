#include "envs/matrix/matrix.hpp"

#include <algorithm>

namespace fastgpu::envs {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

/// Returns whether `words` has `word` with only other characters around it: "H100" in "NVIDIA H100
/// PCIe".
bool has_word(const std::string& words, const std::string& word) {
  const auto is_part = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  for (std::size_t at = words.find(word); at != std::string::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(words[at - 1])) && (end == words.size() || !is_part(words[end])))
      return true;
  }
  return false;
}

}  // namespace

std::optional<CudaRelease> find_cuda(const Matrix& matrix, std::string_view version) {
  for (const CudaRelease& cuda : matrix.cudas)
    if (covers(cuda.version, version)) return cuda;
  return std::nullopt;
}

std::optional<DriverBranch> find_driver(const Matrix& matrix, std::string_view version) {
  for (const DriverBranch& driver : matrix.drivers)
    if (covers(std::to_string(driver.branch), version)) return driver;
  return std::nullopt;
}

Carries carries(const Matrix& matrix, std::string_view driver, const CudaRelease& cuda) {
  // A branch alone means its newest release, which supports everything the branch came to support.
  const bool is_branch = driver.find('.') == std::string_view::npos;
  const auto branch = find_driver(matrix, driver);
  if (is_branch && branch && compare_versions(branch->cuda, cuda.version) >= 0) return Carries::yes;
  if (compare_versions(driver, cuda.least_driver) >= 0) return Carries::yes;
  if (compare_versions(driver, cuda.compatible_driver) >= 0) return Carries::minor;
  if (is_branch && covers(driver, cuda.compatible_driver)) return Carries::minor;
  return Carries::no;
}

std::optional<GpuModel> find_gpu(const Matrix& matrix, std::string_view name) {
  const std::string wanted = upper(name);
  for (const GpuModel& gpu : matrix.gpus)
    if (has_word(wanted, upper(gpu.name))) return gpu;
  return std::nullopt;
}

std::optional<GpuModel> find_gpu_by_id(const Matrix& matrix, std::string_view id) {
  for (const GpuModel& gpu : matrix.gpus)
    if (std::ranges::find(gpu.ids, id) != gpu.ids.end()) return gpu;
  return std::nullopt;
}

}  // namespace fastgpu::envs
