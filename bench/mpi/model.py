#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model of libdavit_mpi over many ranks, from what bench_mpi has measured.

    bench/mpi/model.py check RESULT.json...      the model beside the measured times of these runs
    bench/mpi/model.py predict [RESULT.json]     times and efficiencies to 1,024 ranks; with the rank of this run if given
    bench/mpi/model.py svg FILE                  the plot of docs/scaling.md

Formulas and assumptions are explained in docs/notes/scaling.md; bench/plot.py tables writes the tables of docs/scaling.md.
All times are seconds, sizes bytes, rates per second.
"""
import argparse
import json
import math
import pathlib
import sys
from dataclasses import dataclass, replace

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench/results"
WORD, PANEL, CHUNK = 8, 512, 128 * 1024
RANKS = [4 ** k for k in range(6)]


# ---- what is put in ----

@dataclass(frozen=True)
class Network:
    """A message of S bytes takes latency + S / bandwidth. A broadcast to p ranks takes that ceil(log2 p) times, in a
    tree; pipelined, it takes latency times p - 1 and the bytes once."""
    name: str
    latency: float
    bandwidth: float
    pipelined: bool = False

    def message(self, size):
        return self.latency + size / self.bandwidth

    def broadcast(self, size, ranks):
        if ranks == 1 or size == 0:
            return 0
        if self.pipelined:
            return (ranks - 1) * self.latency + size / self.bandwidth
        return math.ceil(math.log2(ranks)) * self.message(size)

    def agree(self, ranks):
        """A sum of a few bytes over all ranks, and back."""
        return 2 * math.ceil(math.log2(ranks)) * self.latency if ranks > 1 else 0


@dataclass(frozen=True)
class Rank:
    """What a rank does on its own. Copies are 0 where its devices reach the host's memory."""
    name: str
    gemm: float        # flops per second of an update
    trsm: float        # flops per second of a solve with one block
    start: float       # seconds that a kernel takes whatever its size
    pack: float        # bytes per second of a panel that is made contiguous
    up: float          # bytes per second to the devices, 0: not copied
    down: float
    reduce: float      # bytes per second
    scan: float        # bytes read and written per second
    block: int = 256

    def copy_up(self, size):
        return size / self.up if self.up else 0

    def copy_down(self, size):
        return size / self.down if self.down else 0


def grid_of(ranks):
    rows = max(p for p in range(1, math.isqrt(ranks) + 1) if ranks % p == 0)
    return rows, ranks // rows


def local_size(n, block, count):
    """The largest part of n indices that are dealt in blocks: that of the first process."""
    blocks = n // block
    here = blocks // count * block
    return here + (block if blocks % count else n % block)


# ---- the routines ----

def gemm(n, ranks, net, rank):
    """(seconds, what takes most of a step)"""
    if ranks == 1:
        return 2 * n ** 3 / rank.gemm, "arithmetic"
    rows, cols = grid_of(ranks)
    m, l = local_size(n, rank.block, rows), local_size(n, rank.block, cols)
    width = min(PANEL, n)
    steps = math.ceil(n / width)
    compute = rank.start + 2 * m * l * width / rank.gemm
    left, right = m * width * WORD, l * width * WORD
    send = net.broadcast(left, cols) + net.broadcast(right, rows) + (left / cols + right / rows) / rank.pack
    copy = rank.copy_up(left + right)
    step = max(compute, send + copy)
    bound = "arithmetic" if compute >= send + copy else "broadcast" if send > copy else "copies"
    end = compute + rank.copy_down(m * l * WORD) + 3 * net.agree(ranks)
    return send + copy + (steps - 1) * step + end, bound


def trsm(n, ranks, net, rank):
    if ranks == 1:
        return n ** 3 / rank.gemm, "arithmetic"
    rows, cols = grid_of(ranks)
    l, b = local_size(n, rank.block, cols), min(rank.block, n)
    solved = b * l * WORD
    total = {"solve": 0.0, "broadcast": 0.0, "arithmetic": 0.0}
    first = True
    for done in range(0, n, b):
        m = local_size(n - done, b, rows)
        panel = m * b * WORD
        ahead = net.broadcast(panel, cols) + panel / cols / rank.pack + rank.copy_up(panel)
        update = rank.start + 2 * m * b * l / rank.gemm if done + b < n else 0
        if first:
            total["broadcast"] += ahead
            first = False
        total["solve"] += rank.start + b * b * l / rank.trsm + rank.copy_down(solved)
        total["broadcast"] += net.broadcast(solved, rows) + rank.copy_up(solved) + max(0, ahead - update)
        total["arithmetic"] += update
    m = local_size(n, b, rows)
    outside = rank.copy_up(m * l * WORD) + rank.copy_down(m * l * WORD) + 2 * net.agree(ranks)
    return sum(total.values()) + outside, max(total, key=total.get)


