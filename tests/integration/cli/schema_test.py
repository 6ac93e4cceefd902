"""The schemas that fastgpu prints agree with what it reads: by a validator that is not ours, the
examples and templates are right, and wrong files are refused by both: schema_test.py FASTGPU [TEST
...]
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import suite
from suite import assert_equal, assert_in, assert_not_in, assert_true

HOME = pathlib.Path(__file__).resolve().parents[3]
FASTGPU = os.path.abspath(sys.argv[1])
READERS = {
    "job": (["run", "job", "-f"], "launcher/job_file.cpp"),
    "cluster": (["create", "cluster", "-f"], "provision/cluster_file/cluster_file.cpp"),
    "environment": (["env", "create", "-f"], "envs/environments/spec.cpp"),
}
RIGHT = {
    "job": [
        "command: [./train]\n",
        "command: [python, train.py, --lr, 0.1, true]\nenv: {A: 1, B: x, C: true}\n",
        "command: [a]\nsecrets: [PATH, {name: KEY, file: /etc/passwd}]\ntimeout: 1h30m\ngrace: 0\n",
        "command: [a]\nlauncher: plain\nstdin: none\nengine: mpirun\nkeep_processes: true\n",
        "command: [a]\non_full: continue\n",
        "command: [a]\nkeep_jobs: 0\n",
        "command: [a]\nenvironment: train-2.1\n",
        "command: [a]\narray: 0-100:10,7%4\nparameters: rates.csv\n",
        "command: [a]\narray: 5\n",
        "command: [a]\nmpi: {pml: ob1, btl: ^openib}\nnccl: {DEBUG: INFO, IB_TIMEOUT: 22}\n",
        "command: [a]\nretry: 3\nretry_on: [node-loss, hang]\nhang_timeout: 10m\ncheckpoints: c\n",
        "command: [a]\nengine: slurm\nnp: 4\n"
        "slurm: {partition: gpu, mpi: pmix, nodes: 2, gpus: 8, cpus: 6}\n",
        "command: [a]\nengine: slurm\nnp: 4\n"
        "slurm: {gpus: a100:2, memory: 64G, constraint: a100&nvlink, reservation: course,\n"
        "  nodelist: 'gpu[01-04]', exclude: gpu02, exclusive: true}\n",
    ],
    "cluster": [
        "name: demo\nnodes: 2\nlink-rate: 1gbit\nidle: stop after 30m, delete after 7d\n",
        "name: Lab.gpu01\nhosts: n[01-16],login\nuser: ann\njump: none\n",
        "name: lab\nhosts: [a, {address: b, slots: 8, jump: {address: gate, port: 22}}]\n",
        "name: c\nprovider: aws\nmax-cost: 200USD\ncloud: {gpus: 'A100:8', max-price: 20USD/h}\n",
    ],
    "environment": [
        "name: train\npython: 3.11\npackages: ['numpy<2.3']\nvariables: {OMP_NUM_THREADS: 4}\n",
        "name: train\npython: /usr/bin/python3\npost_install: [[python, -c, 'import numpy']]\n",
        "name: c\nchannels: [conda-forge]\nindex_strategy: best-match\npip: [torch]\n",
    ],
}
WRONG = {
    "job": [
        ("comand: [a]\n", "did you mean 'command'?"),
        ("command: [a]\nenvironment: ../train\n", "environment"),
        ("command: python train.py\n", "list of words"),
        ("command: []\n", "empty"),
        ("command: [a]\nnp: 0\n", "from 1 to"),
        ("command: [a]\nnp: '4'\n", "whole number"),
        ("command: [a]\ntimeout: 5\n", "unit"),
        ("command: [a]\ntimeout: soon\n", "duration"),
        ("command: [a]\nengine: mpirrun\n", "did you mean mpirun?"),
        ("command: [a]\nlauncher: srun\n", "plain"),
        ("command: [a]\nslurm: {partition: -p}\n", "not a word"),
        ("command: [a]\nslurm: {memory: 64}\n", "not an amount of memory"),
        ("command: [a]\nslurm: {gpus: 'a100:'}\n", "not a number of GPUs"),
        ("command: [a]\nslurm: {node: 2}\n", "did you mean 'nodes'?"),
        ("command: [a]\nstdin: rank1\n", "rank0"),
        ("command: [a]\nname: a_b\n", "job name"),
        ("command: [a]\nenv: {'A B': 1}\n", "environment variable"),
        ("command: [a]\nenv: [A]\n", "map"),
        ("command: [a]\nmpi: {'p ml': ob1}\n", "a parameter of Open MPI"),
        ("command: [a]\nmpi: {pml: ''}\n", "empty"),
        ("command: [a]\nnccl: {debug: INFO}\n", "DEBUG for NCCL_DEBUG"),
        ("command: [a]\nnccl: {NCCL_DEBUG: INFO}\n", "leave out NCCL_"),
        ("command: [a]\nncll: {DEBUG: INFO}\n", "did you mean 'nccl'?"),
        ("command: [a]\nsecrets: [A=b]\n", "does not belong"),
        ("command: [a]\nsecrets: [{name: A, path: b}]\n", "unknown field 'secrets[0].path'"),
        ("command: [a]\ndetach: maybe\n", "true or false"),
        ("command: [a]\nsync: ''\n", "empty"),
        ("command: [a]\narray: 1-\n", "not a number"),
        ("command: [a]\nretry_on: [node-los]\n", "did you mean node-loss?"),
        ("command: [a]\nretry: -1\n", "from 0 to"),
        ("command: [a]\narray: 1-5%0\n", "no job at once"),
    ],
    "cluster": [
        ("name: a\nnode: 2\n", "did you mean 'nodes'?"),
        ("name: a_b\n", "cluster name"),
        ("name: a\nnodes: 0\n", "from 1 to"),
        ("name: a\nport: 70000\nhosts: b\n", "from 1 to"),
        ("name: a\nhosts: []\n", "at least one"),
        ("name: a\nhosts: [{name: b}]\n", "'address' is missing"),
        ("name: a\nhosts: [{address: b, host_key: AAAA}]\n", "host key"),
        ("name: a\nidle: after 30m\n", "rule"),
        ("name: a\nmax-cost: 50\n", ""),
        ("name: a\nmax-life: 8\n", "unit"),
        ("name: a\ncloud: {gpu: 'A100:8'}\n", "did you mean 'gpus'?"),
        ("name: a\ncloud: {spot: maybe}\n", "true or false"),
    ],
    "environment": [
        ("name: a\npackage: [numpy]\n", "did you mean 'packages'?"),
        ("name: a\npython: newest\n", "version"),
        ("name: a\npython: {archive: 'https://a/b.tar.gz'}\n", "sha256"),
        ("name: a\npackages: numpy\n", "list"),
        ("name: a\nbuilder: pip\n", "uv, conda or auto"),
        ("name: a\nindex_strategy: all\n", "first-match"),
        ("name: a\nvariables: {'A B': 1}\n", "variable name"),
        ("name: a\npost_install: [echo]\n", "list of words"),
        ("name: a\ncann: {version: 8.3.RC1}\n", "installers"),
    ],
}

# Odd values, each of which is tried in every place of every file. Numbers are written as JSON has
# them: a validator cannot tell 0x10 from 16.
VALUES = [
    *("''", "null", "true", "1", "0", "'1'", "-1", "0.5", "1000001", "[]", "[1]", "{}", "{a: b}"),
    *(
        "a",
        "a b",
        "a_b",
        "a-",
        "-a",
        '"a\\nb"',
        '"a\\0b"',
        '" a"',
        "\u00e9",
        "~/x",
        "~ann/x",
        "$HOME/x",
    ),
    *(
        "10s",
        ".5s",
        "1h30m",
        "30m1h",
        "1 fortnight",
        "1y",
        '" 10s"',
        "0s",
        "1-20%4",
        "1-20%9999999",
    ),
    *(
        "1gbit",
        "1gbit/s",
        "5USD",
        "0USD",
        "5eur/h",
        "stop after 5",
        "stop after 1h,delete after 7d",
    ),
    *("500GB", "numpy<2.3", "https://a/b", "10.0.0.0/8", "ssh-ed25519 AAAA", "x" * 100),
]
# These alone are tried in a place whose schema is that of an earlier one.
FEW = ["''", "true", "-1", "[a]", '"a\\0b"', "~/x"]
# What a place must have beside the value that is tried there.
BASE = {
    "job": {"command": "[a]"},
    "cluster": {"name": "a"},
    "environment": {"name": "a"},
}
BESIDE = {
    ("cluster", "user"): "hosts: h\n",
    ("cluster", "port"): "hosts: h\n",
    ("cluster", "identity"): "hosts: h\n",
    ("cluster", "jump"): "hosts: h\n",
    ("cluster", "cloud"): "provider: aws\n",
    ("environment", "channels"): "builder: conda\n",
    ("environment", "pip"): "builder: conda\n",
}
SUM = f"'{'0' * 64}'"
REQUIRED = {
    "name": "KEY",
    "file": "/etc/hostname",
    "address": "h",
    "archive": "https://a/b",
    "sha256": SUM,
    "version": "8.3",
    "installers": f"[{{path: /a, sha256: {SUM}}}]",
}
# Places where the schema takes more than fastgpu does, because a schema cannot compare values, or
# only by patterns that would not be understood. The reverse is allowed nowhere.
LOOSE = {
    "job": r"grace|hang_timeout|array",
    "cluster": r".*(address|inner|disk)|.*(ssh-from|jump)(\[\])?|hosts(\[\]|\[\].name)?",
    "environment": r"from|(packages|pip|sources|channels|apt|index|index_for)(\[\]|\..*)?|"
    r"(packages|channels)|python\.archive|cann\..*",
}
# Any scalar is taken as an address or a name of a variable, but these are hardly "true".
UNUSUAL = {"cluster": r"hosts.*|jump.*", "job": r"secrets.*"}
# Errors with the file's name that are not about what is written there.
LATER = ("is not set on this machine", "No such file", "File name too long")


def places(schema, root, name="", text="@", seen=()):
    """Yields the name, the YAML text and the schema of each place where a value can be written."""
    yield name, text, schema
    for part in (schema, *(schema.get("allOf", [])), *schema.get("oneOf", [])):
        reference = part.get("$ref", "")
        if reference in seen:
            continue
        if reference:
            target = root["definitions"][reference.rsplit("/", 1)[1]]
            yield from inner_places(target, root, name, text, (*seen, reference))
        else:
            yield from inner_places(part, root, name, text, seen)


def inner_places(schema, root, name, text, seen):
    for part in schema.get("oneOf", []):
        yield from places(part, root, name, text, seen)
    for field, value in schema.get("properties", {}).items():
        others = "".join(
            f", {one}: {REQUIRED[one]}"
            for one in schema.get("required", schema.get("oneOf", [{}])[0].get("required", []))
            if one != field and {field, one} != {"url", "path"}
        )
        inner = text.replace("@", f"{{{field}: @{others}}}")
        yield from places(value, root, f"{name}.{field}", inner, seen)
    if isinstance(schema.get("additionalProperties"), dict):
        yield f"{name}.KEY", text.replace("@", "{@: x}"), schema.get("propertyNames")
        values = schema["additionalProperties"]
        yield from places(values, root, f"{name}.VALUE", text.replace("@", "{A: @}"), seen)
    items = schema.get("items", [])
    if isinstance(items, dict):
        yield from places(items, root, f"{name}[]", text.replace("@", "[@]"), seen)
    for item in items if isinstance(items, list) else []:
        yield from places(item, root, f"{name}[]", text.replace("@", "[@]"), seen)
    if "additionalItems" in schema:
        later = text.replace("@", "[a, @]")
        yield from places(schema["additionalItems"], root, f"{name}[1]", later, seen)


def files_with_odd_values(kind, schema):
    """Yields (place, value, text of the file)."""
    seen = set()
    kinds = []  # The schemas of the places so far.
    for field, value in schema["properties"].items():
        beside = BESIDE.get((kind, field), "")
        before = "".join(f"{k}: {v}\n" for k, v in BASE[kind].items() if k != field) + beside
        for name, text, about in places(value, schema, field):
            bare = {key: rule for key, rule in about.items() if key != "description"}
            values = FEW if bare in kinds else VALUES
            kinds.append(bare)
            for odd in [*values, *reserved(kind, name)]:
                file = f"{before}{field}: {text.replace('@', odd, 1)}\n"
                is_no_name = name.endswith(".KEY") and (odd == "null" or odd[0] in "[{")
                if file not in seen and not is_no_name:
                    seen.add(file)
                    yield name, odd, file


def reserved(kind, place):
    """Returns names that cannot be those of variables."""
    constant, source = {
        ("job", "env.KEY"): ("kOfEachRank", "launcher/job.cpp"),
        ("job", "secrets[]"): ("kOfEachRank", "launcher/job.cpp"),
        ("environment", "variables.KEY"): ("kReserved", "envs/environments/spec.cpp"),
    }.get((kind, place), ("", ""))
    if not constant:
        return []
    found = re.search(constant + r" = \{(.*?)\}", (HOME / source).read_text(), re.S).group(1)
    names = re.findall(r'"(\w+)"', found)
    assert_true(len(names) > 3, constant)
    return names


def validators():
    """Returns the validator of each schema, as fastgpu prints it."""
    try:
        import jsonschema
        import yaml
    except ImportError:
        suite.skip("needs python3-jsonschema and python3-yaml")
    found = {}
    for kind in READERS:
        text = subprocess.run([FASTGPU, "schema", kind], check=True, capture_output=True).stdout
        schema = json.loads(text)
        validator = jsonschema.validators.validator_for(schema)
        validator.check_schema(schema)
        found[kind] = validator(schema)
    return found, yaml.safe_load


def read(user, kind, text):
    """Returns the exit code and the error of fastgpu for a file."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=user))
    path = folder / f"{kind}.yaml"
    path.write_text(text)
    done = subprocess.run(
        [FASTGPU, *READERS[kind][0], str(path), "--dry-run"],
        env={**os.environ, "FASTGPU_STATE_DIR": str(user / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stderr


def test_examples_and_templates_are_right(_user):
    checks, load = validators()
    for kind, path in (
        ("job", "examples/job.yaml"),
        ("job", "templates/job.yaml"),
        ("cluster", "examples/cluster.yaml"),
        ("cluster", "templates/cluster.yaml"),
        ("environment", "examples/env.yaml"),
    ):
        text = (HOME / path).read_text()
        wrong = [error.message for error in checks[kind].iter_errors(load(text))]
        assert_equal(wrong, [], path)
        assert_in("# yaml-language-server: $schema=", text, path)
        named = re.search(r"\$schema=(\S+)", text).group(1)
        if "/" in named:
            assert_true(((HOME / path).parent / named).exists(), f"{path}: {named}")


def test_fields_that_are_all_commented_out_are_right(_user):
    """The lines of the templates that a user may uncomment."""
    checks, load = validators()
    text = (HOME / "templates/job.yaml").read_text()
    fields = re.sub(
        r"^# (?=(npernode|sync|workdir|timeout|detach|env|  OMP)\b)", "", text, flags=re.M
    )
    fields = fields.replace("#   OMP_NUM", "  OMP_NUM")
    assert_true("sync" in load(fields), fields)
    assert_equal([error.message for error in checks["job"].iter_errors(load(fields))], [])


def test_both_take_what_is_right(user):
    checks, load = validators()
    for kind, texts in RIGHT.items():
        for text in texts:
            wrong = [error.message for error in checks[kind].iter_errors(load(text))]
            assert_equal(wrong, [], f"the schema refuses {text}")
            _, err = read(user, kind, text)
            assert_not_in(f"{kind}.yaml:", err, f"fastgpu refuses {text}")


def test_both_refuse_what_is_wrong(user):
    checks, load = validators()
    for kind, rows in WRONG.items():
        for text, why in rows:
            assert_true(not checks[kind].is_valid(load(text)), f"{kind}: the schema takes {text}")
            code, err = read(user, kind, text)
            assert_equal(code, 2, f"{text}{err}")
            assert_in(why, err, text)


def as_json(value):
    """Returns the value with texts for the names of fields, which JSON has alone."""
    if isinstance(value, dict):
        return {
            name if isinstance(name, str) else json.dumps(name): as_json(one)
            for name, one in value.items()
        }
    return [as_json(one) for one in value] if isinstance(value, list) else value


def differences(user, kind, validator, load):
    """Returns the odd values of which the schema and fastgpu think differently."""

    def difference(case):
        place, odd, text = case
        _, err = read(user, kind, text)
        is_refused = f"{kind}.yaml:" in err and not any(words in err for words in LATER)
        is_valid = validator.is_valid(as_json(load(text)))
        if is_valid and is_refused and not re.fullmatch(LOOSE[kind], place):
            return f"{place}: the schema takes {odd}: {err.strip()[-150:]}"
        is_unusual = odd == "true" and re.fullmatch(UNUSUAL.get(kind, ""), place)
        if not is_valid and not is_refused and not is_unusual:
            return f"{place}: the schema refuses {odd}"
        return ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        cases = files_with_odd_values(kind, validator.schema)
        return [one for one in threads.map(difference, cases) if one]


def test_both_think_alike_of_odd_values(user):
    checks, load = validators()
    for kind in READERS:
        assert_equal(differences(user, kind, checks[kind], load), [], kind)


def read_fields(source):
    """Returns the fields that a source reads, and the flags that it names as those without one."""
    text = (HOME / source).read_text()
    lists = re.findall(r"root\.allow_only\(\s*\{(.*?)\}(?:,\s*\{(.*?)\})?\)", text, re.S)
    assert_equal(len(lists), 1, source)
    return [set(re.findall(r'"([^"]+)"', names)) for names in lists[0]]


def test_the_fields_are_those_that_fastgpu_reads(_user):
    checks, _ = validators()
    for kind, (_, source) in READERS.items():
        fields, _ = read_fields(source)
        assert_equal(sorted(checks[kind].schema["properties"]), sorted(fields), source)


def test_each_flag_of_a_job_has_a_field_or_is_named_as_one_without(_user):
    fields, without = read_fields(READERS["job"][1])
    done = subprocess.run([FASTGPU, "run", "job", "--help"], check=True, capture_output=True)
    own = done.stdout.decode().partition("\nGlobal flags:")[0]
    flags = set(re.findall(r"^  (?:-\w+, )?--([a-z-]+)", own, re.M))
    # The field has another name, or the flag is about the file itself.
    others = {"export", "secret", "on", "file", "set"}
    assert_equal(flags - {field.replace("_", "-") for field in fields} - others, without)


def test_the_schemas_are_the_files_that_are_shipped(_user):
    for kind in READERS:
        printed = subprocess.run([FASTGPU, "schema", kind], check=True, capture_output=True).stdout
        shipped = (HOME / f"templates/schemas/{kind}.json").read_bytes()
        assert_equal(printed, shipped, kind)
    done = subprocess.run([FASTGPU, "schema", "jobz"], check=False, capture_output=True, text=True)
    assert_equal(done.returncode, 2, done.stderr)
    assert_in("job", done.stderr)


@contextlib.contextmanager
def folder(_test):
    with tempfile.TemporaryDirectory(prefix="fastgpu-schema-") as path:
        yield pathlib.Path(path)


if __name__ == "__main__":
    suite.main(suite.tests_of(globals()), folder, sys.argv[2:])
