#include "base/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu {

void write_all(int fd, std::string_view bytes, std::string_view doing) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) throw system_error(doing, errno);
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_to_end(int fd, std::string_view doing, std::size_t most) {
  std::string text;
  std::array<char, 16384> piece;
  while (text.size() <= most) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno != EINTR) throw system_error(doing, errno);
    if (got == 0) break;
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  const std::string doing = "reading " + path.string();
  if (!fd) throw system_error(doing, errno);
  return read_to_end(fd.get(), doing);
}

std::string first_line_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace fastgpu
