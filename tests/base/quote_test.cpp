#include "base/quote.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

namespace fastgpu {
namespace {

/// What a real shell makes of `words`: printf prints each between angle brackets.
std::string through_a_shell(const std::vector<std::string>& words) {
  const std::string command = "printf '<%s>' " + shell_join(words);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 4096> buffer{};
  const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
  return {buffer.data(), n};
}

TEST_SUITE_BEGIN("base/quote");

TEST_CASE("plain words stay readable") {
  CHECK(shell_quote("a-b_c/d.e=f:g,h@i%j+k") == "a-b_c/d.e=f:g,h@i%j+k");
  CHECK(shell_quote("") == "''");
}

TEST_CASE("every word arrives unchanged through a shell") {
  const std::vector<std::string> words = {
      "a b", "it's",      "\"q\"", "$HOME", "`id`", "; rm -rf x", "line\nbreak", "*",
      "~",   "\\",        "!x",    "ä€",    "",     "#c",         "a\tb",        "-n",
      "'",   "''a'b''c'", "&",     "|",     "<>",   "{a,b}",      "$(id)",       "\x01"};
  std::string expected;
  for (const std::string& word : words)
    expected += "<" + word + ">";
  CHECK(through_a_shell(words) == expected);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
