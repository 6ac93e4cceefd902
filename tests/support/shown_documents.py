"""Checks the documents that fastgpu prints under -o json against the schemas that it ships."""

import functools
import json
import pathlib

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "templates/schemas"
FILES = ("cluster", "environment", "job")  # Their documents have schemas of other names.


def wants_json(words):
    """Returns true if the words of a command ask for a document."""
    own = words[: words.index("--")] if "--" in words else words
    pairs = list(zip(own, own[1:], strict=False))
    return ("-o", "json") in pairs or ("--output", "json") in pairs or "--output=json" in own


def kind_of(document):
    """Returns the kind of a document, such as "nodes"; None for anything else."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("fastgpu."):
        return None
    return schema.removeprefix("fastgpu.").removesuffix("/1")


def schema_of(kind):
    """Returns the path of the schema of a kind of document."""
    return SCHEMAS / (f"{kind}-document.json" if kind in FILES else f"{kind}.json")


@functools.cache
def _validator(kind):
    schema = json.loads(schema_of(kind).read_text())
    return jsonschema.validators.validator_for(schema)(schema)


def faults_of(document):
    """Returns the faults of a document by its schema, a line each; none without a validator."""
    kind = kind_of(document)
    if jsonschema is None or kind is None:
        return []
    if not schema_of(kind).exists():
        return [f"no schema describes {document['schema']}"]
    found = jsonschema.exceptions.best_match(_validator(kind).iter_errors(document))
    return [] if found is None else [f"{found.json_path}: {found.message[:600]}"]


def check_output(words, text):
    """Raises AssertionError if a command that was asked for a document prints another one than its
    schema describes. Text that is no document, such as a program's own, is let through.
    """
    if jsonschema is None or not wants_json([str(word) for word in words]):
        return
    try:
        document = json.loads(text)
    except ValueError:
        return
    faults = faults_of(document)
    if faults:
        raise AssertionError(f"{words}: its schema refuses the document: {faults[0]}")
