#include "envs/environments/lock.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "envs/environments/conda_solution.hpp"
#include "envs/environments/pylock.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const std::string kLockSum(64, 'a');

EnvironmentLock lock_of(std::vector<Artefact> artefacts) {
  EnvironmentLock lock{.spec = {},
                       .builder = "uv 0.13.9",
                       .fastgpu = "0.1.0",
                       .machine = "x86_64",
                       .libc = "glibc 2.36",
                       .python = "/usr/bin/python3.11",
                       .python_version = "3.11.2",
                       .artefacts = std::move(artefacts)};
  lock.spec.name = "train";
  lock.spec.packages = {"numpy"};
  return lock;
}

const Artefact kNumpy{"numpy", "2.2.6", "https://f.example/numpy-2.2.6-cp311.whl", kLockSum};

TEST_SUITE_BEGIN("envs/lock");

TEST_CASE("a lock is read as it was written") {
  const auto lock = lock_of({kNumpy, {"six", "1.0", "https://f.example/six.whl", kLockSum}});

  const auto read = parse_lock(to_text(lock), "env.lock");

  CHECK(read.artefacts == lock.artefacts);
  CHECK(to_text(read) == to_text(lock));
  CHECK(version_of(read) == version_of(lock));
  CHECK(version_of(read).size() == 12);
  CHECK(parse_lock(to_text(lock_of({})), "env.lock").artefacts.empty());
}

TEST_CASE("the size of a package, where its index tells it, stays in the lock") {
  Artefact large = kNumpy;
  large.bytes = 3'000'000'000;

  CHECK(parse_lock(to_text(lock_of({large})), "env.lock").artefacts == std::vector{large});
  CHECK(to_text(lock_of({kNumpy})).find("bytes") == std::string::npos);
}

TEST_CASE("what a channel says of a package stays in the lock") {
  const Artefact conda{"beta", "1.0", "https://c.example/linux-64/beta-1.0-0.conda", kLockSum,
                       "{\"build\":\"0\",\"depends\":[\"a >=1\"]}"};

  const auto read = parse_lock(to_text(lock_of({conda})), "env.lock");

  CHECK(read.artefacts == std::vector<Artefact>{conda});
  CHECK(read_conda_solution(write_conda_solution({conda})) == std::vector<Artefact>{conda});
  for (const std::string text : {"", "[{}]", "{\"a\":1}", "[1]"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { read_conda_solution(text); }).kind() == ErrorKind::remote);
  }
}

