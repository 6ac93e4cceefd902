// The failure of a host that shows another key than its known ones.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// A part of the message of each such failure.
inline constexpr std::string_view kForeignHostKey = "another machine may be answering in its place";

/// Returns the end of the message of such a failure: the origin of the known keys, and a remedy.
inline std::string foreign_key_text(const KnownKeySource& source) {
  return (source.origin.empty() ? "" : ", " + source.origin) + "; " + std::string(kForeignHostKey) +
         (source.remedy.empty() ? "" : "; " + source.remedy);
}

/// Returns true if `failure` is that a host, or a jump host before it, showed an unknown key.
inline bool is_foreign_host_key(const Error& failure) {
  return failure.kind() == ErrorKind::denied &&
         std::string_view(failure.what()).find(kForeignHostKey) != std::string_view::npos;
}

}  // namespace fastgpu::ssh
