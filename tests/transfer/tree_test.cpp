#include "transfer/trees.hpp"

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

TEST_SUITE_BEGIN("transfer/tree");

TEST_CASE("a tree of every kind arrives as it was") {
  const World world;
  const fs::path tree = world.nasty_tree();
  receive(stream_of({tree}), world.to());
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("a destination that is a directory is copied into, another one is the new name") {
  const World world;
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
  const World world;
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

TEST_CASE("several sources need a directory") {
  const World world;
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
  const World world;
  fs::create_directories(world.from() / "d" / "x");
  put(world.from() / "d/a", "new");
  fs::create_directory(world.to() / "d");
  put(world.to() / "d/x", "a file");
  const Error e = failure_of([&] { receive(stream_of({world.from() / "d"}), world.to()); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(!fs::exists(world.to() / "d/a"));
}

TEST_CASE("a changed byte is found, its file is named and nothing is visible") {
  const World world;
  put(world.from() / "f", noise(1000) + "needle" + noise(1000));
  std::string stream = stream_of({world.from() / "f"});
  stream[stream.find("needle")] = 'N';
  const Error e = failure_of([&] { receive(stream, world.to()); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).starts_with("f arrived"));
  CHECK(fs::is_empty(world.to()));
}

TEST_CASE("what is packed and what is not arrive alike, and the first is short on its way") {
  const World world;
  put(world.from() / "d/noise", noise(600'000));
  put(world.from() / "d/plain", std::string(6'000'000, 'p'));
  put(world.from() / "d/short", "s");
  const std::string stream = stream_of({world.from() / "d"});

  receive(stream, world.to(), SourceCount::one, 10'000);

  CHECK(stream.size() < 2'000'000);  // The noise, what is not tried after it, and little more.
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("a stream cut off anywhere leaves nothing behind") {
  const World world;
  put(world.from() / "f", "content");
  const std::string stream = stream_of({world.from() / "f"});
  for (std::size_t size = 0; size < stream.size(); ++size) {
    CHECK_THROWS_AS(receive(stream.substr(0, size), world.to()), Error);
    CHECK(fs::is_empty(world.to()));
  }
}

TEST_CASE("paths that lead out of the destination are refused") {
  const World world;
  for (const char* path : {"../x", "/etc/x", "a/../../x", "a//b", ".", "a/.", "a/"}) {
    std::string stream;
    encode(stream, LinkRecord{path, "target"});
    encode(stream, EndRecord{});
    CHECK(failure_of([&] { receive(stream, world.to()); }).kind() == ErrorKind::denied);
  }
}

TEST_CASE("a link that was sent first is not followed by what comes after") {
  const World world;
  std::string stream;
  encode(stream, LinkRecord{"out", world.from().string()});
  encode(stream, FileRecord{"out/escaped", 0644});
  CHECK_THROWS_AS(receive(stream, world.to()), Error);
  CHECK(fs::is_empty(world.from()));
}

TEST_CASE("a link at the destination is not followed by a merge") {
  const World world;
  fs::create_directory(world.from() / "d");
  put(world.from() / "d/f", "x");
  fs::create_directory(world.from() / "elsewhere");
  fs::create_symlink(world.from() / "elsewhere", world.to() / "d");
  CHECK(failure_of([&] { receive(stream_of({world.from() / "d"}), world.to()); }).kind() ==
        ErrorKind::conflict);
  CHECK(fs::is_empty(world.from() / "elsewhere"));
}

TEST_CASE("what a killed copy left is removed by the next, what a living one holds is not") {
  const World world;
  put(world.from() / "f", "x");
  fs::create_directories(world.to() / ".fastgpu-copy-abandoned" / "sub");
  put(world.to() / ".fastgpu-copy-abandoned/sub/half", "ha");
  TreeReceiver living(world.to(), SourceCount::one);
  receive(stream_of({world.from() / "f"}), world.to());
  CHECK(!fs::exists(world.to() / ".fastgpu-copy-abandoned"));
  living.feed(stream_of({world.from() / "f"}));
  living.finish();
  CHECK(std::distance(fs::directory_iterator(world.to()), fs::directory_iterator()) == 1);
}

TEST_CASE("a source that is missing or cannot be read is named") {
  const World world;
  const Error e = failure_of([&] { stream_of({world.from() / "none"}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()).find("none") != std::string::npos);
}

TEST_CASE("garbage is refused as a malformed stream") {
  const World world;
  std::string long_field = "B";
  long_field += std::string(4, '\xff');
  for (const std::string& garbage :
       {std::string("hello"), long_field, std::string("S") + std::string(32, 'x')})
    CHECK(failure_of([&] { receive(garbage, world.to()); }).kind() == ErrorKind::remote);
}

TEST_CASE("senders that share sums give the same stream as one alone") {
  const World world;
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
