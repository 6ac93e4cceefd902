#include "envs/environments/python_archive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "envs/environments/lock.hpp"
#include "envs/matrix/matrix.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

const std::string kArchiveSum(64, 'a');

std::vector<KnownPython> table() {
  return parse_pythons(
      "base: https://p.example\narchives:\n"
      "  - {version: 3.9.2, machine: x86_64, file: nine.tar.gz, sha256: " +
          kArchiveSum + "}\n" +
          "  - {version: 3.10.9, machine: x86_64, file: ten.tar.gz, sha256: " + kArchiveSum +
          "}\n" + "  - {version: 3.10.12, machine: x86_64, file: newer.tar.gz, sha256: " +
          kArchiveSum + "}\n" +
          "  - {version: 3.10.9, machine: aarch64, file: arm.tar.gz, sha256: " + kArchiveSum +
          "}\n",
      "pythons.yaml");
}

/// The address of what is chosen; empty where it is the node's own.
std::string chosen(const std::string& wanted, const std::string& found,
                   const std::string& machine = "x86_64") {
  EnvironmentSpec spec;
  spec.python = wanted;
  const auto archive = choose_python(spec, found, machine, table());
  return archive ? archive->url : "";
}

TEST_SUITE_BEGIN("envs/python archive");

TEST_CASE("the node's own Python is taken where it fits, else the newest known archive that does") {
  struct Row {
    const char* wanted;
    const char* found;
    const char* machine;
    const char* url;
  };
  for (const Row& row : {Row{"3.10", "3.10.4", "x86_64", ""},
                         Row{"3.10", "", "x86_64", "https://p.example/newer.tar.gz"},
                         Row{"3.10.9", "", "x86_64", "https://p.example/ten.tar.gz"},
                         Row{"3.10", "", "aarch64", "https://p.example/arm.tar.gz"},
                         Row{"3", "", "x86_64", "https://p.example/newer.tar.gz"},
                         Row{"/opt/python3", "", "x86_64", ""}}) {
    CAPTURE(row.wanted);
    CHECK(chosen(row.wanted, row.found, row.machine) == row.url);
  }
}

TEST_CASE("an archive that the spec names wins, and where it names a path nothing is looked for") {
  EnvironmentSpec named;
  named.python.clear();
  named.python_archive = PythonArchive{.url = "https://own.example/p.tar", .sha256 = kArchiveSum};
  CHECK(choose_python(named, "", "x86_64", table())->url == "https://own.example/p.tar");
  CHECK_FALSE(needed_python(named));
  EnvironmentSpec path;
  path.python = "/opt/python3";
  CHECK_FALSE(needed_python(path));
}

/// An environment of conda packages, whose own Python is one of them.
EnvironmentSpec conda_with(const std::string& python) {
  EnvironmentSpec spec;
  spec.builder = Builder::conda;
  spec.python = python;
  return spec;
}

TEST_CASE(
    "py-rattler is run by the node's Python, else by the newest known one that is new enough") {
  for (const char* const wanted : {"", "3.6", "3.9", "3.10"}) {
    CAPTURE(wanted);
    const EnvironmentSpec conda = conda_with(wanted);
    const auto needed = needed_python(conda);
    REQUIRE(needed);
    CHECK(needed->use == PythonUse::builder);
    CHECK(to_string(*needed) == "Python 3.10 or newer");
    CHECK_FALSE(choose_python(conda, "3.13.1", "x86_64", table()));
    CHECK(choose_python(conda, "", "x86_64", table())->url == "https://p.example/newer.tar.gz");
    CHECK(choose_python(conda, "", "aarch64", table())->url == "https://p.example/arm.tar.gz");
  }
  const auto known = builtin_pythons();
  for (const char* const machine : {"x86_64", "aarch64"}) {
    const auto chosen = choose_python(conda_with(""), "", machine, known);
    CHECK(chosen->url.find("/cpython-3.14.") != std::string::npos);
  }
}

