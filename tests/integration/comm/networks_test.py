"""Messages between two hosts that have two networks in common: networks_test.py COMM_BENCH
[TEST ...]

Both are namespaces, each network is a cable between them.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import suite
from hosts import Host, children, connect, results, sh, signal_all, start
from suite import assert_equal, assert_greater, assert_in, assert_raises, assert_true

BENCH = [os.path.abspath(sys.argv[1]), "--sizes", "16M", "--repetitions", "3"]
BOTH = {"FASTGPU_COMM_INTERFACE": "eth0,eth1"}
DYNAMIC = f"{BENCH[0]}-dynamic"  # Static programs load no plugin.


@contextlib.contextmanager
def two_networks(_):
    """Two hosts with eth0 and eth1."""
    with contextlib.ExitStack() as stack:
        hosts = []
        for number in (1, 2):
            hosts.append(Host(f"host{number}", f"10.213.9.{number}"))
            stack.callback(hosts[-1].close)
        for number in (0, 1):
            addresses = [f"10.213.{9 + number}.{end}" for end in (1, 2)]
            connect(hosts, f"eth{number}", addresses)
            # Without a rate the first network has room for everything.
            rate = ("rate", "2gbit", "burst", "256kb", "latency", "50ms")
            for host in hosts:
                host.tc("qdisc", "add", "dev", f"eth{number}", "root", "tbf", *rate)
        yield hosts


def sent(host, device):
    """Bytes that a host has sent by a network."""
    link = json.loads(sh(*host.entered(["ip", "-json", "-s", "link", "show", "dev", device])))
    return link[0]["stats64"]["tx"]["bytes"]


def wait_until_it_has_sent(host, device, count, ranks):
    """Waits until a host has sent so many bytes more; fails if the ranks end before."""
    before = sent(host, device)
    while sent(host, device) < before + count:
        if ranks[0].poll() is not None:
            raise AssertionError(f"they have ended: {[rank.communicate() for rank in ranks]}")
        time.sleep(0.01)


def refusal(hosts, environment, second=""):
    """What the ranks print that do not come together; `second` is what the second rank's shell
    does before.
    """
    words = ["sh", "-c", f'[ $RANK = 0 ] || {{ {second or ":"}; }}; exec "$@"', "-", *BENCH]
    with assert_raises(SystemExit) as refused:
        results(start(hosts, words, 1, environment))
    return str(refused.exception)


def test_an_all_reduce_takes_both_networks(hosts):
    lines = results(start(hosts, BENCH, 1, BOTH))
    assert_equal([line["bytes"] for line in lines], [16 << 20])
    for host in hosts:
        for device in ("eth0", "eth1"):
            assert_greater(sent(host, device), 4 << 20)


def test_one_network_is_taken_where_one_is_named(hosts):
    results(start(hosts, BENCH, 1, {"FASTGPU_COMM_INTERFACE": "eth0"}))
    assert_greater(1 << 20, sent(hosts[0], "eth1"))


def test_each_network_has_a_connection_where_ranks_share_them(hosts):
    results(start(hosts, BENCH, 4, BOTH))
    assert_greater(sent(hosts[0], "eth1"), 4 << 20)


def test_a_network_that_goes_in_the_middle_is_left(hosts):
    for number, device in enumerate(("eth1", "eth0")):
        words = [BENCH[0], "--sizes", "32M", "--repetitions", "20"]
        ranks = start(hosts, words, 1, {**BOTH, "FASTGPU_COMM_TIMEOUT": "20s"})
        wait_until_it_has_sent(hosts[0], device, 64 << 20, ranks)
        hosts[number].ip(f"link set {device} down")
        began = time.monotonic()
        first, second = (rank.communicate(timeout=60) for rank in ranks)
        assert_equal([rank.returncode for rank in ranks], [0, 0])  # They have compared the sums.
        assert_greater(20, time.monotonic() - began)
        assert_in("has failed on the way to rank", first[1] + second[1])
        hosts[number].ip(f"link set {device} up")


def test_a_network_that_comes_up_late_is_waited_for(hosts):
    # Rank 1 looks for an address that does not answer, which fails after 3 s.
    hosts[0].ip("link set eth1 down")
    hosts[1].ip("neighbor flush dev eth1")
    ranks = start(hosts, BENCH, 1, BOTH)
    time.sleep(4)
    hosts[0].ip("link set eth1 up")
    assert_equal([line["bytes"] for line in results(ranks)], [16 << 20])


def test_a_network_that_comes_back_is_used_again(hosts):
    words = [BENCH[0], "--sizes", "32M", "--repetitions", "120", "--links"]
    ranks = start(hosts, words, 1, {**BOTH, "FASTGPU_COMM_TIMEOUT": "20s"})
    wait_until_it_has_sent(hosts[0], "eth1", 24 << 20, ranks)
    hosts[1].ip("link set eth1 down")
    time.sleep(1.5)
    hosts[1].ip("link set eth1 up")
    wait_until_it_has_sent(hosts[0], "eth1", 24 << 20, ranks)
    outcomes = [rank.communicate(timeout=120) for rank in ranks]
    assert_equal([rank.returncode for rank in ranks], [0, 0])  # They have compared the sums.
    said = "".join(errors for _, errors in outcomes)
    assert_in("has failed on the way to rank", said)
    assert_in("is used again on the way to rank", said)
    for number, (_, errors) in enumerate(outcomes):
        (line,) = (line for line in errors.splitlines() if line.startswith("{"))
        links = {link["name"]: link for link in json.loads(line)["links"]}
        for network in (9, 10):
            link = links[f"tcp 10.213.{network}.{number + 1}"]
            assert_equal(link["connections"], 2)
            assert_equal(link["reconnects"], link["failures"])
            assert_greater(link["bytes_sent"], 64 << 20)
            assert_greater(link["frames_received"], 500)
        assert_greater(links[f"tcp 10.213.10.{number + 1}"]["failures"], 1)


def wait_until_it_runs(hosts, device):
    """libfabric knows an interface once it runs, which takes a moment after it is up."""
    for host in hosts:
        show = host.entered(["ip", "-json", "link", "show", "dev", device])
        while json.loads(sh(*show))[0]["operstate"] != "UP":
            time.sleep(0.05)


def with_fabric(hosts):
    """TCP on eth0 and libfabric, by its provider for TCP, on eth1 carry messages together."""
    wait_until_it_runs(hosts, "eth1")
    plugin = pathlib.Path(BENCH[0]).with_name("libfastgpu_comm_fabric.so")
    if not plugin.exists():
        suite.skip("this build has no plugin for libfabric")
    return {
        "FASTGPU_COMM_TRANSPORT": "hybrid",
        "FASTGPU_COMM_INTERFACE": "eth0",
        "FASTGPU_COMM_FABRIC": "tcp;ofi_rxm",
        "FASTGPU_COMM_FABRIC_DEVICE": "eth1",
        "FASTGPU_COMM_FABRIC_PLUGIN": str(plugin),
        "FASTGPU_COMM_TIMEOUT": "20s",
    }


def test_a_fabric_and_tcp_carry_an_all_reduce_together(hosts):
    together = with_fabric(hosts)
    lines = results(start(hosts, [DYNAMIC, *BENCH[1:]], 1, together))
    assert_equal([line["bytes"] for line in lines], [16 << 20])
    for host in hosts:
        for device in ("eth0", "eth1"):
            assert_greater(sent(host, device), 4 << 20)


def with_two_fabrics(hosts):
    """libfabric carries messages on both networks, and TCP notices alone."""
    wait_until_it_runs(hosts, "eth0")
    return {
        **with_fabric(hosts),
        "FASTGPU_COMM_TRANSPORT": "fabric",
        "FASTGPU_COMM_FABRIC_DEVICE": "eth0,eth1",
    }


def test_two_devices_of_a_fabric_carry_an_all_reduce_together(hosts):
    together = with_two_fabrics(hosts)
    ranks = start(hosts, [DYNAMIC, *BENCH[1:], "--links"], 1, together)
    outcomes = [rank.communicate(timeout=60) for rank in ranks]
    assert_equal([rank.returncode for rank in ranks], [0, 0])  # They have compared the sums.
    for _, errors in outcomes:
        (line,) = (line for line in errors.splitlines() if line.startswith("{"))
        links = {link["name"].split()[-1]: link for link in json.loads(line)["links"]}
        for device in ("eth0", "eth1"):
            assert_greater(links[device]["bytes_sent"], 4 << 20)
        assert_equal([links[name]["bytes_sent"] for name in links if "10.213" in name], [0])


def lose_a_device(hosts, together):
    """Takes eth1 of a host down in the middle of a run, which must end well within 20 seconds.
    Returns the output of the ranks.
    """
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "20", "--links"]
    ranks = start(hosts, words, 1, together)
    wait_until_it_has_sent(hosts[0], "eth1", 24 << 20, ranks)
    hosts[1].ip("link set eth1 down")
    began = time.monotonic()
    outcomes = [rank.communicate(timeout=60) for rank in ranks]
    hosts[1].ip("link set eth1 up")
    said = "".join(errors for _, errors in outcomes)
    assert_equal([rank.returncode for rank in ranks], [0, 0], said)  # They have compared the sums.
    assert_greater(20, time.monotonic() - began)
    assert_in("the fabric tcp;ofi_rxm eth1 has failed on the way to rank", said)
    return outcomes


def test_a_device_of_a_fabric_that_goes_costs_its_share(hosts):
    together = with_two_fabrics(hosts)
    lose_a_device(hosts, together)


def test_ranks_that_name_another_number_of_devices_are_refused(hosts):
    together = with_two_fabrics(hosts)
    other = "[ $RANK = 0 ] || export FASTGPU_COMM_FABRIC_DEVICE=eth0"
    one = ["sh", "-c", f'{other}; exec "$@"', "-", DYNAMIC, *BENCH[1:]]
    with assert_raises(SystemExit) as refused:
        results(start(hosts, one, 1, together))
    assert_in("all ranks need the same number", str(refused.exception))


def test_a_fabric_that_goes_in_the_middle_is_left(hosts):
    together = with_fabric(hosts)
    for _, errors in lose_a_device(hosts, together):
        (line,) = (line for line in errors.splitlines() if line.startswith("{"))
        links = {link["name"]: link for link in json.loads(line)["links"]}
        assert_equal(links["fabric tcp;ofi_rxm eth1"]["connections"], 0)
        assert_greater(links["fabric tcp;ofi_rxm eth1"]["bytes_sent"], 16 << 20)


def run_without(hosts, environment, device, seconds):
    """Takes a device of a host down for that long in the middle of a run, and returns the output
    of the ranks.
    """
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "150", "--links"]
    ranks = start(hosts, words, 1, environment)
    wait_until_it_has_sent(hosts[0], device, 24 << 20, ranks)
    hosts[1].ip(f"link set {device} down")
    time.sleep(seconds)
    hosts[1].ip(f"link set {device} up")
    wait_until_it_has_sent(hosts[0], device, 24 << 20, ranks)
    outcomes = [rank.communicate(timeout=120) for rank in ranks]
    assert_equal([rank.returncode for rank in ranks], [0, 0])  # They have compared the sums.
    return outcomes


def test_a_fabric_that_comes_back_is_used_again(hosts):
    together = with_fabric(hosts)
    # It is left after a second, and tried without success.
    outcomes = run_without(hosts, together, "eth1", 3)
    for _, errors in outcomes:
        assert_in("the fabric tcp;ofi_rxm eth1 has failed on the way to rank", errors)
        assert_in("the fabric tcp;ofi_rxm eth1 is used again on the way to rank", errors)
        (line,) = (line for line in errors.splitlines() if line.startswith("{"))
        fabric = {link["name"]: link for link in json.loads(line)["links"]}[
            "fabric tcp;ofi_rxm eth1"
        ]
        assert_equal(fabric["connections"], 1)
        assert_equal(fabric["reconnects"], fabric["failures"])
        assert_greater(fabric["failures"], 0)
        assert_greater(fabric["bytes_sent"], 64 << 20)


def tcp_links(outcomes):
    """The counters of the connections by eth0, by host."""
    links = []
    for number, (_, errors) in enumerate(outcomes):
        (line,) = (line for line in errors.splitlines() if line.startswith("{"))
        by_name = {link["name"]: link for link in json.loads(line)["links"]}
        links.append(by_name[f"tcp 10.213.9.{number + 1}"])
    return links


def test_connections_beside_a_fabric_are_made_anew_once_their_network_is_back(hosts):
    together = with_fabric(hosts)
    outcomes = run_without(hosts, together, "eth0", 4)
    for tcp in tcp_links(outcomes):
        assert_equal(tcp["connections"], 4, tcp)
        assert_equal(tcp["reconnects"], tcp["failures"], tcp)
        assert_greater(tcp["failures"], 0, tcp)


def test_a_fabric_carries_all_once_the_network_of_the_connections_has_gone(hosts):
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "40", "--links"]
    ranks = start(hosts, words, 1, with_fabric(hosts))
    wait_until_it_has_sent(hosts[0], "eth0", 24 << 20, ranks)
    hosts[1].ip("link set eth0 down")
    began = time.monotonic()
    wait_until_it_has_sent(hosts[0], "eth1", 256 << 20, ranks)  # What one step has, many times.
    assert_greater(20, time.monotonic() - began)
    outcomes = [rank.communicate(timeout=60) for rank in ranks]
    assert_equal([rank.returncode for rank in ranks], [0, 0])  # They have compared the sums.
    for tcp in tcp_links(outcomes):
        assert_equal(tcp["connections"], 0, tcp)


def test_a_fabric_carries_all_once_a_firewall_resets_the_connections(hosts):
    suite.need_programs("nft")
    if subprocess.run(hosts[1].entered(["nft", "list", "ruleset"]), check=False).returncode != 0:
        suite.skip("this kernel has no nf_tables")
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "40", "--links"]
    ranks = start(hosts, words, 1, with_fabric(hosts))
    wait_until_it_has_sent(hosts[0], "eth0", 24 << 20, ranks)
    reset = "meta l4proto tcp reject with tcp reset"
    for rule in (
        "add table inet test",
        "add chain inet test in { type filter hook input priority 0; }",
        f"add rule inet test in iifname eth0 {reset}",
    ):
        sh(*hosts[1].entered(["nft", rule]))
    wait_until_it_has_sent(hosts[0], "eth1", 256 << 20, ranks)  # What one step has, many times.
    outcomes = [rank.communicate(timeout=60) for rank in ranks]
    said = "".join(errors for _, errors in outcomes)
    assert_equal([rank.returncode for rank in ranks], [0, 0], said)  # They have compared the sums.
    assert_in("): the others carry its share", said)
    for tcp in tcp_links(outcomes):
        assert_equal(tcp["connections"], 0, tcp)


def test_a_rank_that_is_killed_beside_a_fabric_is_named(hosts):
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "400"]
    ranks = start(hosts, words, 1, with_fabric(hosts))
    wait_until_it_has_sent(hosts[0], "eth0", 24 << 20, ranks)
    signal_all(children(ranks[1].pid)[0], signal.SIGKILL)
    began = time.monotonic()
    errors = [rank.communicate(timeout=60)[1] for rank in ranks][0]
    assert_greater(12, time.monotonic() - began)
    assert_in("rank 1: ", errors)
    assert_equal(ranks[0].returncode, 1)


def test_a_rank_that_is_killed_is_named_where_only_a_fabric_is_left(hosts):
    words = [DYNAMIC, "--sizes", "32M", "--repetitions", "400"]
    ranks = start(hosts, words, 1, {**with_fabric(hosts), "FASTGPU_COMM_TIMEOUT": "5s"})
    wait_until_it_has_sent(hosts[0], "eth0", 24 << 20, ranks)
    hosts[1].ip("link set eth0 down")
    wait_until_it_has_sent(hosts[0], "eth1", 256 << 20, ranks)
    signal_all(children(ranks[1].pid)[0], signal.SIGKILL)
    began = time.monotonic()
    errors = [rank.communicate(timeout=60)[1] for rank in ranks][0]
    # The provider may say nothing: then the rank is silent for the whole timeout.
    assert_greater(15, time.monotonic() - began)
    # In a sum, or in the barrier before the next one.
    named = re.search(r"(sum of 8388608 float32\)|barrier number \d+): rank 1", errors)
    assert_true(named, errors)
    assert_equal(ranks[0].returncode, 1)


def slow_down(hosts):
    """Makes both networks so slow that neither the processors nor a limiter's burst count."""
    slower = ("rate", "400mbit", "burst", "256kb", "latency", "50ms")
    for host in hosts:
        for device in ("eth0", "eth1"):
            host.tc("qdisc", "replace", "dev", device, "root", "tbf", *slower)


