"""Hosts of a static cluster that do not answer: how they are shown, and jobs without them:
silent_hosts_test.py FASTGPU [TEST ...]

Exits with 77 where it cannot run.
"""

import json

import static_lab
from static_lab import NETWORK, within_host
from suite import assert_equal, assert_false, assert_in, assert_not_in, assert_true


def trio(lab):
    """Returns the hosts of a new cluster; the second one is about to fail."""
    hosts = [
        lab.host(name, f"{NETWORK}.{20 + i}", network=True)
        for i, name in enumerate(("one", "two", "three"))
    ]
    lab.create(*(host.entry() for host in hosts))
    return hosts


def cut_off(host):
    within_host(host, "ip", "link", "set", "eth0", "down")


def reconnect(host):
    within_host(host, "ip", "link", "set", "eth0", "up")


def nodes(lab):
    """Returns the nodes of the cluster by their names, as `get nodes` shows them."""
    found = json.loads(lab.run("get", "nodes", "lab", "-o", "json").stdout)["nodes"]
    return {node["name"]: node for node in found}


def job(lab, ranks, *more, code=0):
    words = ["-c", "lab", "--launcher", "plain", *(["-np", str(ranks)] if ranks else []), *more]
    return lab.run("run", "job", "j", *words, "--", "hostname", code=code)


def hosts_in(done):
    return sorted(line.split()[-1] for line in done.stdout.splitlines())


def test_a_host_that_does_not_answer_is_shown_and_jobs_do_without_it(lab):
    one, two, three = trio(lab)
    cut_off(two)
    assert_equal(nodes(lab)["two"]["unreachable_since"], None, "nothing has found it yet")
    # The first job finds it out while it starts, and goes to the other hosts by itself.
    done = job(lab, 2)
    assert_equal(hosts_in(done), ["one", "three"])
    assert_in("job j-1 goes to other nodes", done.stderr)
    for host in (one, three):
        assert_true((host.home / ".fastgpu/jobs/j-1").is_dir(), host.name)
    shown = nodes(lab)
    assert_true(shown["two"]["unreachable_since"], shown["two"])
    assert_in("no", shown["two"]["unreachable_reason"])
    assert_equal(shown["two"]["state"], "running", "what the provider knows")
    assert_equal(shown["one"]["unreachable_since"], None)
    table = lab.run("get", "nodes", "lab").stdout
    assert_in("unreachable", table)
    assert_in("SINCE", table)
    assert_in("2/3", lab.run("get", "clusters").stdout)
    described = lab.run("describe", "node", "two").stdout
    assert_in("unreachable", described)
    assert_in("No answer since", described)
    assert_in("2 of 3 running, 1 unreachable", lab.run("describe", "cluster", "lab").stdout)
    # Later ones do not try.
    done = job(lab, 2)
    assert_equal(hosts_in(done), ["one", "three"])
    assert_in("two has not answered since", done.stderr)
    assert_in("the job goes to the other nodes", done.stderr)
    # Where it is needed, the error says how to do without.
    for ranks in (3, None):
        failed = job(lab, ranks, code=1)
        assert_in("two", failed.stderr)
        assert_in("to leave two out: -H one,three (2 slots)", failed.stderr)
    assert_equal(hosts_in(job(lab, 2, "-H", "one,three")), ["one", "three"])
    # It answers again, and is as any other.
    reconnect(two)
    lab.run("exec", "lab", "--", "true")
    assert_equal(nodes(lab)["two"]["unreachable_since"], None)
    assert_not_in("SINCE", lab.run("get", "nodes", "lab").stdout)
    assert_equal(hosts_in(job(lab, 3)), ["one", "three", "two"])
    cut_off(two)
    lab.run("exec", "lab", "--", "true", code=1)
    assert_true(nodes(lab)["two"]["unreachable_since"], "exec has found it")
    lab.run("delete", "cluster", "lab", "--yes")
    assert_false(list((lab.folder / "state" / "clusters").glob("*")), "files are left")


def test_a_host_that_answers_again_is_asked_by_a_later_job(lab):
    _, two, _ = trio(lab)
    cut_off(two)
    lab.run("exec", "lab/two", "--", "true", code=1)
    reconnect(two)
    note = next((lab.folder / "state" / "clusters").glob("*/silent/two"))
    since, _, reason = note.read_text().splitlines()
    note.write_text(f"{since}\n{since[:-6]}000000\n{reason}\n")  # Tried long ago.
    done = job(lab, 2)
    assert_not_in("does not answer", done.stderr)
    assert_equal(nodes(lab)["two"]["unreachable_since"], None)
    assert_equal(hosts_in(done), ["one", "two"])


if __name__ == "__main__":
    static_lab.run_tests(globals())
