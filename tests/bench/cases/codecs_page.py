"""The page of the benchmark `codecs`: its targets, its tables, and when not to use each codec."""

import statistics

from cases.comm_figures import ms, only
from pages import table

CLOSE = 1.05  # Times the steps of float32, at most.

WHEN_NOT = {
    "mixed": "where results must be those of float32 to the last bit. Otherwise try it first.",
    "int8": "where `mixed` is fast enough: it adds noise to every sum.",
    "1bit": "with Adam and other optimizers that divide by the size of single gradients: all "
    "numbers of 512 have one size.",
    "topk": "with many nodes: each gets the codes of all others. If each rank has other classes, "
    "add `memory=`.",
    "topk,memory=": "where two more copies of the gradients on each node are too many, and for "
    "gradients on GPUs: they are then encoded on the host.",
    "topk,momentum=": "at the learning rate of float32 with a momentum, or if ranks have data of "
    "different kinds: late numbers then overshoot.",
    "powersgd": "for models of vectors and small matrices, which it sends as they are; and with a "
    "fast network: its products take longer than a sum in memory.",
    "gossip": "where all-reduce is fast enough. On a ring of neighbours it sends more than an "
    "all-reduce does.",
    "gossip, topk": "if each rank has other classes: exact averages are then put in, and on a ring "
    "of 8 half of the bytes of an all-reduce is left.",
    "local_steps": "if ranks have data of different kinds.",
    "diloco": "if the network keeps up with `local_steps`: it has two settings more.",
}


def spread(values):
    """A mean with its deviation from run to run, of percentages."""
    mean = statistics.mean(values)
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return f"{mean * 100:.1f} ± {deviation * 100:.1f} %"


class Runs:
    """The results of one network and number of ranks."""

    def __init__(self, results, steps):
        self.results, self.steps = results, steps
        self.every = results[0]["every"]
        self.shards = list(dict.fromkeys(each["shards"] for each in results))
        self.ways = list(dict.fromkeys(each["way"] for each in results))

    def of(self, way, shards):
        return [e for e in self.results if e["way"] == way and e["shards"] == shards]

    def loss(self, result):
        """The loss after as many steps as float32 makes: the mean of the last evaluations."""
        last = self.steps // self.every
        return statistics.mean(result["losses"][last - 3 : last])

    def reached(self, result, loss):
        """The step after which a run has this loss, of the mean of three evaluations."""
        losses = result["losses"]
        for end in range(3, len(losses) + 1):
            if statistics.mean(losses[end - 3 : end]) <= loss:
                return end * self.every
        return None

    def baseline(self, way):
        return "float32, momentum" if "momentum" in way.partition("rate")[0] else "float32"

    def ratios(self, way, shards):
        """Of each seed: the steps to the loss of float32 as parts of float32's, and float32's bytes
        as parts of this way's; no steps where it is not reached.
        """
        found = []
        pairs = zip(self.of(self.baseline(way), shards), self.of(way, shards), strict=True)
        for base, each in pairs:
            goal = self.loss(base)
            first, reached = self.reached(base, goal), self.reached(each, goal)
            found.append((reached and reached / first, base["bytes"] / each["bytes"]))
        return found

    def row(self, way):
        cells = [way]
        for shards in self.shards:
            runs = self.of(way, shards)
            if not runs:
                cells += ["not measured", "", "", ""]
                continue
            ratios = self.ratios(way, shards)
            steps = [ratio for ratio, _ in ratios]
            told = "not reached" if None in steps else f"{statistics.mean(steps):.2f}"
            cells += [
                f"{statistics.mean(self.loss(each) for each in runs):.3f}",
                spread([each["accuracy"] for each in runs]),
                told,
                f"{statistics.mean(more for _, more in ratios):.1f}",
            ]
        return cells


def trainings(found):
    """{(network, ranks): results} of all shards that were measured."""
    together = {}
    for key, results in found.items():
        if key.startswith("training "):
            together.setdefault(tuple(key.split()[1:3]), []).extend(results)
    return together


def training_tables(found, steps):
    texts = []
    for (network, ranks), results in trainings(found).items():
        runs = Runs(results, steps[network])
        head, seeds = ["way"], []
        for shards in runs.shards:
            name = "like shards" if shards == "iid" else "sorted by label"
            count = len({each["seed"] for each in results if each["shards"] == shards})
            seeds.append(f"{count} seeds ({name})")
            head += [f"{name}: loss", "accuracy", "steps / float32's", "bytes saved, times"]
        rows = [runs.row(way) for way in runs.ways]
        texts.append(
            f"### {network}, {ranks} ranks\n\n{results[0]['parameters']:,} parameters, batches of "
            f"64 on each rank, {' and '.join(seeds)}; the loss is that after {runs.steps} steps, "
            f"the accuracy that at the end.\n\n" + table(head, rows)
        )
    return texts


