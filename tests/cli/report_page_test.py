"""The report of a job is one well-formed page that needs nothing from elsewhere, whatever its logs
have; it fits narrow and wide windows: report_page_test.py PRINT-REPORT-PAGE
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from html_page import check_well_formed

PAGE = subprocess.run([sys.argv[1]], capture_output=True, check=True).stdout.decode()
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Writes the widths of the page and of its window into the title.
MEASURE = (
    "<script>addEventListener('load',()=>{const e=document.documentElement;document.title="
    "`width ${e.scrollWidth} of ${innerWidth}; page ${getComputedStyle(document.body)."
    "backgroundColor}; scripts ${document.scripts.length}; images ${document.images.length}`;"
    "const bar=document.querySelector('.op.sum[title]');bar.focus();document.title+='; tip '+"
    "getComputedStyle(bar,'::after').content+', width '+e.scrollWidth})"
    "</script></body>"
)


def in_browser(width, *flags):
    """Returns the title that the page has after it was laid out in a window of that width."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise unittest.SkipTest("needs chromium")
    with tempfile.TemporaryDirectory(prefix="fastgpu-report-") as folder:
        path = pathlib.Path(folder) / "report.html"
        path.write_text(PAGE.replace("</body>", MEASURE))
        # A headless window is not narrower than 500: a frame is.
        frame = pathlib.Path(folder) / "frame.html"
        frame.write_text(
            f'<iframe id="f" style="border:0;width:{width}px;height:900px" src="report.html">'
            "</iframe><script>addEventListener('load',()=>setTimeout(()=>{document.title="
            "document.getElementById('f').contentDocument.title},200))</script>"
        )
        done = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--allow-file-access-from-files",
                f"--user-data-dir={folder}/user",
                "--virtual-time-budget=5000",
                f"--window-size={width + 40},1000",
                *flags,
                "--dump-dom",
                frame.as_uri(),
            ],
            capture_output=True,
            check=True,
            timeout=100,
        )
    return re.search(r"<title>(.*?)</title>", done.stdout.decode(errors="replace")).group(1)


class Report(unittest.TestCase):
    def test_it_is_well_formed(self):
        check_well_formed(PAGE)

    def test_it_needs_nothing_from_elsewhere(self):
        self.assertNotIn("://", PAGE)
        self.assertNotIn("@import", PAGE)
        self.assertNotRegex(PAGE, r"<(script|link|img|iframe)")

    def test_hostile_lines_are_text(self):
        text = "".join(ElementTree.fromstring(PAGE).itertext())
        for line in (
            "</pre></body><script>alert(3)</script>",
            '"</p><script>alert(2)</script>',
            "<img src=x onerror=alert(1)>",
            '"><img src=x onerror=alert(5)>',
        ):
            self.assertIn(line, text)
        for control in ("\x1b", "\x07", "\u202e"):
            self.assertNotIn(control, PAGE)

    def test_every_rank_has_a_bar_inside_its_track(self):
        bars = re.findall(r'class="bar \w+" style="left:([\d.]+)%;width:([\d.]+)%"', PAGE)
        self.assertEqual(len(bars), 24)
        for left, width in bars:
            self.assertLessEqual(float(left) + float(width), 100.02)

    def test_the_nodes_have_charts_whose_curves_are_inside(self):
        root = ElementTree.fromstring(PAGE)
        charts = root.findall(".//svg")
        # Of nodes CPU, memory, network, GPUs and their memory; of metrics two.
        self.assertEqual(len(charts), 2 * 5 + 2)
        for line in root.findall(".//svg/polyline"):
            points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
            self.assertIn(len(points), (42, 2) if line.get("class") == "metric" else (42,))
            for x, y in points:
                self.assertTrue(0 <= x <= 1000 and 0 <= y <= 100, (x, y))
        text = "".join(root.itertext())
        self.assertIn("memory 4.3 GB, most 8.4 GB of 16 GB", text)
        self.assertIn("/root/<b>/rank-0.json", text)
        self.assertIn("loss 2 to 0.04762, from 0.04762 to 2", text)

    def test_the_timelines_have_bars_with_titles_inside_their_tracks(self):
        root = ElementTree.fromstring(PAGE)
        bars = [bar for bar in root.iter("div") if (bar.get("class") or "").startswith("op ")]
        self.assertTrue(500 < len(bars) < 16 * 300, len(bars))
        for bar in bars:
            left, width = re.match(r"left:([\d.]+)%;width:([\d.]+)%", bar.get("style")).groups()
            self.assertLessEqual(float(left) + float(width), 100.02)
            self.assertTrue(bar.get("title"))
            self.assertEqual(bar.get("tabindex"), "0")
        titles = [bar.get("title") for bar in bars]
        wanted = "all-reduce 0 of step 109, 10 MB, 83ms, waited 20.1ms for rank 3"
        self.assertTrue(wanted in titles, [one for one in titles if "all-reduce 0" in one][:9])
        text = "".join(root.itertext())
        self.assertIn("The others waited for rank 3 most: in 11 steps, 20.1ms at most.", text)
        self.assertIn("Of 24 timelines only the end was read, 524 kB at most of each", text)
        self.assertIn("16 of 24 ranks are drawn", text)

    def test_it_fits_narrow_and_wide_windows_in_chromium(self):
        for width in (400, 1600):
            title = in_browser(width)
            found = re.match(r"width (\d+) of (\d+); page (.*); scripts 1; images 0", title)
            self.assertTrue(found, title)
            self.assertEqual(int(found.group(2)), width)
            self.assertLessEqual(int(found.group(1)), width, "it is wider than the window")
            tip = re.search(r"; tip \"(all-reduce \d of step \d+, 10 MB.*)\", width (\d+)", title)
            self.assertTrue(tip, title)
            self.assertLessEqual(int(tip.group(2)), width, "a bar in focus makes it wider")

    def test_it_is_dark_where_the_screen_is(self):
        light = in_browser(800)
        dark = in_browser(800, "--blink-settings=preferredColorScheme=0")
        self.assertIn("rgb(255, 255, 255)", light)
        self.assertIn("rgb(21, 24, 29)", dark)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
