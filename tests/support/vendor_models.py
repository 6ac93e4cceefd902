"""What the vendors' own kits for Python say of answers: which members each may have, and of what
kind.

Everything is read from the installed packages (`use_kits`); nothing of them is kept here.
"""

import functools
import gzip
import importlib
import importlib.util
import inspect
import json
import pathlib
import re


class Schema:
    """What a value may be. `kind` is object, list, map, string, number, boolean or any."""

    def __init__(self, kind, members=None, item=None, required=(), words=()):
        self.kind, self._members, self._item, self.required, self.words = (
            kind,
            members,
            item,
            set(required),
            list(words),
        )

    @functools.cached_property
    def members(self):
        """Of an object: the schema of each member by its name in answers."""
        return self._members() if self._members else {}

    @functools.cached_property
    def item(self):
        """Of a list or a map."""
        return self._item() if self._item else ANY


ANY = Schema("any")


def either(one, other):
    """What either has: where several services have the same route."""
    if one.kind != other.kind or one.kind not in ("object", "list", "map"):
        return one
    if one.kind != "object":
        return Schema(one.kind, item=lambda: either(one.item, other.item))
    shared = one.members.keys() & other.members.keys()
    return Schema(
        "object",
        members=lambda: {
            **one.members,
            **other.members,
            **{name: either(one.members[name], other.members[name]) for name in shared},
        },
    )


NAMED = {
    "str": "string",
    "string": "string",
    "int": "number",
    "integer": "number",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "datetime": "string",
    "bytes": "string",
}


class Aws:
    """By botocore's service descriptions."""

    SERVICES = {
        "ec2": "2016-11-15",
        "sts": "2011-06-15",
        "pricing": "2017-10-15",
        "servicequotas": "2019-06-24",
        "ssm": "2014-11-06",
    }
    FOLDERS = {"servicequotas": "service-quotas"}
    KINDS = {
        "structure": "object",
        "list": "list",
        "map": "map",
        "string": "string",
        "character": "string",
        "timestamp": "string",
        "blob": "string",
        "integer": "number",
        "long": "number",
        "float": "number",
        "double": "number",
        "bigdecimal": "number",
        "boolean": "boolean",
    }

    @functools.cache
    def description(self, service):
        folder = (
            pathlib.Path(importlib.import_module("botocore").__file__).parent
            / "data"
            / self.FOLDERS.get(service, service)
        )
        with gzip.open(folder / self.SERVICES[service] / "service-2.json.gz") as file:
            return json.load(file)

    @functools.cache
    def schema(self, service, shape):
        about = self.description(service)["shapes"][shape]
        return Schema(
            self.KINDS.get(about["type"], "any"),
            members=lambda: {
                member.get("locationName", name): self.schema(service, member["shape"])
                for name, member in about.get("members", {}).items()
            },
            item=lambda: self.schema(service, about.get("member", about.get("value"))["shape"]),
            required=about.get("required", ()),
            words=about.get("enum", ()),
        )

    def answer(self, service, action):
        """None where the kit has no such service or action."""
        if service not in self.SERVICES:
            return None
        operation = self.description(service)["operations"].get(action)
        if operation is None:
            return None
        return (
            self.schema(service, operation["output"]["shape"])
            if "output" in operation
            else Schema("object")
        )


class Alibaba:
    """By the model classes of alibabacloud_ecs20140526 and alibabacloud_vpc20160428."""

    PACKAGES = {"2014-05-26": "alibabacloud_ecs20140526", "2016-04-28": "alibabacloud_vpc20160428"}

    def answer(self, version, action):
        if version not in self.PACKAGES:
            return None
        models = importlib.import_module(self.PACKAGES[version] + ".models")
        found = getattr(models, action + "ResponseBody", None)
        return self.schema(found) if found else None

    @functools.cache
    def schema(self, model):
        def members():
            hints = inspect.signature(model.__init__).parameters
            names = re.findall(
                r"result\['([^']+)'\] = .*?self\.(\w+)|if self\.(\w+) is not "
                r"None:\s+result\['([^']+)'\]",
                inspect.getsource(model.to_map),
                re.S,
            )
            return {
                json_name or other: self.of_hint(model, hints[attribute or name].annotation)
                for json_name, attribute, name, other in names
                if (attribute or name) in hints
            }

        return Schema("object", members=members)

    def of_hint(self, model, hint):
        text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
        if inner := re.fullmatch(r"(?:typing\.)?List\[(.+)\]", text):
            return Schema("list", item=lambda: self.of_hint(model, inner[1]))
        if inner := re.fullmatch(r"(?:typing\.)?Dict\[\s*str\s*,\s*(.+)\]", text):
            return Schema("map", item=lambda: self.of_hint(model, inner[1]))
        if named := re.fullmatch(r"main_models\.(\w+)", text):
            return self.schema(
                getattr(
                    importlib.import_module(model.__module__.split(".")[0] + ".models"), named[1]
                )
            )
        return Schema(NAMED.get(text, "any"))


