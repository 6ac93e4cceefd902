#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "support/failure.hpp"
#include "support/noise.hpp"
#include "support/sshd_fixture.hpp"
#include "transfer/tree_receiver.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::transfer {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using test::noise;

std::string stream_of(const std::vector<fs::path>& sources) {
  TreeSender sender(sources, std::make_shared<FileSums>());
  std::string all;
  while (const auto piece = sender.next())
    all += *piece;
  return all;
}

void receive(std::string_view stream, const fs::path& destination,
             SourceCount count = SourceCount::one, std::size_t piece = 777) {
  TreeReceiver receiver(destination, count);
  for (std::size_t at = 0; at < stream.size(); at += piece)
    receiver.feed(stream.substr(at, piece));
  receiver.finish();
}

void put(const fs::path& file, const std::string& text, unsigned mode = 0644) {
  fs::create_directories(file.parent_path());
  test::write_file(file, text, static_cast<fs::perms>(mode));
}

/// Every entry below `root` with all that a copy keeps.
std::vector<std::string> listing(const fs::path& root) {
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

class World {
 public:
  World() {
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
  test::TemporaryDirectory dir_;
};

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

const std::string kKey(32, 'a');

std::string stream_from(const std::vector<fs::path>& sources, const Position& from) {
  TreeSender sender(sources, std::make_shared<FileSums>(), from);
  std::string all;
  while (const auto piece = sender.next())
    all += *piece;
  return all;
}

/// The first `size` bytes of the stream come in, and no more.
Error cut_off(const std::string& stream, std::size_t size, const fs::path& to,
              const Position& from = {}) {
  return failure_of([&] {
    TreeReceiver receiver(to, SourceCount::one, Resumption{kKey, from});
    receiver.feed(std::string_view(stream).substr(0, size));
    receiver.finish();
  });
}

TEST_CASE("wherever a copy is cut off, it goes on from there and comes to the same") {
  const World world;
  const fs::path tree = world.nasty_tree();
  const std::string whole = stream_of({tree});
  const auto wanted = listing(world.from());
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 37 + 1) {
    CAPTURE(at);
    CHECK(cut_off(whole, at, world.to()).kind() == ErrorKind::transient);
    CHECK(!fs::exists(world.to() / "tree"));
    const Position from = kept_position(world.to(), kKey);
    const std::string rest = stream_from({tree}, from);
    CHECK(rest.size() <= whole.size());

    // Cut off once more on the way.
    CHECK(cut_off(rest, rest.size() / 2, world.to(), from).kind() == ErrorKind::transient);
    const Position later = kept_position(world.to(), kKey);
    CHECK(later >= from);
    TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, later});
    receiver.feed(stream_from({tree}, later));
    receiver.finish();

    CHECK(listing(world.to()) == wanted);
    fs::permissions(world.to() / "tree/a/deep", fs::perms::owner_all);
    fs::remove_all(world.to() / "tree");
  }
}

TEST_CASE("what is kept saves sending it, the middle of a file too") {
  const World world;
  put(world.from() / "d/first", noise(3'000'000));
  put(world.from() / "d/second", noise(5'000'000));
  const std::string whole = stream_of({world.from() / "d"});
  cut_off(whole, 6'000'000, world.to());

  const Position from = kept_position(world.to(), kKey);

  CHECK(from.files == 1);
  CHECK(from.bytes > 2'500'000);
  CHECK(stream_from({world.from() / "d"}, from).size() < 2'500'000);
  CHECK(kept_position(world.to(), std::string(32, 'b')) == Position{});
}

TEST_CASE("a copy that is just about to end is asked how far it was once it has ended") {
  const World world;
  std::optional<Staging> copy(std::in_place, world.to(), kKey);
  copy->note(3, "");
  copy->keep();
  std::jthread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    copy.reset();
  });
  CHECK(kept_position(world.to(), kKey).files == 3);
}

TEST_CASE("who has more than the stream begins with takes it from there all the same") {
  const World world;
  put(world.from() / "d/first", noise(3'000'000), 0444);
  put(world.from() / "d/second", noise(5'000'000));
  cut_off(stream_of({world.from() / "d"}), 6'000'000, world.to());
  const Position earlier{.files = 0, .bytes = 1'000'000};

  TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, earlier});
  receiver.feed(stream_from({world.from() / "d"}, earlier));
  receiver.finish();

  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("nobody goes on with more than is kept, and a file that has changed is found out") {
  const World world;
  put(world.from() / "d/file", noise(5'000'000));
  cut_off(stream_of({world.from() / "d"}), 1'000'000, world.to());
  const Position from = kept_position(world.to(), kKey);
  CHECK(failure_of([&] {
          TreeReceiver(world.to(), SourceCount::one,
                       Resumption{kKey, {.files = 0, .bytes = from.bytes + 1}});
        }).kind() == ErrorKind::remote);

  put(world.from() / "d/file", noise(5'000'000, 8));
  CHECK(failure_of([&] {
          TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, from});
          receiver.feed(stream_from({world.from() / "d"}, from));
        }).kind() == ErrorKind::remote);
  CHECK(fs::is_empty(world.to()));
}

