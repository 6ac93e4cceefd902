#include "provision/storage.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;
using test::mentions;

TEST_CASE("a data disk is its size, and its type where one is said") {
  CHECK(parse_data_disk("500") == DataDisk{500, ""});
  CHECK(parse_data_disk("10TB") == DataDisk{9314, ""});
  CHECK(parse_data_disk("500GiB:gp3") == DataDisk{500, "gp3"});
  CHECK(parse_data_disk("500:gp3") == DataDisk{500, "gp3"});
  CHECK(to_text(parse_data_disk("40:CLOUD_BSSD")) == "40:CLOUD_BSSD");
  CHECK(to_text(DataDisk{}).empty());
  for (const char* text :
       {"", "0", "-1", "70000", "500:", "500:-x", "500:a b", "500:gp3:x", "99999999999999999999",
        "500:\n", "1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_data_disk(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a mount is an address, its export and a path, /fastgpu where none is said") {
  CHECK(parse_mount("10.0.0.4:/models") == Mount{"10.0.0.4:/models", "/fastgpu"});
  CHECK(parse_mount("fs-1.efs.us-east-1.amazonaws.com:/=/mnt/efs") ==
        Mount{"fs-1.efs.us-east-1.amazonaws.com:/", "/mnt/efs"});
  CHECK(parse_mount("nas:/a/b//=/models///") == Mount{"nas:/a/b", "/models"});
  CHECK(to_text(parse_mount("nas:/a=/b/c")) == "nas:/a=/b/c");
}

TEST_CASE("nothing of a mount can pass for an option, a further word, or another place") {
  for (const char* text : {"",
                           "nas",
                           "nas:",
                           "nas:a",
                           ":/a",
                           "-o:/a",
                           "nas:/a b",
                           "nas:/a,rw",
                           "nas:/a\t/etc",
                           "nas:/a\n",
                           "nas:/a/../b",
                           "nas:/a/./b",
                           "nas:/-a",
                           "nas:/a=",
                           "nas:/a=b",
                           "nas:/a=/b c",
                           "nas:/a=/b/../etc",
                           "nas:/a=/$HOME",
                           "nas:/a=/b;x",
                           "nas:/a=/b=/c",
                           "n\"s:/a",
                           "nas:/a=/b\\040c",
                           "[::1]:/a",
                           "nas:/a=/\x1b[2J"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { parse_mount(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK_FALSE(mentions(e, "\x1b"));
  }
}

TEST_CASE("a mount hides nothing that a node lives of") {
  for (const char* path : {"/", "/root", "/home", "/tmp", "/mnt", "/etc", "/etc/x",
                           "/usr/local/models", "/var/lib/x", "/proc/1", "/dev/x", "/bin"}) {
    CAPTURE(path);
    CHECK(
        mentions(failure_of([&] { parse_mount(std::string("nas:/a=") + path); }), "system's own"));
  }
  for (const char* path : {"/fastgpu", "/mnt/a", "/home/me/models", "/opt/models", "/etcetera"}) {
    CAPTURE(path);
    CHECK(parse_mount(std::string("nas:/a=") + path).path == path);
  }
}

TEST_CASE("no two things of a node are at one path, or one below another") {
  const auto check = [](bool has_data_disk, std::vector<Mount> mounts) {
    check_storage({.has_data_disk = has_data_disk, .mounts = std::move(mounts)});
  };
  CHECK_NOTHROW(check(true, {{"a:/", "/fastgpu"}, {"b:/", "/fastgpu2"}, {"c:/", "/data2"}}));
  CHECK_NOTHROW(check(false, {{"a:/", "/data"}}));
  CHECK(mentions(failure_of([&] {
                   check(true, {{"a:/", "/data/x"}});
                 }),
                 "the data disk is at /data"));
  CHECK(mentions(failure_of([&] {
                   check(false, {{"a:/", "/x/y"}, {"b:/", "/x"}});
                 }),
                 "b:/ is at /x"));
  CHECK(mentions(failure_of([&] { check(false, {{"a:/", "/x"}, {"b:/", "/x"}}); }), "at /x"));
  const std::vector<Mount> many(17, {"a:/", "/x"});
  CHECK(mentions(failure_of([&] { check(false, many); }), "17"));
}

TEST_CASE("a line of fstab holds no boot up, and is known as ours") {
  CHECK(fstab_line({"nas:/a", "/b"}, "vers=3,nolock") ==
        "nas:/a /b nfs vers=3,nolock,_netdev,nofail,x-fastgpu 0 0");
}

}  // namespace
}  // namespace fastgpu::provision