class Tencent:
    """By the model classes of tencentcloud-sdk-python: what their
    properties say that they return.
    """

    def answer(self, service, version, action):
        try:
            models = importlib.import_module(
                f"tencentcloud.{service}.v{version.replace('-', '')}.models"
            )
        except ImportError:
            return None
        found = getattr(models, action + "Response", None)
        return self.schema(found) if found else None

    @functools.cache
    def schema(self, model):
        models = importlib.import_module(model.__module__)

        def members():
            found = {}
            for name, value in vars(model).items():
                if isinstance(value, property) and (
                    said := re.search(r":rtype: (.+)", value.__doc__ or "")
                ):
                    found[name] = self.of_type(models, said[1].strip())
            return found

        return Schema("object", members=members)

    def of_type(self, models, text):
        if inner := re.fullmatch(r"list of (.+)", text):
            return Schema("list", item=lambda: self.of_type(models, inner[1]))
        if named := re.fullmatch(r":class:`[\w.]*?(\w+)`", text):
            text = named[1]
        if text in NAMED:
            return Schema(NAMED[text])
        found = getattr(models, text, None)
        return self.schema(found) if inspect.isclass(found) else ANY


class Huawei:
    """By the model classes of huaweicloudsdkecs, -vpc, -ims and -iam, and the routes that their
    clients have.
    """

    CLIENTS = (
        "huaweicloudsdkecs.v2.ecs_client",
        "huaweicloudsdkvpc.v2.vpc_client",
        "huaweicloudsdkvpc.v3.vpc_client",
        "huaweicloudsdkims.v2.ims_client",
        "huaweicloudsdkiam.v3.iam_client",
    )

    @functools.cached_property
    def routes(self):
        found = []
        for client in self.CLIENTS:
            file = importlib.util.find_spec(client).origin
            said = re.findall(
                r'"method": "(\w+)",\s+"resource_path": "([^"]+)",.*?"response_type": "(\w+)"',
                pathlib.Path(file).read_text(),
                re.S,
            )
            for method, path, response in said:
                pattern = re.compile(
                    re.sub(
                        r"\\?\{\w+\\?\}",
                        "[^/]+",
                        re.escape(path).replace(r"\{", "{").replace(r"\}", "}"),
                    )
                )
                found.append((method, pattern, client.rsplit(".", 1)[0] + ".model", response))
        # Fixed words before names.
        return sorted(found, key=lambda route: route[1].pattern.count("[^/]+"))

    def answer(self, method, path):
        """The name and the schema of what answers that."""
        fitting = [
            route for route in self.routes if route[0] == method and route[1].fullmatch(path)
        ]
        fitting = [route for route in fitting if route[1].pattern == fitting[0][1].pattern]
        if not fitting:
            return None, None
        return fitting[0][3], functools.reduce(
            either, [self.schema(models, response) for _, _, models, response in fitting]
        )

    @functools.cache
    def schema(self, models, name):
        model = getattr(importlib.import_module(models), name)
        return Schema(
            "object",
            members=lambda: {
                model.attribute_map[attribute]: self.of_type(models, text)
                for attribute, text in model.openapi_types.items()
            },
        )

    def of_type(self, models, text):
        if inner := re.fullmatch(r"list\[(.+)\]", text):
            return Schema("list", item=lambda: self.of_type(models, inner[1]))
        if inner := re.fullmatch(r"dict\(str, (.+)\)", text):
            return Schema("map", item=lambda: self.of_type(models, inner[1]))
        if text in NAMED:
            return Schema(NAMED[text])
        return self.schema(models, text) if hasattr(importlib.import_module(models), text) else ANY
