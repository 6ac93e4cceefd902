// Joins words to one text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

/// Returns "a, b, c"; "" without words.
inline std::string joined(std::span<const std::string> words, std::string_view separator = ", ") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.append(i == 0 ? "" : separator).append(words[i]);
  return text;
}

}  // namespace fastgpu
