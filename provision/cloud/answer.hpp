// A cloud's JSON answer, read without trust: missing members and members of another kind read as
// empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/money.hpp"
#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// A view of one value. The document must outlive the view. Reading never throws.
class Answer {
 public:
  Answer(const nlohmann::json& value) noexcept : value_(&value) {}

  /// Returns the member of that name; empty if this is not an object or lacks that member.
  Answer operator[](std::string_view key) const;

  /// Returns the members of a list; empty for any other value.
  std::vector<Answer> items() const;

  /// Returns the members of an object with their names; empty for any other value.
  std::vector<std::pair<std::string, Answer>> members() const;

  /// Returns a string unchanged, a number in digits, "true" or "false"; "" for any other value.
  std::string text() const;

  /// Returns a number, also one that is written in a string. Absent for any other value, and for a
  /// number that is not finite.
  std::optional<double> number() const;

  /// Returns the number without its fraction, within the bounds of int; 0 without a number.
  int whole() const;

  bool is_object() const noexcept { return value_->is_object(); }
  bool is_null() const noexcept { return value_->is_null(); }
  /// Returns true if this is an object with a member of that name, null or not.
  bool has(std::string_view key) const;

 private:
  friend class JsonAnswer;
  const nlohmann::json* value_;
};

/// A document from outside. It can be read only as an Answer, so that the accessors of the JSON
/// library, which may throw, never see untrusted text. Text that is not JSON, or that exceeds any
/// cloud's answers (is_bounded_json), reads as null.
class JsonAnswer {
 public:
  JsonAnswer() = default;
  JsonAnswer(nlohmann::json value) noexcept : value_(std::move(value)) {}
  /// Copies a part.
  explicit JsonAnswer(const Answer& part) : value_(*part.value_) {}

  static JsonAnswer parse(std::string_view text);

  Answer root() const noexcept { return value_; }
  operator Answer() const noexcept { return value_; }
  Answer operator[](std::string_view key) const { return root()[key]; }

  /// Removes the member of that name and returns it; null if it is missing.
  JsonAnswer take(std::string_view key);

  /// Removes the members of a list and returns them; empty for any other value.
  std::vector<JsonAnswer> take_items();

 private:
  nlohmann::json value_;
};

/// Returns a price from a cloud's answer. An empty currency means the cloud's `usual` one. Absent
/// if the amount is not above 0 or the currency is unknown.
std::optional<Money> price_told(const Answer& amount, const Answer& currency, Currency usual);

/// Returns the JSON object in an answer. Throws ErrorKind::remote for any other answer. `what`
/// names the cloud and the call: "alibaba to RunInstances".
JsonAnswer parse_answer(const http::Response& response, std::string_view what);

/// Returns a request's body as text. Never throws: invalid UTF-8 becomes U+FFFD.
std::string body_text(const nlohmann::json& body);

}  // namespace fastgpu::provision::cloud
