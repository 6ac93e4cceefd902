#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "base/utf8.hpp"
#include "cli/ui/description.hpp"
#include "cli/ui/fold.hpp"
#include "cli/ui/json.hpp"
#include "cli/ui/line_mux.hpp"
#include "cli/ui/sink.hpp"
#include "cli/ui/table.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"
#include "cli/ui/yaml.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;

std::string printed(const Table& table, Detail detail, const Terminal& terminal) {
  return print_table(table, detail, terminal).text.str();
}

Terminal at_width(int width) {
  Terminal terminal;
  terminal.width = width;
  return terminal;
}

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    widest = std::max(widest, display_width(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return static_cast<int>(widest);
}

TEST_SUITE_BEGIN("cli/ui");

TEST_CASE("columns are as wide as what stands in them, counted as a terminal shows it") {
  const Table table{{{"NAME"}, {"STATE"}}, {{"名前", "ok"}, {"b", "stopped"}}};

  const std::string text = printed(table, Detail::usual, {});

  CHECK(text == "NAME  STATE\n名前  ok\nb     stopped\n");
}

/// What a table prints at a width, with the longest line that it prints.
struct Case {
  int width;
  std::string text;
  std::string left_out;
};

TEST_CASE("a table that has no room loses optional columns first, then goes on in further lines") {
  const Table table{{{"NAME"},
                     {"ADDRESS"},
                     {"SLOTS", false, Fit::optional},
                     {"WHAT IS SAID OF IT", false, Fit::prose},
                     {"AGE", false, Fit::optional}},
                    {{"averyveryverylongname-of-a-cluster-0", "10.64.128.100", "4",
                      "its disk is full since the morning, and it answers slowly", "3m"}}};
  const std::vector<Case> cases = {
      {0,
       "NAME                                  ADDRESS        SLOTS  WHAT IS SAID OF IT             "
       "  "
       "                          AGE\n"
       "averyveryverylongname-of-a-cluster-0  10.64.128.100  4      its disk is full since the "
       "morning, and it answers slowly  3m\n",
       ""},
      {120,
       "NAME                                  ADDRESS        SLOTS  WHAT IS SAID OF IT             "
       "  "
       "                   AGE\n"
       "averyveryverylongname-of-a-cluster-0  10.64.128.100  4      its disk is full since the "
       "morning, and it answers  3m\n"
       "                                                            slowly\n",
       ""},
      {80,
       "NAME                                  ADDRESS        WHAT IS SAID OF IT\n"
       "averyveryverylongname-of-a-cluster-0  10.64.128.100  its disk is full since the\n"
       "                                                     morning, and it answers\n"
       "                                                     slowly\n",
       "SLOTS, AGE"},
      {40,
       "NAME\n"
       "  ADDRESS\n"
       "  WHAT IS SAID OF IT\n"
       "averyveryverylongname-of-a-cluster-0\n"
       "  10.64.128.100\n"
       "  its disk is full since the\n"
       "  morning, and it answers\n"
       "  slowly\n",
       "SLOTS, AGE"},
      {10, "", "SLOTS, AGE"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.width);
    const Printed shown = print_table(table, Detail::usual, at_width(one.width));
    if (!one.text.empty()) CHECK(shown.text.str() == one.text);
    CHECK(shown.left_out == one.left_out);
    CHECK(shown.text.str().find("averyveryverylongname-of-a-cluster-0") != std::string::npos);
    CHECK(shown.text.str().find("10.64.128.100") != std::string::npos);
    const std::string wide = print_table(table, Detail::wide, at_width(one.width)).text.str();
    for (const char* title : {"SLOTS", "AGE", "3m"})
      CHECK(wide.find(title) != std::string::npos);
  }
}

TEST_CASE(
    "at every width each word of a table is there whole, and no line is wider than its word") {
  const std::string url = "https://console.example.com/quotas/region/Running-On-Demand-instances";
  const Table table{{{"ID"}, {"URL"}, {"TEXT", false, Fit::prose}, {"N"}},
                    {{"ami-0a220fca85d9a064e", url, "words that may be broken here", "1"},
                     {"ami-0a220fca85d9a064f", "", "", "22"}}};
  for (int width = 1; width <= 200; ++width) {
    CAPTURE(width);
    const std::string text = print_table(table, Detail::usual, at_width(width)).text.str();
    for (const std::string& word : {url, std::string("ami-0a220fca85d9a064e"),
                                    std::string("ami-0a220fca85d9a064f"), std::string("22")})
      CHECK(text.find(word) != std::string::npos);
    CHECK(text.find("…") == std::string::npos);
    const auto longest = static_cast<int>(url.size()) + 2;
    CHECK(widest_line(text) <= std::max(width, longest));
  }
}

TEST_CASE("wide columns are shown with -o wide alone") {
  const Table table{{{"NAME"}, {"ID", true}}, {{"a", "1234"}}};
  CHECK(printed(table, Detail::usual, {}) == "NAME\na\n");
  CHECK(printed(table, Detail::wide, {}) == "NAME  ID\na     1234\n");
}

TEST_CASE("a control character in a cell cannot steer the terminal") {
  const Table table{{{"NAME"}}, {{"a\x1b[2Jb\n"}}};
  CHECK(printed(table, Detail::usual, {}) == "NAME\na\\x1b[2Jb\\n\n");
}

TEST_CASE("an age has one unit") {
  using namespace std::chrono_literals;
  const auto now = std::chrono::system_clock::now();
  CHECK(age(now - 5s, now) == "5s");
  CHECK(age(now - 3min, now) == "3m");
  CHECK(age(now - 5h, now) == "5h");
  CHECK(age(now - 240h, now) == "10d");
  CHECK(age(now + 1h, now) == "0s");
}

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

TEST_CASE("lines come out whole whatever pieces they arrive in") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));

  mux.write(a, "one\ntw");
  mux.write(b, "uno\n");
  mux.write(a, "o\nlast");
  mux.finish_all();

  CHECK(sink.text == "a: one\nb: uno\na: two\na: last\n");
}