def report_of_auto(hosts, environment):
    """What rank 0 prints of its choice."""
    words = [DYNAMIC, *BENCH[1:]]
    ranks = start(hosts, words, 1, {**environment, "FASTGPU_COMM_TRANSPORT": "auto"})
    outcomes = [rank.communicate(timeout=60) for rank in ranks]
    said = "".join(errors for _, errors in outcomes)
    assert_equal([rank.returncode for rank in ranks], [0, 0], said)
    (line,) = (line for line in said.splitlines() if "=auto takes" in line)
    return line


def test_auto_takes_both_networks_where_they_carry_more(hosts):
    together = with_fabric(hosts)
    slow_down(hosts)
    before = [sent(hosts[0], device) for device in ("eth0", "eth1")]
    assert_in("takes the fabric and TCP together", report_of_auto(hosts, together))
    for device, count in zip(("eth0", "eth1"), before, strict=True):
        assert_greater(sent(hosts[0], device) - count, 16 << 20)


def test_auto_takes_the_fabric_alone_where_tcp_has_no_other_network(hosts):
    together = with_fabric(hosts)
    wait_until_it_runs(hosts, "eth0")
    slow_down(hosts)
    report = report_of_auto(hosts, {**together, "FASTGPU_COMM_FABRIC_DEVICE": "eth0"})
    assert_in("takes the fabric alone: between ranks 0 and 1", report)


