"""The page of bench comm is one well-formed file that needs nothing from elsewhere:
bench_page_test.py PRINT-BENCH-PAGE
"""

import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from html_page import check_well_formed

PAGE = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout


class Page(unittest.TestCase):
    def test_it_is_well_formed(self):
        check_well_formed(PAGE)

    def test_it_needs_nothing_from_elsewhere(self):
        self.assertNotIn("://", PAGE)
        self.assertNotIn("<script", PAGE)
        self.assertNotIn("<link", PAGE)
        self.assertNotIn("@import", PAGE)
        self.assertNotIn("src=", PAGE)

    def test_it_has_two_plots_whose_points_lie_inside(self):
        root = ElementTree.fromstring(PAGE)
        pictures = list(root.iter("svg"))
        self.assertEqual(len(pictures), 2)
        for picture in pictures:
            _, _, width, height = map(float, picture.get("viewBox").split())
            circles = list(picture.iter("circle"))
            self.assertEqual(len(circles), 3)
            for circle in circles:
                self.assertTrue(0 <= float(circle.get("cx")) <= width)
                self.assertTrue(0 <= float(circle.get("cy")) <= height)
                self.assertRegex(circle.find("title").text, r"^all_\w+ float\d+, .*: .*")
            self.assertGreater(len(list(picture.iter("text"))), 6)

    def test_every_label_lies_inside_and_axes_have_names(self):
        for picture in ElementTree.fromstring(PAGE).iter("svg"):
            _, _, width, _ = map(float, picture.get("viewBox").split())
            labels = list(picture.iter("text"))
            for label in labels:
                half = (
                    {"middle": 0.5, "start": 1, "end": 0}[label.get("text-anchor")]
                    * 7
                    * len(label.text)
                )
                self.assertLessEqual(float(label.get("x")) + half, width, label.text)
                self.assertNotRegex(label.text, "e-?[0-9]")
            self.assertEqual(labels[-1].text, "size of the message")

    def test_what_is_the_same_in_every_row_is_said_once(self):
        first = next(ElementTree.fromstring(PAGE).iter("table"))
        titles = [cell.text for cell in first.iter("th")]
        self.assertNotIn("LIBRARY", titles)
        self.assertNotIn("RANKS", titles)
        self.assertIn("BUSBW(GB/s)", titles)
        self.assertIn("In all rows: LIBRARY fastgpu, RANKS 4.", PAGE)

    def test_it_says_when_and_how_it_was_made(self):
        self.assertRegex(
            PAGE,
            r"fastgpu [0-9.]+, 2026-03-01T12:00:00Z: <code>fastgpu bench comm demo "
            r"--sizes=8:4M</code>",
        )

    def test_more_bandwidth_is_higher_up_and_more_bytes_further_right(self):
        first = next(ElementTree.fromstring(PAGE).iter("svg"))
        low, high = list(first.iter("circle"))[:2]
        self.assertLess(float(low.get("cx")), float(high.get("cx")))
        self.assertGreater(float(low.get("cy")), float(high.get("cy")))

    def test_names_stay_text(self):
        cells = [cell.text for cell in ElementTree.fromstring(PAGE).iter("td")]
        self.assertIn('a<b>&"c"', cells)

    def test_colours_have_a_light_and_a_dark_form(self):
        light, dark = PAGE.split("@media (prefers-color-scheme:dark)")
        for name in re.findall(r"var\((--\w+)\)", PAGE):
            if name != "--k":
                self.assertIn(f"{name}:", light)
                self.assertIn(f"{name}:", dark.split("}}")[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
