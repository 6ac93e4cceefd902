// Whether other accounts may change what a path names: the owners and modes of all that leads to
// it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu {

/// A part of a path that an account may change which is not trusted.
struct Weakness {
  enum class Kind { owner, mode };
  std::filesystem::path part;
  Kind kind = Kind::owner;
  std::string reason;  ///< "belongs to eve (uid 1001)", "may be written by others (mode 0777)"
};

/// Returns the first part of `path`, from the root on, that belongs neither to root nor to one of
/// `owners`, or that others may write. A sticky directory such as /tmp may be written by others:
/// they can add names to it, and not exchange those that are there. A group counts as others if it
/// has a member that is not trusted. Links are followed, and judged by their owners. A part that
/// does not exist ends the search: nothing leads to it that is weak. Throws system_error for a part
/// that may not be looked at.
std::optional<Weakness> find_weakness(const std::filesystem::path& path,
                                      const std::vector<uid_t>& owners);

}  // namespace fastgpu
