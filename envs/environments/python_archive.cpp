#include "envs/environments/python_archive.hpp"

#include "envs/environments/pinned_file.hpp"
#include "state/directory.hpp"

namespace fastgpu::envs {

std::filesystem::path fetch_python(const PythonArchive& archive,
                                   const std::filesystem::path& directory, http::Client& http,
                                   const Cancel& cancel) {
  const auto file = directory / ("python-" + archive.sha256 + ".tar");
  if (std::filesystem::exists(file)) return file;
  const std::string bytes = fetch_pinned({.url = archive.url, .sha256 = archive.sha256},
                                         "it is 'python' in env.yaml", http, cancel);
  state::make_private_directory(directory);
  state::write_private_file(file, bytes);
  return file;
}

}  // namespace fastgpu::envs