def levels_of(n):
    chunk, levels = CHUNK // WORD, 0
    while n > chunk:
        n, levels = -(-n // chunk), levels + 1
    return levels


def reduce(n, ranks, net, rank):
    own = rank.start + n / ranks * WORD / rank.reduce
    if ranks == 1:
        return own, "memory"
    # All ranks' lengths, a chunk to a neighbour at each level, the last chunk to all, and two agreements.
    exchange = (ranks - 1) * net.latency + CHUNK / net.bandwidth
    gather = math.ceil(math.log2(ranks)) * net.latency + WORD * ranks / net.bandwidth
    talk = levels_of(n) * exchange + 2 * gather + 2 * net.agree(ranks)
    return own + talk, "memory" if own > talk else "messages"


def scan(n, ranks, net, rank):
    own = rank.start + n / ranks * 2 * WORD / rank.scan
    if ranks == 1:
        return own, "memory"
    own += rank.start + n / ranks * WORD / rank.reduce
    talk = math.ceil(math.log2(ranks)) * net.latency + 3 * net.agree(ranks)
    return own + talk, "memory" if own > talk else "messages"


MODELS = {"gemm": gemm, "trsm": trsm, "reduce": reduce, "scan": scan}
POWER = {"gemm": 3, "trsm": 3, "reduce": 1, "scan": 1}


# ---- from a run ----

def load(path):
    return json.loads(pathlib.Path(path).read_text())


def fitting(result):
    """The rows, with `us` and the rates of the time that counts: the median, or on a machine whose processors others had
    for more than 5 % of the time, the fastest round; and which of both."""
    rows = result["rows"]
    load = next((row for row in rows if row["operation"] == "load"), {"others": 0})
    key = "best" if load["others"] > 0.05 else "median"
    made = []
    for row in rows:
        row = dict(row)
        if f"{key}_us" in row:
            row["us"] = row[f"{key}_us"]
            row["peer_us"] = row.get("peer_best_us" if key == "best" else "peer_us")
            row |= {rate: row[rate] * row["median_us"] / row["us"] for rate in ("gbs", "gflops") if rate in row}
        made.append(row)
    return made, key


def find(rows, **wanted):
    return next((row for row in rows if all(row.get(k) == v for k, v in wanted.items())), None)


def fit(rows):
    """(latency, bandwidth): the straight line through the ping-pong with the smallest squares of relative errors."""
    points = [(row["bytes"], row["us"] * 1e-6) for row in rows if row["operation"] == "ping-pong"]
    weight = [1 / t ** 2 for _, t in points]
    sum_of = lambda f: sum(w * f(s, t) for w, (s, t) in zip(weight, points))
    one, s1, s2 = sum_of(lambda s, t: 1), sum_of(lambda s, t: s), sum_of(lambda s, t: s * s)
    t1, st = sum_of(lambda s, t: t), sum_of(lambda s, t: s * t)
    slope = (one * st - s1 * t1) / (one * s2 - s1 ** 2)
    return max((t1 - slope * s1) / one, 1e-9), 1 / slope


def network_of(result):
    rows = fitting(result)[0]
    return Network("shared memory", *(fit(rows) if find(rows, operation="ping-pong") else (1e-6, 1e10)))


def rank_of(result, variant):
    """A rank of this run, while all work."""
    rows = fitting(result)[0]
    world = find(rows, operation="world")

    def local(operation, key, **more):
        row = find(rows, operation=operation, form="local", variant=variant, **more)
        return row[key] if row else math.nan  # it was left out

    copies = world["device"] == "gpu"
    gemm_row = find(rows, operation="gemm", form="mpi", type="f64", variant=variant)
    return Rank(world["device"], 1e9 * local("gemm", "gflops", type="f64"), 1e9 * local("trsm", "gflops"), 0,
                1e9 * local("pack", "gbs"), 1e9 * local("copy up", "gbs") * copies,
                1e9 * local("copy down", "gbs") * copies,
                1e9 * local("reduce", "gbs") / world["ranks"], 1e9 * local("scan", "gbs") / world["ranks"],
                gemm_row["block"])


def compared(result):
    """(operation, variant, n, ranks, measured, model) of each row that the model has."""
    rows, net = fitting(result)[0], network_of(result)
    ranks = find(rows, operation="world")["ranks"]
    for variant in ("strong", "weak"):
        if not find(rows, operation="gemm", form="local", variant=variant):
            continue
        rank = rank_of(result, variant)
        for operation, model in MODELS.items():
            row = find(rows, operation=operation, form="mpi", variant=variant, type="f64")
            if row and "us" in row:
                n = row.get("n", row.get("rows"))
                yield operation, variant, n, ranks, row["us"] * 1e-6, model(n, ranks, net, rank)[0]


# ---- predictions ----

def result_row(name, **wanted):
    return find(load(RESULTS / name)["rows"], **wanted)


def h200():
    """A rank with one H200, from a run of bench_mpi with one rank there; until there is one, from other results, with
    guesses for solves (a quarter of the product's rate) and packing."""
    product = result_row("2026-11-22-gemm-device-2xh200.json", who="davit", type="f64", m=8192, devices=1)
    small = result_row("2026-11-22-gemm-device-2xh200.json", who="davit", type="f64", m=512, devices=1)
    sums = result_row("2026-11-22-reduce-h200.json", operation="reduce", type="f64", variant="sum", n=2 ** 28, form="queue")
    scans = result_row("2026-11-22-scan-h200.json", operation="scan", type="f64", variant="inclusive", n=2 ** 28,
                       form="queue")
    rate = 1e12 * product["tflops"]
    start = 1e-3 * small["median_ms"] - 2 * 512 ** 3 / rate
    runs = sorted(RESULTS.glob("????-??-??-mpi-h200-1.json"))
    if runs:
        return replace(rank_of(load(runs[-1]), "strong"), name="H200", start=start)
    return Rank("H200", rate, rate / 4, start, 2e10, 5.5e10, 5.5e10, 1e9 * sums["gbs"], 1e9 * scans["gbs"])


FABRIC = Network("25 GB/s, 2 µs", 2e-6, 25e9)
SIZES = {  # strong n in all, weak n of one rank
    "cpu": {"gemm": (16384, 2048), "trsm": (16384, 2048), "reduce": (2 ** 30, 2 ** 24), "scan": (2 ** 30, 2 ** 24)},
    "H200": {"gemm": (131072, 32768), "trsm": (131072, 32768), "reduce": (2 ** 36, 2 ** 32), "scan": (2 ** 36, 2 ** 32)}}


def weak_size(operation, n1, ranks):
    return round(n1 * math.sqrt(ranks)) if POWER[operation] == 3 else n1 * ranks


def predict(operation, weak, ranks, net, rank):
    """(n, seconds, efficiency, bound): work a second and rank, by that of one rank."""
    model, sizes = MODELS[operation], SIZES["H200" if rank.up else "cpu"][operation]
    n, n1 = (weak_size(operation, sizes[1], ranks), sizes[1]) if weak else (sizes[0], sizes[0])
    one, (time, bound) = model(n1, 1, net, rank)[0], model(n, ranks, net, rank)
    return n, time, (n / n1) ** POWER[operation] * one / (ranks * time), bound


def cpu_run():
    """The newest run on CPUs with two ranks, each of which had a processor."""
    paths = sorted(RESULTS.glob("????-??-??-mpi-cpu-2.json"))
    return load(paths[-1]) if paths else None


def scenarios(result=None):
    """(network, rank) of the predictions."""
    if result:
        rank = rank_of(result, "strong")
        return [(network_of(result), rank), (FABRIC, rank)]
    return [(network_of(cpu_run()), rank_of(cpu_run(), "strong")), (FABRIC, h200())]


# ---- text ----

def time_text(seconds):
    power = 0 if seconds < 1e-3 else 1 if seconds < 1 else 2
    value = seconds * (1e6, 1e3, 1)[power]
    return (f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}") + " " + ("µs", "ms", "s")[power]


def size_text(n):
    power = math.log2(n)
    return f"2^{power:.0f}" if power == round(power) and n > 2 ** 20 else str(n)


def markdown(heads, lines):
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in [heads, ["---"] * len(heads), *lines])


