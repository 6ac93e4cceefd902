#include "base/names.hpp"
#include "base/host_names.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("base/names");

TEST_CASE("a name out of which a host name can be made is taken") {
  for (const char* name : {"a", "train", "train-7", "x1", "a-b-c", "Lab.gpu01", "A", "a.1"}) {
    CAPTURE(name);
    CHECK(parse_cluster_name(name).value == name);
  }
}

TEST_CASE("a name that could leave its folder, break a line or not be a host name is refused") {
  const std::vector<std::string> bad = {"",     "a/b", "..",   "a\nb", "-a",
                                        "a-",   "a.",  "a_b",  "a b",  "ä",
                                        "1abc", ".a",  "a\"b", "a;b",  std::string(300, 'a'),
                                        "a..b", "a.-", "a-.b", "a.-b", std::string(41, 'a')};
  for (const std::string& name : bad) {
    CAPTURE(name);
    const Error e = failure_of([&] { parse_cluster_name(name); });
    CHECK(e.kind() == ErrorKind::usage);
  }
}

TEST_CASE("the message shows what was met without its control characters and not all of it") {
  const Error e = failure_of([] { parse_cluster_name("a\nb" + std::string(300, 'c')); });
  const std::string message = e.what();
  CHECK(message.find("a\\nb") != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() < 250);
}

TEST_CASE("the nearest name is found for a slip of the finger and not for another word") {
  const std::vector<std::string> names = {"nodes", "slots", "provider"};
  CHECK(nearest_name("node", names) == "nodes");
  CHECK(nearest_name("provder", names) == "provider");
  CHECK(nearest_name("banana", names).empty());
  CHECK(nearest_name("ndoes", names) == "nodes");
}

TEST_CASE("a short word is near to what begins alike and differs in one place") {
  const std::vector<std::string> verbs = {"stop", "cp",  "run",  "logs", "wait", "get",  "exec",
                                          "bash", "zsh", "init", "ssh",  "job",  "mount"};
  for (const char* word : {"top", "up", "man", "edit", "tcsh", "foo", "x", "", "ps"}) {
    CAPTURE(word);
    CHECK(nearest_name(word, verbs).empty());
  }
  for (const auto& [word, meant] : {std::pair{"gte", "get"},
                                    {"ge", "get"},
                                    {"lgos", "logs"},
                                    {"exce", "exec"},
                                    {"stp", "stop"},
                                    {"sssh", "ssh"},
                                    {"inti", "init"},
                                    {"mout", "mount"}}) {
    const auto& shown = word;
    CAPTURE(shown);
    CHECK(nearest_name(word, verbs) == meant);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
