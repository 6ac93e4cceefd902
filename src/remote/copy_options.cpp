#include "remote/copy_options.hpp"

#include "transfer/kept_here.hpp"

namespace fastgpu::remote {

ssh::RunOptions run_options(const CopyOptions& options) {
  return {.width = options.width,
          .connect_timeout = options.connect_timeout,
          .timeout = options.timeout,
          .silence = options.silence};
}

void keep_here(const std::filesystem::path& state_directory, const std::filesystem::path& local) {
  std::vector<transfer::KeptDirectory> directories = {{state_directory, "scratch"}};
  if (!local.empty()) directories.push_back({local});
  transfer::keep_here(std::move(directories));
}

void check_readable(const std::vector<std::filesystem::path>& sources,
                    const transfer::LeftOut& left_out) {
  transfer::check_readable(sources, left_out);
}

Error named_failure(ErrorKind kind, const NodeName& host, const std::string& text) {
  const bool is_disk = kind == ErrorKind::capacity && text.find("open files") == text.npos;
  return {kind, (is_disk ? "no space left on " : "") + host.value + ": " + text};
}

std::uint64_t content_of(const std::vector<std::filesystem::path>& sources) {
  return transfer::measure(sources).bytes;
}

}  // namespace fastgpu::remote
