#include "base/secret_text.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/split.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kShortestSecret = 4;

void mask(std::string& text, std::string_view secret) {
  constexpr std::string_view kMask = "***";
  if (secret.size() < kShortestSecret) return;
  for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + kMask.size()))
    text.replace(at, secret.size(), kMask);
}

}  // namespace

bool sounds_secret(std::string_view name) {
  const std::string upper = ascii_upper(name);
  constexpr std::array kParts = {"SECRET", "TOKEN", "PASS", "KEY", "CREDENTIAL", "AUTH"};
  return std::ranges::any_of(kParts,
                             [&](const char* part) { return upper.find(part) != upper.npos; });
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    mask(text, secret);
    for (const std::string_view line : split_lines(secret))
      mask(text, line);
  }
  return text;
}

}  // namespace fastgpu
