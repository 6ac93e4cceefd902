#include <doctest/doctest.h>

#include <functional>

#include "cli/ui/sink.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"
#include "support/screen.hpp"

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/live_line");

TEST_CASE("a live line is erased before anything else, and leaves nothing behind") {
  Screen screen(whole_terminal());
  screen.ui.progress("making nodes");
  CHECK(screen.err.text == "\r\x1b[Kmaking nodes\r");
  screen.ui.note("one is up");
  CHECK(screen.err.text == "\r\x1b[Kmaking nodes\r\r\x1b[Kone is up\n");
  screen.ui.progress("making nodes");
  screen.err.text.clear();
  screen.ui.end_progress();
  CHECK(screen.err.text == "\r\x1b[K");
  screen.err.text.clear();
  screen.ui.end_progress();
  CHECK(screen.err.text.empty());
}

TEST_CASE("a live line fits the terminal as it is now") {
  Screen screen(whole_terminal());
  int width = 60;
  screen.ui.measure_by([&width] { return Widths{.out = width, .err = width}; });
  for (const int now : {60, 61, 100, 120}) {
    width = now;
    screen.err.text.clear();
    screen.ui.progress("copying " + std::string(80, 'x') + std::to_string(now));
    const std::size_t end =
        std::max(screen.err.text.rfind('K'), screen.err.text.rfind("\x1b\x38") + 1);
    const std::string line = screen.err.text.substr(end + 1);
    CAPTURE(line);
    CHECK(display_width(line) < static_cast<std::size_t>(now));
  }
}

TEST_CASE("a live line that a narrower terminal has wrapped is erased in all of its rows") {
  Screen screen(whole_terminal());
  int width = 60;
  screen.ui.measure_by([&width] { return Widths{.out = width, .err = width}; });
  screen.ui.progress("copying " + std::string(80, 'x'));
  screen.err.text.clear();
  width = 20;  // 59 columns are three rows now.
  screen.ui.progress("y");
  CHECK(screen.err.text == "\r\x1b[K\x1b\x37\x1b[B\x1b[K\x1b[B\x1b[K\x1b\x38y\r");
}

TEST_CASE("a terminal that cannot erase gets plain lines") {
  for (const char* kind : {"", "dumb"}) {
    const state::Environment environment = [kind](const char* name) -> std::optional<std::string> {
      if (std::string_view(name) == "TERM" && *kind != '\0') return kind;
      return std::nullopt;
    };
    const Terminal terminal =
        terminal_of({.in = true, .out = true, .err = true}, {.out = 80, .err = 80},
                    ColorChoice::automatic, environment);
    Screen screen(terminal);
    screen.ui.progress("one");
    screen.ui.progress("two");
    screen.ui.end_progress();
    CHECK(screen.err.text == "one\ntwo\n");
  }
}

TEST_CASE("a step says how long it takes, and figures come now and then where lines stay") {
  using namespace std::chrono_literals;
  std::string text;
  const auto write = [&text](std::string_view more) { text += more; };
  const auto start = Progress::Clock::time_point(1000s);
  Progress live(write, [] { return std::size_t{80}; });
  live.set_form(ProgressForm::live);
  live.show("booting", "", start);
  live.tick(start + 1s);
  CHECK(text == "\r\x1b[Kbooting\r");
  live.tick(start + 65s);
  CHECK(text.ends_with("\r\x1b[Kbooting (1m05s)\r"));
  live.end();

  text.clear();
  Progress plain(write, [] { return std::size_t{80}; });
  plain.show("booting", "", start);
  plain.tick(start + 10s);
  CHECK(text == "booting\n");
  plain.tick(start + 16s);
  CHECK(text == "booting\nbooting (16s)\n");
  plain.end();

  text.clear();
  plain.show("copying", "1 MB", start);
  plain.show("copying", "2 MB", start + 5s);
  CHECK(text.empty());
  plain.show("copying", "3 MB", start + 15s);
  plain.show("copying", "4 MB", start + 16s);
  CHECK(text == "copying: 3 MB\n");
  plain.end();

  text.clear();
  plain.wait("running", start);
  plain.tick(start + 14s);
  CHECK(text.empty());
  plain.tick(start + 15s);
  CHECK(text == "running (15s)\n");
}

TEST_CASE("progress without a terminal is one plain line for each change") {
  StringSink out;
  StringSink err;
  Ui ui(out, err, {}, [] { return std::string(); });
  ui.progress("1 of 2");
  ui.progress("1 of 2");
  ui.progress("2 of 2");
  ui.end_progress();
  CHECK(err.text == "1 of 2\n2 of 2\n");
  CHECK(out.text.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
