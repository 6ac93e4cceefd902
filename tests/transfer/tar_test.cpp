#include "transfer/tar.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/files.hpp"
#include "support/failure.hpp"
#include "support/tar_archive.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::mentions;
using test::tar_end;
using test::tar_entry;

ReadBytes bytes_of(std::string text) {
  return [text = std::move(text), at = std::size_t{0}](std::span<char> out) mutable {
    const std::size_t size = std::min(out.size(), text.size() - at);
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), size, out.begin());
    at += size;
    return size;
  };
}

/// "KIND PATH -> TARGET MODE: CONTENT", an entry each.
std::vector<std::string> listed(const std::string& archive) {
  TarReader reader(bytes_of(archive));
  std::vector<std::string> lines;
  while (const auto entry = reader.next()) {
    std::string content(entry->size + 1, '\0');
    content.resize(reader.read(content));
    constexpr std::string_view kKinds = "fdlho";
    std::ostringstream line;
    line << kKinds[static_cast<std::size_t>(entry->kind)] << ' ' << entry->path << " -> "
         << entry->target << ' ' << std::oct << entry->mode << ": " << content;
    lines.push_back(line.str());
  }
  return lines;
}

std::string pax(const std::string& record) {
  return tar_entry("pax", 'x', record);
}

TEST_SUITE_BEGIN("transfer/tar");

TEST_CASE("entries come with their kind, names, mode and content") {
  const std::string archive =
      tar_entry("top/", '5', {}, {}, 0755) + tar_entry("top/a", '0', "content") +
      tar_entry("top/b", '0', "") + tar_entry("top/l", '2', {}, "a", 0777) +
      tar_entry("top/h", '1', {}, "top/a") + tar_entry("top/n", '3') + tar_end();
  CHECK(listed(archive) == std::vector<std::string>{"d top ->  755: ", "f top/a ->  644: content",
                                                    "f top/b ->  644: ", "l top/l -> a 777: ",
                                                    "h top/h -> top/a 644: ", "o top/n ->  644: "});
}

TEST_CASE("content that nobody reads is passed over") {
  TarReader reader(bytes_of(tar_entry("a", '0', std::string(100'000, 'x')) +
                            tar_entry("b", '0', "y") + tar_end()));
  CHECK(reader.next()->path == "a");
  CHECK(reader.next()->path == "b");
  CHECK(!reader.next());
}

TEST_CASE("names that are too long for a header stand before it") {
  const std::string name(300, 'n');
  CHECK(listed(tar_entry("././@LongLink", 'L', name + '\0') +
               tar_entry("././@LongLink", 'K', "far" + name + '\0') +
               tar_entry(name, '2', {}, "far") + tar_end())[0] ==
        "l " + name + " -> far" + name + " 644: ");
  CHECK(listed(pax("310 path=" + name + "\n") + tar_entry("short", '0', "c") + tar_end()) ==
        std::vector<std::string>{"f " + name + " ->  644: c"});
  CHECK(listed(pax("15 linkpath=xy\n14 comment=ab\n") + tar_entry("s", '2') + tar_end())[0] ==
        "l s -> xy 644: ");
}

TEST_CASE("what the program tar writes is read") {
  const test::TempDirectory folder;
  const std::string deep = "top/" + std::string(120, 'd') + "/" + std::string(120, 'e');
  std::filesystem::create_directories(folder.path() / deep);
  std::ofstream(folder.path() / deep / "file") << "content";
  std::filesystem::create_symlink(deep, folder.path() / "top/link");
  for (const std::string format : {"gnu", "posix"}) {
    const auto archive = folder.path() / (format + ".tar");
    const std::string command = "tar -C " + folder.path().string() + " --format=" + format +
                                " -cf " + archive.string() + " top/" + std::string(120, 'd');
    if (std::system(command.c_str()) != 0) continue;  // Another tar.
    const auto lines = listed(read_file(archive).value());
    REQUIRE(lines.size() == 3);
    CHECK(lines[2] == "f " + deep + "/file ->  644: content");
  }
}

TEST_CASE("what is cut off anywhere is refused") {
  const std::string archive = tar_entry("a", '0', std::string(600, 'x')) + tar_end();
  for (std::size_t size = 0; size <= archive.size() - 1024; size += 100)
    CHECK(mentions(failure_of([&] { listed(archive.substr(0, size)); }), "cut off"));
}

TEST_CASE("what is no tar archive, or more than one, is refused") {
  std::string damaged = tar_entry("a", '0', "x") + tar_end();
  damaged[3] = 'b';
  const std::string large = tar_entry("a", 'L', std::string(2UL << 20, 'x')) + tar_end();
  for (const std::string& bad :
       {damaged, large, std::string(2048, 'x'), tar_end() + tar_entry("a", '0'),
        tar_entry("a", '5', "content") + tar_end(), pax("9 path=\n") + tar_end(),
        pax("99 path=a\n") + tar_end(), pax("0 path=a\n") + tar_end(), pax("x") + tar_end(),
        pax("9 size=x\n") + tar_end(), pax("22 GNU.sparse.major=1\n") + tar_end()})
    CHECK(mentions(failure_of([&] { listed(bad); }), "not a tar archive, or damaged"));
}

TEST_CASE("a size that no file has is refused before anything is read") {
  std::string huge = tar_entry("a", '0');
  huge.replace(124, 12, std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  huge.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char byte : huge)
    sum += static_cast<unsigned char>(byte);
  huge.replace(148, 7, test::octal(sum, 7));
  CHECK(failure_of([&] { listed(huge + tar_end()); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
