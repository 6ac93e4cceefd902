#include "transfer/asked_names.hpp"

#include "support/failure.hpp"
#include "transfer/paths.hpp"
#include "transfer/trees.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("transfer/asked names");

struct SentTree {
  std::string path;
  EntryKind kind = EntryKind::file;
};

/// The kind of the first refusal; internal where all is taken.
ErrorKind answer(const std::vector<std::string>& sources, const std::vector<SentTree>& sent) {
  AskedNames names(sources, "user");
  try {
    for (const SentTree& one : sent)
      names.take(one.path, one.kind);
    names.check_complete();
    return ErrorKind::internal;
  } catch (const Error& e) {
    return e.kind();
  }
}

constexpr ErrorKind kTaken = ErrorKind::internal;
constexpr auto kDirectory = EntryKind::directory;

TEST_CASE("what was asked for comes, each source once") {
  CHECK(answer({"a"}, {{"a"}}) == kTaken);
  CHECK(answer({"x/a", "y/b"}, {{"a"}, {"b"}}) == kTaken);
  CHECK(answer({"x/a", "y/a"}, {{"a"}, {"a"}}) == kTaken);
  CHECK(answer({"d"}, {{"d", kDirectory}, {"d/.bashrc"}, {"d/l", EntryKind::link}}) == kTaken);
  CHECK(answer({"d/"}, {{"d", kDirectory}}) == kTaken);
  CHECK(answer({"/srv/d//"}, {{"d", kDirectory}}) == kTaken);
}

TEST_CASE("what was not asked for is refused, and what came already, and another kind") {
  CHECK(answer({"results.csv"}, {{".bashrc"}}) == ErrorKind::denied);
  CHECK(answer({"results.csv"}, {{"results.csv"}, {".bashrc"}}) == ErrorKind::denied);
  CHECK(answer({"results.csv"}, {{".ssh", kDirectory}}) == ErrorKind::denied);
  CHECK(answer({"results.csv"}, {{".ssh/authorized_keys"}}) == ErrorKind::denied);
  CHECK(answer({"results.csv"}, {{"", kDirectory}}) == ErrorKind::denied);
  CHECK(answer({"a"}, {{"a"}, {"a"}}) == ErrorKind::denied);
  CHECK(answer({"a"}, {{"a", EntryKind::link}}) == ErrorKind::denied);
  CHECK(answer({"d/"}, {{"d"}}) == ErrorKind::denied);
  CHECK(answer({"x/a"}, {{"x", kDirectory}}) == ErrorKind::denied);
  CHECK(answer({"*.csv"}, {{"a.csv"}}) == ErrorKind::denied);
}

TEST_CASE("a source that does not come is missed by its name") {
  CHECK(answer({"a", "b"}, {{"a"}}) == ErrorKind::remote);
  CHECK(answer({"a"}, {}) == ErrorKind::remote);
}

TEST_CASE("a home directory goes by the user's name, and is one") {
  for (const char* home : {"", "~", "~/", "~//"}) {
    CAPTURE(home);
    CHECK(answer({home}, {{"user", kDirectory}, {"user/f"}}) == kTaken);
    CHECK(answer({home}, {{"bin", kDirectory}}) == ErrorKind::denied);
    CHECK(answer({home}, {{"user"}}) == ErrorKind::denied);
  }
  CHECK(answer({"~/f"}, {{"f"}}) == kTaken);
}

TEST_CASE("the content of a directory has names that only the other side knows") {
  for (const char* content : {".", "d/.", "..", "d/..", "~/.", "/"}) {
    CAPTURE(content);
    CHECK(answer({content}, {{"", kDirectory}, {"anything"}}) == kTaken);
  }
}

TEST_CASE("nothing of a copy with a name that was not asked for becomes visible") {
  const TreeWorld world;
  put(world.from() / "results.csv", "1,2");
  put(world.from() / ".bashrc", "echo owned");
  const std::string stream = stream_of({world.from() / "results.csv", world.from() / ".bashrc"});
  const std::vector<std::string> asked = {"results.csv"};
  const auto from_a_liar = [&](const fs::path& destination) {
    return failure_of([&] {
      TreeReceiver receiver(destination, SourceCount::one);
      receiver.expect({asked, "user"});
      receiver.feed(stream);
      receiver.finish();
    });
  };
  const Error e = from_a_liar(world.to());
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()).find("'.bashrc'") != std::string::npos);
  CHECK(from_a_liar(world.to() / "new name").kind() == ErrorKind::denied);
  CHECK(fs::is_empty(world.to()));
}

TEST_CASE("two sources that would replace each other are refused") {
  using Sources = std::vector<std::string>;
  for (const Sources& sources :
       {Sources{"a/o", "b/o"}, Sources{"a/o/", "/b/o"}, Sources{"x", "o", "~/o"}}) {
    const Error e = failure_of([&] { require_distinct_names(sources); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("would both be 'o'") != std::string::npos);
  }
  for (const Sources& sources :
       {Sources{"a/o", "a/p"}, Sources{"a/o", "./a/o"}, Sources{"a/.", "b/."}, Sources{"~", "."}})
    require_distinct_names(sources);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
