// Keys out of JSON that a file, a program or a service gives. No error repeats what was read.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "provision/credentials/credentials.hpp"

namespace fastgpu::provision::credentials {

/// Parses an object; throws `kind` with `name` and the line where it is none.
nlohmann::json parse_object(const std::string& text, const std::string& name, ErrorKind kind);

/// object[key] where it is a string, else "".
std::string text_of(const nlohmann::json& object, const char* key);

/// What a service calls the parts of keys.
struct KeyNames {
  const char* access_key;
  const char* secret_key;
  const char* token;
  const char* expiration;
};

/// The keys in a service's or program's answer; throws remote, naming `source`, without them.
Credentials keys_in(const nlohmann::json& object, const KeyNames& names, const std::string& source);

/// "2026-11-21T02:29:26Z", also with fractions and an offset; absent for anything else.
std::optional<TimePoint> parse_time(const std::string& text);

}  // namespace fastgpu::provision::credentials
