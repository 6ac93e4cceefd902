#include "envs/environments/archive.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <utility>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/manifest_line.hpp"
#include "envs/environments/activate.hpp"
#include "envs/environments/archive_stream.hpp"
#include "support/failure.hpp"
#include "support/noise.hpp"
#include "support/sshd_fixture.hpp"
#include "support/tar_archive.hpp"
#include "support/temp_directory.hpp"
#include "transfer/sha256.hpp"
#include "transfer/tree_receiver.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using test::mentions;
using test::tar_entry;
using transfer::sha256_hex;

const Cancel kNever;

EnvironmentLock lock_of_train() {
  EnvironmentLock lock{.spec = {},
                       .builder = "uv 0.13.9",
                       .fastgpu = "0.1.0",
                       .machine = "x86_64",
                       .libc = "glibc 2.36",
                       .python = "/usr/bin/python3.11",
                       .python_version = "3.11.2",
                       .artefacts = {}};
  lock.spec.name = "train";
  return lock;
}

/// A build as tar has it, entry by entry, with its manifest.
class Packed {
 public:
  explicit Packed(const std::string& prefix = "/p") {
    const std::string lock = to_text(lock_of_train());
    version = sha256_hex(lock).substr(0, 12);
    tar = tar_entry(version + "/", '5', {}, {}, 0755);
    directory("bin");
    directory(".fastgpu");
    file(".fastgpu/env.lock", lock);
    file(".fastgpu/run", run_script(fs::path(prefix) / "train" / version), 0755);
    link("bin/python", "/usr/bin/python3.11");
  }

  void directory(const std::string& path) {
    put(path, '5', {}, {}, 0755);
    name({.kind = 'd', .mode = 0755, .path = path}, "-");
  }
  void file(const std::string& path, const std::string& content, unsigned mode = 0644) {
    put(path, '0', content, {}, mode);
    name({.mode = mode, .size = content.size(), .path = path}, sha256_hex(content));
  }
  void link(const std::string& path, const std::string& target) {
    put(path, '2', {}, target, 0777);
    name({.kind = 'l', .path = path}, sha256_hex(target));
  }
  void hard_link(const std::string& path, const std::string& target, const std::string& content) {
    put(path, '1', {}, version + "/" + target, 0644);
    name({.mode = 0644, .size = content.size(), .path = path}, sha256_hex(content));
  }
  /// Into the archive alone, or the manifest alone.
  void put(const std::string& path, char type, std::string_view content = {},
           std::string_view target = {}, unsigned mode = 0644) {
    tar += tar_entry(version + "/" + path, type, content, target, mode);
  }
  void name(const agent::ManifestEntry& entry, const std::string& sum) {
    manifest.add("entry", line_of(entry, sum));
  }

  std::string with_manifest() const {
    return tar + tar_entry(version + "/.fastgpu/manifest", '0', manifest.text()) + test::tar_end();
  }

  std::string version;
  std::string tar;
  agent::Records manifest;
};

struct Folder {
  fs::path write(const std::string& packed) const {
    fs::path file = directory.path() / "train.tar.zst";
    std::ofstream(file, std::ios::binary) << packed;
    return file;
  }
  EnvironmentArchive check(const std::string& tar) const {
    return check_archive(write(test::zstd_frame(tar)), kNever);
  }
  EnvironmentArchive check(const Packed& build) const { return check(build.with_manifest()); }
  Error refusal(const std::string& tar) const {
    Error why = failure_of([&] { check(tar); });
    CHECK(why.kind() == ErrorKind::usage);
    CHECK(mentions(why, "train.tar.zst: "));
    return why;
  }
  Error refusal(const Packed& build) const { return refusal(build.with_manifest()); }

  test::TempDirectory directory;
};

TEST_SUITE_BEGIN("envs/archive");

TEST_CASE("an archive tells what is in it and where it is to lie") {
  const Folder folder;
  for (const std::string prefix : {"/p", "/home/a b/envs"}) {
    Packed build(prefix);
    build.file("bin/tool", "content");
    const auto archive = folder.check(build);
    CHECK(archive.prefix == prefix);
    CHECK(archive.version == build.version);
    CHECK(archive.lock.spec.name == "train");
    CHECK(archive.manifest == sha256_hex(build.manifest.text()));
    CHECK(archive.left_out.empty());
    CHECK(archive.size.count > 7);
    check_prefix(archive, prefix);
    CHECK(mentions(failure_of([&] { check_prefix(archive, "/q"); }),
                   "environments are in /q on the nodes: unpack it with --prefix "));
  }
}

