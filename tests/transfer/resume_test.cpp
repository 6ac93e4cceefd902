// Copies that were cut off and go on.
#include "transfer/trees.hpp"

#include <chrono>
#include <optional>
#include <thread>

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

TEST_SUITE_BEGIN("transfer/resume");

std::string stream_from(const std::vector<fs::path>& sources, const Position& from) {
  TreeSender sender(sources, std::make_shared<FileSums>(), from);
  std::string all;
  while (const auto piece = sender.next())
    all += *piece;
  return all;
}

/// The first `size` bytes of the stream come in, and no more.
Error cut_off_after(const std::string& stream, std::size_t size, const fs::path& to,
                    const Position& from = {}) {
  return failure_of([&] {
    TreeReceiver receiver(to, SourceCount::one, Resumption{kKey, from});
    receiver.feed(std::string_view(stream).substr(0, size));
    receiver.finish();
  });
}

TEST_CASE("wherever a copy is cut off, it goes on from there and comes to the same") {
  const TreeWorld world;
  const fs::path tree = world.nasty_tree();
  const std::string whole = stream_of({tree});
  const auto wanted = listing(world.from());
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 37 + 1) {
    CAPTURE(at);
    CHECK(cut_off_after(whole, at, world.to()).kind() == ErrorKind::transient);
    CHECK(!fs::exists(world.to() / "tree"));
    const Position from = kept_position(world.to(), kKey);
    const std::string rest = stream_from({tree}, from);
    CHECK(rest.size() <= whole.size());

    // Cut off once more on the way.
    CHECK(cut_off_after(rest, rest.size() / 2, world.to(), from).kind() == ErrorKind::transient);
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
  const TreeWorld world;
  put(world.from() / "d/first", noise(3'000'000));
  put(world.from() / "d/second", noise(5'000'000));
  const std::string whole = stream_of({world.from() / "d"});
  cut_off_after(whole, 6'000'000, world.to());

  const Position from = kept_position(world.to(), kKey);

  CHECK(from.files == 1);
  CHECK(from.bytes > 2'500'000);
  CHECK(stream_from({world.from() / "d"}, from).size() < 2'500'000);
  CHECK(kept_position(world.to(), std::string(32, 'b')) == Position{});
}

TEST_CASE("a copy that is just about to end is asked how far it was once it has ended") {
  const TreeWorld world;
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
  const TreeWorld world;
  put(world.from() / "d/first", noise(3'000'000), 0444);
  put(world.from() / "d/second", noise(5'000'000));
  cut_off_after(stream_of({world.from() / "d"}), 6'000'000, world.to());
  const Position earlier{.files = 0, .bytes = 1'000'000};

  TreeReceiver receiver(world.to(), SourceCount::one, Resumption{kKey, earlier});
  receiver.feed(stream_from({world.from() / "d"}, earlier));
  receiver.finish();

  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("nobody goes on with more than is kept, and a file that has changed is found out") {
  const TreeWorld world;
  put(world.from() / "d/file", noise(5'000'000));
  cut_off_after(stream_of({world.from() / "d"}), 1'000'000, world.to());
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
  const TreeWorld world;
  put(world.from() / "d/file", noise(5'000'000));
  put(world.from() / "small", "x");
  const std::string whole = stream_of({world.from() / "d"});
  const auto is_kept = [&] { return fs::exists(world.to() / (".fastgpu-copy-" + kKey)); };
  cut_off_after(whole, 1'000'000, world.to());
  receive(stream_of({world.from() / "small"}), world.to());
  CHECK(is_kept());

  const std::string same_place = kKey.substr(0, kPlaceDigits) + std::string(20, 'c');
  TreeReceiver(world.to(), SourceCount::one, Resumption{same_place, {}});
  CHECK(!is_kept());

  cut_off_after(whole, 1'000'000, world.to());
  const fs::path notes = world.to() / (".fastgpu-copy-" + kKey) / "notes";
  fs::last_write_time(notes, fs::last_write_time(notes) - std::chrono::hours(25));
  receive(stream_of({world.from() / "small"}), world.to());
  CHECK(!is_kept());
}

TEST_CASE("what is kept goes when it is dropped, but for a copy that goes on just now") {
  const TreeWorld world;
  put(world.from() / "d/file", noise(5'000'000));
  const std::string whole = stream_of({world.from() / "d"});
  cut_off_after(whole, 1'000'000, world.to());
  {
    const TreeReceiver living(world.to(), SourceCount::one, Resumption{kKey, {}});
    drop_kept_copies(world.to());
    CHECK(fs::exists(world.to() / (".fastgpu-copy-" + kKey)));
  }
  cut_off_after(whole, 1'000'000, world.to());
  drop_kept_copies(world.to());
  CHECK(fs::is_empty(world.to()));
  drop_kept_copies(world.to() / "absent");
}

TEST_CASE("a copy is the same copy while nothing of its sources has changed") {
  const TreeWorld world;
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
