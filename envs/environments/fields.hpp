// The common form of env.yaml's fields: reading and writing one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"

namespace fastgpu::envs {

/// Reads one field. All of these throw ErrorKind::usage with the field's place.
std::string line_of(const config::Value& value);
std::vector<std::string> lines_of(const config::Value& value);
/// Reads digits and dots, as in `example`.
std::string release_of(const config::Value& value, const char* example);
/// Reads an http or https address without a user name and a password; `what` names its object in
/// the error.
std::string url_of(const config::Value& value, const char* what);
/// Throws as url_of if `text`, which is that of `value` or a part of it, is not such an address.
void check_url(const config::Value& value, const std::string& text, const char* what);
std::string sha256_of(const config::Value& value);

bool is_url(std::string_view text) noexcept;

/// Returns `text` as a scalar of YAML on one line.
std::string yaml_scalar(const std::string& text);
/// Returns a list below `key`, or an empty text without items.
std::string yaml_list(const char* key, const std::vector<std::string>& items);

}  // namespace fastgpu::envs
