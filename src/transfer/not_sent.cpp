#include "transfer/not_sent.hpp"

#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::string_view kVanished = "vanished ";
constexpr std::string_view kSpecial = "special ";
constexpr std::string_view kKeptHere = "kept ";
constexpr std::size_t kLongestShown = 4096;

void append(std::string& text, std::string_view word, const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    text.append(word).append(printable(path, kLongestShown)).append("\n");
}

}  // namespace

std::string to_text(const NotSent& entries) {
  std::string text;
  append(text, kVanished, entries.vanished);
  append(text, kSpecial, entries.special);
  append(text, kKeptHere, entries.kept_here);
  return text;
}

NotSent parse_not_sent(std::string_view text) {
  NotSent entries;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with(kVanished)) entries.vanished.emplace_back(line.substr(kVanished.size()));
    if (line.starts_with(kSpecial)) entries.special.emplace_back(line.substr(kSpecial.size()));
    if (line.starts_with(kKeptHere)) entries.kept_here.emplace_back(line.substr(kKeptHere.size()));
  }
  return entries;
}

}  // namespace fastgpu::transfer