class Bars:
    def __init__(self):
        self.rows = []

    def add(self, what, got, target, is_met):
        self.rows.append([what, got, target, "yes" if is_met else "**no**"])


def training_bars(bars, found, steps):
    for (network, ranks), results in trainings(found).items():
        runs, where = Runs(results, steps[network]), f"{network}, {ranks} ranks"

        def steps_and_bytes(name, way, shards, more, runs=runs, where=where):
            ratios = runs.ratios(way, shards)
            reached = [ratio for ratio, _ in ratios]
            saved = statistics.mean(times for _, times in ratios)
            mean = None if None in reached else statistics.mean(reached)
            got = "not reached" if mean is None else f"{mean:.2f} times the steps"
            bars.add(
                f"{name}: `{way}`, {shards}, {where}",
                f"{got}, {saved:.1f} times fewer bytes",
                f"<= {CLOSE} times, >= {more} times fewer",
                mean is not None and mean <= CLOSE and saved >= more,
            )

        if runs.of("gossip", "sorted"):
            ours, theirs = (
                statistics.mean(runs.loss(each) for each in runs.of(way, "sorted"))
                for way in ("gossip, topk:0.01", "gossip")
            )
            bars.add(
                f"C12: `gossip, topk:0.01`, sorted, {where}",
                f"loss {ours:.3f}",
                f"<= D-PSGD's {theirs:.3f}",
                ours <= theirs,
            )
        for shards in runs.shards:
            for way in ("topk:0.01", "topk:0.01,memory=0.01"):
                if runs.of(way, shards):
                    steps_and_bytes("C13", way, shards, 10)
        if "iid" not in runs.shards:
            continue
        steps_and_bytes("C12", "gossip, topk:0.01", "iid", 20)
        exact = [each["accuracy"] for each in runs.of("float32", "iid")]
        for way in ("local_steps=8", "diloco=8,rate=0.7,momentum=0.5"):
            each = [each["accuracy"] for each in runs.of(way, "iid")]
            less = statistics.mean(exact) - statistics.mean(each)
            allowed = statistics.stdev(exact) if len(exact) > 1 else 0
            saved = statistics.mean(times for _, times in runs.ratios(way, "iid"))
            bars.add(
                f"`{way}`, iid, {where}",
                f"{less * 100:+.2f} points of accuracy below float32, "
                f"{saved:.1f} times fewer bytes",
                f"<= {allowed * 100:.2f} (a deviation of float32's), >= 7.9 times fewer",
                less <= allowed and saved >= 7.9,
            )


def link_bars(bars, found):
    if "one 1000" not in found:
        return
    seconds = {wire: only(rounds) for wire, rounds in found["one 1000"].items()}
    ratio = seconds["int8"] / seconds["same"]
    bars.add(
        "C7: `int8`, 64 MiB, 1 Gbit/s, 2 hosts with 2 ranks each",
        f"{ratio:.3f} of float32's time",
        "<= 0.29",
        ratio <= 0.29,
    )


def encoding_bars(bars, found):
    for each in found.get("encoding", ()):
        if each["elements"] != 2**24:
            continue
        if each["codec"] == "1bit":
            part = each["code_bytes"] / (4 * each["elements"])
            bars.add("C7: `1bit`, bytes of float32's", f"{part:.3f}", "<= 0.06", part <= 0.06)
        if each["codec"] in ("int8", "1bit", "topk:0.01"):
            ratio = each["encode_copy_seconds"] / each["encode_seconds"]
            bars.add(
                f"encoding by `{each['codec']}`, 64 MiB",
                f"{ratio * 100:.0f} % of the speed of a copy",
                ">= 60 %",
                ratio >= 0.6,
            )


