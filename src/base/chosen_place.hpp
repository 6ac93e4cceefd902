// Places on this machine that the user has chosen, by a flag, a variable or an argument, and the
// errors of those that cannot be used.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu {

struct ChosenPlace {
  std::string name;  ///< The word for it in messages: "the state directory", "--fetch-to".
  std::filesystem::path path;
  std::string choice = "choose another place";  ///< The advice that ends a message.
};

/// Returns the failure at a place as one that the user can mend: "--out /proc/x cannot be used:
/// making /proc/x: No such file or directory; choose another place". A failure of this machine
/// (local) is a usage error there. Errors that are neither this nor denied nor capacity are
/// returned as they are.
Error unusable(const ChosenPlace& place, const Error& why);

/// Runs `work`, whose failures are about the place. Throws them as unusable() returns them.
template <class Work>
auto at_place(const ChosenPlace& place, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& e) {
    throw Error(unusable(place, e));
  }
}

/// Throws usage if the path, or the nearest part of it that exists, is not a directory, and as
/// unusable() if that is unknown.
void require_directory(const ChosenPlace& place);

/// Makes and removes an entry in a directory that exists: the place itself, or one above it. Throws
/// as unusable() if this fails.
void require_files_in(const ChosenPlace& place, const std::filesystem::path& directory);

/// Checks that the place is a directory in which files can be made, or that it can be made. Throws
/// as the functions above, and leaves the place as it is.
void require_writable_directory(const ChosenPlace& place);

}  // namespace fastgpu
