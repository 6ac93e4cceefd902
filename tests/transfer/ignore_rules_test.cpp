#include "transfer/ignore_rules.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"
#include "transfer/record.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::transfer {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

bool leaves_out(const std::string& rules, const std::string& path, bool is_directory = false) {
  return IgnoreRules::parse(rules).leaves_out(path, is_directory);
}

/// The paths of the files that a copy of `source` sends.
Paths sent_from(const fs::path& source, const IgnoreRules& rules) {
  TreeSender sender({source}, std::make_shared<FileSums>());
  sender.leave_out([&](const std::string& path, bool is_directory) {
    return rules.leaves_out(path, is_directory);
  });
  Decoder decoder;
  Paths paths;
  while (const auto piece = sender.next()) {
    decoder.add(*piece);
    while (const auto record = decoder.next())
      if (const auto* file = std::get_if<FileRecord>(&*record)) paths.push_back(file->path);
  }
  return paths;
}

TEST_SUITE_BEGIN("transfer/ignore_rules");

TEST_CASE("a name is left out at any depth, a path only where it is") {
  for (const char* path : {"a.ckpt", "x/a.ckpt", "x/y/a.ckpt", ".ckpt"})
    CHECK_MESSAGE(leaves_out("*.ckpt", path), path);
  CHECK_FALSE(leaves_out("*.ckpt", "a.ckpt.txt"));
  CHECK(leaves_out("/build", "build"));
  CHECK_FALSE(leaves_out("/build", "x/build"));
  CHECK(leaves_out("data/raw", "data/raw"));
  CHECK_FALSE(leaves_out("data/raw", "x/data/raw"));
  CHECK_FALSE(leaves_out("data/*", "data/a/b"));
}

TEST_CASE("two stars are any number of directories") {
  for (const char* path : {"a/b", "a/x/b", "a/x/y/b"})
    CHECK_MESSAGE(leaves_out("a/**/b", path), path);
  CHECK(leaves_out("**/b/c", "x/b/c"));
  CHECK(leaves_out("**/b/c", "b/c"));
  CHECK(leaves_out("a/**", "a/x/y"));
  CHECK_FALSE(leaves_out("a/**", "a", true));
  std::string many;
  for (int i = 0; i < 50; ++i)
    many += "**/a*/";
  CHECK_FALSE(leaves_out(many + "x", std::string(400, 'a') + "/" + std::string(400, 'a')));
}

TEST_CASE("a rule with a slash at its end is for directories alone") {
  CHECK(leaves_out("build/", "x/build", true));
  CHECK_FALSE(leaves_out("build/", "x/build"));
}

TEST_CASE("the last rule that matches decides, and comments and empty lines are none") {
  CHECK_FALSE(leaves_out("*.ckpt\n!best.ckpt\n", "best.ckpt"));
  CHECK(leaves_out("!best.ckpt\n*.ckpt\n", "best.ckpt"));
  CHECK(leaves_out("# all\r\n\r\n*.ckpt  \r\n", "best.ckpt"));
  CHECK(leaves_out("\\#a", "#a"));
  CHECK(leaves_out("\\!a", "!a"));
  CHECK(IgnoreRules::parse("# nothing\n\n/\n!\n").empty());
}

TEST_CASE("rules may begin with a byte order mark") {
  CHECK(leaves_out("\xef\xbb\xbf*.ckpt\r\n", "best.ckpt"));
}

TEST_CASE("what is left out is neither sent nor looked at, whatever the source is called") {
  const test::TempDirectory place;
  for (const char* file : {"keep/a", "keep/b.ckpt", "secret/key", ".git/config"}) {
    fs::create_directories((place.path() / "dir" / file).parent_path());
    std::ofstream(place.path() / "dir" / file) << "x";
  }
  const IgnoreRules rules = IgnoreRules::parse("*.ckpt\n/.git/\n/secret/\n");
  CHECK(sent_from(place.path() / "dir", rules) == Paths{"dir/keep/a"});
  CHECK(sent_from(place.path() / "dir/.", rules) == Paths{"keep/a"});
  CHECK(sent_from(place.path() / "dir", {}).size() == 4);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
