#include "config/document.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/pipe.hpp"
#include "launcher/job_file.hpp"
#include "provision/cluster_file/cluster_file.hpp"
#include "support/child.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::config {
namespace {

using test::failure_of;
using test::TempDirectory;

Document parse(const std::string& text) {
  return Document::parse(text, "f.yaml");
}

/// Reads whatever `text` is; an Error is fine, anything else is not.
void read_anything(const std::string& text) {
  try {
    const Document document = parse(text);
    provision::read_cluster_file(document);
    launcher::read_job_file(document);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
  }
}

TEST_SUITE_BEGIN("config/document");

TEST_CASE("values are read as the type that is asked for") {
  const Value root =
      parse("a: 12\nb: yes\nc: 2h\nd: 4MB\ne: [x, 'y z', 3]\nf: {g: 1gbit}\n").root();
  CHECK(root.find("a")->integer(0, 12) == 12);
  CHECK(root.find("b")->boolean());
  CHECK(root.find("c")->duration() == std::chrono::hours(2));
  CHECK(root.find("d")->size() == Bytes{4'000'000});
  CHECK(root.find("e")->texts() == std::vector<std::string>{"x", "y z", "3"});
  CHECK(root.find("f")->find("g")->bit_rate() == BitRate{1'000'000'000});
  CHECK(root.find("f")->find("g")->name() == "f.g");
  CHECK_FALSE(root.find("h"));
}

TEST_CASE("an alias stands for what it names, with the place where that was written") {
  const Value root = parse("a: &x {n: 1}\nb: *x\n").root();
  CHECK(root.find("b")->find("n")->integer(1, 1) == 1);
  CHECK(root.find("b")->find("n")->where() == "f.yaml:1:11");
}

TEST_CASE("aliases that would blow up are refused, and so is one that contains itself") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      bomb += (j == 0 ? "" : ", ") + before;
    bomb += "]\n";
  }
  const Error e = failure_of([&] { parse(bomb); });
  CHECK(std::string(e.what()).find("aliases included") != std::string::npos);
  CHECK(failure_of([] { parse("a: &x [*x]\n"); }).kind() == ErrorKind::usage);
}

TEST_CASE("depth and size are bounded") {
  for (const std::size_t depth : {40U, 400U, 100'000U})
    CHECK(failure_of([&] { parse(std::string(depth, '[')); }).kind() == ErrorKind::usage);
  const Error e = failure_of([] { parse("a: " + std::string(2 << 20, 'x')); });
  CHECK(std::string(e.what()) == "f.yaml is larger than 1 MB, which no such file is");
}

TEST_CASE("--set puts values over the file, and errors name it") {
  Document document = parse("nodes: 2\nhosts: [{address: a}, {address: b}]\n");
  document.set("nodes=4");
  document.set("hosts.1.port=2222");
  document.set("name=x");
  const provision::ClusterFile file = provision::read_cluster_file(document);
  CHECK(file.nodes == 4);
  CHECK(file.hosts[1].port == 2222);
  CHECK(file.hosts[1].address == "b");
  CHECK(file.name == "x");
  document.set("nodes=none");
  CHECK(std::string(failure_of([&] { provision::read_cluster_file(document); }).what()) ==
        "--set nodes=none: 'nodes' must be a whole number from 1 to 10000, not 'none'");
}

TEST_CASE("--set that cannot be is refused") {
  for (const char* assignment :
       {"nodes", "=1", "a..b=1", "hosts.7=x", "hosts.x=1", "nodes.a=1", "a=[1", "a=*x"}) {
    CAPTURE(assignment);
    Document document = parse("nodes: 2\nhosts: [a]\n");
    const Error e = failure_of([&] { document.set(assignment); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("--set "));
  }
  // The advice names no field: it is for files of clusters, jobs and environments.
  CHECK(std::string(failure_of([] { parse("np: 2\n").set("np"); }).what()) ==
        "--set np: write a field of the file and its value: --set FIELD=VALUE, or --set "
        "FIELD.0.FIELD=VALUE");
  Document empty;
  empty.set("a.b.c=");
  CHECK(empty.root().find("a")->find("b")->find("c")->text().empty());
}

TEST_CASE("a file is read by its path, and one that is missing is not found") {
  const TempDirectory temp;
  const auto path = temp.path() / "c.yaml";
  CHECK(failure_of([&] { Document::read(path); }).kind() == ErrorKind::not_found);
  std::ofstream(path) << "nodes: x\n";
  const Error e = failure_of([&] { provision::read_cluster_file(Document::read(path)); });
  CHECK(std::string(e.what()).starts_with(path.string() + ":1:8: "));
  CHECK(std::string(failure_of([&] { Document::read(temp.path()); }).what()) ==
        temp.path().string() + " is not a file but a directory");
}

TEST_CASE("a text file is read without its byte order mark") {
  const TempDirectory temp;
  const auto path = temp.path() / "p.csv";
  std::ofstream(path) << "\xef\xbb\xbfLR,NOTE\n0.1,a\n";
  CHECK(read_text(path) == "LR,NOTE\n0.1,a\n");
  std::ofstream(path) << "\xef\xbb\xbf\r\n";
  CHECK(failure_of([&] { read_text(path); }).what() == path.string() + " is empty");
}

TEST_CASE("a file without a field is named, and nothing is waited for") {
  const TempDirectory temp;
  const auto path = temp.path() / "c.yaml";
  for (const char* text : {"", " \n\t\n", "# only a comment\n", "---\n", "~\n"}) {
    CAPTURE(text);
    std::ofstream(path) << text;
    const Error e = failure_of([&] { Document::read(path); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with(path.string() + " "));
  }
  CHECK(failure_of([] { Document::read(""); }).kind() == ErrorKind::usage);
  REQUIRE(::mkfifo((temp.path() / "fifo").c_str(), 0600) == 0);
  CHECK(failure_of([&] { Document::read(temp.path() / "fifo"); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { Document::read("/dev/null"); }).kind() == ErrorKind::usage);
}

TEST_CASE("a type that is given to a value is refused rather than ignored") {
  for (const char* text :
       {"a: !!python/object:os.system x\n", "a: !!python/object/apply:os.system ['x']\n",
        "a: !!int 5\n", "a: !mine {b: 1}\n", "a: !!map {b: 1}\n", "!!set {a: 1}\n",
        "!!python/name:x a: 1\n"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { parse(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("tags such as ") != std::string::npos);
  }
}

TEST_CASE("what is no text, or is indented by tabs, is called so at its place") {
  CHECK(std::string(failure_of([] { parse("a: 1\nb:\n\tc: 2\n"); }).what()) ==
        "f.yaml:3:3: this line is indented by a tab, but YAML allows only spaces");
  CHECK(std::string(failure_of([] { parse("a: 1\n\tb: 2\n"); }).what()).find("by a tab") !=
        std::string::npos);
  CHECK(std::string(failure_of([] { parse(std::string("a: 1\nb: \0x\n", 11)); }).what()) ==
        "f.yaml:2:4: the byte \\x00 is not part of a text: this is not YAML");
  CHECK(failure_of([] {
          parse(
              "\x7f"
              "ELF\x02\x01");
        }).kind() == ErrorKind::usage);
  CHECK(parse("a: 'x\ty'\n").root().find("a")->text() == "x\ty");
}

TEST_CASE("a dash reads standard input, and no more of it than is allowed") {
  const auto end = test::in_child([] {
    Pipe input = make_pipe();
    if (::write(input.write_end.get(), "nodes: 3", 8) != 8) return 1;
    input.write_end = UniqueFd();
    ::dup2(input.read_end.get(), STDIN_FILENO);
    return provision::read_cluster_file(Document::read("-")).nodes == 3 ? 0 : 2;
  });
  CHECK(end.status == 0);
  CHECK(failure_of([] { Document::read("/dev/zero"); }).kind() == ErrorKind::usage);
}

TEST_CASE("random bytes never crash the reader") {
  std::mt19937 random(20);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 200, '\0');
    for (char& c : text)
      c = static_cast<char>(random());
    read_anything(text);
  }
}

TEST_CASE("random words of YAML never crash the reader") {
  const std::vector<std::string> words = {
      "nodes", ": ", "- ",    "\n",    "  ",           "[",       "]",
      "{",     "}",  ",",     "&a ",   "*a ",          "'",       "\"",
      "|\n",   ">",  "!!str", "---",   "...",          "hosts",   "name",
      "? ",    "#",  "\t",    "%YAML", "<<",           "~",       "\\",
      "\r\n",  "1",  "@",     "`",     "\xef\xbb\xbf", "\xff\xfe"};
  std::mt19937 random(21);
  for (int round = 0; round < 6000; ++round) {
    std::string text;
    for (auto left = random() % 40; left > 0; --left)
      text += words[random() % words.size()];
    read_anything(text);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::config