def test_a_network_that_slows_down_loses_its_share(hosts):
    ranks = start(hosts, [BENCH[0], "--sizes", "32M", "--repetitions", "400"], 1, BOTH)
    wait_until_it_has_sent(hosts[0], "eth1", 24 << 20, ranks)
    for host in hosts:
        rate = ("rate", "20mbit", "burst", "256kb", "latency", "50ms")
        host.tc("qdisc", "replace", "dev", "eth1", "root", "tbf", *rate)
    time.sleep(0.1)
    before = sent(hosts[0], "eth1")
    wait_until_it_has_sent(hosts[0], "eth0", 64 << 20, ranks)
    share = sent(hosts[0], "eth1") - before
    for rank in ranks:
        signal_all(rank.pid, signal.SIGKILL)
        rank.communicate(timeout=60)
    assert_greater(6 << 20, share)  # Of equal shares it would have 64 MiB.


def test_short_messages_do_not_wait_for_a_slow_network(hosts):
    for host in hosts:
        rate = ("rate", "20mbit", "burst", "256kb", "latency", "50ms")
        host.tc("qdisc", "replace", "dev", "eth0", "root", "tbf", *rate)
    before = [sent(hosts[0], device) for device in ("eth0", "eth1")]
    words = [BENCH[0], "--sizes", "1M", "--repetitions", "300"]
    results(start(hosts, words, 1, BOTH))
    slow, fast = (
        sent(hosts[0], device) - count
        for device, count in zip(("eth0", "eth1"), before, strict=True)
    )
    # It has a hundredth of the rate, and is tried now and then.
    assert_greater((slow + fast) / 10, slow)


