#include "http/client.hpp"

#include <algorithm>

#include "http/urls.hpp"

namespace fastgpu::http {

std::optional<std::string_view> find_header(const std::vector<Header>& headers,
                                            std::string_view name) {
  const auto found = std::ranges::find_if(
      headers, [&](const Header& header) { return same_word(header.name, name); });
  if (found == headers.end()) return std::nullopt;
  return found->value;
}

void set_header(std::vector<Header>& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const Header& header) { return same_word(header.name, name); });
  headers.push_back({std::string(name), std::move(value)});
}

}  // namespace fastgpu::http
