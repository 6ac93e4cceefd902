// Finds the accounts that may change the file at a path, by the owners and modes of all its
// parents.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu {

/// A part of a path that an untrusted account can change.
struct Weakness {
  enum class Kind { owner, mode };
  std::filesystem::path part;
  Kind kind = Kind::owner;
  std::string reason;  ///< "belongs to eve (uid 1001)", "may be written by others (mode 0777)"
};

/// Returns the first part of `path`, from the root on, that belongs to an account other than root
/// and `owners`, or that others may write. Others may write to a sticky directory such as /tmp,
/// because they can only add names there and not replace existing ones. A group counts as others if
/// it has an untrusted member. Links are followed, and judged by their owners. The search ends at a
/// missing part, which is not a weakness. Throws system_error for a part that cannot be examined.
std::optional<Weakness> find_weakness(const std::filesystem::path& path,
                                      const std::vector<uid_t>& owners);

}  // namespace fastgpu
