#include "agent/mpi_parameters.hpp"

#include <algorithm>

#include "agent/files/disk.hpp"
#include "base/error.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kMostParameters = 256;
constexpr std::string_view kBlanks = " \t\r";

std::string name_of(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

/// Returns the places of the installation's file. Distributions keep it below /etc.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& mpirun,
                                            const std::filesystem::path& root) {
  const auto prefix = mpirun.parent_path().parent_path();
  const auto etc = root / "etc";
  constexpr const char* kName = "openmpi-mca-params.conf";
  if (prefix == "/usr") return {etc / "openmpi" / kName};
  if (prefix == "/usr/lib64/openmpi") return {etc / "openmpi-x86_64" / kName};
  return {root / prefix.relative_path() / "etc" / kName};
}

/// Returns the text of the file; "" for one that is missing or that we, and so Open MPI, cannot
/// read.
std::string text_of_parameters(const std::filesystem::path& file) {
  try {
    return read_file(file).value_or("");
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::vector<std::string> parse_mpi_parameters(std::string_view text) {
  std::vector<std::string> settings;
  for (std::string_view line : split_lines(text)) {
    line = trimmed(line.substr(0, line.find('#')), kBlanks);
    const auto equals = line.find('=');
    const auto name = trimmed(line.substr(0, equals), kBlanks);
    if (equals == line.npos || name.empty()) continue;
    settings.push_back(std::string(name) + "=" +
                       std::string(trimmed(line.substr(equals + 1), kBlanks)));
  }
  return settings;
}

std::vector<std::string> mpi_parameters(const std::filesystem::path& home,
                                        const std::filesystem::path& mpirun,
                                        const std::filesystem::path& root) {
  auto files = files_of(mpirun, root);
  files.insert(files.begin(), home / ".openmpi" / "mca-params.conf");
  std::vector<std::string> all;
  for (const auto& file : files)
    for (std::string& setting : parse_mpi_parameters(text_of_parameters(file))) {
      const bool is_known = std::ranges::any_of(
          all, [&](const std::string& one) { return name_of(one) == name_of(setting); });
      if (!is_known && all.size() < kMostParameters) all.push_back(std::move(setting));
    }
  return all;
}

}  // namespace fastgpu::agent
