#include "ssh/escape_keys.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::ssh {
namespace {

TEST_SUITE_BEGIN("ssh/escape_keys");

TEST_CASE("keys are ours at the start of a line alone, whatever pieces they come in") {
  struct Case {
    std::string typed;
    std::string sent;
    bool leave = false;
    bool help = false;
  };
  const std::vector<Case> cases = {
      {"ls\r", "ls\r"},
      {"~.", "", true},
      {"ls\r~.rest", "ls\r", true},
      {"a~.b", "a~.b"},
      {"~~.", "~."},
      {"~/bin\r", "~/bin\r"},
      {"\r~?ls", "\rls", false, true},
      {"~?~.", "", true, true},
      {"~\r~.", "~\r", true},
      {"\xc3\xa9\n~~\n", "\xc3\xa9\n~\n"},
  };
  for (const Case& one : cases)
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) {
      CAPTURE(one.typed);
      EscapeKeys keys;
      std::string sent;
      for (std::size_t at = 0; at < one.typed.size() && !keys.leave(); at += piece)
        keys.filter(std::string_view(one.typed).substr(at, piece), sent);
      CHECK(sent == one.sent);
      CHECK(keys.leave() == one.leave);
      CHECK(keys.take_help() == one.help);
      CHECK_FALSE(keys.take_help());
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