TEST_CASE(
    "what is kept goes when its day is over, or when something else is to come to its place") {
  const World world;
  put(world.from() / "d/file", noise(5'000'000));
  put(world.from() / "small", "x");
  const std::string whole = stream_of({world.from() / "d"});
  const auto is_kept = [&] { return fs::exists(world.to() / (".fastgpu-copy-" + kKey)); };
  cut_off(whole, 1'000'000, world.to());
  receive(stream_of({world.from() / "small"}), world.to());
  CHECK(is_kept());

  const std::string same_place = kKey.substr(0, kPlaceDigits) + std::string(20, 'c');
  TreeReceiver(world.to(), SourceCount::one, Resumption{same_place, {}});
  CHECK(!is_kept());

  cut_off(whole, 1'000'000, world.to());
  const fs::path notes = world.to() / (".fastgpu-copy-" + kKey) / "notes";
  fs::last_write_time(notes, fs::last_write_time(notes) - std::chrono::hours(25));
  receive(stream_of({world.from() / "small"}), world.to());
  CHECK(!is_kept());
}

/// Two files in the source, the first of which is in the base.
struct WithBase : World {
  WithBase() {
    put(from() / "new/lib/first", noise(300'000));
    put(from() / "new/lib/second", noise(200'000, 8));
    fs::create_directories(base() / "lib");
    fs::copy_file(from() / "new/lib/first", base() / "lib/first");
    fs::last_write_time(base() / "lib/first", fs::last_write_time(from() / "new/lib/first"));
  }

  fs::path base() const { return to() / "old"; }

  std::string stream() const {
    Sha256 sum;
    sum.add(noise(300'000));
    const Digest first = sum.finish();
    TreeSender sender({from() / "new"}, std::make_shared<FileSums>(), {},
                      [&](const std::string& path) {
                        return path == "lib/first" ? std::optional(first) : std::nullopt;
                      });
    std::string all;
    while (const auto piece = sender.next())
      all += *piece;
    return all;
  }

  void receive_over(const fs::path& base) const {
    std::vector<std::string> told;
    TreeReceiver receiver(
        to() / "new", SourceCount::one, {},
        [&](const std::string& path, const Digest&) { told.push_back(path); }, base);
    receiver.feed(stream());
    receiver.finish();
    CHECK(told == std::vector<std::string>{"new/lib/first", "new/lib/second"});
  }
};

TEST_CASE("what is in the base is not sent, and becomes a link to what is there") {
  const WithBase world;
  CHECK(world.stream().size() < 210'000);
  world.receive_over(world.base());
  CHECK(listing(world.to() / "new") == listing(world.from() / "new"));
  CHECK(fs::hard_link_count(world.base() / "lib/first") == 2);
}

TEST_CASE("a file of the base with another time or mode is copied") {
  for (const bool is_older : {true, false}) {
    const WithBase world;
    const fs::path first = world.base() / "lib/first";
    if (is_older)
      fs::last_write_time(first, fs::last_write_time(first) - std::chrono::hours(1));
    else
      fs::permissions(first, fs::perms::owner_read);
    world.receive_over(world.base());
    CHECK(listing(world.to() / "new") == listing(world.from() / "new"));
    CHECK(fs::hard_link_count(first) == 1);
  }
}

TEST_CASE("a base that is not what it was said to be ends the copy, and is left as it is") {
  const WithBase world;
  const fs::path first = world.base() / "lib/first";
  const auto before = fs::last_write_time(first);
  std::string damaged = noise(300'000);
  damaged[1000] ^= 1;
  put(first, damaged);
  fs::last_write_time(first, before);
  const Error changed = failure_of([&] { world.receive_over(world.base()); });
  CHECK(std::string(changed.what()).find("new/lib/first arrived with another SHA-256") == 0);
  fs::remove(first);
  fs::create_symlink("/etc/passwd", first);
  CHECK(failure_of([&] { world.receive_over(world.base()); }).kind() == ErrorKind::remote);
  fs::remove(first);
  CHECK(failure_of([&] { world.receive_over(world.base()); }).kind() == ErrorKind::remote);
  CHECK(failure_of([&] { world.receive_over({}); }).kind() == ErrorKind::remote);
  CHECK(!fs::exists(world.to() / "new"));
}

TEST_CASE("a copy that was cut off at a file of the base goes on with that file") {
  const WithBase world;
  const std::string stream = world.stream();
  {
    TreeReceiver receiver(world.to() / "new", SourceCount::one, Resumption{kKey, {}}, {},
                          world.base());
    receiver.feed(std::string_view(stream).substr(0, stream.find("lib/first=") + 10));
    CHECK_THROWS(receiver.finish());
  }
  CHECK(kept_position(world.to(), kKey) == Position{});
}

TEST_CASE("a copy is the same copy while nothing of its sources has changed") {
  const World world;
  const std::vector<fs::path> sources = {world.from() / "d"};
  put(world.from() / "d/file", "text");
  const std::string key = key_of(sources, "there");
  CHECK(key.size() == 32);
  CHECK(key_of(sources, "there") == key);
  CHECK(key_of(sources, "elsewhere") != key);
  put(world.from() / "d/file", "texts");
  CHECK(key_of(sources, "there") != key);
  CHECK(key_of({world.from() / "nothing"}, "there").empty());
}

TEST_CASE("where to go on is a word that survives, and nothing else is one") {
  const Resumption resumption{kKey, {.files = 7, .bytes = 123}};
  CHECK(parse_resumption(to_text(resumption)).from == resumption.from);
  CHECK(parse_resumption(to_text(resumption)).key == kKey);
  for (const std::string& text :
       {std::string("7:123"), kKey, kKey + ":7", kKey + ":7:x", "../" + kKey + ":7:1",
        kKey + ":-1:0", kKey + ":99999999999999999999:0"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_resumption(text); }).kind() == ErrorKind::remote);
  }
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
