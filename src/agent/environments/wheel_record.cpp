#include "agent/environments/wheel_record.hpp"

#include <algorithm>

#include "base/base64.hpp"

namespace fastgpu::agent {

std::optional<std::vector<RecordedFile>> parse_wheel_record(std::string_view text) {
  if (text.find('"') != text.npos) return std::nullopt;
  std::vector<RecordedFile> files;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto first = line.find(',');
    const auto second = line.find(',', first == line.npos ? first : first + 1);
    if (second == line.npos || line.find(',', second + 1) != line.npos) return std::nullopt;
    files.push_back({.path = std::string(line.substr(0, first)),
                     .hash = std::string(line.substr(first + 1, second - first - 1)),
                     .size = std::string(line.substr(second + 1))});
  }
  return files;
}

std::string to_text(const std::vector<RecordedFile>& files) {
  std::string text;
  for (const RecordedFile& file : files)
    text += file.path + "," + file.hash + "," + file.size + "\n";
  return text;
}

std::string wheel_hash(const transfer::Digest& sum) {
  std::string text = base64_encode({reinterpret_cast<const char*>(sum.data()), sum.size()});
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return "sha256=" + text.substr(0, text.find('='));
}

}  // namespace fastgpu::agent
