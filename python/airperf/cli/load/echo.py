"""The first line of httperf's report: the command with its defaults, in httperf's order.

Reference: what httperf 0.9.0 of Debian 12 prints. Leaves out flags that are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SEND_BUFFER, RECEIVE_BUFFER = 4096, 16384
"""httperf's defaults, octets."""
PERIOD = re.compile(r"([due]?)([^,]+)(?:,(.+))?")


def echo(found: Mapping[str, str]) -> str:
    """The line for these flags."""
    words = [f"--{name}" for name in ("verbose", "hog", "close-with-reset") if name in found]
    words += [f"--{name}={float(found[name]):g}" for name in ("think-timeout", "timeout") if name in found]
    words.append(f"--client={found.get('client', '0/1')}")
    words.append(f"--server={found.get('server', 'localhost')}")
    if "server-name" in found:
        words.append(f"--server_name={found['server-name']}")
    words += [f"--port={int(found.get('port', '80'))}", f"--uri={found.get('uri', '/')}"]
    if found.get("http-version", "1.1") != "1.1":
        words.append(f"--http-version={found['http-version']}")
    words += [f"--{n}={int(found[n])}" for n in ("max-connections", "max-piped-calls") if n in found]
    words += _pace(found)
    words.append(f"--send-buffer={int(found.get('send-buffer', SEND_BUFFER))}")
    words.append(f"--recv-buffer={int(found.get('recv-buffer', RECEIVE_BUFFER))}")
    if "add-header" in found:
        words.append(f"--add-header='{found['add-header']}'")
    if "method" in found:
        words.append(f"--method={found['method']}")
    return " ".join(["httperf", *words, *_workload(found)])


def _pace(found: Mapping[str, str]) -> list[str]:
    last = next((name for name in reversed(list(found)) if name in {"rate", "period"}), None)
    if last is None:
        return []
    if last == "rate":
        rate = float(found["rate"])
        return [f"--rate={rate:g}"] if rate else []
    parts = PERIOD.fullmatch(found["period"].strip())
    period = float(parts[2]) if parts else 0.0
    if not parts or not period:
        return []
    return [f"--period=e{period:g}"] if parts[1] == "e" else [f"--rate={1 / period:g}"]


def _workload(found: Mapping[str, str]) -> list[str]:
    burst = [f"--burst-length={int(found['burst-length'])}"] if found.get("burst-length", "1") != "1" else []
    if "wsess" in found:
        number, calls, think = found["wsess"].split(",")
        return [f"--wsess={int(number)},{int(calls)},{float(think):.3f}", *burst]
    if "wsesslog" in found:
        number, think, name = found["wsesslog"].split(",", 2)
        return [f"--wsesslog={int(number)},{float(think):.3f},{name}"]
    words = [
        f"--num-conns={int(found.get('num-conns', '1'))}",
        f"--num-calls={int(found.get('num-calls', '1'))}",
    ]
    words += burst
    if "wset" in found:
        files, pace = found["wset"].split(",")
        words.append(f"--wset={int(files)},{float(pace):.3f}")
    return words
