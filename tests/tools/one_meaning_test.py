"""Names with several meanings, as one_meaning.py finds them: one_meaning_test.py [TEST ...]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from one_meaning import in_three_folders, twice
from suite import assert_equal


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


def test_a_header_of_three_folders_is_found_and_those_of_all_clouds_are_one():
    clouds = [f"provision/providers/{cloud}/plan.hpp" for cloud in ("aws", "huawei", "tencent")]
    assert_equal(list(in_three_folders(["a/plan.hpp", *clouds])), [])
    assert_equal(
        list(in_three_folders(["a/plan.hpp", "b/c/plan.hpp", *clouds])),
        ["'plan.hpp' is a header of a, b/c, provision/providers"],
    )
    deeper = "provision/providers/local/init/plan.hpp"
    assert_equal(len(list(in_three_folders(["a/plan.hpp", deeper, *clouds]))), 1)


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
