"""Solves and installs conda packages by py-rattler, whose wheel is beside this file and is unpacked
there once.

client.py solve|install < REQUEST > ANSWER, both "key=value" entries that are ended by a zero byte.

Packages go from `solve` to `install` as JSON, "solution": a list of objects with package, version,
url, sha256, and the record of the channel's index. An install without link scripts runs nothing of
a package.
"""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
import urllib.parse
import zipfile


def unpacked_wheel():
    here = pathlib.Path(__file__).parent
    place = here / "site"
    if not place.exists():
        fresh = pathlib.Path(tempfile.mkdtemp(dir=here))
        with zipfile.ZipFile(here / "py_rattler.whl") as wheel:
            wheel.extractall(fresh)
        with contextlib.suppress(OSError):  # Another one was quicker.
            fresh.rename(place)
    return str(place)


sys.path.insert(0, unpacked_wheel())
import rattler  # noqa: E402
from rattler.networking import AddHeadersMiddleware, Client, RetryMiddleware  # noqa: E402

WHOLE_INDEX = 5  # A channel's index may take this many times the limit of one silence.
A_DAY = 24 * 3600
ELSEWHERE = ("fn", "url", "channel", "sha256", "md5")


def authorization(address):
    """Returns the host, the path and the header of an address with a user name and a password."""
    parts = urllib.parse.urlsplit(address)
    login = (
        f"{urllib.parse.unquote(parts.username or '')}:{urllib.parse.unquote(parts.password or '')}"
    )
    return (
        parts.hostname,
        parts.path.rstrip("/") + "/",
        {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()},
    )


def client_for(seconds, request):
    """Returns a client with only the credentials and configuration of the request; `seconds` limit
    one exchange.
    """
    logins = sorted(map(authorization, request.get("login", [])), key=lambda login: -len(login[1]))

    def headers(host, path):
        return next(
            (header for known, start, header in logins if host == known and path.startswith(start)),
            None,
        )

    return Client(
        [AddHeadersMiddleware(headers), RetryMiddleware(3)] if logins else [RetryMiddleware(3)],
        timeout=seconds,
    )


def entry_of(record):
    if record.sha256 is None:
        raise ValueError(
            f"'{record.name.normalized} {record.version}' has no SHA-256 in the index of its "
            "channel"
        )
    known = {
        key: value for key, value in json.loads(record.to_json()).items() if key not in ELSEWHERE
    }
    return {
        "package": record.name.normalized,
        "version": str(record.version),
        "url": record.url,
        "sha256": record.sha256.hex(),
        "record": json.dumps(known, sort_keys=True, separators=(",", ":")),
    }


def record_of(entry, folder):
    index = pathlib.Path(folder, "index.json")
    index.write_text(entry["record"], encoding="utf-8")
    package = rattler.PackageRecord.from_index_json(index, sha256=entry["sha256"])
    channel, _, file = entry["url"].rsplit("/", 2)
    return rattler.RepoDataRecord(package, file, entry["url"], channel)


async def solve(request):
    index_timeout = WHOLE_INDEX * int(request["index_timeout"][0])
    gateway = rattler.Gateway(
        cache_dir=pathlib.Path(request["cache"][0], "index"),
        client=client_for(index_timeout, request),
    )
    channels = [rattler.Channel(channel) for channel in request["channel"]]
    # The first channel that has a package is the only one for it, and no channel brings in others.
    solving = rattler.solve(
        channels,
        request.get("spec", []),
        gateway=gateway,
        virtual_packages=rattler.VirtualPackage.detect(),
        channel_priority=rattler.ChannelPriority.Strict,
        channel_relations="disabled",
    )
    try:
        records = await asyncio.wait_for(solving, index_timeout)
    except asyncio.TimeoutError:
        raise TimeoutError(
            f"timed out: {', '.join(request['channel'])} did not give its index within "
            f"{index_timeout} s"
        ) from None
    entries = sorted(map(entry_of, records), key=lambda entry: entry["package"])
    python = [entry["version"] for entry in entries if entry["package"] == "python"]
    return {
        "solution": json.dumps(entries),
        "python_version": "".join(python),
        "builder": f"py-rattler {rattler.__version__}",
    }


class Downloads(rattler.InstallerReporter):
    """The time of the last data of each running download, by its package."""

    def __init__(self):
        self.packages, self.last = [], {}

    def on_populate_cache_start(self, operation, package_name):
        self.packages.append(package_name)
        return len(self.packages) - 1

    def on_download_start(self, cache_entry):
        self.last[cache_entry] = time.monotonic()
        return cache_entry

    def on_download_progress(self, download_idx, progress, total):
        self.last[download_idx] = time.monotonic()

    def on_download_completed(self, download_idx):
        self.last.pop(download_idx, None)

    async def silent_one(self, index_timeout):
        """Returns the first package whose download sends no data for this long."""
        while True:
            for entry, last in list(self.last.items()):
                if time.monotonic() - last > index_timeout:
                    return self.packages[entry]
            await asyncio.sleep(min(1, index_timeout / 4))


async def install(request):
    index_timeout = int(request["index_timeout"][0])
    entries = json.loads(request["solution"][0])
    with tempfile.TemporaryDirectory() as folder:
        records = [record_of(entry, folder) for entry in entries]
    downloads = Downloads()
    installing = asyncio.ensure_future(
        rattler.install(
            records,
            target_prefix=request["prefix"][0],
            cache_dir=pathlib.Path(request["cache"][0], "packages"),
            execute_link_scripts=False,
            show_progress=False,
            client=client_for(A_DAY, request),
            reporter=downloads,
        )
    )
    silence = asyncio.ensure_future(downloads.silent_one(index_timeout))
    await asyncio.wait({installing, silence}, return_when=asyncio.FIRST_COMPLETED)
    if not installing.done():
        raise TimeoutError(
            f"timed out: the download of {silence.result()} has given nothing for {index_timeout} s"
        )
    installing.result()
    return {}


def read_request():
    request = {}
    for entry in sys.stdin.buffer.read().decode().split("\0")[:-1]:
        key, _, value = entry.partition("=")
        request.setdefault(key, []).append(value)
    return request


def main():
    """Ends without the interpreter's own cleanup: threads of py-rattler may still run, and would
    not survive it.
    """
    try:
        answer = asyncio.run({"solve": solve, "install": install}[sys.argv[1]](read_request()))
        sys.stdout.write("".join(f"{key}={value}\0" for key, value in answer.items()))
        sys.stdout.flush()
        os._exit(0)
    except Exception as failure:  # pylint: disable=broad-except
        sys.stderr.write(f"\nerror: {failure}\n")
        sys.stderr.flush()
        os._exit(1)


main()