TEST_CASE("an endless line is passed on and broken only when another stream speaks") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));
  const std::string much(100'000, 'x');

  mux.write(a, much);
  mux.write(a, much);
  mux.write(b, "uno\n");
  mux.write(a, "end\n");

  CHECK(sink.text == "a: " + much + much + "\nb: uno\na: end\n");
}

std::chrono::seconds g_now{100};

LineMux::Clock::time_point test_now() {
  return LineMux::Clock::time_point(g_now);
}

TEST_CASE("a progress bar is shown as it comes, with its prefix after each return") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));

  mux.write(a, "\rstep 0");
  CHECK(sink.text == "a: step 0");
  mux.write(a, "\rstep 1");
  CHECK(sink.text == "a: step 0\ra: step 1");
  mux.write(a, "\rst");
  mux.write(a, "ep 2\ndone\n");
  CHECK(sink.text == "a: step 0\ra: step 1\ra: step 2\na: done\n");

  sink.text.clear();
  mux.write(a, "10%\r");
  mux.write(a, "20%\r");
  mux.finish(a);
  CHECK(sink.text == "a: 10%\ra: 20%\r\n");
}

TEST_CASE("lines that end as on Windows stay one line each") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));
  mux.write(a, "one\r\ntwo\r");
  mux.write(a, "\nthree\r\n");
  CHECK(sink.text == "a: one\r\na: two\r\na: three\r\n");
}

TEST_CASE("bars of several streams keep their prefixes and break each other once a second") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));

  mux.write(a, "\rA1");
  mux.write(b, "\rB1");  // Its first: at once.
  mux.write(a, "\rA2");
  mux.write(a, "\rA3");
  mux.write(b, "\rB2");
  CHECK(sink.text == "a: A1\nb: B1\rb: B2");
  g_now += std::chrono::seconds(1);
  mux.write(a, "\rA4");
  CHECK(sink.text == "a: A1\nb: B1\rb: B2\na: A2\ra: A3\ra: A4");
  mux.write(b, "\rB3\n");
  CHECK(sink.text.ends_with("\ra: A4\nb: B3\n"));
  mux.finish_all();
  CHECK(sink.text.ends_with("\nb: B3\n"));
}

TEST_CASE("a line on stdout does not continue a bar on stderr of the same terminal") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux out(sink, cursor, test_now);
  LineMux err(sink, cursor, test_now);
  const auto o = out.add(Styled("0: "));
  const auto e = err.add(Styled("0: "));

  err.write(e, "\r50%");
  out.write(o, "epoch 1\n");
  err.write(e, "\r60%");
  err.finish_all();

  CHECK(sink.text == "0: 50%\n0: epoch 1\n0: 60%\n");
}

TEST_CASE("YAML keeps what JSON says, in words that no reader takes for something else") {
  const Json value = {{"schema", "x/1"},
                      {"yes", "yes"},
                      {"n", 3},
                      {"none", nullptr},
                      {"list", {1, "1", "a b"}},
                      {"empty", Json::array()},
                      {"deep", {{{"k", "v"}, {"l", true}}}}};
  CHECK(
      to_yaml(value) ==
      "schema: x/1\n\"yes\": \"yes\"\n\"n\": 3\nnone: null\nlist:\n  - 1\n  - \"1\"\n  - \"a b\"\n"
      "empty: []\ndeep:\n  - k: v\n    l: true\n");
}

