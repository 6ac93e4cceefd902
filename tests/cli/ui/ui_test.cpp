#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "base/utf8.hpp"
#include "cli/ui/json_text.hpp"
#include "cli/ui/sink.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"
#include "cli/workflows/name_folding.hpp"
#include "support/failure.hpp"
#include "support/screen.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;

TEST_SUITE_BEGIN("cli/ui");

TEST_CASE("names that differ in their number are folded and unfolded") {
  const std::vector<std::string> names = {"demo-0", "demo-1", "demo-2", "demo-7", "login", "gpu3"};
  CHECK(fold_names(names) == "demo-[0-2,7],login,gpu3");
  CHECK(unfold_names("demo-[0-2,7],login,gpu3") == names);
  CHECK(unfold_names("0,2-3") == std::vector<std::string>{"0", "2", "3"});
}

TEST_CASE("numbers with zeros before them keep their width") {
  const std::vector<std::string> names = {"n08", "n09", "n10", "n100", "m001"};
  CHECK(fold_names(names) == "n[08-10],n100,m001");
  CHECK(unfold_names("n[08-10],m001") == std::vector<std::string>{"n08", "n09", "n10", "m001"});
}

TEST_CASE("a node set that cannot be read, or is endless, is refused") {
  for (const char* text : {"demo-[0-", "demo-[3-1]", ",", "a,,b", "demo-[]", "0-999999999",
                           "x[0-9999],y[0-9999]", "]["}) {
    CAPTURE(text);
    CHECK(failure_of([&] { unfold_names(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a warning that an error may repeat is shown before the next output, or not at all") {
  StringSink out;
  StringSink err;
  const auto no_input = [] { return std::string(); };
  for (const auto& [shown, act] : std::map<std::string, std::function<void(Ui&)>>{
           {"warning: odd\nyes\n", [](Ui& ui) { ui.note("yes"); }},
           {"warning: odd\n", [](Ui& ui) { ui.end_progress(); }},
           {"warning: odd\nerror: other\n", [](Ui& ui) { ui.fail("other"); }},
           {"error: x: odd\n", [](Ui& ui) { ui.fail("x: odd"); }},
       }) {
    err.text.clear();
    Ui ui(out, err, {}, no_input);
    ui.warn_unless_error("odd");
    CHECK(err.text.empty());
    act(ui);
    ui.end_progress();
    CHECK(err.text == shown);
  }
  Ui ui(out, err, {}, no_input);
  err.text.clear();
  ui.warn_unless_error("odd");
  ui.data("1\n");
  CHECK(err.text == "warning: odd\n");
}

TEST_CASE("next steps are one line, or a line each on a terminal, and only for people who listen") {
  StringSink out;
  StringSink err;
  const auto no_input = [] { return std::string(); };
  const std::vector<std::string> next = {"fastgpu ssh a", "fastgpu delete cluster a"};
  Ui ui(out, err, {}, no_input);
  ui.next_steps(next);
  CHECK(err.text == "next: fastgpu ssh a | fastgpu delete cluster a\n");

  err.text.clear();
  Terminal terminal;
  terminal.err = true;
  ui.set_terminal(terminal);
  ui.next_steps(next);
  CHECK(err.text == "next:\n  fastgpu ssh a\n  fastgpu delete cluster a\n");

  err.text.clear();
  ui.set_format(Format::json);
  ui.next_steps(next);
  ui.set_format(Format::table);
  ui.set_verbosity(Verbosity::quiet);
  ui.next_steps(next);
  CHECK(err.text.empty());
  CHECK(out.text.empty());
}

TEST_CASE("a question without a terminal is an error that names --yes") {
  StringSink out;
  StringSink err;
  Ui ui(out, err, {}, [] { return std::string("y"); });
  const Error e = failure_of([&] { ui.confirm("Delete it?"); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("--yes") != std::string::npos);
}

TEST_CASE("on a terminal only a yes is a yes") {
  StringSink out;
  StringSink err;
  Terminal terminal;
  terminal.in = terminal.err = true;
  for (const std::string answer : {"", "n", "maybe", "Y ", "yess"}) {
    CAPTURE(answer);
    CHECK_FALSE(Ui(out, err, terminal, [&] { return answer; }).confirm("Delete it?"));
  }
  CHECK(Ui(out, err, terminal, [] { return std::string("y"); }).confirm("Delete it?"));
}

/// Everything that may steer a terminal or is not UTF-8.
const std::string kHostile = std::string("a\x1b]0;title\x07") + "\x1b[2J" + "\xc2\x9b" + "31m" +
                             "\xe2\x80\xae" + "\xe2\x81\xa6" + "\xd8\x9c" + "\xff\xc0\x9b" +
                             "\x7f\x08\r" + std::string(1, '\0') + "z";

/// Whether `text`, our own colours and the drawing of progress taken out, steers nothing.
bool is_harmless(std::string text) {
  for (const std::string_view ours :
       {"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m", "\x1b[1m", "\x1b[0m", "\r\x1b[K", "\x1b\x37",
        "\x1b[B\x1b[K", "\x1b\x38"})
    for (std::size_t at = text.find(ours); at != std::string::npos; at = text.find(ours))
      text.erase(at, ours.size());
  if (text.ends_with('\r')) text.pop_back();  // The end of a live line.
  return !needs_escape(text);
}

TEST_CASE("hostile text steers the terminal through no function of Ui") {
  const Json root = {{"schema", "fastgpu.x/1"}, {kHostile, {kHostile}}};
  const View table{
      .root = root,
      .table = {{{kHostile}, {"B", false, Fit::prose}}, {{Cell(kHostile, Color::red), kHostile}}},
      .names = {kHostile},
      .page = kHostile};
  View described = table;
  described.described = Json{{"state", kHostile},
                             {kHostile, {kHostile, kHostile}},
                             {"list", Json::array({Json{{kHostile, kHostile}}})}};
  View empty{.root = root, .table = {}};
  empty.when_empty = kHostile;
  using Function = std::function<void(Ui&)>;
  std::vector<std::pair<std::string, Function>> functions = {
      {"data", [](Ui& ui) { ui.data(kHostile); }},
      {"error_data", [](Ui& ui) { ui.error_data(kHostile); }},
      {"note", [](Ui& ui) { ui.note(kHostile); }},
      {"warn", [](Ui& ui) { ui.warn(kHostile); }},
      {"fail", [](Ui& ui) { ui.fail(kHostile); }},
      {"next",
       [](Ui& ui) {
         ui.next_steps({kHostile, kHostile});
       }},
      {"progress", [](Ui& ui) { ui.progress(kHostile); }},
      {"figures",
       [](Ui& ui) {
         ui.progress(kHostile);
         ui.progress(kHostile, kHostile);
       }},
      {"prompt", [](Ui& ui) { ui.prompt(kHostile); }},
      {"confirm", [](Ui& ui) { ui.confirm(kHostile); }},
      {"empty", [&](Ui& ui) { ui.show(empty); }},
  };
  for (const Format format :
       {Format::table, Format::wide, Format::json, Format::yaml, Format::name, Format::html}) {
    const std::string name = std::to_string(static_cast<int>(format));
    functions.emplace_back("table " + name, [&, format](Ui& ui) {
      ui.set_format(format);
      ui.show(table);
    });
    functions.emplace_back("described " + name, [&, format](Ui& ui) {
      ui.set_format(format);
      ui.show(described);
    });
  }
  for (Terminal terminal : {whole_terminal(), Terminal{.in = true, .err = true}, Terminal{}})
    for (const auto& [name, function] : functions) {
      if (name == "confirm" && !terminal.in) continue;
      for (const int width : {0, 20, 80}) {
        CAPTURE(name);
        CAPTURE(width);
        terminal.width = terminal.err_width = width;
        Screen screen(terminal);
        function(screen.ui);
        const bool no_room =
            width == 0 && terminal.live && (name == "progress" || name == "figures");
        CHECK((screen.out.text + screen.err.text).empty() == no_room);
        CHECK(is_harmless(screen.out.text));
        CHECK(is_harmless(screen.err.text));
      }
    }
}

TEST_CASE("our own colours survive, and JSON keeps what it escapes") {
  Screen screen(whole_terminal());
  View view;
  view.table = {{{"STATE"}}, {{Cell("running", Color::green)}}};
  screen.ui.show(view);
  screen.ui.warn("x");
  screen.ui.fail("y");
  CHECK(screen.out.text == "\x1b[1mSTATE\x1b[0m\n\x1b[32mrunning\x1b[0m\n");
  CHECK(screen.err.text == "\x1b[33mwarning:\x1b[0m x\n\x1b[31merror:\x1b[0m y\n");
  const Json value = {{"k", "\xc2\x9b\xe2\x80\xaeü"}};
  CHECK(Json::parse(json_text(value, 2)) == value);
  CHECK(json_text(Json{{"k", "ü"}}, -1) == R"({"k":"ü"})");
}

TEST_CASE("what a program writes passes unchanged, and nothing of ours continues its line") {
  Screen screen(whole_terminal());
  screen.ui.program_output(kHostile);
  screen.ui.warn("x");
  CHECK(screen.out.text == kHostile);
  CHECK(screen.err.text.starts_with("\n"));
  screen.err.text.clear();
  screen.ui.program_errors("\x1b[1mbold\n");
  screen.ui.note("y");
  CHECK(screen.err.text == "\x1b[1mbold\ny\n");

  Screen piped({});
  piped.ui.program_output("no end");
  piped.ui.note("y");
  CHECK(piped.err.text == "y\n");
}

TEST_CASE("colours follow the flag, then NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM") {
  using Variables = std::map<std::string, std::string>;
  struct MachineRequest {
    Variables variables;
    ColorChoice request;
    bool on_terminal;
    bool on_pipe;
  };
  const std::vector<MachineRequest> requests = {
      {{{"TERM", "xterm"}}, ColorChoice::automatic, true, false},
      {{{"TERM", "dumb"}}, ColorChoice::automatic, false, false},
      {{}, ColorChoice::automatic, false, false},
      {{{"TERM", "xterm"}, {"NO_COLOR", "1"}}, ColorChoice::automatic, false, false},
      {{{"TERM", "xterm"}, {"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}},
       ColorChoice::automatic,
       false,
       false},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "1"}}, ColorChoice::automatic, true, true},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "0"}}, ColorChoice::automatic, true, false},
      {{{"TERM", "xterm"}, {"CLICOLOR", "0"}}, ColorChoice::automatic, false, false},
      {{{"TERM", "xterm"}, {"CLICOLOR", "1"}}, ColorChoice::automatic, true, false},
      {{{"NO_COLOR", "1"}}, ColorChoice::always, true, true},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "1"}}, ColorChoice::never, false, false},
  };
  for (const MachineRequest& one : requests) {
    const state::Environment environment = [&](const char* name) -> std::optional<std::string> {
      const auto found = one.variables.find(name);
      return found == one.variables.end() ? std::nullopt : std::optional(found->second);
    };
    CAPTURE(&one - requests.data());
    CHECK(terminal_of({.out = true}, {}, one.request, environment).color_out == one.on_terminal);
    CHECK(terminal_of({}, {}, one.request, environment).color_out == one.on_pipe);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
