// Reads a tar archive entry by entry: ustar, GNU's long names, and pax. Trusts nothing in it.
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
  other       ///< A device, a pipe, a part of something.
};

struct TarEntry {
  TarKind kind = TarKind::other;
  std::string path;      ///< The path as in the archive, without slashes at its end.
  std::string target{};  ///< The target of both kinds of links.
  std::uint32_t mode = 0;
  std::uint64_t size = 0;  ///< The size of a file, else 0.
  FileTime modified = 0;
};

/// Fills the span; returns less only at the end.
using ReadBytes = std::function<std::size_t(std::span<char>)>;

class TarReader {
 public:
  explicit TarReader(ReadBytes read) : read_bytes_(std::move(read)) {}

  /// Returns the next entry; skips the unread content of the one before. Absent at the end, which
  /// must be the archive's last bytes. Throws ErrorKind::usage for data that is not an archive, or
  /// is cut off, besides the errors of reading.
  std::optional<TarEntry> next();

  /// Reads content of the file that next() has returned; returns 0 at its end. Throws like next().
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
  std::uint64_t left_ = 0;     // The rest of an entry's content,
  std::uint64_t padding_ = 0;  // and of the padding behind it.
};

}  // namespace fastgpu::transfer
