// The failure of a host that shows another key than its known ones.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace fastgpu::ssh {

/// The end of the message of each such failure.
inline constexpr std::string_view kForeignHostKey = "another machine may be answering in its place";

/// Returns true if `failure` is that a host, or a jump host before it, showed an unknown key.
inline bool is_foreign_host_key(const Error& failure) {
  return failure.kind() == ErrorKind::denied &&
         std::string_view(failure.what()).find(kForeignHostKey) != std::string_view::npos;
}

}  // namespace fastgpu::ssh
