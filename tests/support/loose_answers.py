"""A proxy before the stand-in, which makes its answers such as a vendor's model allows and no test
has thought of.

A share of the members of each answer is absent, null, empty, of an unknown word, a number as text,
or of another kind; some that the stand-in never has are there. Which, is decided by a seed, the
action and its number, so that a run can be repeated.
"""

import contextlib
import http.server
import json
import random
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

from answering import Answering
from vendor_models import ANY, Alibaba, Aws, Huawei, Schema, Tencent

UNKNOWN_WORD = "SOMETHING_NEW"
ODD_TEXTS = (
    "",
    UNKNOWN_WORD,
    "0",
    "-",
    "\u96f2 \u00e9",
    "x" * 300,
    "99999999999999999999",
    "null",
    "a,b",
    "2006-01-02T15:04:05Z",
)
# What kits take off an answer before they read it as the model says.
ENVELOPE = ("requestId", "return", "Error")
ALL_TEXTS = 0.1  # Of the answers: each number in them is a text.
ODD_NUMBERS = (0, -1, 1, 2**31, 2**53, 0.5, 1e300)


def kind_of(value):
    """A schema for what no model describes."""
    if isinstance(value, dict):
        return Schema("object")
    if isinstance(value, list):
        return Schema("list")
    if isinstance(value, bool):
        return Schema("boolean")
    return Schema("string" if isinstance(value, str) else "number")


