#include "cli/commands/job/report_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/ui/html.hpp"

namespace fastgpu::cli {

std::string html_row(std::string_view cell, const std::vector<std::string>& texts) {
  std::string out = "<tr>";
  for (const std::string& text : texts)
    out += "<" + std::string(cell) + ">" + html_text(text) + "</" + std::string(cell) + ">";
  return out + "</tr>\n";
}

std::string share_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f%%", 100 * std::clamp(share, 0.0, 1.0));
  return text.data();
}

}  // namespace fastgpu::cli
