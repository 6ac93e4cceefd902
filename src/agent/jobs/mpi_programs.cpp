#include "agent/jobs/mpi_programs.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// The names of libraries are near the beginning of a program.
constexpr std::size_t kBeginning = 4 << 20;
constexpr std::size_t kMostWords = 16;

constexpr std::array<std::string_view, 4> kNames = {"libmpi.so", "libmpi_", "libmpich.so",
                                                    "mpi4py"};

bool names_mpi(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  std::ifstream in(file, std::ios::binary);
  std::string text(kBeginning, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return std::ranges::any_of(
      kNames, [&text](std::string_view name) { return text.find(name) != text.npos; });
}

fs::path program_of(const std::string& word, const fs::path& directory, std::string_view path) {
  if (word.find('/') != word.npos) return directory / word;
  try {
    return process::find_program(word, path);
  } catch (const Error&) {  // The rank reports it.
    return {};
  }
}

}  // namespace

bool uses_mpi(std::span<const std::string> argv, const fs::path& directory, std::string_view path) {
  if (argv.empty()) return false;
  if (names_mpi(program_of(argv.front(), directory, path))) return true;
  const auto others = argv.subspan(1, std::min(argv.size(), kMostWords) - 1);
  return std::ranges::any_of(
      others, [&directory](const std::string& word) { return names_mpi(directory / word); });
}

}  // namespace fastgpu::agent