TEST_CASE("a lock that was changed by hand is refused, wherever it was changed") {
  const std::string text = to_text(lock_of({kNumpy}));
  for (const auto& [before, after] :
       std::vector<std::pair<std::string, std::string>>{{"2.2.6\"", "2.2.7\""},
                                                        {"numpy-2", "numpy-3"},
                                                        {"aaaa\n", "aaab\n"},
                                                        {"x86_64", "arm"}}) {
    CAPTURE(after);
    std::string changed = text;
    changed.replace(changed.find(before), before.size(), after);
    const Error e = failure_of([&] { parse_lock(changed, "env.lock"); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("was changed") != std::string::npos);
  }
  CHECK_THROWS_AS(parse_lock(text.substr(0, text.size() / 2), "env.lock"), Error);
}

TEST_CASE("locks and specs are told apart") {
  CHECK(is_lock(config::Document::parse(to_text(lock_of({})), "x")));
  CHECK_FALSE(is_lock(config::Document::parse("name: t\n", "x")));
  CHECK_FALSE(is_lock(config::Document::parse("", "x")));
}

TEST_CASE("differences name what came, went and changed") {
  const auto before = lock_of({kNumpy, {"old", "1", "u", kLockSum}, {"same", "1", "u", kLockSum}});
  auto after = lock_of({{"numpy", "2.3.0", "u", kLockSum},
                        {"new", "1", "u", kLockSum},
                        {"same", "1", "u", std::string(64, 'b')}});
  after.python_version = "3.12.1";

  CHECK(differences(before, before).empty());
  CHECK(differences(before, after) ==
        std::vector<std::string>{"~ python 3.11.2 -> 3.12.1", "+ new 1", "~ numpy 2.2.6 -> 2.3.0",
                                 "- old 1", "~ same 1 has other artefacts"});
}

TEST_CASE("locks without a difference have the same text") {
  const auto before = lock_of({kNumpy});
  const std::vector<std::pair<std::string, std::function<void(EnvironmentLock&)>>> changes = {
      {"libc", [](auto& lock) { lock.libc = "glibc 2.17"; }},
      {"interpreter", [](auto& lock) { lock.python = "/opt/python3"; }},
      {"name", [](auto& lock) { lock.spec.name = "other"; }},
      {"requested python", [](auto& lock) { lock.spec.python = "3.11"; }},
      {"python's archive",
       [](auto& lock) {
         lock.spec.python_archive = {"http://p.tar", kLockSum};
       }},
      {"requested packages", [](auto& lock) { lock.spec.packages = {"scipy"}; }},
      {"channels", [](auto& lock) { lock.spec.channels = {"bioconda"}; }},
      {"index", [](auto& lock) { lock.spec.index = {"http://index/"}; }},
      {"index_strategy", [](auto& lock) { lock.spec.index_strategy = IndexStrategy::best_match; }},
      {"index_for",
       [](auto& lock) {
         lock.spec.index_for = {{"torch", "http://index/"}};
       }},
      {"sources", [](auto& lock) { lock.spec.sources = {"numpy"}; }},
      {"build tool setuptools",
       [](auto& lock) {
         lock.build_tools = {{"setuptools", "80", "u", kLockSum}};
       }},
      {"mpi", [](auto& lock) { lock.spec.mpi = Mpi::system; }},
      {"from", [](auto& lock) { lock.spec.from = "tr2.8.0_cpu_py311"; }},
      {"apt", [](auto& lock) { lock.spec.needs.apt = {"libaio1"}; }},
      {"driver", [](auto& lock) { lock.spec.needs.driver = "580"; }},
      {"cuda", [](auto& lock) { lock.spec.needs.cuda = "13.0"; }},
      {"variables",
       [](auto& lock) {
         lock.spec.variables = {{"A", "b"}};
       }},
      {"post_install", [](auto& lock) { lock.spec.post_install = {{"true"}}; }},
      {"numpy 2.2.6 comes from", [](auto& lock) { lock.artefacts[0].url = "http://mirror/"; }},
  };
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    auto after = before;
    change(after);
    const auto found = differences(before, after);
    REQUIRE(found.size() == 1);
    CHECK(found[0].substr(2).starts_with(what));
    CHECK(to_text(before) != to_text(after));
  }
}

TEST_CASE("what uv says of packages is read") {
  const std::string text =
      "lock-version = \"1.0\"\ncreated-by = \"uv\"\n\n[[packages]]\nname = \"a\"\nversion = "
      "\"1.0\"\n"
      "index = \"http://i/simple/\"\n"
      "sdist = { url = \"http://i/a.tar.gz\", hashes = { sha256 = \"" +
      std::string(64, 'c') +
      "\" } }\n"
      "wheels = [{ url = \"http://i/a.whl\", upload-time = 2026-03-19T14:22:23Z, size = 3, hashes "
      "= { "
      "sha256 = \"" +
      kLockSum +
      "\" } }]\n\n[[packages]]\nname = \"b\"\nversion = \"2\"\nwheels = [\n"
      "    { url = \"http://i/b1.whl\", hashes = { sha256 = \"" +
      kLockSum +
      "\" } },\n"
      "    { url = \"http://i/b2.whl\", hashes = { sha256 = \"" +
      kLockSum + "\" } },\n]\n";

  const auto artefacts = read_pylock(text);

  REQUIRE(artefacts.size() == 3);
  CHECK(artefacts[0] == Artefact{"a", "1.0", "http://i/a.whl", kLockSum, "", 3});
  CHECK(artefacts[2].url == "http://i/b2.whl");
  CHECK(read_pylock(write_pylock(artefacts)) == artefacts);
  CHECK(write_pylock({}).find("packages = []\n") != std::string::npos);
}

