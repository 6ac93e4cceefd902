// The accounts that may change the file at a path, from the owners and modes of all its parents.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu {

/// A part of a path that an untrusted account may change.
struct Weakness {
  enum class Kind { owner, mode };
  std::filesystem::path part;
  Kind kind = Kind::owner;
  std::string reason;  ///< "belongs to eve (uid 1001)", "may be written by others (mode 0777)"
};

/// Returns the first part of `path`, from the root on, that belongs neither to root nor to one of
/// `owners`, or that others may write. A sticky directory such as /tmp may be written by others:
/// they can add names to it, and not exchange existing ones. A group counts as others if it has an
/// untrusted member. Links are followed, and judged by their owners. A missing part ends the search
/// without a weakness. Throws system_error for a part that may not be looked at.
std::optional<Weakness> find_weakness(const std::filesystem::path& path,
                                      const std::vector<uid_t>& owners);

}  // namespace fastgpu