TEST_CASE("without a Python for py-rattler and without an archive of one it is said what works") {
  auto old = table();
  std::erase_if(old, [](const KnownPython& one) { return one.version != "3.9.2"; });
  const Error error = failure_of([&] { choose_python(conda_with("3.9"), "", "x86_64", old); });
  CHECK(error.kind() == ErrorKind::not_found);
  const std::string what = error.what();
  CHECK(what.find("no Python 3.10 or newer on this node") != std::string::npos);
  CHECK(what.find("(available: 3.9.2)") != std::string::npos);
  CHECK(what.find("--python-table") != std::string::npos);
  CHECK(what.find("--builder conda") == std::string::npos);
  const Error other =
      failure_of([] { choose_python(conda_with(""), "", "riscv64", builtin_pythons()); });
  CHECK(other.kind() == ErrorKind::not_found);
  CHECK(std::string(other.what()).find("none for riscv64") != std::string::npos);
}

TEST_CASE("a version without node or archive is refused with what works") {
  const Error error = failure_of([] { chosen("3.6", ""); });
  CHECK(error.kind() == ErrorKind::not_found);
  const std::string what = error.what();
  CHECK(what.find("no Python 3.6 on this node") != std::string::npos);
  CHECK(what.find("3.9.2, 3.10.9, 3.10.12)") != std::string::npos);
  CHECK(what.find("--builder conda") != std::string::npos);
  CHECK(failure_of([] { chosen("3.1", ""); }).kind() == ErrorKind::not_found);
  const Error other = failure_of([] { chosen("3.9", "", "riscv64"); });
  CHECK(std::string(other.what()).find("none for riscv64") != std::string::npos);
}

TEST_CASE("the built-in table has what the matrix says of it, for both processors") {
  const auto known = builtin_pythons();
  std::set<std::string> sums;
  for (const KnownPython& one : known) {
    CHECK(one.archive.sha256.size() == 64);
    CHECK(one.archive.url.find("/cpython-" + one.version + "%2B") != std::string::npos);
    CHECK(one.archive.url.find(one.machine + "-unknown-linux-gnu") != std::string::npos);
    sums.insert(one.archive.sha256);
  }
  CHECK(sums.size() == known.size());
  for (const PythonRelease& python : builtin_matrix().pythons)
    for (const char* machine : {"x86_64", "aarch64"}) {
      CAPTURE(python.version);
      CHECK(std::ranges::any_of(known, [&](const KnownPython& one) {
              return one.machine == machine && covers(python.version, one.version);
            }) == python.uv);
    }
}

TEST_CASE("a mirror stands for what known addresses begin with, and for no other") {
  const std::string known = builtin_pythons().front().archive.url;
  const std::string mirrored = at_mirror(known, "http://m.example/pythons/");
  CHECK(mirrored.starts_with("http://m.example/pythons/2"));
  CHECK(known.ends_with(mirrored.substr(std::string("http://m.example/pythons").size())));
  CHECK(at_mirror(known, "") == known);
  CHECK(at_mirror("https://own.example/p.tar", "http://m.example") == "https://own.example/p.tar");
}

TEST_CASE("a lock keeps the archive of a Python that the node lacked") {
  EnvironmentLock lock{};
  lock.spec.name = "train";
  const std::string without = to_text(lock);
  lock.python_archive =
      PythonArchive{.url = "https://p.example/newer.tar.gz", .sha256 = kArchiveSum};

  const EnvironmentLock read = parse_lock(to_text(lock), "env.lock");

  CHECK(archive_of(read)->url == "https://p.example/newer.tar.gz");
  CHECK(archive_of(read)->sha256 == kArchiveSum);
  CHECK(to_text(read) == to_text(lock));
  CHECK(
      differences(parse_lock(without, "before"), read) ==
      std::vector<std::string>{"+ python's archive https://p.example/newer.tar.gz " + kArchiveSum});
  CHECK_FALSE(archive_of(parse_lock(without, "before")));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
