#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where the time of a product went, from its trace.

    DAVIT_TRACE=trace.json bench_gemm --alone 1 --sizes 16384 --devices 1 --repeats 1 > gemm.json
    bench/timeline.py trace.json gemm.json > gemm-timeline.json

The trace has the calls of one product on one GPU, one after the other; the last one is taken apart. Every moment from
its first command on the device to the end of its last one belongs to one part, by what the GPU does then. What the
call takes beside that (the median of gemm.json less this span) is the host's, before the first command and after the
last. The parts together are the call. Prints a document as the benchmarks do, a row for each part.
"""
import json
import sys

PARTS = ["loads before the first product", "products, with copies beside them", "products alone", "copies between products",
         "stores after the last product", "nothing on the GPU", "the host, before and after"]


def calls_of(events, count):
    """The complete events of each call, by the order in which they were enqueued."""
    commands = sorted((e for e in events if e["ph"] == "X" and e["name"] in ("copy", "gemm")), key=lambda e: e["args"]["command"])
    each, rest = divmod(len(commands), count)
    if rest or not each:
        sys.exit(f"{len(commands)} commands are not {count} equal calls")
    return [commands[i * each:(i + 1) * each] for i in range(count)]


def part_of(products, copies, before, after):
    if products:
        return PARTS[1] if copies else PARTS[2]
    if copies:
        return PARTS[0] if before else PARTS[4] if after else PARTS[3]
    return PARTS[5]


def take_apart(call):
    """Milliseconds of each part, and of the whole, between the first command and the end of the last."""
    edges = sorted({e["ts"] for e in call} | {e["ts"] + e["dur"] for e in call})
    gemms = [e for e in call if e["name"] == "gemm"]
    first, last = min(e["ts"] for e in gemms), max(e["ts"] + e["dur"] for e in gemms)
    ms = dict.fromkeys(PARTS, 0)
    for begin, end in zip(edges, edges[1:]):
        middle = (begin + end) / 2
        under_way = [e["name"] for e in call if e["ts"] <= middle < e["ts"] + e["dur"]]
        part = part_of("gemm" in under_way, "copy" in under_way, middle < first, middle > last)
        ms[part] += (end - begin) / 1e3
    return ms, (edges[-1] - edges[0]) / 1e3


def main(trace, result):
    events = json.load(open(trace))
    document = json.load(open(result))
    row = document["rows"][0]
    calls = calls_of(events, int(document["command"].split("--repeats ")[1].split()[0]) + 1)
    ms, span = take_apart(calls[-1])
    ms[PARTS[6]] = row["median_ms"] - span
    busy = ms[PARTS[1]] + ms[PARTS[2]]
    about = {key: row[key] for key in ("type", "place", "m", "n", "k", "devices", "tile")}
    document["benchmark"] = "gemm_timeline"
    document["rows"] = [{"part": part, **about, "ms": round(ms[part], 4), "share_percent": round(100 * ms[part] / row["median_ms"], 2)}
                        for part in PARTS]
    document["rows"].append({"part": "the call", **about, "ms": row["median_ms"], "share_percent": 100,
                             "product_tflops": round(2e-9 * row["m"] * row["n"] * row["k"] / busy, 3)})
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