def test_a_rank_that_is_killed_is_named_at_once(hosts):
    ranks = start(hosts, [BENCH[0], "--sizes", "32M", "--repetitions", "400"], 1, BOTH)
    wait_until_it_has_sent(hosts[0], "eth1", 16 << 20, ranks)
    signal_all(children(ranks[1].pid)[0], signal.SIGKILL)
    began = time.monotonic()
    _, errors = ranks[0].communicate(timeout=60)
    ranks[1].communicate(timeout=60)
    assert_greater(5, time.monotonic() - began)
    assert_in("rank 1: Connection reset by peer", errors)
    assert_equal(ranks[0].returncode, 1)


def test_an_interface_that_is_missing_is_named(hosts):
    text = refusal(hosts, {"FASTGPU_COMM_INTERFACE": "eth0,eth7"})
    assert_in("FASTGPU_COMM_INTERFACE names 'eth7', but this machine has no such interface", text)


def test_an_interface_that_stays_down_is_named(hosts):
    hosts[0].ip("link set eth1 down")
    text = refusal(hosts, {**BOTH, "FASTGPU_COMM_JOIN_TIMEOUT": "2s"})
    assert_in("interface 'eth1' of FASTGPU_COMM_INTERFACE is down: run `ip link set eth1 up`", text)


