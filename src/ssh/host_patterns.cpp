#include "ssh/host_patterns.hpp"

#include <fnmatch.h>

namespace fastgpu::ssh {

bool pattern_match(std::string_view pattern, const std::string& name) {
  std::string plain;  // Escapes brackets: they are part of the name here, but a class for fnmatch.
  for (const char c : pattern) {
    if (c == '[' || c == ']' || c == '\\') plain += '\\';
    plain += c;
  }
  return ::fnmatch(plain.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
}

}  // namespace fastgpu::ssh
