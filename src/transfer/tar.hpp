// Reads a tar archive entry by entry: ustar, GNU's long names, and pax. The archive is not trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "transfer/record.hpp"

namespace fastgpu::transfer {

enum class TarKind : std::uint8_t {
  file,
  directory,
  link,
  hard_link,  ///< Another name of a file.
  other       ///< A device, a pipe, a part of a file.
};

struct TarEntry {
  TarKind kind = TarKind::other;
  std::string path;      ///< The path as in the archive, without slashes at its end.
  std::string target{};  ///< The target of both kinds of links.
  std::uint32_t mode = 0;
  std::uint64_t size = 0;  ///< The size of a file, else 0.
  FileTime modified = 0;
};

/// Fills the span. Returns less only at the end.
using ReadBytes = std::function<std::size_t(std::span<char>)>;

class TarReader {
 public:
  explicit TarReader(ReadBytes read) : read_bytes_(std::move(read)) {}

  /// Returns the next entry and skips the unread content of the previous one. Absent at the end,
  /// which must be the archive's last bytes. Throws the errors of reading, and ErrorKind::usage for
  /// data that is not an archive or is incomplete.
  std::optional<TarEntry> next();

  /// Reads content of the file that next() has returned. Returns 0 at its end. Throws as next()
  /// does.
  std::size_t read(std::span<char> out);

 private:
  struct Extension {  // The extended header of the next entry.
    std::optional<std::string> path{};
    std::optional<std::string> target{};
    std::optional<std::uint64_t> size{};
  };

  bool read_header();
  void fill(std::span<char> out);
  void skip_rest();
  void expect_end();
  std::string read_text(std::uint64_t size);
  void take_pax(const std::string& text, Extension& extension) const;
  TarEntry entry_of(const Extension& extension) const;

  ReadBytes read_bytes_;
  std::string header_;
  std::uint64_t left_ = 0;     // The rest of the entry's content.
  std::uint64_t padding_ = 0;  // The padding after the content.
};

}  // namespace fastgpu::transfer