def test_an_interface_that_leads_nowhere_is_named(hosts):
    text = refusal(hosts, {"FASTGPU_COMM_INTERFACE": "eth0,lo"})
    assert_in("interface 'lo' of FASTGPU_COMM_INTERFACE leads to no other machine", text)


def test_an_interface_with_addresses_of_another_kind_is_named(hosts):
    for number, host in enumerate(hosts, 1):
        host.ip("address flush dev eth1")
        host.ip(f"address add fd00:213::{number}/64 dev eth1 nodad")
    text = refusal(hosts, BOTH)
    assert_in("names 'eth1', but this machine has no such interface with an IPv4 address", text)


def test_ranks_that_name_another_number_of_networks_are_refused(hosts):
    text = refusal(hosts, BOTH, "FASTGPU_COMM_INTERFACE=eth0")
    assert_in("all ranks need the same number", text)


def test_several_networks_need_a_secret(hosts):
    text = refusal(hosts, {**BOTH, "FASTGPU_COMM_SECRET": ""})
    assert_in("FASTGPU_COMM_INTERFACE names several interfaces, which needs a secret", text)


if __name__ == "__main__":
    suite.need_root("ip", "nsenter", "tc", "unshare")
    suite.main(suite.tests_of(globals()), two_networks, sys.argv[2:])
