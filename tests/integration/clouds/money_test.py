#!/usr/bin/env python3
"""Prices, currencies and plans, on the stand-in: money_test.py FASTGPU CLOUDSIM [TEST ...]"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from cli_user import run_tests
from cloud_sim import SCENARIO, CloudSim, Customer
from suite import assert_equal, assert_in, assert_less, assert_not_in, assert_true

CLOUDSIM = sys.argv.pop(2)


def scenario_in_yuan(folder):
    """The usual scenario, with Alibaba billed in yuan: its A100x8 at 35 CNY beside AWS's at 21.96
    USD.
    """
    scenario = json.loads(SCENARIO.read_text())
    alibaba = scenario["vendors"]["alibaba"]
    alibaba["currency"] = "CNY"
    for offer in alibaba["offers"]:
        offer["price"] = 35.0
    path = folder / "yuan.json"
    path.write_text(json.dumps(scenario))
    return path


class Both:
    """A customer of AWS and of Alibaba."""

    def __init__(self, user, sim):
        self.user, self.aws, self.alibaba = (
            user,
            Customer(user, sim, "aws"),
            Customer(user, sim, "alibaba"),
        )

    def environment(self):
        return {**self.aws.environment(), **self.alibaba.environment()}

    def run(self, *words, **more):
        return self.user.run(*words, environment=self.environment(), **more)

    def refused(self, words, code, *said):
        return self.user.refused(words, code, *said, environment=self.environment())


SHOP = ("--cloud", "aws", "--cloud", "alibaba", "--gpus", "A100:8")


def both_of(test):
    def run(user):
        with CloudSim(CLOUDSIM, "instant", "--scenario", str(scenario_in_yuan(user.folder))) as sim:
            both = Both(user, sim)
            test(both)
            both.aws.check_nothing_is_left()

    return run


def prices(both, *more):
    return json.loads(both.run("get", "prices", *SHOP, *more, "-o", "json").out)["offers"]


def ranked_in_one_currency(both):
    offers = prices(both)
    assert_equal(offers[0]["cloud"], "alibaba", offers[0])
    assert_equal(offers[0]["currency"], "CNY", offers[0])
    assert_equal({offer["cloud"] for offer in offers}, {"aws", "alibaba"}, "not both clouds")
    assert_true(all(offer["compared"]["currency"] == "USD" for offer in offers), offers[0])
    amounts = [offer["compared"]["amount"] for offer in offers]
    assert_equal(amounts, sorted(amounts))
    shown = both.run("get", "prices", *SHOP).out.decode()
    assert_in("CNY/h (", shown)
    assert_in(" USD/h)", shown)
    bounded = prices(both, "--max-price", "10USD/h")
    assert_equal(
        [o["cloud"] for o in bounded if "unusable" not in o].count("aws"),
        0,
        "21.96 USD are within 10 USD",
    )
    assert_true(
        any(o["cloud"] == "alibaba" and "unusable" not in o for o in bounded),
        "35 CNY are over 10 USD",
    )
    dear = prices(both, "--exchange-rate", "CNY=0.9")
    assert_equal(dear[0]["cloud"], "aws", "the rate of the user does not hold")


test_offers_of_two_currencies_are_ranked_and_bounded_in_one = both_of(ranked_in_one_currency)


def bare_numbers(both):
    for words in (
        ("get", "prices", *SHOP, "--max-price", "20"),
        ("get", "prices", *SHOP, "--max-price", "20/h"),
        ("create", "cluster", "t", *SHOP, "--ssh-from", "192.0.2.1", "--hold-cost", "5", "--yes"),
        ("create", "cluster", "t", *SHOP, "--ssh-from", "192.0.2.1", "--max-cost", "50", "--yes"),
    ):
        both.refused(words, 2, "has no currency: write ", "USD")
    both.refused(
        ("get", "prices", *SHOP, "--max-price", "20XTS"), 2, "--max-price", "--exchange-rate XTS="
    )
    both.refused(("get", "prices", *SHOP, "--exchange-rate", "CNY"), 2, "is not an exchange rate")


test_a_bare_number_is_no_money = both_of(bare_numbers)


def shown_before_it_is_paid_for(both):
    words = ("create", "cluster", "t", *SHOP, "--nodes", "2", "--ssh-from", "192.0.2.1", "--detach")
    asked = both.refused(words, 2, "--yes")
    planned = both.run(*words, "--dry-run")
    made = both.run(*words, "--yes")
    for shown in (asked.err, planned.out.decode() + planned.err, made.err):
        for what in (
            "ecs.",
            "8xA100",
            "35.00 CNY/h",
            "70.00 CNY/h",
            "USD/h",
            "1 CNY = 0.1",
            "first",
            "on-demand",
            "cn-",
        ):
            assert_in(what, shown)
    assert_equal(
        both.run(*words, "--yes").err.count("70.00 CNY/h"),
        0,
        "a cluster that exists is offered again",
    )
    plan = json.loads(both.run(*words[:2], "u", *words[3:], "--dry-run", "-o", "json").out)
    assert_equal(plan["currency"], "CNY", plan["price_per_hour"])
    assert_equal(plan["price_per_hour"], 70)
    assert_equal(
        plan["places"][0]["price_of_all_per_hour"],
        {"amount": 70.0, "currency": "CNY"},
        plan["places"][0],
    )
    quiet = both.run("create", "cluster", "q", *words[3:], "--yes", "-q")
    assert_not_in("CNY", quiet.err)
    wide = both.run("get", "nodes", "t", "-o", "wide").out.decode()
    assert_true(all(what in wide for what in ("ecs.", "8xA100", "35.00 CNY/h", "cn-")), wide)
    assert_in(
        "8xA100", both.run("get", "clusters", "-o", "wide").out.decode(), "no GPUs in get clusters"
    )
    node = json.loads(both.run("describe", "node", "t-0", "-o", "json").out)
    assert_equal(node["currency"], "CNY", node)
    assert_equal(node["price_per_hour"], 35, node)
    assert_true(node["gpus"].startswith("8xA100"), node)
    for name in ("t", "q"):
        both.run("delete", "cluster", name, "--yes")


test_what_is_bought_is_shown_before_it_is_paid_for = both_of(shown_before_it_is_paid_for)


def kept_in_the_currency_of_the_price(both):
    both.run(
        "create",
        "cluster",
        "t",
        *SHOP,
        "--ssh-from",
        "192.0.2.1",
        "--detach",
        "--yes",
        "--max-cost",
        "14USD",
        "--exchange-rate",
        "CNY=0.14",
    )
    shown = json.loads(both.run("get", "clusters", "-o", "json").out)["clusters"][0]
    cost = shown["guards"]["max_cost"]
    assert_equal(cost["currency"], "CNY", cost)
    assert_less(abs(cost["amount"] - 100), 1e-6, cost)
    guarded = both.user.run(
        "guard",
        "cluster",
        "t",
        "--max-cost",
        "28usd",
        environment={**both.environment(), "FASTGPU_EXCHANGE_RATE": "CNY=0.14"},
    )
    assert_in("200.00 CNY", guarded.out.decode(), guarded.out)
    both.run("delete", "cluster", "t", "--yes")


test_a_limit_of_cost_is_kept_in_the_currency_of_the_price = both_of(
    kept_in_the_currency_of_the_price
)


def test_a_dear_substitute_is_not_taken_without_being_asked_for(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        offers = json.loads(customer.create("t", "--dry-run", "-o", "json", nodes=1).out)
        best = offers["places"][0]
        dear = [o for o in offers["offers"] if o["price_per_hour"] > 2 * best["price_per_hour"]]
        assert_true(dear, f"nothing dear: {offers['offers']}")
        assert_true(
            all("times the best price" in o["unusable"] for o in dear),
            f"nothing dear: {offers['offers']}",
        )
        assert_true(
            all(p["price_per_hour"] <= 2 * best["price_per_hour"] for p in offers["places"]),
            offers["places"],
        )
        for place in offers["places"]:
            sim.control(
                "stock", {"vendor": "aws", "zone": place["zone"], "type": place["type"], "stock": 0}
            )
        customer.refused(customer.creation("t", "--detach", nodes=1), 4, "stock")
        customer.create("t", "--detach", "--max-price", "100USD", nodes=1)
        types = {i["type"] for i in sim.alive()[0]}
        assert_equal(types, {dear[0]["type"]})
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def test_the_cheapest_price_is_told_where_all_are_over(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        customer.refused(
            customer.creation("t", "--max-price", "0.01USD", nodes=1),
            4,
            "over the price of 0.0100 USD/h (the cheapest is ",
        )


def test_names_that_do_not_exist_are_not_found_with_the_nearest(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        here = ("--cloud", "aws", "--region", "us-east-1")
        for words, said in (
            ((*here, "--gpus", "A1000:8"), "did you mean A100?"),
            (("--cloud", "aws", "--gpus", "banana"), "--instance-type"),
            (
                ("--cloud", "aws", "--region", "us-esat-1", "--gpus", "T4:1"),
                "did you mean us-east-1?",
            ),
            ((*here, "--gpus", "T4:1", "--zone", "us-east-1x"), "did you mean us-east-1"),
            ((*here, "--instance-type", "g4dn.xlagre"), "did you mean g4dn.xlarge?"),
            ((*here, "--instance-type", "G4DN.XLARGE"), "did you mean g4dn.xlarge?"),
        ):
            customer.refused(("get", "prices", *words), 5, said)
            customer.refused(
                ("create", "cluster", "t", *words, "--ssh-from", "192.0.2.1", "--yes"), 5, said
            )
        customer.refused(
            ("get", "images", "--cloud", "aws", "--region", "us-esat-1"),
            5,
            "did you mean us-east-1?",
        )
        customer.refused(
            ("get", "prices", *here, "--instance-type", "g4dn.xlarge", "--gpus", "A100:8"),
            2,
            "has 1 T4, not the GPUs of --gpus",
        )
        for words in (
            ("--zone", "us east"),
            ("--region", "a&b"),
            ("--instance-type", "x\ny"),
            ("--image", "\x1b[2J"),
        ):
            customer.refused(
                customer.request("t", *words, "--ssh-from", "192.0.2.1", "--yes"), 2, words[0]
            )
        assert_equal(sim.alive(), ([], []), "something was made")


def test_who_may_log_in_is_checked_before_anything_is_made(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        words = customer.request("t", "--detach", "--yes")
        for text, said in (
            ("banana", "is not a range"),
            ("1.2.3.4/99", "is not a range"),
            ("", "--ssh-from"),
            ("192.0.2.7/24", "did you mean 192.0.2.0/24?"),
            ("2001:db8::/32", "IPv4"),
            ("--dry-run", "--ssh-from"),
        ):
            for more in ((), ("--dry-run",)):
                customer.refused((*words, f"--ssh-from={text}", *more), 2, said)
        assert_equal(sim.control("calls")["calls"], [], "the cloud was asked")
        made = customer.run(*words, "--ssh-from", "0.0.0.0/0", "--ssh-from", "192.0.2.7")
        assert_in("the whole world", made.err)
        again = customer.run(*words, "--ssh-from", "192.0.2.7/32")
        assert_in("also allows SSH from 0.0.0.0/0", again.err)
        customer.refused(
            (*words, "--ssh-from", "198.51.100.0/24"),
            6,
            "does not let 198.51.100.0/24 log in",
            "addip",
        )
        customer.run(*words)
        customer.run("delete", "cluster", "t", "--yes")
        customer.check_nothing_is_left()


def test_without_a_way_to_ask_for_our_address_the_flag_is_named(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        customer.refused(
            customer.request("t", "--yes"),
            None,
            "--ssh-from 192.0.2.7/32",
            environment={"FASTGPU_ADDRESS_URL": "http://127.0.0.1:9/"},
        )
        assert_equal(sim.alive(), ([], []), "something was made")


def test_all_or_nothing_is_asked_of_the_cloud(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")
        sim.control("stock", {"vendor": "aws", "stock": 3})
        customer.refused(customer.creation("t", "--detach", nodes=4), 4, "stock")
        assert_equal(sim.books()["instances"], [], "machines were paid for in vain")


def test_doctor_tries_the_credentials_that_there_are(user):
    with CloudSim(CLOUDSIM) as sim:
        customer = Customer(user, sim, "aws")

        def found(**more):
            checks = json.loads(customer.run("doctor", "-o", "json", code=None, **more).out)[
                "checks"
            ]
            return {
                check["name"]: check
                for check in checks
                if "credentials" in check["name"] or check["name"] in ("clouds", "state")
            }

        checks = found()
        assert_equal(set(checks), {"aws credentials", "state"}, checks)
        assert_equal(checks["aws credentials"]["result"], "ok", checks)
        customer.create("t", "--detach")
        assert_equal(found()["state"]["result"], "ok", "nodes to be met are no unfinished steps")
        customer.run("delete", "cluster", "t", "--yes")
        refused = found(environment={"AWS_SECRET_ACCESS_KEY": "wrong"})["aws credentials"]
        assert_equal(refused["result"], "warn", refused)
        assert_true(refused["remedy"], refused)
        nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        assert_equal(
            found(environment=nobody)["clouds"]["result"], "ok", "no credentials are no failure"
        )


if __name__ == "__main__":
    run_tests(globals())