class Loosening:
    """Changes one answer. What it did is in `done`, for a test's message."""

    def __init__(self, chance, share):
        self.chance, self.share, self.done = chance, share, []
        self.invented_members = set()  # Which no model has.
        self.all_texts = chance.random() < ALL_TEXTS

    def hits(self, part=1.0):
        return self.chance.random() < self.share * part

    def note(self, path, what):
        self.done.append(f"{path}: {what}")

    # JSON

    def value(self, value, schema, path="$"):
        if isinstance(value, dict):
            return self.object(value, schema, path)
        if isinstance(value, list):
            return [
                self.entry(each, schema.item, f"{path}[{nth}]") for nth, each in enumerate(value)
            ]
        # A price of AWS's list is the text of a document.
        if isinstance(value, str) and value.startswith("{"):
            with contextlib.suppress(ValueError):
                return json.dumps(self.value(json.loads(value), ANY, path))
        if self.all_texts and isinstance(value, (int, float)):
            return str(value).lower() if isinstance(value, bool) else str(value)
        return value

    def object(self, value, schema, path):
        members = {} if schema.kind == "map" else schema.members
        result = {}
        for name, each in value.items():
            of, where = (
                members.get(name, schema.item if schema.kind == "map" else ANY),
                f"{path}.{name}",
            )
            if members and name not in (*members, *ENVELOPE):
                self.invented_members.add(re.sub(r"\[\d+\]", "[]", where))
            of = kind_of(each) if of.kind == "any" else of
            if not self.hits():
                result[name] = self.value(each, of, where)
            elif name not in schema.required and self.chance.random() < 0.3:
                self.note(where, "absent")
            else:
                result[name] = self.other(each, of, where)
        for name in members.keys() - value.keys():
            if self.hits(0.2):
                result[name] = self.invented(members[name])
                self.note(f"{path}.{name}", f"new: {json.dumps(result[name])[:60]}")
        return result

    def entry(self, value, schema, path):
        """One of a list: some clouds answer a question for what is gone by an entry with nothing
        but its id.
        """
        if isinstance(value, dict) and self.hits():
            self.note(path, "hollow")
            return {
                name: each if isinstance(each, str) and name.lower().endswith("id") else None
                for name, each in value.items()
            }
        if self.hits(0.3):
            self.note(path, "null")
            return None
        return self.value(value, schema, path)

    def other(self, value, schema, path):
        choices = {
            "string": [*ODD_TEXTS, *(words for words in schema.words if words != value)][:30],
            "number": [str(value), *ODD_NUMBERS],
            "boolean": [str(value).lower(), not value],
            "list": [[], [], [None]],
            "object": [{}, {}],
            "map": [{}],
        }.get(schema.kind, [])
        another_kind = [7, "7", True, [], {}, ["x"], {"x": "y"}, 1.5]
        result = self.chance.choice(
            [None] * 3
            + [self.chance.choice(choices or [None])] * 5
            + [self.chance.choice(another_kind)] * 2
        )
        self.note(path, json.dumps(result)[:60])
        return result

    def invented(self, schema, depth=3):
        """A value of that kind; None too, which every kit reads."""
        if depth == 0 or self.chance.random() < 0.3:
            return None
        if schema.kind == "object":
            return {
                name: self.invented(each, depth - 1)
                for name, each in schema.members.items()
                if self.chance.random() < 0.3
            }
        if schema.kind == "list":
            return [self.invented(schema.item, depth - 1)] * self.chance.randrange(3)
        if schema.kind == "map":
            return {"x": self.invented(schema.item, depth - 1)}
        if schema.kind == "boolean":
            return self.chance.random() < 0.5
        if schema.kind == "number":
            return self.chance.choice(ODD_NUMBERS)
        return self.chance.choice(schema.words or ODD_TEXTS)

    # XML, where nothing is absent in any other way than that its element is.

    def element(self, element, schema, path):
        members = schema.members if schema.kind == "object" else {}
        for child in list(element):
            name = child.tag.rsplit("}", 1)[-1]
            of = schema.item if schema.kind == "list" else members.get(name, ANY)
            where = f"{path}/{name}"
            if members and name not in (*members, *ENVELOPE):
                self.invented_members.add(where)
            if not self.hits():
                self.element(child, of, where)
            elif schema.kind == "list" and len(child) and self.chance.random() < 0.3:
                for part in list(child):
                    if not part.tag.endswith("Id"):
                        child.remove(part)
                self.note(where, "hollow")
            elif name not in schema.required and self.chance.random() < 0.4:
                element.remove(child)
                self.note(where, "absent")
            else:
                self.change(child, of, where)
        for name in members.keys() - {child.tag.rsplit("}", 1)[-1] for child in element}:
            if self.hits(0.2):
                self.invent(
                    xml.SubElement(element, element.tag[: element.tag.find("}") + 1] + name),
                    members[name],
                )
                self.note(f"{path}/{name}", "new")

    def change(self, element, schema, path):
        # Another kind: a text instead of parts.
        if len(element) and self.chance.random() < 0.3 and schema.kind != "list":
            texts = ODD_TEXTS
        else:
            texts = {
                "string": [*ODD_TEXTS, *schema.words][:30],
                "number": [*map(str, ODD_NUMBERS)],
                "boolean": ["true", "false"],
            }.get(schema.kind, [""])
        for child in list(element):
            element.remove(child)
        element.text = self.chance.choice(["", *[self.chance.choice(texts)] * 2])
        self.note(path, repr(element.text)[:60])

    def invent(self, element, schema, depth=3):
        if depth == 0:
            return
        if schema.kind == "object":
            for name, each in schema.members.items():
                if self.chance.random() < 0.3:
                    self.invent(
                        xml.SubElement(element, element.tag[: element.tag.find("}") + 1] + name),
                        each,
                        depth - 1,
                    )
        elif schema.kind == "list":
            for _ in range(self.chance.randrange(3)):
                self.invent(
                    xml.SubElement(element, element.tag[: element.tag.find("}") + 1] + "item"),
                    schema.item,
                    depth - 1,
                )
        elif schema.kind == "boolean":
            element.text = self.chance.choice(["true", "false"])
        elif schema.kind == "number":
            element.text = str(self.chance.choice(ODD_NUMBERS))
        else:
            element.text = self.chance.choice(schema.words or ODD_TEXTS)


