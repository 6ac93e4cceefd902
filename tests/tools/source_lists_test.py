"""Lists of files in build files, as source_lists.py checks and writes them: source_lists_test.py
[TEST ...]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from source_lists import sorted_lists
from suite import assert_equal

WRONG = """lib = static_library('lib', 'b.cpp', 'a/c.cpp',
    'a.cpp', made,
  dependencies: dep)
test('x', executable('test_x', '../z.cpp', 'a_test.cpp', dependencies: dep), suite: 'x')
foreach file : ['two.py', 'one.py']
  more = files(
    'b.cpp',
    'a.cpp')
endforeach
"""
RIGHT = """lib = static_library('lib',
  'a.cpp',
  'a/c.cpp',
  'b.cpp',
  made,
  dependencies: dep)
test('x', executable('test_x',
  '../z.cpp',
  'a_test.cpp',
  dependencies: dep), suite: 'x')
foreach file : [
  'one.py',
  'two.py']
  more = files(
    'a.cpp',
    'b.cpp')
endforeach
"""


def test_a_list_is_sorted_and_has_one_file_a_line():
    assert_equal(sorted_lists(WRONG), RIGHT)


def test_what_is_right_stays():
    assert_equal(sorted_lists(RIGHT), RIGHT)


def test_single_files_and_other_words_stay():
    for text in (
        "test('a', python3, args: [files('b_test.py'), files('a.py'), exe])\n",
        "foreach part : ['z', 'a']\n",
        "link_args: ['-Wl,-z,relro', '-lcrypto']\n",
        "exe = executable('x', 'main.cpp', dependencies: dep)\n",
    ):
        assert_equal(sorted_lists(text), text)


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