def check_table(results):
    lines = []
    for result in results:
        for operation, variant, n, ranks, measured, model in compared(result):
            lines.append([operation, variant, size_text(n), ranks, time_text(measured), time_text(model),
                          f"{100 * (model / measured - 1):+.0f} %"])
    return markdown(["", "scaling", "n", "ranks", "measured", "model", "error"], lines)


def inputs_table(pairs):
    lines = []
    for net, rank in pairs:
        gbs = lambda value: f"{value / 1e9:.3g} GB/s" if value else "–"
        lines.append([rank.name, net.name, time_text(net.latency), gbs(net.bandwidth), f"{rank.gemm / 1e9:.3g} GFLOP/s",
                      f"{rank.trsm / 1e9:.3g} GFLOP/s", gbs(rank.pack), gbs(rank.up), gbs(rank.reduce), gbs(rank.scan)])
    return markdown(["rank", "network", "latency", "bandwidth", "gemm", "solve", "pack", "copies", "reduce", "scan"],
                    lines)


def predict_table(net, rank, weak):
    """With a tree, and in brackets the efficiency with pipelined broadcasts."""
    lines = []
    for operation in MODELS:
        cells = []
        for ranks in RANKS:
            n, time, share, bound = predict(operation, weak, ranks, net, rank)
            best = predict(operation, weak, ranks, replace(net, pipelined=True), rank)[2]
            other = f" … {best:.2f}" if POWER[operation] == 3 and ranks > 4 else ""
            cells.append(f"{time_text(time)}, {share:.2f}{other}" + (f", {bound}" if ranks > 1 else ""))
        sizes = SIZES["H200" if rank.up else "cpu"][operation]
        lines.append([f"{operation}, n = {size_text(sizes[1 if weak else 0])}" + (" on one" if weak else "")] + cells)
    return markdown([""] + [f"{ranks} rank{'s' * (ranks > 1)}" for ranks in RANKS], lines)


