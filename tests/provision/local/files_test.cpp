#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/node_tasks.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/unique_fd.hpp"
#include "provision/providers/local/records.hpp"

using namespace fastgpu;
using namespace fastgpu::provision::local;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  Scratch() {
    char name[] = "/tmp/fastgpu-files-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Scratch() { remove_tree(path); }
  fs::path path;
};

/// A chain of folders that no single path could name.
void make_deep(const fs::path& top, int levels) {
  UniqueFd here(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < levels; ++i) {
    REQUIRE(::mkdirat(here.get(), "a-folder", 0700) == 0);
    here = UniqueFd(::openat(here.get(), "a-folder", O_RDONLY | O_DIRECTORY));
  }
}

}  // namespace

TEST_CASE("a replaced file has the new text and mode, and leaves no draft behind") {
  const Scratch scratch;
  const fs::path file = scratch.path / "file";
  replace_file(file, "old", 0644, Durability::until_crash);
  replace_file(file, "new", 0600, Durability::on_disk);
  CHECK(*read_file(file) == "new");
  CHECK((fs::status(file).permissions() & fs::perms::all) == fs::perms(0600));
  CHECK(std::distance(fs::directory_iterator(scratch.path), {}) == 1);
  CHECK_FALSE(read_file(scratch.path / "none").has_value());
}

TEST_CASE("a tree deeper than any path is deleted") {
  const Scratch scratch;
  const fs::path top = scratch.path / "top";
  make_private_folder(top / "x");
  make_deep(top, 3'000);
  remove_tree(top);
  CHECK_FALSE(fs::exists(top));
  CHECK_NOTHROW(remove_tree(top));
}

TEST_CASE("a deep and wide tree is deleted with few folders open at once") {
  for (const int deepest : {2, 3, 7}) {
    const Scratch scratch;
    const fs::path top = scratch.path / "top";
    for (const char* branch : {"a", "b", "c"}) {
      make_private_folder(top / branch);
      make_deep(top / branch, 40);
    }
    remove_tree(top, deepest);
    CHECK_FALSE(fs::exists(top));
  }
}

TEST_CASE("as many trees are removed at once as there are descriptors for") {
  for (const std::size_t descriptors : {1, 2, 5, 30, 44, 100, 1'000, 65'536}) {
    CAPTURE(descriptors);
    const RemovalWidth width = removal_width(descriptors);
    CHECK(width.trees >= 1);
    CHECK(width.trees <= 8);
    CHECK(width.deepest >= 2);
    CHECK(width.deepest <= 64);
    if (descriptors >= 5)
      CHECK(width.trees * (static_cast<std::size_t>(width.deepest) + 2) <= descriptors);
  }
  CHECK(removal_width(1'000).trees == 8);
}

TEST_CASE("deleting a tree does not follow its links") {
  const Scratch scratch;
  make_private_folder(scratch.path / "kept");
  std::ofstream(scratch.path / "kept/file") << "x";
  make_private_folder(scratch.path / "tree");
  fs::create_symlink(scratch.path / "kept", scratch.path / "tree/link");
  remove_tree(scratch.path / "tree");
  CHECK(fs::exists(scratch.path / "kept/file"));
}

TEST_CASE("immutable files and folders are deleted") {
  const Scratch scratch;
  const fs::path tree = scratch.path / "tree";
  make_private_folder(tree / "folder");
  std::ofstream(tree / "folder/file") << "x";
  int flags = FS_IMMUTABLE_FL;
  for (const char* name : {"folder/file", "folder"}) {
    const UniqueFd file(::open((tree / name).c_str(), O_RDONLY));
    if (::ioctl(file.get(), FS_IOC_SETFLAGS, &flags) != 0) return;  // No root, or no such flags.
  }
  remove_tree(tree);
  CHECK_FALSE(fs::exists(tree));
}

TEST_CASE("records are read back, and one cut short counts as none") {
  const Scratch scratch;
  LocalClusterRecord cluster{"0a1b2c3d", "demo", *parse_subnet("10.64.5.0/24"), {{0, "demo-0"}}};
  write_cluster(scratch.path, cluster);
  CHECK(read_cluster(scratch.path)->nodes.at(0) == "demo-0");
  CHECK(to_string(read_cluster(scratch.path)->subnet) == "10.64.5.0/24");
  write_node(scratch.path, {3, "demo-3", "token", NodeImageState::ready});
  CHECK(read_node(scratch.path)->image == NodeImageState::ready);
  std::ofstream(scratch.path / "node.json") << "{\"index\": 3, ";
  CHECK_FALSE(read_node(scratch.path).has_value());
  make_private_folder(scratch.path / "12");
  make_private_folder(scratch.path / "7");
  make_private_folder(scratch.path / "other");
  CHECK(node_indices(scratch.path) == std::vector<int>{7, 12});
}
