#include <doctest/doctest.h>

#include "cli/ui/description.hpp"
#include "cli/ui/json_text.hpp"
#include "cli/ui/sink.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"
#include "cli/ui/yaml.hpp"
#include "support/screen.hpp"

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/description");

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

TEST_CASE(
    "a sorted table has its names and its document in the same order, and no titles if so wished") {
  StringSink out;
  StringSink err;
  Ui ui(out, err, {}, [] { return std::string(); });
  View view;
  view.root = {{"schema", "fastgpu.x/1"}, {"nodes", {{{"n", 10}}, {{"n", 9}}}}, {"other", {1}}};
  view.table = {{{"A LONG TITLE"}, {"B"}}, {{"n-10", "x"}, {"n-9", "y"}}};
  view.names = {"n-10", "n-9"};
  ui.set_table_style({.sort_by = "A LONG TITLE", .titles = Titles::left_out});
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
  const Json fields = {
      {"instance", id},
      {"reason", "the supervisor on demo-0 vanished: it was killed, or the node restarted"},
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