TEST_CASE("rows are sorted by a column as people count, and what is unknown comes last") {
  struct Sorting {
    std::vector<std::string> cells;
    std::vector<std::string> sorted;
  };
  const std::vector<Sorting> cases = {
      {{"node-10", "node-2", "node-1"}, {"node-1", "node-2", "node-10"}},
      {{"10.64.10.2", "10.64.9.11", "10.64.9.2"}, {"10.64.9.2", "10.64.9.11", "10.64.10.2"}},
      {{"2h", "90s", "3d", "5m", "0s"}, {"0s", "90s", "5m", "2h", "3d"}},
      {{"in 2h", "never", "in 5m"}, {"in 5m", "in 2h", "never"}},
      {{"12.24 USD/h", "?", "0/h", "9.5 USD/h"}, {"0/h", "9.5 USD/h", "12.24 USD/h", "?"}},
      {{"2 GB", "86 MB", "-", "700 kB"}, {"700 kB", "86 MB", "2 GB", "-"}},
      {{"10", "", "9"}, {"9", "10", ""}},
      {{"1/2", "2/2", "10/10"}, {"1/2", "2/2", "10/10"}},
  };
  for (const Sorting& one : cases) {
    Table table{{{"NAME"}, {"IDLE STOP"}}, {}};
    for (const std::string& cell : one.cells)
      table.rows.push_back({"x", cell});
    std::vector<std::string> sorted;
    for (const std::size_t row : sorted_rows(table, "idle-stop"))
      sorted.push_back(table.rows[row][1].text);
    CHECK(sorted == one.sorted);
  }
  const Table table{{{"NAME"}, {"STATE", true}}, {}};
  const Error e = failure_of([&] { sorted_rows(table, "stat"); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) == "--sort-by 'stat' is no column of this table: it has NAME, STATE");
}

TEST_CASE(
    "a sorted table has its names and its document in the same order, and no titles if so wished") {
  StringSink out;
  StringSink err;
  Ui ui(out, err, {}, [] { return std::string(); });
  View view;
  view.root = {{"schema", "fastgpu.x/1"}, {"nodes", {{{"n", 10}}, {{"n", 9}}}}, {"other", {1}}};
  view.table = {{{"A LONG TITLE"}, {"B"}}, {{"n-10", "x"}, {"n-9", "y"}}};
  view.names = {"n-10", "n-9"};
  ui.set_table_wish({.sort_by = "A LONG TITLE", .titles = Titles::left_out});
  ui.show(view);
  CHECK(out.text == "n-9   y\nn-10  x\n");
  out.text.clear();
  ui.set_format(Format::name);
  ui.show(view);
  CHECK(out.text == "n-9\nn-10\n");
  out.text.clear();
  ui.set_format(Format::json);
  ui.show(view);
  CHECK(Json::parse(out.text)["nodes"] == Json({{{"n", 9}}, {{"n", 10}}}));
}

TEST_CASE(
    "a description has a line a field that is not empty, sections below their names, and small "
    "tables") {
  const Json fields = {
      {"name", "demo"},
      {"id", "7da9"},
      {"state", "running"},
      {"exit_code", nullptr},
      {"spec", {{"command", {"sh", "-c", "a b\nc"}}, {"variables", Json::array()}}},
      {"nodes",
       {{{"name", "demo-0"}, {"private_address", ""}, {"host_keys", Json::array({"k"})}},
        {{"name", "demo-1"}, {"private_address", "10.0.0.1"}}}},
      {"count", 0}};

  CHECK(print_description(fields, {}).str() ==
        "Name:   demo\n"
        "ID:     7da9\n"
        "State:  running\n"
        "Spec:\n"
        "  Command:\n"
        "    - sh\n"
        "    - -c\n"
        "    - a b\\nc\n"
        "Nodes:\n"
        "  NAME    PRIVATE ADDRESS\n"
        "  demo-0\n"
        "  demo-1  10.0.0.1\n"
        "  (-o yaml shows host_keys as well)\n"
        "Count:  0\n");
}

TEST_CASE("a description has colours where the terminal has them") {
  Terminal terminal;
  terminal.color_out = true;
  const std::string text = print_description({{"state", "failed"}}, terminal).str();
  CHECK(text == "State:  \x1b[31mfailed\x1b[0m\n");
}

