// Reads a tar archive entry by entry: ustar, GNU's long names, and pax. Believes nothing of it.
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
  std::string path;      ///< As it stands there, but for slashes at its end.
  std::string target{};  ///< Of both kinds of links.
  std::uint32_t mode = 0;
  std::uint64_t size = 0;  ///< 0 but for files.
  FileTime modified = 0;
};

/// Fills the span; gives less only at the end.
using ReadBytes = std::function<std::size_t(std::span<char>)>;

class TarReader {
 public:
  explicit TarReader(ReadBytes read) : read_bytes_(std::move(read)) {}

  /// The next entry; what has not been read of the one before is passed over. Absent at the end,
  /// after which there is nothing else in the archive. Throws ErrorKind::usage for what is no
  /// archive, or is cut off, besides what reading throws.
  std::optional<TarEntry> next();

  /// Of the content of the file that next() has given; 0 at its end. Throws likewise.
  std::size_t read(std::span<char> out);

 private:
  struct Extension {  // What is said of the next entry.
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
  std::uint64_t left_ = 0;     // Of the content of an entry,
  std::uint64_t padding_ = 0;  // and behind it.
};

}  // namespace fastgpu::transfer
