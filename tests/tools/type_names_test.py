"""Types that two headers define, as type_names.py finds them: type_names_test.py [TEST ...]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from suite import assert_equal
from type_names import twice


def test_a_type_that_two_headers_define_is_found_in_every_form():
    for one in (
        "struct Plan {",
        "class Plan final : public Base<int> {",
        "enum class Plan : std::uint8_t { a, b };",
        "template <class T>\nclass Plan {",
        "class [[nodiscard]] Plan\n    : public Base {",
    ):
        line = 2 if one.startswith("template") else 1
        found = list(twice({"a/one.hpp": one, "b/two.hpp": "\nstruct Plan {};"}))
        assert_equal(found, [f"'Plan' is defined in a/one.hpp:{line}, b/two.hpp:2"])


def test_declarations_aliases_inner_types_and_other_names_are_none():
    for other in (
        "class Plan;",
        "using Plan = int;",
        "struct Outer {\n  struct Plan {};\n};",
        "struct PlanStep {};",
        "// struct Plan {",
    ):
        assert_equal(list(twice({"a/one.hpp": "struct Plan {};", "b/two.hpp": other})), [])


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
