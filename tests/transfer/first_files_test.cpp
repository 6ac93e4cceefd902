#include "support/failure.hpp"
#include "support/noise.hpp"
#include "transfer/trees.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

/// One after the other, each after what is done before it is told.
FirstFiles told(std::vector<std::string> files,
                const std::function<void(std::size_t)>& before = {}) {
  return [files = std::move(files), before, next = std::size_t{0}](bool may_wait) mutable {
    if (!may_wait) return FirstFile{};
    if (before) before(next);
    return next < files.size() ? FirstFile{.path = files[next++]} : FirstFile{.is_over = true};
  };
}

std::string stream_with(const fs::path& source, FirstFiles first, const Position& from = {}) {
  TreeSender sender({source}, std::make_shared<FileSums>(), from, {}, std::move(first));
  std::string all;
  while (const auto piece = sender.next())
    all += *piece;
  return all;
}

fs::path tree_in(const TreeWorld& world) {
  const fs::path tree = world.from() / "tree";
  put(tree / "a/first", noise(300'000));
  put(tree / "b/c/last", noise(300'000, 8), 0400);
  put(tree / "top", "top");
  fs::create_symlink("a/first", tree / "link");
  return tree;
}

TEST_SUITE_BEGIN("transfer/first files");

TEST_CASE("files that go ahead arrive with their directories, and go once") {
  const TreeWorld world;
  const fs::path tree = tree_in(world);
  const std::string plain = stream_of({tree});
  const std::string stream = stream_with(tree, told({"b/c/last", "top", "a/first", "none"}));
  CHECK(stream.find("last") < stream.find("first"));
  CHECK(stream.size() < plain.size() + 1000);
  receive(stream, world.to());
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("a tree arrives that is made while it is sent, as it is at the end") {
  const TreeWorld world;
  const fs::path tree = world.from() / "tree";
  put(tree / "one", "1");
  const std::string stream =
      stream_with(tree, told({"one", "deep/two"}, [&](std::size_t told_before) {
                    if (told_before == 1) put(tree / "deep/two", "22");
                    if (told_before == 2) put(tree / "one", "another");
                    if (told_before == 2) put(tree / "three", "333");
                  }));
  receive(stream, world.to());
  CHECK(listing(world.to()) == listing(world.from()));
  CHECK(test::read_file(world.to() / "tree/one") == "another");
}

TEST_CASE("a copy in some order that was cut off goes on in that order") {
  const TreeWorld world;
  const fs::path tree = tree_in(world);
  const std::vector<std::string> order = {"b/c/last", "a/first"};
  const std::string stream = stream_with(tree, told(order));
  {
    TreeReceiver receiver(world.to() / "tree", SourceCount::one, Resumption{kKey, {}});
    receiver.feed(stream.substr(0, 500'000));
    CHECK_THROWS_AS(receiver.finish(), Error);
  }
  const Position from = kept_position(world.to(), kKey);
  CHECK(from.files == 1);
  CHECK(from.bytes > 0);
  const std::string rest = stream_with(tree, told(order), from);
  CHECK(rest.size() < stream.size() - 300'000);
  TreeReceiver receiver(world.to() / "tree", SourceCount::one, Resumption{kKey, from});
  receiver.feed(rest);
  receiver.finish();
  CHECK(listing(world.to()) == listing(world.from()));
}

TEST_CASE("of a copy that is given up nothing is kept, whoever might go on") {
  const TreeWorld world;
  std::string stream;
  encode(stream, FileRecord{"tree", 0644});
  encode(stream, BlockRecord{"half of it"});
  encode(stream, GivenUpRecord{});
  {
    TreeReceiver receiver(world.to() / "tree", SourceCount::one, Resumption{kKey, {}});
    CHECK(failure_of([&] { receiver.feed(stream); }).kind() == ErrorKind::remote);
  }
  CHECK(fs::is_empty(world.to()));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
