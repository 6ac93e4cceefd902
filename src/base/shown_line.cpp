#include "base/shown_line.hpp"

namespace fastgpu {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';

bool is_between(char c, char first, char last) {
  return c >= first && c <= last;
}

/// Returns the length of the escape sequence at the start of `text`.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  if (!is_between(kind, ' ', '~')) return 1;  // No sequence: what follows is text.
  std::size_t at = 2;
  if (kind == '[') {  // Parameters, then a final byte.
    while (at < text.size() && is_between(text[at], ' ', '?'))
      ++at;
    return at < text.size() && is_between(text[at], '@', '~') ? at + 1 : at;
  }
  if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {  // A string.
    while (at < text.size() && text[at] != kBell && text[at] != kEscape)
      ++at;
    if (at < text.size() && text[at] == kEscape)
      return at + (text.substr(at, 2) == "\x1b\\" ? 2 : 0);
    return at < text.size() ? at + 1 : at;
  }
  while (at <= text.size() && is_between(text[at - 1], ' ', '/'))  // As in "ESC ( B".
    ++at;
  return at < text.size() ? at : text.size();
}

}  // namespace

std::string shown_line(std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') + 1);
  std::string shown;
  while (!line.empty()) {
    if (line.front() == kEscape) {
      line.remove_prefix(escape_length(line));
      continue;
    }
    if (line.front() != '\0') shown += line.front();
    line.remove_prefix(1);
  }
  return shown;
}

std::string cut_to(std::string text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  constexpr unsigned kMask = 0xC0, kInside = 0x80;
  while (most_bytes > 0 && (static_cast<unsigned char>(text[most_bytes]) & kMask) == kInside)
    --most_bytes;
  text.resize(most_bytes);
  return text;
}

}  // namespace fastgpu
