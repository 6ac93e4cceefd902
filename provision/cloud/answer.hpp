// A cloud's JSON answer, read without trust: what is missing or of another kind reads as empty.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.hpp"
#include "http/client.hpp"

namespace fastgpu::provision::cloud {

/// A view of one value; the document must outlive it. Reading never throws.
class Answer {
 public:
  Answer(const nlohmann::json& value) noexcept : value_(&value) {}

  /// The member of that name; empty where this is no object or has none.
  Answer operator[](std::string_view key) const;

  /// The members of a list; none where this is no list.
  std::vector<Answer> items() const;

  /// The members of an object with their names; none where this is no object.
  std::vector<std::pair<std::string, Answer>> members() const;

  /// A string as it is, a number in digits, "true" or "false"; "" for anything else.
  std::string text() const;

  /// A number, or a string of nothing but one; absent for anything else and for what is not finite.
  std::optional<double> number() const;

  /// The same without its fraction, within the bounds of int; 0 where there is none.
  int whole() const;

  bool is_object() const noexcept { return value_->is_object(); }
  bool is_null() const noexcept { return value_->is_null(); }
  /// Whether this is an object that has a member of that name, null or not.
  bool has(std::string_view key) const;

 private:
  friend class Document;
  const nlohmann::json* value_;
};

/// A document that came from outside. It is read as an Answer alone, so that no accessor of the
/// JSON library meets what a stranger wrote. What is no JSON, or more than any cloud sends, reads
/// as null.
class Document {
 public:
  Document() = default;
  Document(nlohmann::json value) noexcept : value_(std::move(value)) {}
  /// A copy of a part.
  explicit Document(const Answer& part) : value_(*part.value_) {}

  static Document parse(std::string_view text);

  Answer root() const noexcept { return value_; }
  operator Answer() const noexcept { return value_; }
  Answer operator[](std::string_view key) const { return root()[key]; }

  /// Takes the member of that name out; null where there is none.
  Document take(std::string_view key);

  /// Takes the members of a list out; none where this is no list.
  std::vector<Document> take_items();

 private:
  nlohmann::json value_;
};

/// A price as a cloud tells it; an empty currency is the cloud's `usual` one. Absent where the
/// amount is not more than 0, or the currency is none.
std::optional<Money> price_told(const Answer& amount, const Answer& currency, Currency usual);

/// The JSON object in an answer. Throws ErrorKind::remote where it is none; `what` says whose
/// answer to what: "alibaba to RunInstances".
Document parse_answer(const http::Response& response, std::string_view what);

/// A request's body as text. Never throws: bytes that are no UTF-8 become U+FFFD.
std::string body_text(const nlohmann::json& body);

}  // namespace fastgpu::provision::cloud
