#include "transfer/trees.hpp"

#include <fstream>

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

TEST_SUITE_BEGIN("transfer/tree");

TEST_CASE("a tree of every kind arrives as it was") {
  const TreeWorld world;
  const fs::path tree = world.nasty_tree();
  receive(stream_of({tree}), world.to());
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("the holes of a sparse file do not fill the disk where it arrives") {
  const TreeWorld world;
  constexpr std::size_t kHole = 4UL << 20;
  for (const std::string name : {"middle", "end", "all"}) {
    put(world.from() / name, name == "all" ? "" : "begin");
    fs::resize_file(world.from() / name, kHole);
  }
  std::ofstream(world.from() / "middle", std::ios::app | std::ios::binary) << "the end";
  receive(stream_of({world.from() / "."}), world.to());
  CHECK(listing(world.to()) == listing(world.from()));
  for (const std::string name : {"middle", "end", "all"}) {
    CAPTURE(name);
    struct stat info {};
    REQUIRE(::stat((world.to() / name).c_str(), &info) == 0);
    CHECK(info.st_blocks * 512 < 512L << 10);
  }
}

TEST_CASE("a destination that is a directory is copied into, another one is the new name") {
  const TreeWorld world;
  put(world.from() / "f", "1");
  const std::string stream = stream_of({world.from() / "f"});
  receive(stream, world.to());
  receive(stream, world.to() / "g");
  receive(stream, (world.to() / "").string());
  CHECK(test::read_file(world.to() / "f") == "1");
  CHECK(test::read_file(world.to() / "g") == "1");
  CHECK(failure_of([&] { receive(stream, world.to() / "none" / ""); }).kind() ==
        ErrorKind::not_found);
  CHECK(failure_of([&] { receive(stream, world.to() / "none" / "x"); }).kind() ==
        ErrorKind::not_found);
}

TEST_CASE("a directory goes under a new name, or merges its content where there is one") {
  const TreeWorld world;
  fs::create_directories(world.from() / "d" / "sub");
  put(world.from() / "d/sub/new", "new");
  put(world.from() / "d/both", "from");
  receive(stream_of({world.from() / "d"}), world.to() / "e" / "");
  CHECK(test::read_file(world.to() / "e/sub/new") == "new");

  put(world.to() / "e/both", "old");
  put(world.to() / "e/kept", "kept");
  receive(stream_of({world.from() / "d" / "."}), world.to() / "e");
  CHECK(test::read_file(world.to() / "e/both") == "from");
  CHECK(test::read_file(world.to() / "e/kept") == "kept");
}

TEST_CASE("the content of a directory goes under a new name, too") {
  const TreeWorld world;
  put(world.from() / "d/f", "1");
  put(world.from() / "d/sub/g", "2");
  receive(stream_of({world.from() / "d" / "."}), world.to() / "e");
  CHECK(test::read_file(world.to() / "e/f") == "1");
  CHECK(test::read_file(world.to() / "e/sub/g") == "2");
}

TEST_CASE("a source that is neither a file nor a directory is refused by its name") {
  const TreeWorld world;
  REQUIRE(::mkfifo((world.from() / "pipe").c_str(), 0600) == 0);
  const Error e = failure_of([&] { stream_of({world.from() / "pipe"}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("pipe is neither a file nor a directory") != std::string::npos);
}

TEST_CASE("several sources need a directory") {
  const TreeWorld world;
  put(world.from() / "a", "1");
  put(world.from() / "b", "2");
  const std::string stream = stream_of({world.from() / "a", world.from() / "b"});
  receive(stream, world.to(), SourceCount::several);
  CHECK(test::read_file(world.to() / "b") == "2");
  CHECK(failure_of([&] { receive(stream, world.to() / "x", SourceCount::several); }).kind() ==
        ErrorKind::not_found);
  CHECK(failure_of([&] { receive(stream, world.to() / "a", SourceCount::several); }).kind() ==
        ErrorKind::conflict);
}

TEST_CASE("a file and a directory never replace each other, and nothing else changes then") {
  const TreeWorld world;
  fs::create_directories(world.from() / "d" / "x");
  put(world.from() / "d/a", "new");
  fs::create_directory(world.to() / "d");
  put(world.to() / "d/x", "a file");
  const Error e = failure_of([&] { receive(stream_of({world.from() / "d"}), world.to()); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(!fs::exists(world.to() / "d/a"));
}

TEST_CASE("a pipe at the destination is not replaced, and nothing else changes then") {
  const TreeWorld world;
  fs::create_directory(world.from() / "d");
  put(world.from() / "d/a", "new");
  put(world.from() / "d/pipe", "a file");
  fs::create_directory(world.to() / "d");
  REQUIRE(::mkfifo((world.to() / "d/pipe").c_str(), 0600) == 0);
  const Error e = failure_of([&] { receive(stream_of({world.from() / "d"}), world.to()); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()).find("d/pipe is a device, a pipe or a socket there") !=
        std::string::npos);
  CHECK(fs::is_fifo(world.to() / "d/pipe"));
  CHECK(!fs::exists(world.to() / "d/a"));
}

TEST_CASE("a changed byte is found, its file is named and nothing is visible") {
  const TreeWorld world;
  put(world.from() / "f", noise(1000) + "needle" + noise(1000));
  std::string stream = stream_of({world.from() / "f"});
  stream[stream.find("needle")] = 'N';
  const Error e = failure_of([&] { receive(stream, world.to()); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).starts_with("f has another SHA-256"));
  CHECK(fs::is_empty(world.to()));
}

TEST_CASE("what is packed and what is not arrive alike, and the first is short on its way") {
  const TreeWorld world;
  put(world.from() / "d/noise", noise(600'000));
  put(world.from() / "d/plain", std::string(6'000'000, 'p'));
  put(world.from() / "d/short", "s");
  const std::string stream = stream_of({world.from() / "d"});

  receive(stream, world.to(), SourceCount::one, 10'000);

  CHECK(stream.size() < 2'000'000);  // The noise, what is not tried after it, and little more.
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("a stream cut off anywhere leaves nothing behind") {
  const TreeWorld world;
  put(world.from() / "f", "content");
  const std::string stream = stream_of({world.from() / "f"});
  for (std::size_t size = 0; size < stream.size(); ++size) {
    CHECK_THROWS_AS(receive(stream.substr(0, size), world.to()), Error);
    CHECK(fs::is_empty(world.to()));
  }
}

TEST_CASE("paths that lead out of the destination are refused") {
  const TreeWorld world;
  for (const char* path : {"../x", "/etc/x", "a/../../x", "a//b", ".", "a/.", "a/"}) {
    std::string stream;
    encode(stream, LinkRecord{path, "target"});
    encode(stream, EndRecord{});
    CHECK(failure_of([&] { receive(stream, world.to()); }).kind() == ErrorKind::denied);
  }
}

TEST_CASE("a link that was sent first is not followed by what comes after") {
  const TreeWorld world;
  std::string stream;
  encode(stream, LinkRecord{"out", world.from().string()});
  encode(stream, FileRecord{"out/escaped", 0644});
  CHECK_THROWS_AS(receive(stream, world.to()), Error);
  CHECK(fs::is_empty(world.from()));
}

TEST_CASE("a link at the destination is not followed by a merge") {
  const TreeWorld world;
  fs::create_directory(world.from() / "d");
  put(world.from() / "d/f", "x");
  fs::create_directory(world.from() / "elsewhere");
  fs::create_symlink(world.from() / "elsewhere", world.to() / "d");
  CHECK(failure_of([&] { receive(stream_of({world.from() / "d"}), world.to()); }).kind() ==
        ErrorKind::conflict);
  CHECK(fs::is_empty(world.from() / "elsewhere"));
}

TEST_CASE("what a killed copy left is removed by the next, what a living one holds is not") {
  const TreeWorld world;
  put(world.from() / "f", "x");
  fs::create_directories(world.to() / ".fastgpu-copy-abandoned" / "sub");
  put(world.to() / ".fastgpu-copy-abandoned/sub/half", "ha");
  fs::permissions(world.to() / ".fastgpu-copy-abandoned", fs::perms::owner_all);
  TreeReceiver living(world.to(), SourceCount::one);
  receive(stream_of({world.from() / "f"}), world.to());
  CHECK(!fs::exists(world.to() / ".fastgpu-copy-abandoned"));
  living.feed(stream_of({world.from() / "f"}));
  living.finish();
  CHECK(std::distance(fs::directory_iterator(world.to()), fs::directory_iterator()) == 1);
}

TEST_CASE("a source that is missing or cannot be read is named") {
  const TreeWorld world;
  const Error e = failure_of([&] { stream_of({world.from() / "none"}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()).find("none") != std::string::npos);
}

TEST_CASE("a line end in the name of a file does not begin a line of its own in an error") {
  const TreeWorld world;
  const Error missing = failure_of([&] { stream_of({world.from() / "a\nb"}); });
  CHECK(std::string(missing.what()).ends_with("/a\\nb does not exist"));
  put(world.from() / "f", "1");
  const std::string stream = stream_of({world.from() / "f"});
  const Error nowhere = failure_of([&] { receive(stream, world.to() / "c\nd" / "x"); });
  CHECK(std::string(nowhere.what()).find('\n') == std::string::npos);
}

TEST_CASE("garbage is refused as a malformed stream") {
  const TreeWorld world;
  std::string long_field = "B";
  long_field += std::string(4, '\xff');
  for (const std::string& garbage :
       {std::string("hello"), long_field, std::string("S") + std::string(32, 'x')})
    CHECK(failure_of([&] { receive(garbage, world.to()); }).kind() == ErrorKind::remote);
}

TEST_CASE("senders that share sums give the same stream as one alone") {
  const TreeWorld world;
  put(world.from() / "f", std::string(3'000'000, 'z'));
  const auto sums = std::make_shared<FileSums>();
  TreeSender fast({world.from() / "f"}, sums);
  TreeSender slow({world.from() / "f"}, sums);
  std::string a;
  std::string b;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < 2; ++i)
      if (const auto piece = fast.next()) {
        a += *piece;
        more = true;
      }
    if (const auto piece = slow.next()) {
      b += *piece;
      more = true;
    }
  }
  CHECK((a == b));
  CHECK((a == stream_of({world.from() / "f"})));
}

TEST_CASE("what vanishes from a tree while it is sent is left out and named, and the rest comes") {
  const TreeWorld world;
  for (int i = 1000; i < 1200; ++i)
    put(world.from() / "d" / ("f" + std::to_string(i)), "x");
  put(world.from() / "d/g/inner", "x");
  fs::create_symlink("f1000", world.from() / "d/h");
  TreeSender sender({world.from() / "d"}, std::make_shared<FileSums>());
  std::string stream = sender.next().value();
  for (const char* gone : {"f1150", "f1151", "g", "h"})
    fs::remove_all(world.from() / "d" / gone);
  while (const auto piece = sender.next())
    stream += *piece;
  receive(stream, world.to());
  std::vector<std::string> expected;
  for (const char* gone : {"f1150", "f1151", "g", "h"})
    expected.push_back((world.from() / "d" / gone).string());
  CHECK(sender.not_sent().vanished == expected);
  CHECK(sender.not_sent().special.empty());
  CHECK(listing(world.to() / "d") == listing(world.from() / "d"));
}

TEST_CASE("pipes and sockets of a tree are left out and named") {
  const TreeWorld world;
  put(world.from() / "d/f", "x");
  REQUIRE(::mkfifo((world.from() / "d/pipe").c_str(), 0600) == 0);
  TreeSender sender({world.from() / "d"}, std::make_shared<FileSums>());
  std::string stream;
  while (const auto piece = sender.next())
    stream += *piece;
  receive(stream, world.to());
  CHECK(sender.not_sent().special == std::vector<std::string>{(world.from() / "d/pipe").string()});
  CHECK(listing(world.to() / "d").size() == 1);
}

namespace {

/// Keeps directories here for the time of a test.
struct Kept {
  explicit Kept(std::vector<KeptDirectory> directories) { keep_here(std::move(directories)); }
  ~Kept() { keep_here({}); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
};

}  // namespace

TEST_CASE("a directory that is kept here is in no copy, by whatever name it is reached") {
  const TreeWorld world;
  put(world.from() / "d/f", "x");
  put(world.from() / "d/state/key", "secret");
  put(world.from() / "d/other/state/f", "x");  // It only has the name.
  fs::create_directory_symlink(world.from() / "d", world.from() / "alias");
  const Kept kept({{world.from() / "alias/state"}, {world.from() / "missing"}});
  const std::string key = key_of({world.from() / "d"}, "x");
  const Sent all = measure({world.from() / "d"});
  TreeSender sender({world.from() / "d"}, std::make_shared<FileSums>());
  std::string stream;
  while (const auto piece = sender.next())
    stream += *piece;
  receive(stream, world.to());
  CHECK_FALSE(fs::exists(world.to() / "d/state"));
  CHECK(fs::exists(world.to() / "d/other/state/f"));
  CHECK(sender.not_sent().kept_here ==
        std::vector<std::string>{(world.from() / "d/state").string()});
  CHECK(all.files == 2);
  put(world.from() / "d/state/key", "another one");
  CHECK(key_of({world.from() / "d"}, "x") == key);
  fs::remove_all(world.from() / "d/state");
  fs::create_symlink("nowhere", world.from() / "d/state");
  CHECK_NOTHROW(check_readable({world.from() / "d"}));
}

TEST_CASE("a source that is kept here is refused, except in the directory that is open") {
  const TreeWorld world;
  put(world.from() / "state/clusters/1/key", "secret");
  put(world.from() / "state/scratch/1/f", "x");
  put(world.from() / "state/clusters/scratch/f", "x");
  fs::create_directory_symlink(world.from() / "state/clusters", world.from() / "alias");
  const Kept kept({{world.from() / "state", "scratch"}});
  for (const char* const source :
       {"state", "state/.", "state/clusters", "alias/1", "state/clusters/1/key", "alias/scratch"}) {
    CAPTURE(source);
    CHECK(failure_of([&] { check_readable({world.from() / source}); }).kind() == ErrorKind::usage);
    CHECK(failure_of([&] { stream_of({world.from() / source}); }).kind() == ErrorKind::usage);
  }
  CHECK_NOTHROW(check_readable({world.from() / "state/scratch/1", world.from()}));
  CHECK_NOTHROW(stream_of({world.from() / "state/scratch/1"}));
}

TEST_CASE("what is not sent is reported as text") {
  const NotSent entries{.vanished = {"/a b", "/c"}, .special = {"/pipe\n"}, .kept_here = {"/k"}};
  const std::string text = to_text(entries);
  const NotSent read = parse_not_sent(text);
  CHECK(read.vanished == entries.vanished);
  CHECK(read.kept_here == entries.kept_here);
  REQUIRE(read.special.size() == 1);
  CHECK(read.special.front().find('\n') == std::string::npos);
  CHECK(parse_not_sent("a warning of a library\nvan").empty());
}

TEST_CASE("sources are looked at as a whole before anything is sent") {
  const TreeWorld world;
  put(world.from() / "d/sub/f", "x");
  REQUIRE(::mkfifo((world.from() / "pipe").c_str(), 0600) == 0);
  const auto kind = [&](const std::vector<fs::path>& sources) {
    return failure_of([&] { check_readable(sources); }).kind();
  };
  CHECK_NOTHROW(check_readable({world.from() / "d", world.from() / "d/sub/f"}));
  CHECK(kind({world.from() / "d", world.from() / "none"}) == ErrorKind::not_found);
  CHECK(kind({world.from() / "pipe"}) == ErrorKind::usage);
  if (::geteuid() != 0) return;
  for (const auto& part : {world.from().parent_path(), world.from(), world.from() / "d"})
    fs::permissions(part, static_cast<fs::perms>(0755));
  const auto as_another = [&](const fs::path& source) {
    REQUIRE(::seteuid(65'532) == 0);
    const Error e = failure_of([&] { check_readable({source}); });
    REQUIRE(::seteuid(0) == 0);
    return e;
  };
  fs::permissions(world.from() / "d/sub/f", fs::perms::owner_read);
  const Error e = as_another(world.from() / "d");
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()).find("d/sub/f: Permission denied") != std::string::npos);
  fs::permissions(world.from() / "d/sub", fs::perms::owner_all);
  CHECK(as_another(world.from() / "d").kind() == ErrorKind::denied);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
