// Other users of a shared directory, who lay things where a copy will be.
#include "base/files.hpp"
#include "transfer/trees.hpp"

#include <grp.h>
#include <unistd.h>

#include <chrono>

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

constexpr uid_t kOther = 65'533;

TEST_SUITE_BEGIN("transfer/hostile");

/// A shared directory as /tmp is, and a user who is not us. Empty of tests where we are not root.
class Shared : public TreeWorld {
 public:
  Shared() { fs::permissions(to(), fs::perms::all | fs::perms::sticky_bit); }

  static bool can_be_tried() { return ::geteuid() == 0; }

  fs::path kept() const { return to() / (".fastgpu-copy-" + kKey); }

  static void give_away(const fs::path& path) {
    REQUIRE(::lchown(path.c_str(), kOther, kOther) == 0);
    for (const auto& item : fs::recursive_directory_iterator(path))
      REQUIRE(::lchown(item.path().c_str(), kOther, kOther) == 0);
  }

  /// What a copy that was cut off would have left, as the other user imitates it.
  void lay_imitation(const std::string& notes, const std::string& content) const {
    fs::create_directories(kept() / "tree");
    put(kept() / "notes", boot() + "\n" + notes);
    put(kept() / "tree" / "tool", content, 0666);
    fs::permissions(kept(), fs::perms::all);
    fs::permissions(kept() / "tree", fs::perms::all);
    give_away(kept());
  }

  static std::string boot() { return first_line_of("/proc/sys/kernel/random/boot_id"); }
};

Error cut_off(const std::string& stream, std::size_t size, const fs::path& to) {
  return failure_of([&] {
    TreeReceiver receiver(to, SourceCount::one, Resumption{kKey, {}});
    receiver.feed(std::string_view(stream).substr(0, size));
    receiver.finish();
  });
}

TEST_CASE("a directory that another user laid under the name of a kept copy is not used") {
  if (!Shared::can_be_tried()) return;
  const Shared world;
  put(world.from() / "tool", noise(100'000), 0755);
  world.lay_imitation("1 0\n", "#!/bin/sh\necho theirs\n");

  CHECK(kept_position(world.to(), kKey) == Position{});
  TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, {}});
  receiver.feed(stream_of({world.from() / "tool"}));
  receiver.finish();

  struct stat info {};
  REQUIRE(::lstat((world.to() / "tool").c_str(), &info) == 0);
  CHECK(info.st_uid == ::geteuid());
  CHECK(test::read_file(world.to() / "tool") == noise(100'000));
  CHECK(test::read_file(world.kept() / "tree/tool") == "#!/bin/sh\necho theirs\n");
}

TEST_CASE("nothing is kept in a directory of ours that others may write into, or read") {
  const Shared world;
  put(world.from() / "f", noise(1'000'000));
  for (const auto mode : {0777, 0770, 0710, 0705, 0750}) {
    CAPTURE(mode);
    fs::create_directory(world.kept());
    fs::permissions(world.kept(), static_cast<fs::perms>(mode));
    CHECK(cut_off(stream_of({world.from() / "f"}), 500'000, world.to()).kind() ==
          ErrorKind::transient);
    CHECK(fs::is_empty(world.kept()));
    CHECK(kept_position(world.to(), kKey) == Position{});
    fs::remove_all(world.kept());
    CHECK(fs::is_empty(world.to()));
  }
}

TEST_CASE("a link, a file or a pipe under the name of a kept copy is passed over") {
  const Shared world;
  put(world.from() / "f", noise(1'000'000));
  fs::create_directories(world.from() / "elsewhere" / "tree");
  fs::permissions(world.from() / "elsewhere", fs::perms::owner_all);
  const auto copy_beside = [&] {
    CHECK(kept_position(world.to(), kKey) == Position{});
    TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, {}});
    receiver.feed(stream_of({world.from() / "f"}));
    receiver.finish();
    CHECK(test::read_file(world.to() / "f") == noise(1'000'000));
    fs::remove(world.to() / "f");
    fs::remove(world.kept());
  };
  fs::create_directory_symlink(world.from() / "elsewhere", world.kept());
  copy_beside();
  put(world.kept(), "a file");
  copy_beside();
  REQUIRE(::mkfifo(world.kept().c_str(), 0600) == 0);
  copy_beside();
  CHECK(fs::is_empty(world.from() / "elsewhere" / "tree"));
}

TEST_CASE("a pipe in place of the notes does not hold anybody up") {
  const Shared world;
  fs::create_directories(world.kept() / "tree");
  fs::permissions(world.kept(), fs::perms::owner_all);
  fs::permissions(world.kept() / "tree", fs::perms::owner_all);
  REQUIRE(::mkfifo((world.kept() / "notes").c_str(), 0600) == 0);
  CHECK(kept_position(world.to(), kKey) == Position{});
}

TEST_CASE("a link in place of the file that was kept changes nothing where it leads") {
  const Shared world;
  put(world.from() / "f", noise(2'000'000));
  put(world.from() / "victim", "program", 0755);
  cut_off(stream_of({world.from() / "f"}), 1'500'000, world.to());
  const Position from = kept_position(world.to(), kKey);
  REQUIRE(from.bytes > 0);
  const fs::path file = world.kept() / "tree" / "f";
  const auto go_on = [&] {
    return failure_of([&] {
      TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, from});
      fs::remove(file);
      fs::create_symlink(world.from() / "victim", file);
      TreeSender sender({world.from() / "f"}, std::make_shared<FileSums>(), from);
      while (const auto piece = sender.next())
        receiver.feed(*piece);
    });
  };
  CHECK(go_on().kind() == ErrorKind::conflict);
  CHECK(test::read_file(world.from() / "victim") == "program");
  CHECK(fs::status(world.from() / "victim").permissions() == static_cast<fs::perms>(0755));
}

TEST_CASE("what another user calls a leftover of a copy is not removed with our rights") {
  if (!Shared::can_be_tried()) return;
  const Shared world;
  const fs::path theirs = world.to() / ".fastgpu-copy-leftover";
  put(theirs / "moved/here", "of somebody else");
  Shared::give_away(theirs);
  receive(stream_of({world.nasty_tree()}), world.to());
  drop_kept_copies(world.to());
  CHECK(fs::exists(theirs / "moved/here"));
}

TEST_CASE("a user who is not root copies into a shared directory, and goes on there") {
  if (!Shared::can_be_tried()) return;
  const Shared world;
  put(world.from() / "f", noise(2'000'000), 0400);
  const std::string stream = stream_of({world.from() / "f"});
  for (const auto& part : {world.to(), world.to().parent_path(), world.from()})
    fs::permissions(part, fs::perms::all);
  world.lay_imitation("1 0\n", "of the other user");
  REQUIRE(::seteuid(kOther - 1) == 0);
  const Position at_first = kept_position(world.to(), kKey);
  cut_off(stream, 1'500'000, world.to());
  const Position later = kept_position(world.to(), kKey);
  REQUIRE(::seteuid(0) == 0);
  CHECK(at_first == Position{});
  CHECK(later == Position{});

  fs::remove_all(world.kept());
  REQUIRE(::seteuid(kOther - 1) == 0);
  cut_off(stream, 1'500'000, world.to());
  const Position own = kept_position(world.to(), kKey);
  REQUIRE(::seteuid(0) == 0);
  CHECK(own.bytes > 1'000'000);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