def encoding_table(found):
    if "encoding" not in found:
        return []
    rows = []
    for each in found["encoding"]:
        size = 4 * each["elements"] / 2**20
        rows.append(
            [
                each["codec"],
                f"{size:.0f} MiB",
                f"{each['code_bytes'] / (4 * each['elements']) * 100:.2f} %",
                ms(each["encode_seconds"]),
                f"{each['encode_copy_seconds'] / each['encode_seconds'] * 100:.0f} %",
                ms(each["add_seconds"]),
            ]
        )
    head = ["codec", "gradient", "code", "encode", "of the speed of a copy", "decode and add"]
    ours = {
        each["codec"]: each["encode_seconds"]
        for each in found["encoding"]
        if each["elements"] == 2**24
    }
    beside = [
        [
            each["codec"],
            each["operation"],
            ms(each["seconds"]),
            f"{each['seconds'] / ours[each['codec']]:.1f}",
        ]
        for each in found.get("encoding by torch", ())
    ]
    peers = (
        "\n\nPyTorch's own operations on 64 MiB and one thread, which keep no residual, and round "
        "to the nearest number. Horovod's compression on a CPU is a conversion to fp16, and "
        "BAGUA's 8 bits are kernels for GPUs: neither has something to be measured beside "
        "these.\n\n"
        + table(["codec", "PyTorch", "its time", "its time / that of the codec"], beside)
        if beside
        else ""
    )
    return [
        "## Encoding\n\nOne thread. Encoding includes the residual of codecs that have one. The "
        "copy moves as many bytes as encoding reads and writes; for `powersgd`, whose time is that "
        "of its products, those of four passes over a square matrix. Of `topk` they are all "
        "numbers, the code, and the cache lines of the numbers that are sent, which change in the "
        "residual: with 1 %, a seventh of all.\n\n"
        "`topk` reads all numbers once, which alone takes longer than the copy: half of what that "
        "moves is written, and goes on while the next numbers come. Those that are sent are taken "
        "while the numbers around them are in a cache.\n\n" + table(head, rows).rstrip("\n") + peers
    ]


def link_tables(found):
    texts = []
    for mbit in (1000, 100):
        if f"resnet50 {mbit}" not in found:
            continue
        seconds = {f"`{wire}`": only(of) for wire, of in found[f"resnet50 {mbit}"].items()}
        seconds |= {peer: only(of) for peer, of in found.get(f"peers {mbit}", {}).items()}
        rows = [[way, ms(each), f"{seconds['`same`'] / each:.1f}"] for way, each in seconds.items()]
        texts.append(
            f"### {mbit} Mbit/s\n\n"
            + table(["`FASTGPU_COMM_WIRE`, or peer", "a step", "times faster than `same`"], rows)
        )
    if texts:
        texts.insert(
            0,
            "## On a slow link\n\nThe exchange of ResNet-50's 161 gradients (102 MB), without any "
            "training: two hosts with two ranks each, within this machine, and a shaped link "
            "between them. What encoding and products take is part of the time. The peers are in "
            "the same run: Horovod over Open MPI, PyTorch's DistributedDataParallel over Gloo, "
            "each with the compressions that it brings. For PyTorch's PowerSGD hook gradients are "
            "shaped as nearly square matrices.\n",
        )
    return texts


def page(found, steps, missing):
    """Returns the page's text and its data."""
    bars = Bars()
    training_bars(bars, found, steps)
    link_bars(bars, found)
    encoding_bars(bars, found)
    lines = [f"- `{name}`: do not use it {when}" for name, when in WHEN_NOT.items()]
    parts = [
        "# Sending less",
        "**Do not use a codec where the network keeps up**: within one host and between GPUs with "
        "a fast network most jobs gain nothing, and each codec changes the sums. Compare the loss "
        "first.",
        "\n".join(lines),
        "## Targets",
        table(["what", "measured", "target", "met"], bars.rows),
    ]
    trained = training_tables(found, steps)
    if trained:
        parts.append(
            "## Training on Fashion-MNIST\n\n"
            "Each way makes the same steps on the same images as `float32` with the same seed. "
            "`like shards`: images at random; `sorted by label`: each rank has one or a few "
            "classes. The steps are those until the loss on 4,000 test images is that which "
            "float32 has after all of its steps, divided by float32's; ways of which the name "
            "has momentum are compared with `float32, momentum`. Bytes are those that a rank "
            "sends, from the library's counters and the number of messages that each exchange "
            "takes, without headers. Plain SGD; `momentum` alone is that of the optimizer, "
            "`momentum=0.9` that of the codec.\n\n"
            "With `sorted by label`, the largest numbers of a rank are those of its own classes "
            "step after step, and most of them cancel in the sum; the others wait longer than with "
            "like shards. With `memory=0.01` ranks remember what they send again and again, and "
            "send what differs: the bytes are the same. Neither a warm-up nor a momentum of the "
            "codec makes up for that.\n\n"
            "An entry of `topk` has 4 bytes, a place and a bfloat16, and gossip with a codec "
            "averages the smallest parameters as they are: of the mlp, all but the first layer's "
            "weights."
        )
        parts += trained
    parts += encoding_table(found) + link_tables(found)
    if missing:
        parts.append(
            "Not measured here: " + ", ".join(f"`./dev bench {one}`" for one in missing) + "."
        )
    of_links = ("resnet50", "one ", "peers ")
    data = {
        "bars": bars.rows,
        "found": {key: each for key, each in found.items() if not key.startswith(of_links)},
        "links": {
            key: {wire: only(rounds) for wire, rounds in ways.items()}
            for key, ways in found.items()
            if key.startswith(of_links)
        },
    }
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n", data
