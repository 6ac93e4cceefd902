#include <doctest/doctest.h>

#include "cli/ui/description.hpp"
#include "cli/ui/fold.hpp"
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

TEST_SUITE_BEGIN("cli/ui");

TEST_CASE("columns are as wide as what stands in them, counted as a terminal shows it") {
  const Table table{{{"NAME"}, {"STATE"}}, {{"名前", "ok"}, {"b", "stopped"}}};

  const std::string text = print_table(table, Detail::usual, {});

  CHECK(text == "NAME  STATE\n名前  ok\nb     stopped\n");
}

TEST_CASE("nothing is cut where the output is no terminal, and rows fit where it is one") {
  const Table table{{{"NAME"}, {"WHAT"}}, {{"a", std::string(200, 'x')}}};
  Terminal terminal;
  terminal.width = 40;

  const std::string piped = print_table(table, Detail::usual, {});
  const std::string shown = print_table(table, Detail::usual, terminal);

  CHECK(piped.find(std::string(200, 'x')) != std::string::npos);
  CHECK(display_width(shown.substr(shown.find('\n') + 1)) == 40);
  CHECK(shown.find("…") != std::string::npos);
}

TEST_CASE("long names that begin alike can be told apart on a narrow terminal") {
  const std::string name(60, 'n');
  const Table table{{{"NAME"}}, {{name + "-0"}, {name + "-1"}}};
  Terminal terminal;
  terminal.width = 12;
  CHECK(print_table(table, Detail::usual, terminal) == "NAME\nnnnnnnn…nn-0\nnnnnnnn…nn-1\n");
  CHECK(cut_in_middle("名前名前名前", 7) == "名前…前");
}

TEST_CASE("wide columns are shown with -o wide alone") {
  const Table table{{{"NAME"}, {"ID", true}}, {{"a", "1234"}}};
  CHECK(print_table(table, Detail::usual, {}) == "NAME\na\n");
  CHECK(print_table(table, Detail::wide, {}) == "NAME  ID\na     1234\n");
}

TEST_CASE("a control character in a cell cannot steer the terminal") {
  const Table table{{{"NAME"}}, {{"a\x1b[2Jb\n"}}};
  CHECK(print_table(table, Detail::usual, {}) == "NAME\na\\x1b[2Jb\\x0a\n");
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
  LineMux mux(sink);
  const auto a = mux.add("a: ");
  const auto b = mux.add("b: ");

  mux.write(a, "one\ntw");
  mux.write(b, "uno\n");
  mux.write(a, "o\nlast");
  mux.finish_all();

  CHECK(sink.text == "a: one\nb: uno\na: two\na: last\n");
}

TEST_CASE("an endless line is passed on and broken only when another stream speaks") {
  StringSink sink;
  LineMux mux(sink);
  const auto a = mux.add("a: ");
  const auto b = mux.add("b: ");
  const std::string much(100'000, 'x');

  mux.write(a, much);
  mux.write(a, much);
  mux.write(b, "uno\n");
  mux.write(a, "end\n");

  CHECK(sink.text == "a: " + much + much + "\nb: uno\na: end\n");
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

TEST_CASE("a description has a line a field, sections below their names, and small tables") {
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

  CHECK(print_description(fields, {}) ==
        "Name:       demo\n"
        "ID:         7da9\n"
        "State:      running\n"
        "Exit code:  <none>\n"
        "Spec:\n"
        "  Command:\n"
        "    - sh\n"
        "    - -c\n"
        "    - a b\\x0ac\n"
        "  Variables:  <none>\n"
        "Nodes:\n"
        "  NAME    PRIVATE ADDRESS\n"
        "  demo-0  \n"
        "  demo-1  10.0.0.1\n"
        "  (-o yaml shows host_keys as well)\n"
        "Count:      0\n");
}

TEST_CASE("a description has colours where the terminal has them, and its tables fit there") {
  Terminal terminal;
  terminal.color_out = true;
  terminal.width = 40;
  const Json fields = {{"state", "failed"},
                       {"nodes", Json::array({{{"name", std::string(100, 'n')}}})}};

  const std::string text = print_description(fields, terminal);

  CHECK(text.find("\x1b[31mfailed\x1b[0m") != std::string::npos);
  CHECK(text.find("\n  " + std::string(25, 'n') + "…" + std::string(12, 'n') + "\n") !=
        std::string::npos);
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
