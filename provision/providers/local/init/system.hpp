// Small wrappers around system calls, each with an error that names its object.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {

/// Calls mount(2); throws with the place.
void mount_at(const std::string& source, const std::string& target, const char* type,
              unsigned long flags, const std::string& options);

/// A directory as the root of all paths: targets of a node's symlinks stay inside.
class Root {
 public:
  explicit Root(const std::string& path);

  /// Returns the place as a path for mount(2), or an empty handle if it does not exist.
  UniqueFd find(const std::string& path) const;
  bool has(const std::string& path) const { return static_cast<bool>(find(path)); }

 private:
  UniqueFd directory_;
};

/// Returns "/proc/self/fd/7": the file behind the descriptor, at any place.
std::string path_of(const UniqueFd& file);

void make_directory(const std::string& path, unsigned mode);  ///< Accepts an existing one.
void write_text(const std::string& path, std::string_view text);
/// Reads up to the end of the file; "" if it is missing.
std::string read_text(const std::string& path);

/// Takes a record lock, which shows that its holder is alive: the kernel releases it in any case.
/// Returns true if the lock was free. It is then held until the process ends, with an open
/// descriptor.
bool take_lock(const std::string& path);

/// Writes to standard output, for the process that started this one, if it is still there.
void answer(std::string_view text);
/// Redirects input and output, which belong to the maker, to nowhere.
void let_go_of_streams();

bool is_hung_up(int pipe);

}  // namespace fastgpu::provision::local
