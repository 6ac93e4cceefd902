"""What every page that fastgpu writes must be, for the tests of each."""

import html.parser
import xml.etree.ElementTree as ElementTree

EMPTY = {"meta", "link", "img", "br", "hr", "input"}


class Nesting(html.parser.HTMLParser):
    """Fails where an element ends that has not begun, as browsers would not."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f"{tag} ends out of turn")


def check_well_formed(page):
    """Fails for a page that is not well-formed, both as HTML and as XML."""
    ElementTree.fromstring(page)
    parser = Nesting()
    parser.feed(page)
    parser.close()
    if parser.open:
        raise AssertionError(f"{parser.open} do not end")
