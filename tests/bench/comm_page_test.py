"""What the page of the benchmark `comm` shows of figures, and how its parts keep them."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import suite
from cases import comm, comm_bars, comm_collectives, comm_loss, comm_training
from cases.comm_figures import COLLECTIVES, MIB
from suite import assert_equal, assert_false, assert_in

HERE = pathlib.Path(__file__).resolve().parent
SIZES = (8, 4096, 100 * MIB)
CELLS = (len(COLLECTIVES) - 1) * len(SIZES) + 1  # A barrier has no size.


def results(seconds):
    """Of each collective and size the seconds that seconds(collective, size) gives."""
    found = {}
    for collective in COLLECTIVES:
        for size in (0,) if collective == "barrier" else SIZES:
            found[(size, collective)] = {
                "bytes": size,
                "collective": collective,
                "seconds": seconds(collective, size),
            }
    return [found]


def turns():
    """Open MPI wins all-gathers of 4 KiB in the program's memory, with cold caches and 2 ranks."""
    found = {}
    for ranks in (2, 4):
        for caches in ("warm", "cold"):
            here = found[f"{caches} {ranks}"] = {}
            for name in ("fastgpu", "fastgpu, its memory"):
                here[name] = results(lambda collective, size: 1e-5)
            for name in ("Open MPI", "Open MPI, its memory"):
                here[name] = results(lambda collective, size: 2e-5)
    wins = found["cold 2"]["Open MPI"][0][(4096, "all_gather")]
    wins["seconds"] = 5e-6
    return found


def test_a_case_in_which_open_mpi_wins_is_bold_and_counted():
    text = comm_collectives.collectives(turns())
    cases = 2 * 2 * 2 * CELLS
    assert_in(f"in 1 of {cases} cases", text)
    rows = [line for line in text.splitlines() if "**" in line and line.startswith("| ")]
    assert_equal(
        rows,
        ["| all_gather | cold | 10.0 us (2.00) | **10.0 us (0.50)** | 10.0 us (2.00) |"],
    )


def test_the_table_over_tcp_has_one_row_a_collective_and_counts_its_own_cases():
    found = {f"tcp {ranks}": turns()[f"cold {ranks}"] for ranks in (2, 4)}
    text = comm_collectives.collectives_over_tcp(found)
    assert_in(f"in 1 of {2 * CELLS} cases", text)
    assert_in("| all_gather | tcp | 10.0 us (2.00) | **10.0 us (0.50)** | 10.0 us (2.00) |", text)


def test_lengths_that_were_rounded_to_blocks_stay_in_their_column():
    found = turns()
    for caches in ("warm 4", "cold 4"):
        for rounds in found[caches].values():
            for once in rounds:
                once[(16, "all_to_all")] = once.pop((8, "all_to_all"))
    text = comm_collectives.collectives(found)
    row = next(
        line
        for line in text[text.index("| 4 ranks, memory of the program") :].splitlines()
        if line.startswith("| all_to_all | warm")
    )
    assert_equal(row.count("10.0 us (2.00)"), len(SIZES))


def steps(ours, theirs):
    ways = {"alone": 0.1, "fastgpu": ours, "PyTorch DDP": theirs}
    return {"linear": {way: [{"seconds": taken, "torch": "2"}] * 3 for way, taken in ways.items()}}


def test_a_step_that_ddp_makes_faster_is_bold():
    text = comm_training.whole_steps({"steps 2": steps(0.15, 0.12), "steps 4": steps(0.15, 0.3)})
    assert_in("| linear, 2 ranks | fastgpu | **150.00 ms** | **50.00 ms** | **0.80** |", text)
    assert_in("| linear, 2 ranks | PyTorch DDP | 120.00 ms | 20.00 ms | 1.00 |", text)
    assert_in("| linear, 4 ranks | fastgpu | 150.00 ms | 50.00 ms | 2.00 |", text)


def test_bytes_on_the_wire_are_beside_the_payload_and_bold_where_ddp_sends_less():
    def line(library, wire):
        return {"what": "one", "ranks": 2, "bytes": 1000, "wire": wire, "library": library}

    text = comm_training.on_the_wire({"wire": [line("fastgpu", 2200), line("ddp", 2100)]})
    assert_in("| one, 2 ranks | **fastgpu** | **1,000** | **1,100** | **100** | **10.0 %**", text)
    assert_in("| one, 2 ranks | PyTorch DDP over Gloo | 1,000 | 1,050 | 50 | 5.0 % |", text)
    assert_false(
        "**fastgpu**"
        in comm_training.on_the_wire({"wire": [line("fastgpu", 2000), line("ddp", 2100)]})
    )


def lossy(*controls, failures=None, **seconds):
    def rounds(taken):
        of = {"bytes": 16 * MIB, "collective": "all_reduce", "seconds": taken}
        return [{(16 * MIB, "all_reduce"): of}] * 3

    here = {name.replace("_", " "): rounds(taken) for name, taken in seconds.items()}
    return {
        **{f"loss {control}": here for control in controls},
        **{f"loss failures {control}": (failures or {}).get(control, {}) for control in controls},
    }


def test_paths_with_loss_are_compared_with_the_best_of_each_peer():
    bars = comm_bars.Bars()
    found = lossy("reno", "bbr", fastgpu=0.5, Open_MPI=2.0, Open_MPI_fastest=0.9, Gloo=1.5)
    comm_loss.add_bars(bars, found)
    assert_equal([row[3] for row in bars.rows], ["1.80", "3.00"] * 2)
    assert_equal([row[-1] for row in bars.rows], ["**no**", "yes"] * 2)
    assert_in("| reno | Gloo | 1500.00 ms | 34 % |", comm_loss.section(found))


def test_a_peer_that_does_not_end_has_a_row_and_no_target():
    bars = comm_bars.Bars()
    failures = {"bbr": {"Gloo": "no end in 180 s"}}
    found = lossy("bbr", failures=failures, fastgpu=0.5, Open_MPI=2.0)
    comm_loss.add_bars(bars, found)
    assert_equal(len(bars.rows), 1)
    assert_in("| bbr | Gloo | no end in 180 s |", comm_loss.section(found))
    assert_equal(comm.from_json(json.loads(json.dumps(comm.as_json(found)))), found)


def test_the_page_names_the_parts_about_loss_that_were_not_measured():
    assert_in("Not measured here: `./dev bench comm:loss-cubic`", comm_loss.section({}))


def test_figures_are_the_same_after_they_were_kept():
    found = {**turns(), "tuned": 0.5, "uneven": [1.0, 2.0], "steps 2": steps(1, 2), "wire": []}
    assert_equal(comm.from_json(json.loads(json.dumps(comm.as_json(found)))), found)


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are():
    for words, wanted in (
        (
            "comm:wrm-2",
            "comm has no part 'wrm-2'; its parts are: checks hosts networks fabric loss-cubic "
            "loss-reno loss-bbr warm-2 cold-2 tcp-2",
        ),
        ("job:one", "job has no part 'one'; it is measured as a whole"),
        ("com", "unknown benchmark 'com'"),
    ):
        done = subprocess.run(
            [sys.executable, HERE / "run.py", "build", words], capture_output=True, text=True
        )
        assert_in(wanted, done.stderr)
        assert_equal(done.returncode, 1)


suite.main(suite.tests_of(globals()), wanted=sys.argv[1:])
