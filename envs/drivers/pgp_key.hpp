// OpenPGP public keys, only as far as a fingerprint requires.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::envs {

/// Returns the fingerprint of the one primary key in `text`, armoured or not: 40 upper-case
/// hexadecimal digits. Throws ErrorKind::remote for no key, more than one, or one of a version
/// other than 4.
std::string key_fingerprint(std::string_view text);

/// Converts "EB69 3B30 ..." or "eb693b30..." to the form of key_fingerprint. Throws
/// ErrorKind::usage.
std::string parse_fingerprint(std::string_view text);

/// Returns `text` if it has the wanted fingerprint; otherwise throws ErrorKind::denied, naming both
/// and `source`.
std::string pinned_key(std::string text, const std::string& fingerprint, const std::string& source);

}  // namespace fastgpu::envs
