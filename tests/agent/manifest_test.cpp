// What is believed of a build without reading it, and what is not.
#include "agent/environments/manifest.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "agent/environments/checked.hpp"
#include "agent/environments/sum_lines.hpp"
#include "support/agent_process.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using test::write_file;

TEST_SUITE_BEGIN("agent/manifest");

transfer::Digest sum_of(std::string_view text) {
  transfer::Sha256 sum;
  sum.add(text);
  return sum.finish();
}

/// A complete build with one file.
struct Build {
  Build() {
    write_file(file(), "content");
    fs::create_directories(details_of(version()));
    set_build_time(file());
    manifest = write_manifest(version(), {});
  }

  fs::path version() const { return directory.path() / "train/0123"; }
  fs::path file() const { return version() / "lib/a.py"; }

  std::optional<transfer::Digest> sum() const {
    return Manifest(version()).sums_if_intact(std::vector<std::string>{"lib/a.py"})[0];
  }

  test::TempDirectory directory;
  std::string manifest;
};

/// Other content of the same size, without a trace.
void damage_silently(const fs::path& file) {
  write_file(file, "CONTENT");
  set_build_time(file);
}

TEST_CASE("a file that looks untouched is not read once all of its build was") {
  const Build build;
  CHECK(build.sum() == sum_of("content"));
  damage_silently(build.file());
  CHECK(!build.sum());
  note_checked(build.version(), build.manifest);
  CHECK(build.sum() == sum_of("content"));
  CHECK(verify_manifest(build.version()).damaged.size() == 1);  // Whoever asks for it is told.
}

TEST_CASE("a file that was written into, replaced or given another mode is read") {
  const Build build;
  note_checked(build.version(), build.manifest);
  write_file(build.file(), "CONTENT");
  CHECK(!build.sum());
  write_file(build.file(), "content");
  CHECK(build.sum() == sum_of("content"));
  damage_silently(build.file());
  CHECK(build.sum() == sum_of("content"));
  fs::permissions(build.file(), fs::perms::owner_exec, fs::perm_options::add);
  CHECK(!build.sum());
}

TEST_CASE("what was checked holds for that manifest alone, until the next boot") {
  const Build build;
  CHECK(!was_checked(build.version(), build.manifest));
  note_checked(build.version(), build.manifest);
  CHECK(was_checked(build.version(), build.manifest));
  CHECK(!was_checked(build.version(), "another"));
  CHECK(!was_checked(build.version(), ""));
  const fs::path note = build.version().parent_path() / ".0123.checked";
  const std::string text = test::read_text(note);
  write_file(note, "00000000-0000-0000-0000-000000000000" + text.substr(text.find('\n')));
  CHECK(!was_checked(build.version(), build.manifest));
  note_checked(build.version(), build.manifest);
  forget_checked(build.version());
  CHECK(!was_checked(build.version(), build.manifest));
  CHECK(!fs::exists(note));
}

TEST_CASE("a manifest takes the sums that are known, and reads the other files") {
  const Build build;
  write_file(build.version() / "lib/b.py", "b");
  CHECK(write_manifest(build.version(), {{"lib/a.py", sum_of("content")}}) ==
        write_manifest(build.version(), {}));
  CHECK(write_manifest(build.version(), {{"lib/a.py", sum_of("other")}}) !=
        write_manifest(build.version(), {}));
}

TEST_CASE("what a relay has sent is known by its sums, whatever else it says") {
  const std::string lines = to_sum_line("lib/a b.py", sum_of("content")) +
                            "0 0 17\nsum 12 short\n" + to_sum_line("lib/b.py", sum_of("b")) +
                            "sum cut of";
  const KnownSums sums = parse_sum_lines(lines);
  CHECK(sums.size() == 2);
  CHECK(sums.at("lib/a b.py") == sum_of("content"));
  CHECK(sums.at("lib/b.py") == sum_of("b"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
