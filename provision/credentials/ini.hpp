// Files of sections and settings, in the format of the clouds' own tools.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace fastgpu::provision::credentials {

using Section = std::map<std::string, std::string>;
using Sections = std::map<std::string, Section>;

/// Reads "[section]" and "key = value" lines. Keys are in lower case; a key's last value counts.
/// Lines that begin with '#' or ';' and indented lines (settings of a setting) are ignored. Throws
/// ErrorKind::usage, with `name` and the line, for anything else. The message repeats nothing of
/// the file, which may be secret.
Sections parse_ini(std::string_view text, const std::string& name);

}  // namespace fastgpu::provision::credentials
