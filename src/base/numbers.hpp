// Numbers that are written as text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace fastgpu {

/// Returns the number with which `text` begins; absent if it begins with none, or with one that the
/// type cannot hold.
template <class Number>
std::optional<Number> leading_number(std::string_view text) noexcept {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// Returns the number that the whole of `text` is, without blanks; absent for any other text, and
/// for a number that the type cannot hold.
template <class Number>
std::optional<Number> to_number(std::string_view text) noexcept {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

/// Does the same for a whole number in another base than ten.
template <class Number>
std::optional<Number> to_number(std::string_view text, int base) noexcept {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number, base);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace fastgpu