TEST_CASE("what Python has kept since is no part of it, and what else came since is refused") {
  const Folder folder;
  Packed build;
  build.put("bin/__pycache__", '5', {}, {}, 0755);
  build.put("bin/__pycache__/a.pyc", '0', "bytecode");
  CHECK(folder.check(build).left_out.size() == 2);
  build.put("bin/more", '0', "more");
  CHECK(mentions(folder.refusal(build), "bin/more is not in its manifest"));
}

TEST_CASE("what is not as the manifest says is refused") {
  const Folder folder;
  const auto refusal = [&](const std::function<void(Packed&)>& spoil) {
    Packed build;
    spoil(build);
    return folder.refusal(build);
  };
  CHECK(mentions(refusal([](Packed& build) {
                   build.name({.mode = 0644, .size = 1, .path = "lost"}, sha256_hex("x"));
                 }),
                 "lost is in its manifest but missing"));
  const std::string sum = sha256_hex("content");
  for (const std::string content : {"CONTENT", "content and more", ""})
    CHECK(mentions(refusal([&](Packed& build) {
                     build.put("bin/a", '0', content);
                     build.name({.mode = 0644, .size = 7, .path = "bin/a"}, sum);
                   }),
                   "bin/a differs from its manifest"));
  CHECK(mentions(refusal([&](Packed& build) {
                   build.put("bin/a", '0', "content", {}, 0755);
                   build.name({.mode = 0644, .size = 7, .path = "bin/a"}, sum);
                 }),
                 "bin/a differs from its manifest"));
  CHECK(mentions(refusal([&](Packed& build) {
                   build.put("bin/a", '2', {}, "content");
                   build.name({.mode = 0644, .size = 7, .path = "bin/a"}, sum);
                 }),
                 "bin/a differs from its manifest"));
  CHECK(mentions(refusal([](Packed& build) { build.manifest.add("entry", "nonsense"); }),
                 "not a line of a manifest"));
}

TEST_CASE("paths that lead elsewhere, and what no environment has, are refused") {
  const Folder folder;
  const auto with = [](const std::string& entry) {
    const Packed build;
    return build.tar + entry + test::tar_end();
  };
  const std::string top = Packed().version + "/";
  for (const std::string path : {"../x", "/etc/x", "a/../../x", "./x", "a//x"})
    CHECK(mentions(folder.refusal(with(tar_entry(path, '0', "x"))), "leads out of it"));
  CHECK(mentions(folder.refusal(with(tar_entry(top + "../../x", '0', "x"))), "leads out of it"));
  CHECK(mentions(folder.refusal(with(tar_entry("other/", '5'))), "the folder of one build"));
  CHECK(mentions(folder.refusal(tar_entry("x", '0') + test::tar_end()), "folder of one build"));
  CHECK(
      mentions(folder.refusal(with(tar_entry(Packed().version, '2', {}, "/"))), "is not a folder"));
  CHECK(mentions(folder.refusal(with(tar_entry(top + "bin/python", '0', "x"))), "occurs twice"));
  CHECK(mentions(folder.refusal(with(tar_entry(top + "bin/python/x", '0', "x"))),
                 "before its folder"));
  CHECK(mentions(folder.refusal(with(tar_entry(top + "new/x", '0', "x"))), "before its folder"));
  for (const char type : {'3', '4', '6', 'S'})
    CHECK(mentions(folder.refusal(with(tar_entry(top + "bin/device", type))),
                   "is not a file, folder or link"));
  for (const std::string target : {"/etc/shadow", "bin/none", "bin", "bin/python"})
    CHECK(mentions(folder.refusal(with(tar_entry(top + "h", '1', {}, top + target))),
                   "links to a file that is not in it"));
}

