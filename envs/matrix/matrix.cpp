#include "envs/matrix/matrix.hpp"

#include "base/ascii.hpp"
#include "base/contains.hpp"

namespace fastgpu::envs {
namespace {

/// Returns whether `words` has `word` with only other characters around it: "H100" in "NVIDIA H100
/// PCIe".
bool has_word(const std::string& words, const std::string& word) {
  for (std::size_t at = words.find(word); at != std::string::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_ascii_letter_or_digit(words[at - 1])) &&
        (end == words.size() || !is_ascii_letter_or_digit(words[end])))
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
  const std::string wanted = ascii_upper(name);
  for (const GpuModel& gpu : matrix.gpus)
    if (has_word(wanted, ascii_upper(gpu.name))) return gpu;
  return std::nullopt;
}

std::optional<GpuModel> find_gpu_by_id(const Matrix& matrix, std::string_view id) {
  for (const GpuModel& gpu : matrix.gpus)
    if (contains(gpu.ids, id)) return gpu;
  return std::nullopt;
}

}  // namespace fastgpu::envs