TEST_CASE("a source is taken of a package that has no wheel, where that is named") {
  const std::string text =
      "[[packages]]\nname = \"old\"\nversion = \"1\"\nsdist = { url = \"http://i/old-1.tar.gz\", "
      "size = 3, hashes = { sha256 = \"" +
      kLockSum + "\" } }\n";

  const auto artefacts = read_pylock(text, {"old"});

  REQUIRE(artefacts.size() == 1);
  CHECK(artefacts[0].is_source);
  CHECK(artefacts[0].bytes == 3);
  CHECK(read_pylock(write_pylock(artefacts), {"old"}) == artefacts);
  const Error e = failure_of([&] { read_pylock(text, {"older"}); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK_MESSAGE(std::string(e.what()).find("sources: [old]") != std::string::npos, e.what());
}

TEST_CASE("what is built with other tools is another artefact") {
  Artefact source{"old", "1", "http://i/old-1.tar.gz", kLockSum};
  source.is_source = true;
  const Artefact tool{"setuptools", "80", "u", std::string(64, 'b')};

  CHECK(write_pylock({source}, {tool}).find(tool.sha256) != std::string::npos);
  CHECK(write_pylock({kNumpy}, {tool}) == write_pylock({kNumpy}));
}

TEST_CASE(
    "a lock with sources is read as it was written, and not where nothing builds or names them") {
  auto lock = lock_of({kNumpy, {"old", "1", "http://i/old-1.tar.gz", kLockSum}});
  lock.artefacts[1].is_source = true;
  lock.spec.sources = {"old"};
  lock.build_tools = {{"setuptools", "80", "u", kLockSum}};

  const auto again = parse_lock(to_text(lock), "env.lock");
  CHECK(again.artefacts == lock.artefacts);
  CHECK(again.build_tools == lock.build_tools);
  CHECK(sources_in(again).size() == 1);

  auto unnamed = lock;
  unnamed.spec.sources.clear();
  const Error e = failure_of([&] { parse_lock(to_text(unnamed), "env.lock"); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK_MESSAGE(std::string(e.what()).find("but is not in 'sources'") != std::string::npos,
                e.what());
  auto without_tools = lock;
  without_tools.build_tools.clear();
  CHECK(failure_of([&] { parse_lock(to_text(without_tools), "env.lock"); }).kind() ==
        ErrorKind::usage);
}

TEST_CASE("a size that no file has is not believed, for a lock with it could not be read") {
  for (const std::string size :
       {"18446744073709551615", "1125899906842625", "99999999999999999999"}) {
    CAPTURE(size);
    const auto artefacts = read_pylock(
        "[[packages]]\nname = \"a\"\nversion = \"1\"\nwheels = [{ url = \"http://i/a.whl\", size "
        "= " +
        size + ", hashes = { sha256 = \"" + kLockSum + "\" } }]\n");
    CHECK(artefacts.at(0).bytes == 0);
    CHECK(parse_lock(to_text(lock_of(artefacts)), "env.lock").artefacts == artefacts);
  }
}

TEST_CASE("an answer of uv with a text over several lines, or with escapes, is refused") {
  for (const char* url : {"https://i/a\n.whl", "https://i/\\u0041.whl"}) {
    const std::string text = "[[packages]]\nname = \"a\"\nversion = \"1\"\nwheels = [{ url = \"" +
                             std::string(url) + "\", hashes = { sha256 = \"" +
                             std::string(64, 'a') + "\" } }]\n";
    const Error error = test::failure_of([&] { read_pylock(text); });
    CHECK(error.kind() == ErrorKind::remote);
    CHECK(test::mentions(error, "the answer of uv has 'https://i/"));
  }
}

TEST_CASE("a package without a wheel is refused by name") {
  const Error e = failure_of([] {
    read_pylock("[[packages]]\nname = \"old\"\nversion = \"1\"\nsdist = { url = \"u\" }\n");
  });
  CHECK(std::string(e.what()).find("old 1") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
