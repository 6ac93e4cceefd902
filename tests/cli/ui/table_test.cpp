#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "cli/ui/json_text.hpp"
#include "cli/ui/table.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"
#include "support/failure.hpp"
#include "support/screen.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;

std::string printed(const Table& table, Detail detail, const Terminal& terminal) {
  return print_table(table, detail, terminal).text.str();
}

TEST_SUITE_BEGIN("cli/table");

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
      {{"13.46 CNY/h (2.03 USD/h)", "3.06 USD/h", "9.90 CNY/h (1.49 USD/h)", "2.48 USD/h", "?"},
       {"9.90 CNY/h (1.49 USD/h)", "13.46 CNY/h (2.03 USD/h)", "2.48 USD/h", "3.06 USD/h", "?"}},
      {{"102.00 CNY/h (15.39 USD/h)", "13.46 CNY/h (2.03 USD/h)"},
       {"13.46 CNY/h (2.03 USD/h)", "102.00 CNY/h (15.39 USD/h)"}},
      {{"10 (2 lost)", "9 (3 lost)"}, {"9 (3 lost)", "10 (2 lost)"}},
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
  CHECK(std::string(e.what()) ==
        "--sort-by 'stat' is not a column of this table: it has NAME, STATE");
}

/// A table of `count` nodes, of which those in `silent` do not answer.
Table nodes_on_screen(int count, const std::vector<int>& silent = {}) {
  Table table{.columns = {{"NODE"}, {"CPU"}}, .rows = {}};
  for (int i = 0; i < count; ++i) {
    const bool is_silent = std::ranges::find(silent, i) != silent.end();
    table.rows.push_back(
        {"n-" + std::to_string(i), is_silent ? Cell("no answer", Color::red) : Cell("1%")});
  }
  return table;
}

std::string on_screen(const Table& table, int columns, int rows) {
  Terminal terminal = at_width(columns);
  terminal.rows = rows;
  return print_screen(table, Detail::usual, terminal, "node").str();
}

TEST_CASE("a screen has the rows that fit above the cursor, and the number of the others") {
  CHECK(on_screen(nodes_on_screen(3), 40, 5) == "NODE  CPU\nn-0   1%\nn-1   1%\nn-2   1%\n");
  CHECK(on_screen(nodes_on_screen(4), 40, 5) ==
        "NODE  CPU\nn-0   1%\nn-1   1%\n... 2 more nodes\n");
  CHECK(on_screen(nodes_on_screen(3), 40, 4) == "NODE  CPU\nn-0   1%\n... 2 more nodes\n");
  CHECK(on_screen(nodes_on_screen(3), 40, 2) == "... 3 more nodes\n");
  CHECK(on_screen(nodes_on_screen(3), 40, 0) == "NODE  CPU\nn-0   1%\nn-1   1%\nn-2   1%\n");
}

TEST_CASE("a row that continues in a further line counts as two on a screen") {
  // The title and each row take two lines of eight columns.
  CHECK(on_screen(nodes_on_screen(3), 8, 6) == "NODE\n  CPU\nn-0\n  1%\n... 2 more nodes\n");
}

TEST_CASE("a row with a red cell keeps its place on a screen before those without") {
  CHECK(on_screen(nodes_on_screen(9, {7}), 40, 5) ==
        "NODE  CPU\nn-0   1%\nn-7   no answer\n... 7 more nodes\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
