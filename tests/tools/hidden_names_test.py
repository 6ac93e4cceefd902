"""Names that sources hide, as hidden_names.py finds them: hidden_names_test.py [TEST ...]"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from hidden_names import also_visible, twice, visible_names
from suite import assert_equal, assert_in

SOURCE = """#include "one.hpp"

namespace a::b {{
namespace {{

{hidden}

}}  // namespace

void shown() {{}}

}}  // namespace a::b
"""


def clashes(*hidden):
    """Returns what is found in sources that hide these declarations, one a source."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for index, declaration in enumerate(hidden):
            files.append(pathlib.Path(folder, f"{index}.cpp"))
            files[-1].write_text(SOURCE.format(hidden=declaration), encoding="utf-8")
        return list(twice(files))


def test_a_constant_or_type_that_two_sources_hide_is_found():
    for one, other in (
        ("constexpr int kMost = 1;", "constexpr long kMost = 2;"),
        ("struct Options {\n  int a = 0;\n};", "struct Options : Others {};"),
        ("struct Options {};", "using Options = int;"),
        ("using Result = int;", "using Result = long;"),
    ):
        found = clashes(one, other)
        assert_equal(len(found), 1)
        assert_in("is hidden in", found[0])
        assert_in("0.cpp:6", found[0])
        assert_in("1.cpp:6", found[0])


def test_functions_with_the_same_parameters_are_found_also_where_only_a_literal_tells_them_apart():
    assert_equal(len(clashes("int f(const A& a, int b = 1) {", "long f(const A& c) {")), 1)
    assert_equal(len(clashes("int f(std::string_view a) {", "int f(const std::string& b) {")), 1)
    assert_equal(len(clashes("int f() {", "int f() {")), 1)


def test_overloads_equal_aliases_and_what_others_see_are_none():
    assert_equal(clashes("int f(const A& a) {", "int f(const B& a) {"), [])
    assert_equal(clashes("using Words = std::vector<int>;", "using Words = std::vector<int>;"), [])
    assert_equal(clashes("using test::World;", "using test::World;"), [])
    assert_equal(clashes("int A::f() const {", "int B::f() const {"), [])
    assert_equal(clashes("int one() {", "int other() {"), [])


def test_a_name_that_a_header_declares_beside_it_is_found():
    with tempfile.TemporaryDirectory() as folder:
        header, source = pathlib.Path(folder, "one.hpp"), pathlib.Path(folder, "one.cpp")
        header.write_text(
            "namespace a::b {\nconstexpr int kMost = 1;\nint f(int a);\nusing Words = int;\n"
            "}  // namespace a::b\n",
            encoding="utf-8",
        )
        hidden = "constexpr int kMost = 2;\nint f(long a) {\nusing Words = int;"
        source.write_text(SOURCE.format(hidden=hidden), encoding="utf-8")
        found = list(also_visible([source], visible_names([header])))
        assert_equal(len(found), 1)
        assert_in(f"declared in {header}:2", found[0])


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
