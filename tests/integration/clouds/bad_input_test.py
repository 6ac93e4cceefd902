#!/usr/bin/env python3
"""Bad input to commands on clouds, from the user, from the network and from the clouds:
bad_input_test.py FASTGPU CLOUDSIM [TEST ...]
"""

import concurrent.futures
import contextlib
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from answering import Answering
from cli_user import run_tests
from cloud_sim import CLOUDS, SCENARIO, CloudSim, Customer
from suite import (
    assert_equal,
    assert_greater,
    assert_in,
    assert_less,
    assert_not_in,
    assert_true,
    need_programs,
)

CLOUDSIM = sys.argv.pop(2)
DEEP = 50_000  # No recursion comes back from there.
AT_ONCE = 8
MEMORY_LIMIT = 1 << 30  # Bytes, for what reads several answers of up to 16 MiB at once.


@contextlib.contextmanager
def customer_of(user, cloud):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, cloud)
        yield customer
        customer.check_nothing_is_left()


@contextlib.contextmanager
def serving(handler, certificate=None):
    """A server on loopback with that handler: its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    server.handle_error = lambda *_: None  # A client that hangs up is what some tests want.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_region_that_does_not_exist_is_refused(user):
    for cloud in CLOUDS:
        with customer_of(user, cloud) as customer:
            words = list(customer.creation("t", "--detach"))
            words[words.index("--region") + 1] = "mars-north-1"
            done = customer.refused(words, None, "mars-north-1")
            # AWS speaks of signatures.
            assert_in(done.returncode, (1, 2, 3, 4, 5), f"{cloud}: {done.returncode} {done.err}")


def test_a_zone_without_stock_and_a_quota_of_nothing_are_told_apart(user):
    for cloud in CLOUDS:
        with customer_of(user, cloud) as customer:
            zone = json.loads(customer.create("t", "--dry-run", "-o", "json").out)["offers"][0][
                "zone"
            ]
            for kind in json.loads(SCENARIO.read_text())["vendors"][cloud]["offers"]:
                with contextlib.suppress(urllib.error.HTTPError):  # Not every type is in that zone.
                    customer.sim.control(
                        "stock", {"vendor": cloud, "zone": zone, "type": kind["type"], "stock": 0}
                    )
            customer.refused(customer.creation("t", "--detach", "--zone", zone), 4, "stock")
            for group in json.loads(SCENARIO.read_text())["vendors"][cloud]["quotas"]:
                customer.sim.control(
                    "quota", {"vendor": cloud, "group": group["group"], "limit": 0}
                )
            customer.refused(customer.creation("t", "--detach"), 4, "quota")


def test_no_nodes_and_ten_thousand_are_refused(user):
    for cloud in CLOUDS:
        with customer_of(user, cloud) as customer:
            customer.refused(customer.creation("t", "--detach", nodes=0), 2, "0")
            began = time.monotonic()
            customer.refused(customer.creation("t", "--detach", nodes=10_000), 4, "quota")
            assert_less(time.monotonic() - began, 30, "ten thousand nodes are refused slowly")
            assert_equal(customer.sim.books()["instances"], [], "something was made")


def test_an_image_of_another_architecture_is_refused(user):
    for cloud in CLOUDS:
        images = json.loads(SCENARIO.read_text())["vendors"][cloud]["images"]
        foreign = next(image for image in images if image.get("architecture") == "arm64")
        with customer_of(user, cloud) as customer:
            done = customer.refused(
                customer.creation("t", "--detach", "--image", foreign["id"]), None
            )
            assert_true(foreign["id"] in done.err or "architecture" in done.err, done.err)
            assert_in(done.returncode, (1, 2, 5), f"{cloud}: {done.returncode} {done.err}")


def test_more_keys_than_a_first_boot_can_be_told_are_refused(user):
    key = user.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for cloud in CLOUDS:
        with customer_of(user, cloud) as customer:
            customer.refused(
                (*customer.creation("t", "--detach"), *["--ssh-key", f"{key}.pub"] * 500),
                2,
                "500 --ssh-key and 0 --key-pair are too many",
                cloud,
            )
            assert_equal(customer.sim.control("calls")["calls"], [], "the cloud was asked")


def test_a_proxy_is_used_as_the_environment_says(user):
    class Proxy(Answering):
        passed = 0

        def do_POST(self):
            Proxy.passed += 1
            body = self.request_body()
            headers = {
                name: value
                for name, value in self.headers.items()
                if name not in ("Content-Length", "Proxy-Connection")
            }
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                answer = opener.open(
                    urllib.request.Request(self.path, body or None, headers, method=self.command)
                )
            except urllib.error.HTTPError as refusal:
                answer = refusal
            self.give(answer.status, answer.read(), answer.headers["Content-Type"])

        do_GET = do_DELETE = do_POST

    for cloud in CLOUDS:
        with customer_of(user, cloud) as customer, serving(Proxy) as proxy:
            asked = (
                "get",
                "zones",
                "--cloud",
                cloud,
                "--region",
                customer.about["region"],
                "--gpus",
                customer.about["gpus"],
            )
            customer.run(*asked, environment={"http_proxy": proxy})  # no_proxy names this host.
            assert_equal(Proxy.passed, 0, f"{cloud}: by the proxy in spite of no_proxy")
            customer.run(*asked, environment={"http_proxy": proxy, "no_proxy": ""})
            assert_greater(Proxy.passed, 0, f"{cloud}: not by the proxy")
            Proxy.passed = 0


def certificate_in(folder, name):
    """For that name or address, by nobody known: a file with its key."""
    file = folder / "certificate.pem"
    made = (
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=test",
        "-addext",
        f"subjectAltName={name}",
        "-keyout",
        file.with_suffix(".key"),
        "-out",
        file,
    )
    subprocess.run(made, check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".key").read_text())
    return file


def test_an_endpoint_with_a_wrong_certificate_is_refused(user):
    class Listener(Answering):
        heard = 0

        def do_POST(self):
            Listener.heard += 1
            self.give(400, b"{}", "application/json")

        do_GET = do_POST

    for name, trusted, said in (
        ("IP:127.0.0.1", False, "its certificate cannot be trusted"),
        ("DNS:example.com", True, "another host"),
    ):
        certificate = certificate_in(user.folder, name)
        with serving(Listener, certificate) as url:
            for cloud in CLOUDS:
                with customer_of(user, cloud) as customer:
                    environment = {variable: url for variable in customer.about["endpoint"]}
                    if trusted:
                        environment.update(SSL_CERT_FILE=str(certificate), CURL_CA_BUNDLE="")
                    customer.refused(
                        customer.creation("t", "--detach"), 1, said, environment=environment
                    )
    assert_equal(Listener.heard, 0, "something was said to a server that nobody can vouch for")


def million_items(cloud):
    if cloud == "aws":
        return (
            b"<R><instanceTypeSet>"
            + b"<item><instanceType>g4dn.xlarge</instanceType></item>" * 1_000_000
            + b"</instanceTypeSet></R>"
        )
    words = (
        b'{"ZoneSet": [%s], "Zones": {"Zone": [%s]}, "availabilityZoneInfo": [%s], "RequestId": '
        b'"r"}'
    )
    items = b",".join([b'{"Zone": "z"}'] * 1_000_000)
    body = words % (
        items,
        items if cloud == "alibaba" else b"",
        items if cloud == "huawei" else b"",
    )
    return b'{"Response": ' + body + b"}" if cloud == "tencent" else body


def bad_answers(cloud):
    bomb = b"".join(
        b'<!ENTITY a%d "&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;">' % ((n,) + (n - 1,) * 8)
        for n in range(1, 30)
    )
    yield "a million items", million_items(cloud)
    yield (
        "a bomb of entities",
        b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a0 "ha">'
        + bomb
        + b"]><R><instanceTypeSet>&a29;</instanceTypeSet></R>",
    )
    yield "many brackets", b"[" * DEEP
    yield "many objects in one another", b'{"Response":' * DEEP + b"1" + b"}" * DEEP
    yield "many elements in one another", b"<a>" * DEEP + b"</a>" * DEEP
    yield (
        "huge numbers",
        (
            b'{"Response": {"TotalCount": 1e999, "Total": -99999999999999999999999999}, '
            b'"TotalCount": 18446744073709551616, "Zones": 1e308}'
        ),
    )
    yield (
        "no UTF-8",
        (
            b'{"Response": {"Error": {"Code": "\xff\xfe", "Message": "\xc3("}}, "Code": "\xff", '
            b'"error_msg": "\x80"}'
        ),
    )
    yield (
        "control characters",
        (
            b'{"Response": {"Error": {"Code": "\x1b[2J", "Message": "\\u001b[31m"}}, "Code": '
            b'"\\u001b[2J", "Message": "\\u0000"}'
        ),
    )


def peak_memory(process):
    """Bytes, of all children that have ended so far: what the largest of them had."""
    return int(process.err.rsplit("PEAK ", 1)[1]) * 1024


def answerer(status, body):
    class Answerer(Answering):
        def do_POST(self):
            self.request_body()
            self.give(status, body, "text/xml" if body.startswith(b"<") else "application/json")

        do_GET = do_POST

    return Answerer


def one_sentence_comes_of(customer, name, what, body, status):
    measured = (
        "/usr/bin/python3",
        "-c",
        "import resource,subprocess,sys; code = subprocess.call(sys.argv[1:]); "
        "print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); "
        "sys.exit(code)",
    )
    with serving(answerer(status, body)) as url:
        began = time.monotonic()
        done = customer.run(
            *customer.creation(name, "--detach"),
            code=None,
            environment={variable: url for variable in customer.about["endpoint"]},
            prefix=measured,
        )
    errors = [line for line in done.err.split("\n") if line.startswith("error: ")]
    told = f"{customer.cloud}, {what}, {status}: {done.returncode} {done.err[:2000]}"
    assert_in(done.returncode, (1, 3, 4, 5), told)
    assert_equal(len(errors), 1, told)
    assert_less(len(errors[0]), 3000, told)
    assert_not_in("\x1b", done.err, told)
    assert_not_in("internal", done.err, told)
    assert_less(time.monotonic() - began, 120, f"took {time.monotonic() - began:.0f} s: {told}")
    assert_less(peak_memory(done), MEMORY_LIMIT, f"{peak_memory(done) >> 20} MiB: {told}")


def test_answers_that_are_too_much_are_errors_of_one_sentence(user):
    """Several at once: most of their time they wait before they ask again."""
    for cloud in CLOUDS:
        with (
            customer_of(user, cloud) as customer,
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool,
        ):
            asked = [
                pool.submit(one_sentence_comes_of, customer, f"t{nth}", what, body, status)
                for nth, (what, body, status) in enumerate(
                    (*answer, status) for answer in bad_answers(cloud) for status in (200, 400)
                )
            ]
            for each in asked:
                each.result()


def test_aws_says_that_spot_machines_cannot_be_stopped_and_leaves_no_placement_group(user):
    with customer_of(user, "aws") as customer:
        customer.create("t", "--detach", "--spot")
        customer.refused(("stop", "cluster", "t"), 1, "Spot")
        customer.run("delete", "cluster", "t", "--yes")
        words = [
            word
            for word in customer.creation("close", "--detach", "--rdma")
            if word not in ("--gpus", customer.about["gpus"])
        ]
        customer.run(*words, "--instance-type", "p4d.24xlarge")
        assert_true(
            any(kind.startswith("placement") for kind in customer.sim.alive()[1]),
            "no placement group was made",
        )
        customer.run("delete", "cluster", "close", "--yes")


if __name__ == "__main__":
    need_programs("openssl")
    run_tests(globals())
