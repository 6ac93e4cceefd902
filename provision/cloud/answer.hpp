// A cloud's JSON answer, read without trust: what is missing or of another kind reads as empty.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.hpp"
#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// A view of one value; the document must outlive it. Reading never throws.
class Answer {
 public:
  explicit Answer(const nlohmann::json& value) noexcept : value_(&value) {}

  /// The member of that name; empty where this is no object or has none.
  Answer operator[](std::string_view key) const;

  /// The members of a list; none where this is no list.
  std::vector<Answer> items() const;

  /// A string as it is, a number in digits; "" for anything else.
  std::string text() const;

  /// A number, or a string of nothing but one; absent for anything else and for what is not finite.
  std::optional<double> number() const;

  /// The same without its fraction, within the bounds of int; 0 where there is none.
  int whole() const;

 private:
  const nlohmann::json* value_;
};

/// A price as a cloud tells it; an empty currency is the cloud's `usual` one. Absent where the
/// amount is not more than 0, or the currency is none.
std::optional<Money> price_told(const Answer& amount, const Answer& currency, Currency usual);

/// The JSON object in an answer. Throws ErrorKind::remote where it is none; `what` says whose
/// answer to what: "alibaba to RunInstances".
nlohmann::json parse_answer(const http::Response& response, std::string_view what);

}  // namespace fastgpu::provision::cloud