# ---- plot ----

def panel(plot, operation, left, top, pairs, weak):
    """Efficiency over ranks: the first pair as davit's colour, the second as the peer's."""
    right, bottom = left + plot.WIDTH - plot.RIGHT, top + plot.HEIGHT - plot.BOTTOM
    begin, high = left + plot.LEFT, top + plot.TOP
    x_of = lambda ranks: begin + math.log2(ranks) / 10 * (right - begin)
    y_of = lambda share: bottom - share / 1.2 * (bottom - high)
    title = f"{operation}, {'weak' if weak else 'strong'}"
    out = [plot.text(begin, top + 18, title, "start", 13, 'font-weight="bold"')]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2):
        out += [plot.rule(begin, y_of(share), right, y_of(share), "grid"),
                plot.text(begin - 6, y_of(share) + 4, f"{share:.1f}", "end")]
    for power in range(0, 11, 2):
        out += [plot.rule(x_of(2 ** power), bottom, x_of(2 ** power), bottom + 4, "ink"),
                plot.text(x_of(2 ** power), bottom + 18, str(2 ** power))]
    out += [plot.rule(begin, bottom, right, bottom, "ink"), plot.text((begin + right) / 2, bottom + 37, "ranks")]
    for name, (net, rank) in zip(("davit", "peer"), pairs):
        points = [(x_of(2 ** k), y_of(min(predict(operation, weak, 2 ** k, net, rank)[2], 1.2))) for k in range(11)]
        out.append(plot.curve(points, name))
    return out


def svg():
    sys.path.insert(0, str(ROOT / "bench"))
    import plot
    pairs = scenarios()
    names = [("davit", "one processor core a rank, shared memory as measured"), ("peer", "an H200 a rank, 25 GB/s and 2 µs")]
    parts = plot.legend(names, 16, 49)
    for column, operation in enumerate(MODELS):
        for line, weak in enumerate((False, True)):
            parts += panel(plot, operation, column * plot.WIDTH, plot.HEAD + line * plot.HEIGHT, pairs, weak)
    return plot.document("efficiency by the model of docs/scaling.md, by ranks", 4 * plot.WIDTH,
                         plot.HEAD + 2 * plot.HEIGHT, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check").add_argument("results", nargs="+")
    commands.add_parser("predict").add_argument("result", nargs="?")
    commands.add_parser("svg").add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "check":
        print(check_table([load(path) for path in options.results]))
    elif options.command == "svg":
        options.file.write_text(svg())
    else:
        pairs = scenarios(load(options.result) if options.result else None)
        print(inputs_table(pairs))
        for net, rank in pairs:
            for weak in (False, True):
                print(f"\n{rank.name}, {net.name}, {'weak' if weak else 'strong'}\n" + predict_table(net, rank, weak))


if __name__ == "__main__":
    main()
