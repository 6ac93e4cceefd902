// What is read before packages of an earlier build are taken: solutions, and records of wheels.
#include <doctest/doctest.h>

#include "agent/environments/pylock.hpp"
#include "agent/environments/wheel_record.hpp"

using namespace fastgpu;
using namespace fastgpu::agent;

namespace {

const std::string kHead = "lock-version = \"1.0\"\ncreated-by = \"fastgpu\"\n\n";
const std::string kAlpha =
    "[[packages]]\nname = \"alpha\"\nversion = \"1\"\nwheels = [\n"
    "    { url = \"http://i/z.whl\", size = 5, hashes = { sha256 = \"bb\" } },\n"
    "    { url = \"http://i/a.whl\", hashes = { sha256 = \"aa\" } },\n]\n\n";
const std::string kBeta =
    "[[packages]]\nname = \"beta\"\nversion = \"2\"\nwheels = [\n"
    "    { url = \"http://i/b.whl\", hashes = { sha256 = \"cc\" } },\n]\n";

}  // namespace

TEST_CASE("a solution is taken apart by package, its sums in order") {
  const auto packages = packages_in(kHead + kAlpha + kBeta);
  REQUIRE(packages.size() == 3);
  CHECK(packages[0].name.empty());
  CHECK(packages[1].name == "alpha");
  CHECK(packages[1].sums == std::vector<std::string>{"aa", "bb"});
  CHECK(packages[2].name == "beta");
  CHECK(packages[0].text + packages[1].text + packages[2].text == kHead + kAlpha + kBeta);
  CHECK(packages_in("").empty());
  CHECK(packages_in("[[packages]]\nname = \"cut of").front().name == "cut of");
}

TEST_CASE("a solution without some packages has the others, or is none") {
  CHECK(without_packages(kHead + kAlpha + kBeta, {"alpha", "other"}) == kHead + kBeta);
  CHECK(without_packages(kHead + kAlpha + kBeta, {}) == kHead + kAlpha + kBeta);
  CHECK(without_packages(kHead + kAlpha, {"alpha"}).empty());
}

TEST_CASE("a wheel's RECORD is read and written") {
  const std::string text =
      "pkg/a.py,sha256=abc,12\n../../../bin/tool,sha256=def,3\npkg-1.dist-info/RECORD,,\n";
  const auto files = parse_wheel_record(text);
  REQUIRE(files.has_value());
  REQUIRE(files->size() == 3);
  CHECK(files->at(1).path == "../../../bin/tool");
  CHECK(files->at(1).hash == "sha256=def");
  CHECK(files->at(1).size == "3");
  CHECK(files->at(2).hash.empty());
  CHECK(to_text(*files) == text);
  CHECK(parse_wheel_record("pkg/a.py,sha256=abc,12\r\n")->front().size == "12");
  CHECK(parse_wheel_record("")->empty());
  for (const char* wrong : {"\"a,b.py\",sha256=abc,12\n", "a.py\n", "a.py,sha256=abc\n",
                            "a.py,sha256=abc,12,more\n", "\n"})
    CHECK_MESSAGE(!parse_wheel_record(wrong), wrong);
}

TEST_CASE("a sum is written as RECORD has it") {    // RFC 4648, section 5, without padding.
  CHECK(wheel_hash(transfer::Sha256().finish()) ==  // The sum of nothing.
        "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
  transfer::Digest all_ones{};
  all_ones.fill(0xff);
  CHECK(wheel_hash(all_ones) == "sha256=" + std::string(42, '_') + "8");
  transfer::Digest some{};
  some[0] = 0xfb;
  CHECK(wheel_hash(some).starts_with("sha256=-wAA"));
}
