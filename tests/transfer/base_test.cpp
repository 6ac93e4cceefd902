// Copies over what the receiver has already.
#include "transfer/trees.hpp"

#include <chrono>
#include <optional>

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

TEST_SUITE_BEGIN("transfer/base");

/// Two files in the source, the first of which is in the base.
struct WithBase : TreeWorld {
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

  void receive_over(const BaseTree& base) const {
    std::vector<std::string> told;
    TreeReceiver receiver(
        to() / "new", SourceCount::one, {},
        [&](const ReceivedFile& file) {
          told.push_back(file.path + " " + std::to_string(file.size));
        },
        base);
    receiver.feed(stream());
    receiver.finish();
    CHECK(told == std::vector<std::string>{"new/lib/first 300000", "new/lib/second 200000"});
  }
};

TEST_CASE("what is in the base is not sent, and becomes a link to what is there") {
  const WithBase world;
  CHECK(world.stream().size() < 210'000);
  world.receive_over({world.base()});
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
    world.receive_over({world.base()});
    CHECK(listing(world.to() / "new") == listing(world.from() / "new"));
    CHECK(fs::hard_link_count(first) == 1);
  }
}

TEST_CASE("a file of the base whose sum is known becomes a link and is not read") {
  const WithBase world;
  Sha256 sum;
  sum.add(noise(300'000));
  const Digest first = sum.finish();
  fs::permissions(world.base() / "lib/first", fs::perms::owner_write | fs::perms::owner_read);
  const auto before = fs::last_write_time(world.base() / "lib/first");
  put(world.base() / "lib/first", noise(300'000, 9));  // Whoever reads it finds out.
  fs::last_write_time(world.base() / "lib/first", before);
  std::vector<std::string> asked;
  const auto known = [&](const std::string& path, const struct stat& status) {
    asked.push_back(path + " " + std::to_string(status.st_size));
    return std::optional(first);
  };
  world.receive_over({world.base(), known});
  CHECK(asked == std::vector<std::string>{"lib/first 300000"});
  CHECK(fs::hard_link_count(world.base() / "lib/first") == 2);
}

TEST_CASE("a known sum that is not the one that was sent ends the copy") {
  const WithBase world;
  const auto known = [](const std::string&, const struct stat&) { return std::optional(Digest{}); };
  CHECK(failure_of([&] { world.receive_over({world.base(), known}); }).kind() == ErrorKind::remote);
  CHECK(!fs::exists(world.to() / "new"));
}

TEST_CASE("a base that is not what it was said to be ends the copy, and is left as it is") {
  const WithBase world;
  const fs::path first = world.base() / "lib/first";
  const auto before = fs::last_write_time(first);
  std::string damaged = noise(300'000);
  damaged[1000] ^= 1;
  put(first, damaged);
  fs::last_write_time(first, before);
  const Error changed = failure_of([&] { world.receive_over({world.base()}); });
  CHECK(
      std::string(changed.what()).find("new/lib/first has another SHA-256 than when it was sent") ==
      0);
  fs::remove(first);
  fs::create_symlink("/etc/passwd", first);
  CHECK(failure_of([&] { world.receive_over({world.base()}); }).kind() == ErrorKind::remote);
  fs::remove(first);
  CHECK(failure_of([&] { world.receive_over({world.base()}); }).kind() == ErrorKind::remote);
  CHECK(failure_of([&] { world.receive_over({}); }).kind() == ErrorKind::remote);
  CHECK(!fs::exists(world.to() / "new"));
}

TEST_CASE("a copy that was cut off at a file of the base goes on with that file") {
  const WithBase world;
  const std::string stream = world.stream();
  {
    TreeReceiver receiver(world.to() / "new", SourceCount::one, Resumption{kKey, {}}, {},
                          BaseTree{world.base()});
    receiver.feed(std::string_view(stream).substr(0, stream.find("lib/first=") + 10));
    CHECK_THROWS(receiver.finish());
  }
  CHECK(kept_position(world.to(), kKey) == Position{});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
