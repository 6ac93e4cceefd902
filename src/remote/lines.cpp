#include "remote/lines.hpp"

#include <map>

namespace fastgpu::remote {

void LineCutter::add(std::string_view piece) {
  const auto end = piece.rfind('\n');
  if (end != piece.npos) {
    const std::string_view complete = piece.substr(0, end + 1);
    piece.remove_prefix(end + 1);
    if (rest_.empty()) {
      sink_(complete);
    } else {
      rest_ += complete;
      sink_(rest_);
      rest_.clear();
    }
  }
  rest_ += piece;
  if (rest_.size() >= kLongest) finish();
}

void LineCutter::finish() {
  if (!rest_.empty()) sink_(rest_);
  rest_.clear();
}

std::vector<OutputGroup> fold(std::span<const HostText> outputs) {
  std::vector<OutputGroup> groups;
  std::map<std::string_view, std::size_t> by_text;
  for (const HostText& output : outputs) {
    const auto [found, is_new] = by_text.try_emplace(output.text, groups.size());
    if (is_new) groups.push_back({{}, output.text});
    groups[found->second].hosts.push_back(output.host);
  }
  return groups;
}

}  // namespace fastgpu::remote
