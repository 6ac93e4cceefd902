// Trees of files to be copied, and what became of them.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/sshd_fixture.hpp"
#include "transfer/tree_receiver.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::transfer {

namespace fs = std::filesystem;

/// Of a copy that may be cut off.
inline const std::string kKey(32, 'a');

inline std::string stream_of(const std::vector<fs::path>& sources) {
  TreeSender sender(sources, std::make_shared<FileSums>());
  std::string all;
  while (const auto piece = sender.next())
    all += *piece;
  return all;
}

inline void receive(std::string_view stream, const fs::path& destination,
                    SourceCount count = SourceCount::one, std::size_t piece = 777) {
  TreeReceiver receiver(destination, count);
  for (std::size_t at = 0; at < stream.size(); at += piece)
    receiver.feed(stream.substr(at, piece));
  receiver.finish();
}

inline void put(const fs::path& file, const std::string& text, unsigned mode = 0644) {
  fs::create_directories(file.parent_path());
  test::write_file(file, text, static_cast<fs::perms>(mode));
}

/// Every entry below `root` with all that a copy keeps.
inline std::vector<std::string> listing(const fs::path& root) {
  std::vector<std::string> lines;
  for (const auto& item : fs::recursive_directory_iterator(root)) {
    struct stat info {};
    REQUIRE(::lstat(item.path().c_str(), &info) == 0);
    std::string line = fs::relative(item.path(), root).string();
    line += " " + std::to_string(info.st_mode) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
            std::to_string(info.st_mtim.tv_nsec);
    if (item.is_symlink()) line += " -> " + fs::read_symlink(item.path()).string();
    if (item.is_regular_file() && !item.is_symlink()) line += " " + test::read_file(item.path());
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

class TreeWorld {
 public:
  TreeWorld() {
    fs::create_directory(from());
    fs::create_directory(to());
  }
  fs::path from() const { return dir_.path() / "from"; }
  fs::path to() const { return dir_.path() / "to"; }

  /// Names of every kind, modes, links, times before 1970.
  fs::path nasty_tree() const {
    const fs::path root = from() / "tree";
    fs::create_directories(root / "a" / "deep" / "er");
    fs::create_directory(root / "empty");
    put(root / "plain", "text");
    put(root / "empty file", "", 0600);
    put(root / "a/line\nbreak", "x", 0755);
    put(root / "a/\xff\xfe\x01", "not UTF-8", 0400);
    put(root / "a/-rf", "dash");
    put(root / std::string(255, 'n'), "long");
    put(root / "a/deep/er/big", std::string(1'000'000, 'b') + "end");
    fs::create_symlink("plain", root / "link");
    fs::create_symlink("/nowhere/at/all", root / "dangling");
    const timespec times[2] = {{-1000, 5}, {-1000, 999'999'999}};
    REQUIRE(::utimensat(AT_FDCWD, (root / "plain").c_str(), times, 0) == 0);
    fs::permissions(root / "a/deep", fs::perms::owner_read | fs::perms::owner_exec);
    return root;
  }

 private:
  test::TempDirectory dir_;
};

}  // namespace fastgpu::transfer
