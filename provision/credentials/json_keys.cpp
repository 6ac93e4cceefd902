#include "provision/credentials/json_keys.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace fastgpu::provision::credentials {

using nlohmann::json;

json parse_object(const std::string& text, const std::string& name, ErrorKind kind) {
  json object = parse_json(text, name, kind);
  if (!object.is_object()) throw Error(kind, name + " is not a JSON object");
  return object;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

Credentials keys_in(const json& object, const KeyNames& names, const std::string& source) {
  Credentials found{.keys = {.access_key = text_of(object, names.access_key),
                             .secret_key = Secret(text_of(object, names.secret_key)),
                             .session_token = Secret(text_of(object, names.token))},
                    .source = source,
                    .expires = parse_time(text_of(object, names.expiration))};
  if (found.keys.access_key.empty() || found.keys.secret_key.reveal().empty())
    throw Error(ErrorKind::remote,
                source + " answers without " + names.access_key + " and " + names.secret_key);
  return found;
}

std::optional<TimePoint> parse_time(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || parts.tm_year < 70 || parts.tm_year > 300) return std::nullopt;
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::tm zone{};
  const char* end = ::strptime(rest, "%z", &zone);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts) - zone.tm_gmtoff);
}

}  // namespace fastgpu::provision::credentials
