"""Rounds of measured results: their medians, how times are shown, and the limit of the link."""

import statistics

MIB = 2**20
COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "all_to_all",
    "message",
    "ping_pong",
    "barrier",
)
SIZES = "8,64,512,4K,64K,1M,4M,16M,100M"
WIRE = 119.7e6  # Bytes a second that plain TCP brings over a link of 1 Gbit/s, headers taken off.
LIMIT = 64 * MIB / WIRE  # Seconds for 64 MiB sent once over the link.


def median(rounds, field="seconds"):
    """Of each size and collective."""
    return {key: statistics.median(r[key][field] for r in rounds if key in r) for key in rounds[0]}


def only(rounds):
    """The median where there is one figure alone."""
    return next(iter(median(rounds).values()))


def ms(seconds):
    return f"{seconds * 1e3:.2f} ms"


def us(seconds):
    return f"{seconds * 1e6:.1f} us"
