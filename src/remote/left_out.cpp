#include "remote/left_out.hpp"

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "transfer/ignore_rules.hpp"

namespace fastgpu::remote {
namespace {

constexpr const char* kIgnoreFile = ".fastgpuignore";
constexpr std::uintmax_t kMaxBytes = 1 << 20;

std::string text_of(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown) ||
      std::filesystem::file_size(file, unknown) > kMaxBytes || unknown)
    throw Error(ErrorKind::usage, printable(file.string(), 200) +
                                      " is not a regular file of at most 1 MiB: it holds what "
                                      "--sync leaves out, a rule a line");
  return read_file(file).value_or("");
}

}  // namespace

transfer::LeftOut left_out_of(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kIgnoreFile;
  if (!path_exists(file)) return {};
  const std::string text = text_of(file);
  auto rules = transfer::IgnoreRules::parse(text);
  return [rules = std::move(rules)](const std::string& path, bool is_directory) {
    return rules.leaves_out(path, is_directory);
  };
}

}  // namespace fastgpu::remote
