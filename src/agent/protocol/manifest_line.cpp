#include "agent/protocol/manifest_line.hpp"

#include <array>
#include <charconv>
#include <filesystem>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

/// Returns where the word with this index begins. The path is the last one and may contain spaces.
std::size_t start_of(int word, const std::string& line) {
  std::size_t at = 0;
  for (int passed = 0; passed < word; ++passed) {
    at = line.find(' ', at);
    if (at == std::string::npos)
      throw Error(ErrorKind::remote, "'" + printable(line) + "' is not a line of a manifest");
    ++at;
  }
  return at;
}

}  // namespace

std::string line_of(const ManifestEntry& entry, const std::string& sum) {
  std::array<char, 16> mode{};
  const auto end = std::to_chars(mode.data(), mode.data() + mode.size(), entry.mode, 8).ptr;
  return std::string(1, entry.kind) + " " + std::string(mode.data(), end) + " " +
         std::to_string(entry.size) + " " + sum + " " + entry.path;
}

std::string sum_in(const std::string& line) {
  const std::size_t from = start_of(3, line);
  return line.substr(from, start_of(4, line) - from - 1);
}

std::string path_in(const std::string& line) {
  return line.substr(start_of(4, line));
}

std::uint64_t size_in(const std::string& line) {
  return leading_number<std::uint64_t>(std::string_view(line).substr(start_of(2, line)))
      .value_or(0);
}

bool is_cache(const std::string& path) {
  const std::filesystem::path parts(path);
  return contains(parts, std::filesystem::path("__pycache__"));
}

}  // namespace fastgpu::agent
