#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where the time of a product went, from a trace of its GPUs.

    CUDA_INJECTION64_PATH=build/bin/libdavit_cupti.so DAVIT_CUPTI=trace.json \\
      bench_gemm --alone 1 --sizes 16384 --devices 2 --repeats 5 > gemm.json
    bench/timeline.py trace.json gemm.json > gemm-timeline.json   # the median of the calls after the first
    bench/timeline.py --first trace.json gemm.json                # the first one

The trace has the calls of one product, one after the other: CUPTI's (bench/cupti_trace.c), which slows the call down
least, or one of DAVIT_TRACE. One call is taken apart. Every moment from its first command on a GPU to the end of its
last one belongs to one part, by what a GPU does then; with several GPUs a part is their mean. What the call takes
beside that (its time in gemm.json less this span) is the host's, before the first command and after the last. The
parts together are the call. The median call is that whose span is the median, and its time is taken to be the median;
--repeats is odd, or neither is that of a call. Prints a document as the benchmarks do, a row for each part; then one
for each GPU with what it copied, and one for each function of the driver or of CUDA's runtime that took long in the
call: how often it was called, and how long at least one thread was in it.
"""
import collections
import json
import statistics
import sys

PARTS = ["loads before the first product", "products, with copies beside them", "products alone", "copies between products",
         "stores after the last product", "nothing on the GPU", "the host, before and after"]
PRODUCTS = ("gemm", "kernel")
LEAST_BYTES = 4096      # smaller copies are not of tiles
PAUSE_US = 1000         # nothing on any GPU for so long after the last product: the call is over


def end_of(event):
    return event["ts"] + event["dur"]


def is_gemm(event):
    return event["name"] == "gemm" or "gemm" in event.get("args", {}).get("kernel", "")


def pauses(commands, low, high):
    """(length, begin) of each time between low and high with no command under way"""
    busy_until, found = low, []
    for event in sorted(commands, key=lambda event: event["ts"]):
        if end_of(event) <= low or event["ts"] >= high:
            continue
        if event["ts"] > busy_until:
            found.append((event["ts"] - busy_until, busy_until))
        busy_until = max(busy_until, end_of(event))
    if busy_until < high < float("inf"):
        found.append((high - busy_until, busy_until))
    return found


def span(commands):
    """When the first one begins, and the last one ends."""
    return min(event["ts"] for event in commands), max(end_of(event) for event in commands)


def calls_of(events, count, first_ms):
    """The copies and products of each call. Calls have the same number of products; the longest pause between the last product or
    store of one and the first product of the next parts them. What comes before the first by more than its time is none of it."""
    commands = [event for event in events if event["ph"] == "X" and event.get("cat") == "stream"
                and (event["name"] in PRODUCTS or (event["name"] == "copy" and event["args"].get("bytes", LEAST_BYTES) >= LEAST_BYTES))]
    products = sorted((event for event in commands if is_gemm(event)), key=lambda event: event["ts"])
    each, rest = divmod(len(products), count)
    if rest or not each:
        sys.exit(f"{len(products)} products are not {count} equal calls")
    edges = []
    for i in range(1, count):
        next_one = products[i * each]["ts"]
        stored = [end_of(event) for event in commands if event["ts"] < next_one and event.get("args", {}).get("route") == "d2h"]
        found = pauses(commands, max([end_of(products[i * each - 1]), *stored]), next_one)
        if not found:
            sys.exit(f"nothing parts call {i} from the next one")
        edges.append(max(found)[1])
    last = max(end_of(event) for event in products)
    over = sorted(begin for length, begin in pauses(commands, last, float("inf")) if length >= PAUSE_US)
    edges.append(over[0] if over else float("inf"))
    edges.insert(0, max(end_of(event) for event in commands if event["ts"] < edges[0]) - 1e3 * first_ms)
    return [[event for event in commands if low <= event["ts"] < high] for low, high in zip(edges, edges[1:])]


def part_of(products, copies, before, after):
    if products:
        return PARTS[1] if copies else PARTS[2]
    if copies:
        return PARTS[0] if before else PARTS[4] if after else PARTS[3]
    return PARTS[5]


def take_apart(commands, begin, end):
    """Milliseconds of each part for one GPU, between begin and end."""
    products = [event for event in commands if event["name"] in PRODUCTS]
    first, last = (min(e["ts"] for e in products), max(end_of(e) for e in products)) if products else (end, end)
    changes = collections.defaultdict(lambda: [0, 0])
    for event in commands:
        kind = 0 if event["name"] in PRODUCTS else 1
        changes[event["ts"]][kind] += 1
        changes[end_of(event)][kind] -= 1
    for edge in (begin, end, first, last):
        changes[edge][0] += 0
    ms, under_way, times = dict.fromkeys(PARTS, 0), [0, 0], sorted(changes)
    for at, then in zip(times, times[1:]):
        under_way = [n + change for n, change in zip(under_way, changes[at])]
        ms[part_of(*under_way, then <= first, at >= last)] += (then - at) / 1e3
    return ms


def copied(commands, ms):
    """What a GPU copied, by route: gigabytes, and the rate while at least one such copy was under way; how long it copied to and
    from the host at the same time; how long it computed."""
    rows, routes = {}, collections.defaultdict(list)
    for event in commands:
        if event["name"] == "copy" and "route" in event["args"]:
            routes[event["args"]["route"]].append(event)
    for route, copies in sorted(routes.items()):
        gigabytes, busy = sum(event["args"]["bytes"] for event in copies) / 1e9, covered(copies)
        rows |= {f"{route}_gb": round(gigabytes, 4), f"{route}_gbs": round(gigabytes / busy * 1e3, 2)}
    up, down = routes["h2d"], routes["d2h"]
    if up and down:
        rows["both_ways_ms"] = round(covered(up) + covered(down) - covered(up + down), 4)
    return rows | {"products_ms": round(ms[PARTS[1]] + ms[PARTS[2]], 4)}


def covered(events):
    """Milliseconds in which at least one of them is under way."""
    low, high = span(events)
    return (high - low - sum(length for length, _ in pauses(events, low, high))) / 1e3


def driver(events, low, high):
    """A row for each function of the driver with long calls in this time."""
    functions = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event.get("cat") == "call" and event["ts"] < high and end_of(event) > low:
            begin = max(event["ts"], low)
            functions[event["name"]].append({"ts": begin, "dur": min(end_of(event), high) - begin})
    rows = [{"table": "driver", "function": name, "calls": len(calls), "ms": round(covered(calls), 4)}
            for name, calls in functions.items()]
    return sorted(rows, key=lambda row: -row["ms"])


def main(first, trace, result):
    events = json.load(open(trace))
    document = json.load(open(result))
    row = document["rows"][0]
    repeats = int(document["command"].split("--repeats ")[1].split()[0])
    if repeats % 2 == 0:
        sys.exit(f"the median of {repeats} calls is none of them")
    calls = calls_of(events, repeats + 1, row["first_ms"])
    spans = [end - begin for begin, end in map(span, calls)]
    at = 0 if first else spans.index(statistics.median_low(spans[1:]), 1)
    call, whole = calls[at], row["first_ms" if first else "median_ms"]
    begin, end = span(call)
    gpus = {pid: [event for event in call if event["pid"] == pid] for pid in sorted({event["pid"] for event in call})}
    each = {pid: take_apart(commands, begin, end) for pid, commands in gpus.items()}
    ms = {part: sum(of[part] for of in each.values()) / len(each) for part in PARTS}
    ms[PARTS[6]] = whole - (end - begin) / 1e3
    busy = (ms[PARTS[1]] + ms[PARTS[2]]) * len(each)
    about = {key: row[key] for key in ("type", "place", "m", "n", "k", "devices", "tile")} | {"call": "first" if first else "median"}
    document["benchmark"] = "gemm_timeline"
    document["rows"] = [{"table": "parts", "part": part, **about, "ms": round(ms[part], 4), "share_percent": round(100 * ms[part] / whole, 2)}
                        for part in PARTS]
    document["rows"].append({"table": "parts", "part": "the call", **about, "ms": whole, "share_percent": 100,
                             "product_tflops": round(2e-9 * row["m"] * row["n"] * row["k"] / busy, 3)})
    document["rows"] += [{"table": "gpus", "gpu": pid, **about, **copied(commands, each[pid])} for pid, commands in gpus.items()]
    document["rows"] += driver(events, end - 1e3 * whole, end)
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    is_first = arguments[:1] == ["--first"]
    if len(arguments) != 2 + is_first:
        sys.exit(__doc__)
    main(is_first, *arguments[is_first:])