class Question:
    """What a request asks for, by the rules of its vendor, and the schema of its answer; None where
    its kit has none.
    """

    AWS, ALIBABA, TENCENT, HUAWEI = Aws(), Alibaba(), Tencent(), Huawei()

    def __init__(self, cloud, method, path, headers, body):
        self.inner, self.schema = None, None
        getattr(self, "read_" + cloud)(method, urllib.parse.urlsplit(path), headers, body)

    def read_aws(self, _, url, headers, body):
        scope = re.search(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/", headers.get("Authorization", ""))
        service = scope[1] if scope else ""
        target = headers.get("X-Amz-Target")
        fields = urllib.parse.parse_qs(body.decode(errors="replace"))
        self.action = target.rsplit(".", 1)[-1] if target else fields.get("Action", [""])[0]
        self.schema = self.AWS.answer(service, self.action)
        self.inner = self.action + "Result" if service == "sts" else None

    def read_alibaba(self, _, url, headers, body):
        self.action = headers.get("x-acs-action", "")
        self.schema = self.ALIBABA.answer(headers.get("x-acs-version", ""), self.action)

    def read_tencent(self, _, url, headers, body):
        self.action = headers.get("X-TC-Action", "")
        scope = re.search(
            r"Credential=[^/]+/[^/]+/([^/]+)/tc3_request", headers.get("Authorization", "")
        )
        self.schema = self.TENCENT.answer(
            scope[1] if scope else "", headers.get("X-TC-Version", ""), self.action
        )
        self.inner = "Response"

    def read_huawei(self, method, url, headers, body):
        name, self.schema = self.HUAWEI.answer(method, url.path.rstrip("/") or "/")
        self.action = name or f"{method} {url.path}"


class LooseAnswers:
    """Listens on loopback from `with` on. Nothing is changed until `share` is more than 0."""

    def __init__(self, cloud, seed):
        self.cloud, self.seed, self.share = cloud, seed, 0.0
        self.log, self.counts, self.lock = [], {}, threading.Lock()
        # Actions that no kit describes; members that the stand-in has and a kit does not know.
        self.undescribed, self.invented = set(), set()

    def __enter__(self):
        outer = self

        class Handler(Answering):
            def do_POST(self):
                status, body, kind = outer.ask(
                    self.command, self.path, self.headers, self.request_body()
                )
                with contextlib.suppress(OSError):
                    self.give(status, body, kind)

            do_GET = do_PUT = do_DELETE = do_POST

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def environment(self):
        return {"http_proxy": self.url, "no_proxy": ""}

    def ask(self, method, path, headers, body):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        passed = {
            name: value
            for name, value in headers.items()
            if name.lower() not in ("content-length", "proxy-connection")
        }
        request = urllib.request.Request(path, body or None, passed, method=method)
        try:
            answer = opener.open(request, timeout=60)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            text, kind = answer.read(), answer.headers["Content-Type"] or ""
        return (
            answer.status,
            self.loosened(Question(self.cloud, method, path, headers, body), text, answer.status),
            kind,
        )

    def loosened(self, question, text, status):
        with self.lock:
            nth = self.counts[question.action] = self.counts.get(question.action, 0) + 1
        if not self.share or not text:
            return text
        work = Loosening(random.Random(f"{self.seed} {question.action} {nth}"), self.share)
        schema = question.schema if question.schema and status < 300 else ANY
        try:
            changed = (
                self.loosened_xml(work, question, text, schema)
                if text.lstrip().startswith(b"<")
                else self.loosened_json(work, question, text, schema)
            )
        except ValueError:  # Neither.
            return text
        with self.lock:
            self.log.append((question.action, status, work.done))
            if status < 300:
                self.invented |= {f"{question.action} {path}" for path in work.invented_members}
                self.undescribed |= set() if question.schema else {question.action}
        return changed if work.done or work.all_texts else text

    @staticmethod
    def loosened_json(work, question, text, schema):
        answer = json.loads(text)
        if question.inner and isinstance(answer, dict) and question.inner in answer:
            answer = {**answer, question.inner: work.value(answer[question.inner], schema)}
        else:
            answer = work.value(answer, schema)
        return json.dumps(answer).encode()

    @staticmethod
    def loosened_xml(work, question, text, schema):
        try:
            root = xml.fromstring(text)
        except xml.ParseError as e:
            raise ValueError(e) from e
        inner = next(
            (
                child
                for child in root
                if question.inner and child.tag.endswith("}" + question.inner)
            ),
            root,
        )
        work.element(inner, schema, question.action)
        if root.tag.startswith("{"):
            xml.register_namespace("", root.tag[1 : root.tag.find("}")])
        return b'<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root)