TEST_CASE("a description fits the terminal: values are broken at blanks, and names are whole") {
  const std::string id = "i-0123456789abcdef0123456789abcdef0123456789abcdef01234";
  const Json fields = {{"instance", id},
                       {"reason", "the supervisor on demo-0 is gone: killed, or restarted"},
                       {"command", {"python3", "a rather long argument with many words in it"}},
                       {"nodes", Json::array({{{"name", "demo-0"}, {"instance", id}}})}};
  for (const int width : {40, 60, 80, 120}) {
    CAPTURE(width);
    const std::string text = print_description(fields, at_width(width)).str();
    CHECK(widest_line(text) <= std::max(width, static_cast<int>(id.size()) + 4));
    CHECK(text.find(id) != text.rfind(id));
  }
  CHECK(print_description({{"reason", "one two three four five six seven eight nine ten"}},
                          at_width(40))
            .str() ==
        "Reason:  one two three four five six\n"
        "         seven eight nine ten\n");
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
  ui.set_chatter(Chatter::quiet);
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

/// A Ui on strings, of a terminal or of none.
struct Screen {
  explicit Screen(const Terminal& terminal)
      : ui(out, err, terminal, [] { return std::string(); }) {}
  StringSink out;
  StringSink err;
  Ui ui;
};

Terminal whole_terminal() {
  return {.in = true,
          .out = true,
          .err = true,
          .color_out = true,
          .color_err = true,
          .width = 80,
          .err_width = 80,
          .live = true,
          .unicode = true};
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

TEST_CASE("hostile text steers the terminal by no door of Ui") {
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
  using Door = std::function<void(Ui&)>;
  std::vector<std::pair<std::string, Door>> doors = {
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
    doors.emplace_back("table " + name, [&, format](Ui& ui) {
      ui.set_format(format);
      ui.show(table);
    });
    doors.emplace_back("described " + name, [&, format](Ui& ui) {
      ui.set_format(format);
      ui.show(described);
    });
  }
  for (Terminal terminal : {whole_terminal(), Terminal{.in = true, .err = true}, Terminal{}})
    for (const auto& [name, door] : doors) {
      if (name == "confirm" && !terminal.in) continue;
      for (const int width : {0, 20, 80}) {
        CAPTURE(name);
        CAPTURE(width);
        terminal.width = terminal.err_width = width;
        Screen screen(terminal);
        door(screen.ui);
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
    const Environment environment = [kind](const char* name) -> std::optional<std::string> {
      if (std::string_view(name) == "TERM" && *kind != '\0') return kind;
      return std::nullopt;
    };
    const Terminal terminal =
        terminal_of({.in = true, .out = true, .err = true}, {.out = 80, .err = 80},
                    ColorWish::automatic, environment);
    Screen screen(terminal);
    screen.ui.progress("one");
    screen.ui.progress("two");
    screen.ui.end_progress();
    CHECK(screen.err.text == "one\ntwo\n");
  }
}

TEST_CASE("colours follow the flag, then NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM") {
  using Variables = std::map<std::string, std::string>;
  struct Wish {
    Variables variables;
    ColorWish wish;
    bool on_terminal;
    bool on_pipe;
  };
  const std::vector<Wish> wishes = {
      {{{"TERM", "xterm"}}, ColorWish::automatic, true, false},
      {{{"TERM", "dumb"}}, ColorWish::automatic, false, false},
      {{}, ColorWish::automatic, false, false},
      {{{"TERM", "xterm"}, {"NO_COLOR", "1"}}, ColorWish::automatic, false, false},
      {{{"TERM", "xterm"}, {"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}},
       ColorWish::automatic,
       false,
       false},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "1"}}, ColorWish::automatic, true, true},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "0"}}, ColorWish::automatic, true, false},
      {{{"TERM", "xterm"}, {"CLICOLOR", "0"}}, ColorWish::automatic, false, false},
      {{{"TERM", "xterm"}, {"CLICOLOR", "1"}}, ColorWish::automatic, true, false},
      {{{"NO_COLOR", "1"}}, ColorWish::always, true, true},
      {{{"TERM", "xterm"}, {"CLICOLOR_FORCE", "1"}}, ColorWish::never, false, false},
  };
  for (const Wish& one : wishes) {
    const Environment environment = [&](const char* name) -> std::optional<std::string> {
      const auto found = one.variables.find(name);
      return found == one.variables.end() ? std::nullopt : std::optional(found->second);
    };
    CAPTURE(&one - wishes.data());
    CHECK(terminal_of({.out = true}, {}, one.wish, environment).color_out == one.on_terminal);
    CHECK(terminal_of({}, {}, one.wish, environment).color_out == one.on_pipe);
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
