// A finding of a check: a fault, its consequence and its remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::launcher {

enum class Severity : std::uint8_t {
  warning,  ///< Jobs run, but perhaps slower, or differently on some nodes.
  error,    ///< Jobs are likely to fail.
};

std::string_view word_of(Severity severity) noexcept;

struct Finding {
  std::string check;  ///< The name of the check: "clock".
  Severity severity = Severity::warning;
  std::vector<std::string> nodes;
  std::string found;
  std::string why;     ///< The reason why it matters.
  std::string remedy;  ///< The action that ends it.
};

}  // namespace fastgpu::launcher
