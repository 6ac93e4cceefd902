// Small wrappers around system calls, each with an error that names what it worked on.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {

/// mount(2); throws with the place.
void mount_at(const std::string& source, const std::string& target, const char* type,
              unsigned long flags, const std::string& options);

/// A directory seen as the root of all paths: what a node's symlinks point to stays inside.
class Root {
 public:
  explicit Root(const std::string& path);

  /// The place as a path for mount(2), or an empty handle where it does not exist.
  UniqueFd find(const std::string& path) const;
  bool has(const std::string& path) const { return static_cast<bool>(find(path)); }

 private:
  UniqueFd directory_;
};

/// "/proc/self/fd/7": the file behind the descriptor, wherever it is.
std::string path_of(const UniqueFd& file);

void make_directory(const std::string& path, unsigned mode);  ///< An existing one is as good.
void write_text(const std::string& path, std::string_view text);
/// Everything up to the end of the file; "" where there is none.
std::string read_text(const std::string& path);

/// A record lock says that its holder lives, and the kernel takes it back whatever happens. Returns
/// whether it was free; it is held as long as the descriptor, which stays open, is.
bool take_lock(const std::string& path);

/// On standard output, to whoever has started us. Nobody may be there to read it.
void answer(std::string_view text);
/// From now on we hold nothing of whoever made us: input and output lead nowhere.
void let_go_of_streams();

bool is_hung_up(int pipe);

}  // namespace fastgpu::provision::local
