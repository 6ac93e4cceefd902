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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
