#include "cli/commands/readable.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/quote.hpp"
#include "base/units.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

constexpr std::array<std::string_view, 4> kMoney = {"price_per_hour", "cost_so_far", "max_cost",
                                                    "max_price"};
constexpr std::array<std::string_view, 3> kCommands = {"argv", "command", "program"};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The time that "2026-03-01T12:00:00Z" says; absent for any other text.
std::optional<TimePoint> time_of(const std::string& text) {
  std::tm fields{};
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &fields);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&fields));
}

std::string with_distance(const std::string& text, TimePoint when, TimePoint now) {
  return when <= now ? text + " (" + age(when, now) + " ago)"
                     : text + " (in " + age(now, when) + ")";
}

std::string money_text(double amount, const std::string& currency) {
  std::array<char, 64> text{};
  const bool small = amount != 0 && amount < 0.1 && amount > -0.1;
  std::snprintf(text.data(), text.size(), small ? "%.4f" : "%.2f", amount);
  return text.data() + (currency.empty() ? "" : " " + currency);
}

std::string duration_text(double seconds) {
  if (seconds <= 0) return "none";
  std::string text = to_string(std::chrono::milliseconds(static_cast<long long>(seconds * 1e3)));
  for (const std::string_view rest : {"00s", "00m"})
    if (text.size() > rest.size() && text.ends_with(rest)) text.resize(text.size() - rest.size());
  return text;
}

/// `list` as one line of a shell, if all of it is text.
std::optional<std::string> command_line(const Json& list) {
  if (!list.is_array() || list.empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const Json& word : list) {
    if (!word.is_string()) return std::nullopt;
    words.push_back(word.get<std::string>());
  }
  return shell_join(words);
}

/// A field's name without its unit, and its value with it.
struct Field {
  std::string key;
  Json value;
};

std::optional<Field> with_unit(const std::string& key, const Json& value) {
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  for (const Unit& unit : {Unit{"_seconds", 1}, Unit{"_ms", 1e-3}}) {
    if (!key.ends_with(unit.suffix) || key.size() == unit.suffix.size()) continue;
    const std::string name = key.substr(0, key.size() - unit.suffix.size());
    if (value.is_null()) return Field{name, "none"};
    if (value.is_number()) return Field{name, duration_text(value.get<double>() * unit.seconds)};
  }
  const bool bytes = key == "bytes" || key.ends_with("_bytes");
  if (bytes && value.is_number_unsigned())
    return Field{key == "bytes" ? "size" : key.substr(0, key.size() - 6),
                 to_string(Bytes{value.get<std::uint64_t>()})};
  if (key.ends_with("_gib") && value.is_number())
    return Field{key.substr(0, key.size() - 4), value.dump() + " GiB"};
  return std::nullopt;
}

Json readable_object(const Json& fields, TimePoint now, const std::string& currency);

Json readable_text(const std::string& text, TimePoint now, const std::string& currency) {
  if (const auto when = time_of(text)) return with_distance(text, *when, now);
  if (text.starts_with('{')) {
    const Json parsed = Json::parse(text, nullptr, false);
    if (parsed.is_object()) return readable_object(parsed, now, currency);
  }
  return text;
}

Json readable_value(const Json& value, TimePoint now, const std::string& currency) {
  if (value.is_object()) return readable_object(value, now, currency);
  if (value.is_string()) return readable_text(value.get<std::string>(), now, currency);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value;
  Json out = Json::array();
  for (const Json& item : value)
    out.push_back(readable_value(item, now, currency));
  return out;
}

/// Whether an object is an amount of money and nothing else: {"amount": 3, "currency": "USD"}.
bool is_money(const Json& value) {
  return value.is_object() && value.size() == 2 && value.contains("amount") &&
         value["amount"].is_number() && value.contains("currency") && value["currency"].is_string();
}

/// `inherited` is the currency of the object around this one.
Json readable_object(const Json& fields, TimePoint now, const std::string& inherited) {
  const bool has_currency = fields.contains("currency") && fields["currency"].is_string();
  const std::string currency = has_currency ? fields["currency"].get<std::string>() : inherited;
  bool has_money = false;
  for (const auto& [key, value] : fields.items())
    has_money = has_money || (is_among(kMoney, key) && value.is_number());
  Json out = Json::object();
  for (const auto& [key, value] : fields.items()) {
    if (key == "schema" || (key == "currency" && has_money)) continue;
    if (is_among(kMoney, key) && value.is_number())
      out[key] = money_text(value.get<double>(), currency);
    else if (is_money(value))
      out[key] = money_text(value["amount"].get<double>(), value["currency"].get<std::string>());
    else if (const auto line = is_among(kCommands, key) ? command_line(value) : std::nullopt)
      out["command"] = *line;
    else if (const auto field = with_unit(key, value))
      out[field->key] = field->value;
    else
      out[key] = readable_value(value, now, currency);
  }
  return out;
}

}  // namespace

Json readable(const Json& fields, TimePoint now) {
  return readable_object(fields, now, "");
}

}  // namespace fastgpu::cli