TEST_CASE("links lead nowhere else, but to the nodes' Python") {
  const fs::path build = "/p/train/v";
  struct Row {
    const char* path;
    const char* target;
    bool stays;
  };
  for (const Row& row : std::vector<Row>{{"bin/python3", "python", true},
                                         {"lib64", "lib", true},
                                         {"lib/a/l", "../../bin/x", true},
                                         {"lib/l", "/p/train/v/lib/x", true},
                                         {"lib/l", "/p/train/current/lib", true},
                                         {"lib/l", "", false},
                                         {"lib/l", "../..", false},
                                         {"l", "..", false},
                                         {"lib/l", "a/../../../x", false},
                                         {"lib/l", "/etc/passwd", false},
                                         {"lib/l", "/p/train/../../etc", false},
                                         {"lib/l", "/p/training/x", false},
                                         {"lib/l", "/p/train", false},
                                         {"bin/python", "/usr/bin/python3", false}})
    CHECK_MESSAGE(stays_inside(build, row.path, row.target) == row.stays,
                  std::string(row.path) << " -> " << row.target);

  const Folder folder;
  Packed packed;
  packed.link("bin/sh", "/bin/sh");
  CHECK(mentions(folder.refusal(packed), "the link bin/sh leads out of it, to /bin/sh"));
}

TEST_CASE("what is no environment, or of another one, is refused") {
  const Folder folder;
  const Packed build;
  CHECK(mentions(folder.refusal(build.tar + test::tar_end()), "it has no .fastgpu/manifest"));
  CHECK(mentions(folder.refusal(test::tar_end()), "it has no .fastgpu/manifest"));
  std::string other = build.with_manifest();
  Packed renamed;
  renamed.tar = tar_entry("0123456789ab/", '5');
  renamed.version = "0123456789ab";
  renamed.manifest = {};
  renamed.directory(".fastgpu");
  renamed.file(".fastgpu/env.lock", to_text(lock_of_train()));
  renamed.file(".fastgpu/run", run_script("/p/train/0123456789ab"));
  CHECK(mentions(folder.refusal(renamed), "its lock is that of " + build.version));
  CHECK(failure_of([&] { check_archive(folder.directory.path() / "none", kNever); }).kind() ==
        ErrorKind::not_found);
}

TEST_CASE("what is cut off or changed anywhere is refused") {
  const Folder folder;
  Packed build;
  build.file("bin/a", test::noise(50'000));
  const std::string packed = test::zstd_frame(build.with_manifest());
  for (std::size_t size = 0; size < packed.size(); size += packed.size() / 20)
    CHECK(failure_of([&] { check_archive(folder.write(packed.substr(0, size)), kNever); }).kind() ==
          ErrorKind::usage);
  for (std::size_t at = 10; at < packed.size(); at += packed.size() / 20) {
    std::string changed = packed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK(failure_of([&] { check_archive(folder.write(changed), kNever); }).kind() ==
          ErrorKind::usage);
  }
}

TEST_CASE("what unpacks to a hundred times its size is given up on the way") {
  const Folder folder;
  Packed build;
  std::string bomb = test::zstd_frame(build.tar + tar_entry(build.version + "/bin/a", '0'));
  const std::string zeros = test::zstd_frame(std::string(64UL << 20, '\0'));
  for (int i = 0; i < 40; ++i)
    bomb += zeros;
  const auto why = failure_of([&] { check_archive(folder.write(bomb), kNever); });
  CHECK((mentions(why, "unpacks to more than 268 MB") || mentions(why, "it has no")));
}

TEST_CASE("the stream of an archive is the build, with every file that has two names") {
  const Folder folder;
  Packed build;
  const std::string large = test::noise(1'000'000);
  build.file("bin/a", large);
  build.file("bin/empty", "");
  build.hard_link("bin/again", "bin/a", large);
  build.hard_link("bin/more", "bin/a", large);
  build.link("bin/python3", "python");
  build.put("bin/__pycache__", '5', {}, {}, 0755);
  build.put("bin/__pycache__/a.pyc", '0', "bytecode");
  const auto archive = folder.check(build);
  fs::create_directory(folder.directory.path() / "scratch");
  ArchiveStream stream(archive, folder.directory.path() / "scratch", kNever);
  const fs::path to = folder.directory.path() / "received";
  transfer::TreeReceiver receiver(to, transfer::SourceCount::one);
  while (const auto piece = stream.next())
    receiver.feed(*piece);
  receiver.finish();
  for (const char* name : {"bin/a", "bin/again", "bin/more"})
    CHECK((test::read_file(to / name) == large));
  CHECK(fs::file_size(to / "bin/empty") == 0);
  CHECK(fs::read_symlink(to / "bin/python3") == "python");
  CHECK(sha256_hex(test::read_file(to / ".fastgpu/manifest")) == archive.manifest);
  CHECK((fs::status(to / ".fastgpu/run").permissions() & fs::perms::owner_exec) ==
        fs::perms::owner_exec);
  CHECK(!fs::exists(to / "bin/__pycache__"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
