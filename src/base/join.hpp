// Lists as text: "a, b, c".
#pragma once

#include <ranges>
#include <string>
#include <string_view>

namespace fastgpu {

/// Appends an item to a list that is built piece by piece: after the separator, unless the list is
/// still empty.
inline void append_item(std::string& list, std::string_view item,
                        std::string_view separator = ", ") {
  if (!list.empty()) list += separator;
  list += item;
}

/// Returns "a, b, c" for a range of texts; "" without texts.
template <std::ranges::input_range Texts>
std::string joined(const Texts& texts, std::string_view separator = ", ") {
  std::string list;
  bool is_first = true;
  for (const std::string_view text : texts) {
    if (!is_first) list += separator;
    list += text;
    is_first = false;
  }
  return list;
}

}  // namespace fastgpu
