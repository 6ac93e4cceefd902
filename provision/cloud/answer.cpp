#include "provision/cloud/answer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace fastgpu::provision::cloud {
namespace {

using nlohmann::json;

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

Answer Answer::operator[](std::string_view key) const {
  static const json nothing;
  if (!value_->is_object()) return Answer(nothing);
  const auto found = value_->find(key);
  return found == value_->end() ? Answer(nothing) : Answer(*found);
}

std::vector<Answer> Answer::items() const {
  std::vector<Answer> items;
  if (!value_->is_array()) return items;
  for (const json& item : *value_)
    items.emplace_back(item);
  return items;
}

std::string Answer::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  return value_->is_number() ? value_->dump() : "";
}

std::optional<double> Answer::number() const {
  std::optional<double> value;
  if (value_->is_number()) value = value_->get<double>();
  if (value_->is_string()) value = number_in(value_->get_ref<const std::string&>());
  return value && std::isfinite(*value) ? value : std::nullopt;
}

int Answer::whole() const {
  using Bounds = std::numeric_limits<int>;
  return static_cast<int>(std::clamp<double>(number().value_or(0), Bounds::min(), Bounds::max()));
}

std::optional<Money> price_told(const Answer& amount, const Answer& currency, Currency usual) {
  const auto told = amount.number();
  const std::string code = currency.text();
  if (!told || *told <= 0) return std::nullopt;
  try {
    return Money{*told, code.empty() ? usual : Currency::parse(code)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

json parse_answer(const http::Response& response, std::string_view what) {
  json answer = json::parse(response.body, nullptr, false);
  if (!answer.is_object())
    throw Error(ErrorKind::remote, "the answer of " + std::string(what) + " is no JSON object (" +
                                       std::to_string(response.body.size()) + " bytes)");
  return answer;
}

}  // namespace fastgpu::provision::cloud
