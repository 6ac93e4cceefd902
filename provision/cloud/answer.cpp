#include "provision/cloud/answer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/numbers.hpp"

namespace fastgpu::provision::cloud {
namespace {

using nlohmann::json;

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

std::vector<std::pair<std::string, Answer>> Answer::members() const {
  std::vector<std::pair<std::string, Answer>> members;
  if (!value_->is_object()) return members;
  for (const auto& [name, value] : value_->items())
    members.emplace_back(name, value);
  return members;
}

bool Answer::has(std::string_view key) const {
  return value_->is_object() && value_->find(key) != value_->end();
}

std::string Answer::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  if (value_->is_boolean()) return value_->get<bool>() ? "true" : "false";
  return value_->is_number() ? value_->dump() : "";
}

std::optional<double> Answer::number() const {
  std::optional<double> value;
  if (value_->is_number()) value = value_->get<double>();
  if (value_->is_string()) value = to_number<double>(value_->get_ref<const std::string&>());
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

JsonAnswer JsonAnswer::parse(std::string_view text) {
  json value = try_parse_json(text);
  return value.is_discarded() ? JsonAnswer() : JsonAnswer(std::move(value));
}

JsonAnswer JsonAnswer::take(std::string_view key) {
  if (!value_.is_object()) return {};
  const auto found = value_.find(key);
  return found == value_.end() ? JsonAnswer() : JsonAnswer(std::move(*found));
}

std::vector<JsonAnswer> JsonAnswer::take_items() {
  std::vector<JsonAnswer> items;
  if (!value_.is_array()) return items;
  for (json& item : value_)
    items.emplace_back(std::move(item));
  return items;
}

JsonAnswer parse_answer(const http::Response& response, std::string_view what) {
  JsonAnswer answer = JsonAnswer::parse(response.body);
  if (!answer.root().is_object())
    throw Error(ErrorKind::remote, "the answer of " + std::string(what) +
                                       " is not a JSON object (" +
                                       std::to_string(response.body.size()) + " bytes)");
  return answer;
}

std::string body_text(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace fastgpu::provision::cloud
