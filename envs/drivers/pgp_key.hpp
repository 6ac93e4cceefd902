// OpenPGP public keys, as far as it takes to know one by its fingerprint.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::envs {

/// The fingerprint of the one primary key in `text`, armoured or not: 40 upper-case hexadecimal
/// digits. Throws ErrorKind::remote where there is none, more than one, or one of a form before or
/// after version 4.
std::string key_fingerprint(std::string_view text);

/// "EB69 3B30 ..." or "eb693b30..." as key_fingerprint writes it. Throws ErrorKind::usage.
std::string parse_fingerprint(std::string_view text);

/// `text` where its fingerprint is the wanted one; throws ErrorKind::denied, naming both and
/// `source`, where it is not.
std::string pinned_key(std::string text, const std::string& fingerprint, const std::string& source);

}  // namespace fastgpu::envs
