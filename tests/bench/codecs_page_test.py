"""What the page of the benchmark `codecs` makes of figures."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from cases import codecs_page
from suite import assert_equal, assert_false, assert_in

WAYS = {  # Steps of 10 to a loss of 0.5, and bytes.
    "float32": (10, 1000.0),
    "topk:0.01": (10, 50.0),
    "gossip": (20, 2000.0),
    "gossip, topk:0.01": (12, 40.0),
    "local_steps=8": (10, 125.0),
    "diloco=8,rate=0.7,momentum=0.5": (99, 125.0),
}


def training():
    """A loss that falls to 0.5 in so many evaluations, and further by and by."""
    found = []
    for shards in ("iid", "sorted"):
        for seed in range(2):
            for way, (first, sent) in WAYS.items():
                found.append(
                    {
                        "way": way,
                        "shards": shards,
                        "seed": seed,
                        "every": 10,
                        "parameters": 7850,
                        "losses": [0.5 * (1 + max(0, first - at) / 10) for at in range(1, 13)],
                        "accuracy": 0.8 + 0.01 * seed - (0.1 if "diloco" in way else 0),
                        "bytes": sent,
                    }
                )
    return {
        f"training softmax 8 {shards}": [each for each in found if each["shards"] == shards]
        for shards in ("iid", "sorted")
    }


def rows_of(text, what):
    return [line for line in text.splitlines() if line.startswith("| ") and what in line]


def test_targets_are_met_or_not_as_the_figures_are():
    text, data = codecs_page.page(training(), {"softmax": 120}, [])
    met = {row[0]: row[-1] for row in data["bars"]}
    where = "softmax, 8 ranks"
    assert_equal(met[f"C13: `topk:0.01`, iid, {where}"], "yes")
    assert_equal(met[f"C12: `gossip, topk:0.01`, iid, {where}"], "**no**")  # More steps.
    assert_equal(met[f"C12: `gossip, topk:0.01`, sorted, {where}"], "yes")
    assert_equal(met[f"`local_steps=8`, iid, {where}"], "yes")
    assert_equal(met[f"`diloco=8,rate=0.7,momentum=0.5`, iid, {where}"], "**no**")
    assert_in("| 1.00 | 20.0 |", rows_of(text, "topk:0.01 |")[0])
    assert_in("not reached", rows_of(text, "| diloco=8")[0])


def test_parts_that_are_not_there_are_named_and_have_no_table():
    text, _ = codecs_page.page(training(), {"softmax": 120}, ["codecs:links", "codecs:encoding"])
    assert_in("Not measured here: `./dev bench codecs:links`, `./dev bench codecs:encoding`.", text)
    assert_false("## Encoding" in text)
    assert_false("Mbit/s" in text)


def test_encoding_is_beside_a_copy():
    one = {
        "codec": "1bit",
        "elements": 2**24,
        "code_bytes": 2**21,
        "encode_seconds": 0.02,
        "encode_copy_seconds": 0.01,
        "add_seconds": 0.004,
        "add_copy_seconds": 0.002,
    }
    text, data = codecs_page.page({"encoding": [one]}, {}, [])
    assert_in("| 1bit | 64 MiB | 3.12 % | 20.00 ms | 50 % | 4.00 ms |", text)
    assert_equal([row[-1] for row in data["bars"]], ["yes", "**no**"])


def test_steps_on_a_link_are_medians():
    def rounds(*seconds):
        return [{(1, "gradients"): {"seconds": each}} for each in seconds]

    found = {
        "resnet50 100": {"same": rounds(8.0, 9.0, 7.0), "int8": rounds(2.0, 2.0, 5.0)},
        "peers 100": {"PyTorch DDP, fp16": rounds(4.0, 16.0, 5.0)},
        "one 1000": {"same": rounds(1.0), "int8": rounds(0.3)},
    }
    text, data = codecs_page.page(found, {}, [])
    assert_in("| `int8` | 2000.00 ms | 4.0 |", text)
    assert_in("| PyTorch DDP, fp16 | 5000.00 ms | 1.6 |", text)
    assert_equal(data["links"]["resnet50 100"], {"same": 8.0, "int8": 2.0})
    assert_equal(data["bars"][0][-1], "**no**")  # 0.3 of the time, not 0.29.


suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
