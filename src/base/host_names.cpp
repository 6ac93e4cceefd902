#include "base/host_names.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kLongestHostName = 40;  // Leaves room for "-<index>" in a 64-byte host name.
constexpr std::size_t kLongestIndex = 6;      // "-10000"

bool is_dotted_name(std::string_view value, std::size_t longest) {
  if (value.empty() || value.size() > longest || !is_ascii_letter(value.front())) return false;
  while (true) {
    const std::size_t end = std::min(value.find('.'), value.size());
    const std::string_view label = value.substr(0, end);
    if (label.empty() || !is_ascii_letter_or_digit(label.front()) ||
        !is_ascii_letter_or_digit(label.back()) ||
        !std::ranges::all_of(label, [](char c) { return is_ascii_letter_or_digit(c) || c == '-'; }))
      return false;
    if (end == value.size()) return true;
    value.remove_prefix(end + 1);
  }
}

}  // namespace

void check_dotted_name(std::string_view what, std::string_view value) {
  if (is_dotted_name(value, kLongestHostName)) return;
  throw Error(ErrorKind::usage,
              std::string(what) + " '" + printable(value) +
                  "' is not usable: use 1 to 40 letters, digits, '.' and '-', begin with a letter, "
                  "and begin and end each part between dots with a letter or a digit");
}

ClusterName parse_cluster_name(std::string_view text) {
  check_dotted_name("cluster name", text);
  return {std::string(text)};
}

void check_node_name(std::string_view value) {
  if (!is_dotted_name(value, kLongestHostName + kLongestIndex))
    throw Error(ErrorKind::usage, "node name '" + printable(value) + "' is not usable");
}

std::string host_form(std::string_view name) {
  std::string form = ascii_lower(name);
  std::ranges::replace(form, '.', '-');
  return form;
}

}  // namespace fastgpu
