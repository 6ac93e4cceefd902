// What fields of env.yaml have in common: how one is read, and written down again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"

namespace fastgpu::envs {

/// Each throws ErrorKind::usage with the field's place.
std::string line_of(const config::Value& value);
std::vector<std::string> lines_of(const config::Value& value);
/// Digits and dots, as in `example`.
std::string release_of(const config::Value& value, const char* example);
/// http or https, without a user name and a password; `what` it is the address of, for the error.
std::string url_of(const config::Value& value, const char* what);
/// Throws as url_of where `text`, which is that of `value` or a part of it, is none.
void check_url(const config::Value& value, const std::string& text, const char* what);
std::string sha256_of(const config::Value& value);

bool is_url(std::string_view text) noexcept;

/// `text` as a scalar of YAML on one line.
std::string yaml_scalar(const std::string& text);
/// A list below `key`, or nothing where there are none.
std::string yaml_list(const char* key, const std::vector<std::string>& items);

}  // namespace fastgpu::envs
