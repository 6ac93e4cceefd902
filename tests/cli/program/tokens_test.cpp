#include "cli/program/tokens.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace fastgpu::cli {
namespace {

using Words = std::vector<std::string>;

/// "--file=x", "-q", "word", "?--typo": the tokens of a line as one text each; "!" lacks its value.
Words shown(const Words& words, const Arguments& arguments) {
  Words out;
  for (const Token& token : tokens_of(words, arguments)) {
    std::string text = token.text;
    if (token.kind == Token::Kind::unknown_flag) text = "?" + text;
    if (token.kind == Token::Kind::flag && token.value) text += "=" + *token.value;
    if (token.kind == Token::Kind::flag && !token.value && !token.argument->bare()) text += "!";
    out.push_back(text);
  }
  return out;
}

Arguments arguments_of_test() {
  Arguments arguments;
  arguments.add({.name = "NAME"});
  arguments.add({.name = "--file", .value = "FILE", .letter = "-f"});
  arguments.add({.name = "--np", .value = "N", .letter = "-np"});
  arguments.add({.name = "--output", .value = "FORMAT", .letter = "-o"});
  arguments.add({.name = "--nodes", .value = "N", .letter = "-n"});
  arguments.add({.name = "--quiet", .letter = "-q"});
  arguments.add({.name = "--yes", .letter = "-y"});
  arguments.add({.name = "--dry-run"});
  return arguments;
}

/// Checks that each line has these tokens.
void check_shown(const std::vector<std::pair<Words, Words>>& cases) {
  const Arguments arguments = arguments_of_test();
  for (const auto& [words, wanted] : cases) {
    const Words& line = words;
    CAPTURE(line.front());
    CHECK(shown(line, arguments) == wanted);
  }
}

TEST_SUITE_BEGIN("cli/tokens");

TEST_CASE("every word of a line is a flag with its value, or stands alone") {
  check_shown({
      {{"--file", "x", "a"}, {"--file=x", "a"}},
      {{"--file=x=y", "a"}, {"--file=x=y", "a"}},
      {{"-f", "x", "-fy", "-f=z"}, {"-f=x", "-f=y", "-f=z"}},
      {{"-np", "4", "-np=4"}, {"-np=4", "-np=4"}},
      {{"-ojson", "-o=json"}, {"-o=json", "-o=json"}},
      {{"-qy", "-yq"}, {"-q", "-y", "-y", "-q"}},
      {{"-qf", "x", "-qfx"}, {"-q", "-f=x", "-q", "-f=x"}},
      {{"-qqq"}, {"-q", "-q", "-q"}},
      {{"-", "a-b", ""}, {"-", "a-b", ""}},
      {{"--file", "-", "--file", "-C=x y"}, {"--file=-", "--file=-C=x y"}},
      {{"--nodes", "-1"}, {"--nodes=-1"}},
      {{"--typo", "x", "-z", "-qz"}, {"?--typo", "x", "?-z", "?-qz"}},
      {{"--typo=5"}, {"?--typo"}},
      {{"--", "-x", "--file", "--"}, {"-x", "--file", "--"}},
  });
}

TEST_CASE("an empty value after = stays empty, whatever follows") {
  check_shown({
      {{"--file=", "--dry-run"}, {"--file=", "--dry-run"}},
      {{"--file=", "a"}, {"--file=", "a"}},
      {{"-f=", "a"}, {"-f=", "a"}},
      {{"-np=", "4"}, {"-np=", "4"}},
      {{"-qf=", "a"}, {"-q", "-f=", "a"}},
      {{"--file", "", "a"}, {"--file=", "a"}},
      {{"--num-nodes=", "4"}, {"--num-nodes=", "4"}},
  });
}

TEST_CASE("a flag of the command is no value of another one unless = says so") {
  check_shown({
      {{"--file", "--dry-run"}, {"--file!", "--dry-run"}},
      {{"--file", "--np=4"}, {"--file!", "--np=4"}},
      {{"--file", "-q"}, {"--file!", "-q"}},
      {{"-f", "-np", "4"}, {"-f!", "-np=4"}},
      {{"--file=--dry-run"}, {"--file=--dry-run"}},
      {{"--file", "--"}, {"--file!"}},
      {{"--file"}, {"--file!"}},
  });
  const Arguments arguments = arguments_of_test();
  CHECK(tokens_of(Words{"--file", "--np=4"}, arguments).front().next == "--np=4");
}

TEST_CASE("flags of other programs are understood where ours mean the same") {
  const Arguments arguments = arguments_of_test();
  CHECK(shown({"--num-nodes", "3", "--dryrun", "--json"}, arguments) ==
        Words{"--num-nodes=3", "--dryrun", "--json=json"});
  CHECK(tokens_of(Words{"--json"}, arguments).front().argument->name == "--output");
  CHECK(shown({"--json=1", "--use-spot"}, arguments) == Words{"?--json", "?--use-spot"});
}

TEST_CASE("each token knows the word in which it begins") {
  const Arguments arguments = arguments_of_test();
  const auto tokens = tokens_of(Words{"--file", "x", "-qy", "a"}, arguments);
  REQUIRE(tokens.size() == 4);
  CHECK(tokens[0].at == 0);
  CHECK(tokens[1].at == 2);
  CHECK(tokens[2].at == 2);
  CHECK(tokens[3].at == 3);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
