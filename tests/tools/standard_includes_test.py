"""Missing includes, as standard_includes.py finds them: standard_includes_test.py [TEST ...]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from standard_includes import missing
from suite import assert_equal

USES = "void wait(std::chrono::seconds longest);\n"


def test_a_header_whose_name_is_used_and_that_is_not_included_is_found():
    assert_equal(
        list(missing({"a/one.hpp": "#include <string>\n" + USES})),
        [("a/one.hpp", "std::chrono::", "chrono")],
    )


def test_an_include_of_the_file_itself_or_of_headers_of_ours_counts():
    direct = {"a/one.hpp": "#include <chrono>\n" + USES}
    through = {
        "a/one.cpp": '#include "a/one.hpp"\n' + USES,
        "a/one.hpp": '#include "below/time.hpp"\n',
        "src/below/time.hpp": '#include "beside.hpp"\n',
        "src/below/beside.hpp": "#include <chrono>\n",
    }
    for texts in (direct, through):
        assert_equal(list(missing(texts)), [])


def test_headers_that_include_each_other_are_read_once():
    ring = {"a/one.hpp": '#include "a/two.hpp"\n' + USES, "a/two.hpp": '#include "a/one.hpp"\n'}
    assert_equal(list(missing(ring)), [("a/one.hpp", "std::chrono::", "chrono")])


def test_comments_and_longer_names_use_nothing():
    for text in ("// Takes std::vector.\n", "int n = mine::vector_size();\n", "std::strings s;\n"):
        assert_equal(list(missing({"a/one.hpp": text})), [])


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
