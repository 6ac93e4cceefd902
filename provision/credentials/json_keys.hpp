// Keys in JSON from a file, a program or a service. Error messages never repeat the input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"
#include "provision/credentials/credentials.hpp"

namespace fastgpu::provision::credentials {

/// Parses an object. Throws `kind`, with `name` and the line, for anything else.
nlohmann::json parse_object(const std::string& text, const std::string& name, ErrorKind kind);

/// Returns object[key] if it is a string, else "".
std::string text_of(const nlohmann::json& object, const char* key);

/// A service's names for the parts of keys.
struct KeyNames {
  const char* access_key;
  const char* secret_key;
  const char* token;
  const char* expiration;
};

/// Returns the keys in the answer of a service or program. Throws remote, naming `source`, if they
/// are missing.
Credentials keys_in(const nlohmann::json& object, const KeyNames& names, const std::string& source);

/// Parses "2026-11-21T02:29:26Z", also with fractions and an offset; absent for anything else.
std::optional<TimePoint> parse_time(const std::string& text);

}  // namespace fastgpu::provision::credentials
