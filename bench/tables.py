# SPDX-License-Identifier: Apache-2.0
"""The tables of the study's pages, of docs/scaling.md and docs/tuning.md, made from the newest results that have them; bench/plot.py tables writes them.

A block of a page, `<!-- figures:NAME -->` to `<!-- end -->`, is what TABLES[NAME]() returns. What the sources printed
stands here beside what was measured.
"""
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench/mpi"))
import model

CARDS = ("h200", "h100")  # the newest result on one of them counts

BLOCK = re.compile(r"(<!-- figures:([\w-]+) -->\n).*?(<!-- end -->)", re.S)


def machine_of(name):
    return re.search(r"-(\w+)\.json$", name)[1]


def results(benchmark, table, machines=CARDS):
    """(the newest day's files that have the table, the table's rows): a long table is measured in several runs, all of them on
    one of the machines"""
    names, found = [], []
    for path in sorted((ROOT / "bench/results").glob(f"????-??-??-{benchmark}*.json"), reverse=True):
        if machine_of(path.name) not in machines:
            continue
        rows = [row for row in json.loads(path.read_text())["rows"] if row.get("table", "ladder") == table]
        if names and names[0][:10] != path.name[:10]:
            break
        if names and machine_of(names[0]) != machine_of(path.name):
            continue
        if rows:
            names, found = [path.name, *names], rows + found
    return names, found


def files(names):
    return "(" + ", ".join(f"`bench/results/{name}`" for name in names) + ")"


def digits(value):
    if value is None:
        return ""
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:.0f}"


def markdown(heads, lines):
    return "\n".join("| " + " | ".join(str(cell) for cell in cells) + " |"
                     for cells in [heads, ["---"] * len(heads), *lines])


def in_order(values):
    return list(dict.fromkeys(values))


def pick(rows, **wanted):
    return next((row for row in rows if all(row.get(k) == v for k, v in wanted.items())), None)


def made_from(benchmark, table, make, machines=CARDS):
    """A function that makes a block: the table, and the file that it is from."""
    def block():
        names, rows = results(benchmark, table, machines)
        if not rows:
            program = "bench_" + benchmark.replace("-", "_")
            return f"No result has this table yet; `{program} --tables {table}` measures it."
        return f"{make(rows)}\n\n{files(names)}"
    return block


# ---- the ladder ----

def power_text(n):
    """2^28; older results have eight digits of it."""
    power = round(math.log2(n))
    return f"2^{power}" if abs(n / 2 ** power - 1) < 1e-7 else str(n)


def rung(row):
    return row["kernel"] + (f", {row['each']} a thread" if row["kernel"].startswith("K6") else "")


def ladder(rows):
    sizes = in_order(row["n"] for row in rows)
    heads = ["kernel"] + [f"N = {power_text(n)}: GB/s, step, all" for n in sizes]
    heads.append(f"whole, N = {power_text(sizes[-1])}")
    lines = []
    for name in in_order(rung(row) for row in rows):
        of = [next((r for r in rows if rung(r) == name and r["n"] == n), None) for n in sizes]
        cells = [f"{r['gbs']:.0f}, {r['step']:.2f}, {r['cumulative']:.2f}" if r and "gbs" in r else "" for r in of]
        whole = f"{of[-1]['whole_us']:.0f} µs, {of[-1]['whole_gbs']:.0f} GB/s" if of[-1] else ""
        lines.append([name, *cells, whole])
    return markdown(heads, lines)


def runs_of(rows):
    """How many runs the times of the rows are medians of."""
    return ", ".join(str(count) for count in in_order(row["repeats"] for row in rows if row and "repeats" in row))


def by_column(row_key, column_key, cell, head="{}", runs_below=False):
    """Rows and columns by two keys, and the runs of each line, or below each column."""
    def make(rows):
        columns = in_order(row[column_key] for row in rows)
        lines = []
        heads = [row_key] + [head.format(column) for column in columns]
        for name in in_order(row[row_key] for row in rows):
            found = [pick(rows, **{row_key: name, column_key: column}) for column in columns]
            lines.append([name] + [cell(row) if row else "" for row in found] + [runs_of(found)])
        if runs_below or not runs_of(rows):
            lines = [line[:-1] for line in lines]
        else:
            heads.append("runs")
        if runs_below and runs_of(rows):
            lines.append(["runs"] + [runs_of(row for row in rows if row[column_key] == column) for column in columns])
        return markdown(heads, lines)
    return make


def plain(*columns):
    """A line for each row; a column is (head, key, format). The last one has the runs, where rows have them."""
    def make(rows):
        all_columns = columns + (("runs", "repeats", ""),) * bool(runs_of(rows))
        def cell(value, form):
            return "" if value is None else digits(value) if form == "digits" else format(value, form)
        return markdown([head for head, _, _ in all_columns],
                        [[cell(row.get(key), form) for _, key, form in all_columns] for row in rows])
    return make


RATE = lambda row: f"{row['gbs']:.0f} ({row['of_copy']:.2f})"

# ---- dense ----

def dense():
    lines, names = [], []
    for exercise in ("convolution", "atax", "covariance"):
        of_exercise, rows = results("dense-study", exercise)
        names += of_exercise
        for n in in_order(row["n"] for row in rows):
            get = lambda program: pick(rows, program=program, n=n)
            handout = get("handout")
            with_factor = lambda row: f"{digits(row['ms'])} ({digits(row['speedup'])})" if row else ""
            kernels = get("kernels")
            peak = kernels.get("of_peak" if exercise == "covariance" else "of_copy")
            rates = f"{kernels['gbs']:.0f}"
            if exercise == "atax":
                rates += f": rows {kernels['rows_gbs']:.0f}, columns {kernels['columns_gbs']:.0f}"
            measured = handout["handout_measured"]
            lines.append([exercise, n, ("" if measured else "~") + digits(handout["ms"]),
                          *(with_factor(get(p)) for p in ("one core", "all cores", "kernels", "symmetric kernels",
                                                          "kernels with copies", "library")),
                          f"{kernels['gflops']:.0f}", rates, "" if peak is None else f"{peak:.2f}",
                          f"{handout['repeats'] if measured else '–'}, {kernels['repeats']}"])
    heads = ["ms (×)", "n", "handout", "one core", "all cores", "kernels", "symmetric", "with copies", "library",
             "kernels: GFLOP/s", "GB/s", "of the peak", "runs: handout, kernels"]
    return f"{markdown(heads, lines)}\n\n{files(in_order(names))}"


def dense_blocks(rows):
    lines = []
    for row in rows:
        side = "" if row["exercise"] == "atax" else f"{row['block']} × {row['block']}"
        lines.append([f"{row['exercise']}, {row['n']}", side or row["block"], row["threads"], digits(row["ms"]),
                      digits(row["gflops"]), digits(row["gbs"])])
    return markdown(["", "team", "threads", "ms", "GFLOP/s", "GB/s"], lines)


# ---- the closest pair ----

def best_of_line(rows, key, column):
    """by_column() of times, with the speed-up beside the smallest of each line."""
    def cell(row):
        best = min(r["ms"] for r in rows if r["n"] == row["n"])
        return digits(row["ms"]) + (f" ({digits(row['speedup'])})" if row["ms"] == best else "")
    return by_column("n", column, cell)(rows)


def averages(column):
    """Speed-ups averaged over the sizes, by a column, and over all."""
    def make(rows):
        mean = lambda some: digits(sum(row["speedup"] for row in some) / len(some))
        lines = [[key, mean([row for row in rows if row[column] == key])] for key in in_order(row[column] for row in rows)]
        sizes = len(in_order(row["n"] for row in rows))
        return markdown([column, f"×, average of {sizes} sizes"], lines + [["all", mean(rows)]])
    return make


def gains(rows):
    """The gain of the blocks over P1 by n: of each size the mean over the blocks and the largest."""
    lines = []
    for n in in_order(row["n"] for row in rows):
        of = [100 * (row["gain"] - 1) for row in rows if row["n"] == n and row["b"]]
        if of:
            lines.append([n, len(of), f"{sum(of) / len(of):+.1f}", f"{max(of):+.1f}"])
    return markdown(["n", "block sizes", "mean gain, %", "largest, %"], lines)


# ---- alignment: the source's milliseconds and speed-ups ----

PROGRAMS = {"S": ("60800", "1"), "V1": ("11771", "5.2"), "V2": ("5625", "10.8"), "V3": ("16068", "3.8"),
            "V4a": ("", "slower than S"), "V4b": ("", "much slower"), "V5": ("", "not faster")}
EFFECTS = {1: ("5625", "10.8", "1.00"), 2: ("8136", "14.9", "1.45"), 3: ("11765", "15.5", "2.09"),
           4: ("14928", "16.3", "2.65"), 5: ("18464", "16.5", "3.28"), 6: ("22540", "16.2", "4.01")}


def align_programs(rows):
    lines = []
    for row in rows:
        threads = row["host_threads"]
        name = row["program"] + (f", {threads} core{'s' * (threads > 1)}" if row["program"] in ("S", "CPU") else "")
        lines.append([name, digits(row["ms"]), digits(row["speedup_serial"]), digits(row["speedup_cpu"]),
                      digits(row["gcups"]), *PROGRAMS.get(row["program"], ("", ""))])
    return markdown(["", "ms", "× S", "× CPU, all cores", "GCUPS", "source, ms", "source, × S"], lines)


def align_effects(rows):
    lines, first = [], pick(rows, program="V2")
    for count in in_order(row["effects"] for row in rows):
        serial, v2 = pick(rows, program="S", effects=count), pick(rows, program="V2", effects=count)
        lines.append([count, digits(serial["ms"]), digits(v2["ms"]), digits(v2["speedup_serial"]),
                      f"{v2['ms'] / first['ms']:.2f}", *EFFECTS.get(count, ("", "", ""))])
    heads = ["effects", "S, ms", "V2, ms", "× S", "V2 of 1", "source, ms", "source, × S", "source, V2 of 1"]
    return markdown(heads, lines)


# ---- several ranks ----

def mpi_runs(machine):
    """{ranks: name} of the newest runs of bench_mpi on a machine: DATE-mpi-MACHINE-RANKS.json."""
    found = {}
    for path in sorted((ROOT / "bench/results").glob(f"????-??-??-mpi-{machine}-*.json")):
        found[int(path.stem.rpartition("-")[2])] = path.name
    return dict(sorted(found.items()))


def of_runs(machine, make):
    """A block made from all runs on a machine, and their names."""
    def block():
        names = mpi_runs(machine).values()
        if not names:
            return "No result has this table yet; `mpirun -n RANKS bench_mpi` measures it."
        text = make([json.loads((ROOT / "bench/results" / name).read_text()) for name in names])
        return f"{text}\n\n{files(names)}"
    return block


def floor_of(rows, row):
    """Microseconds: a rank's own update at the time that counts, or its own part of a vector."""
    local = pick(rows, operation="gemm" if "cols" in row else row["operation"], type=row["type"], variant=row["variant"],
                 form="local")
    if "cols" not in row:
        return local["us"]
    return row["gflops"] * row["us"] / local["gflops"] / row["ranks"]


def scaling(variant):
    """Times beside the peer and beside one process, and the share of the floor."""
    def make(runs):
        lines = []
        for operation, kind in (("gemm", "f64"), ("gemm", "f32"), ("syrk", "f64"), ("trsm", "f64"), ("potrf", "f64"),
                                ("getrf", "f64"), ("reduce", "f64"), ("scan", "f64")):
            for run in runs:
                row, plain = (model.find(model.fitting(run)[0], operation=operation, type=kind, variant=variant, form=form)
                              for form in ("mpi", "plain"))
                if not row:  # older runs have no factorisations
                    continue
                ms = lambda value: f"{digits(1e-3 * value)} ms"
                lines.append([f"{operation}, {kind}", model.size_text(row.get("rows", row.get("n"))), row["ranks"],
                              ms(row["us"]), ms(row["peer_us"]) if row.get("peer_us") else "–",
                              f"{row['peer_us'] / row['us']:.2f}" if row.get("peer_us") else "–", ms(plain["us"]),
                              f"{plain['us'] / row['us']:.2f}", f"{floor_of(model.fitting(run)[0], row) / row['us']:.2f}"])
        return markdown(["", "n", "ranks", "davit", "ScaLAPACK", "its time by davit's", "one process",
                         "its time by davit's", "floor by time"], lines)
    return make


def predicted(which, weak):
    """`which` of the model's scenarios."""
    return lambda: model.predict_table(*model.scenarios()[which], weak)


# ---- queues ----

# The thesis's tables 3.1 to 3.12, means over their sizes: threads over CUDA in percent, and by how much HIP, which
# calls CUDA there, is off from it.
QUEUE_SOURCE = {
    "dgemm": {1: (6.10, 0.66), 2: (3.76, 0.56), 4: (3.32, 0.77), 8: (-0.56, 0.90)},
    "dgemv": {1: (36.62, 4.92), 2: (34.53, 8.45), 4: (7.66, 7.68), 8: (-5.90, 6.10)},
    "daxpy": {1: (110.18, 8.86), 2: (34.09, 8.76), 4: (-0.53, 11.61), 8: (-4.35, 9.04)}}
QUEUE_BACKENDS = ("cuda", "openmp", "threads", "nowait")


def queue_rates(rows):
    """A line for each size and number of sub-queues."""
    lines = []
    for n in sorted({row["n"] for row in rows}):
        for subqueues in in_order(row["subqueues"] for row in rows):
            of = [pick(rows, n=n, subqueues=subqueues, backend=backend) for backend in QUEUE_BACKENDS]
            calls = [str(row["calls"]) for row in of if row and "calls" in row]
            lines.append([n, subqueues, *(f"{digits(row['gflops'])} ({digits(row['min_ms'])} … {digits(row['max_ms'])})"
                                          if row and "gflops" in row else "–" for row in of),
                          ", ".join(calls)])
    return markdown(["n", "sub-queues", *QUEUE_BACKENDS, "calls"], lines)


def queue_by_subqueues(machine):
    """The rates of all routines, a line for each size, by the number of sub-queues."""
    def block():
        lines, names, backends = [], [], QUEUE_BACKENDS[:3]
        for routine, source in QUEUE_SOURCE.items():
            found, rows = results("queue-study", routine, (machine,))
            names += found
            for n in in_order(row["n"] for row in rows):
                of = [[pick(rows, n=n, subqueues=s, backend=backend) for s in source] for backend in backends]
                lines.append([routine, n, *(", ".join(digits(row["gflops"]) if row else "–" for row in each) for each in of)])
        return markdown(["routine", "n", *backends], lines) + f"\n\n{files(in_order(names))}"
    return block


def queue_ratios(rows, subqueues, backend, base):
    """By how many percent the rates of a back end are above those of another, for each size that both have."""
    pairs = [(pick(rows, n=n, subqueues=subqueues, backend=backend), pick(rows, n=n, subqueues=subqueues, backend=base))
             for n in in_order(row["n"] for row in rows)]
    return [100 * (a["gflops"] / b["gflops"] - 1) for a, b in pairs if a and b and "gflops" in a and "gflops" in b]


def queue_summary():
    """The means over the sizes beside the source's."""
    lines, names = [], []
    mean = lambda values: f"{sum(values) / len(values):+.1f}" if values else ""
    for routine, source in QUEUE_SOURCE.items():
        found, rows = results("queue-study", routine)
        names += found
        for subqueues, (threads, noise) in source.items():
            again = queue_ratios(rows, subqueues, "openmp again", "openmp")
            lines.append([routine, subqueues, f"{threads:+.1f}", f"{noise:.1f}",
                          *(mean(queue_ratios(rows, subqueues, b, "cuda")) for b in ("threads", "openmp", "nowait")),
                          mean([abs(value) for value in again]).lstrip("+")])
    if not names:
        return "No result has these tables yet; `bench_queue_study` measures them."
    heads = ["routine", "sub-queues", "source: threads, %", "source: noise, %", "threads, %", "openmp, %", "nowait, %",
             "noise, %"]
    return markdown(heads, lines) + "\n\n(" + ", ".join(f"`bench/results/{n}`" for n in in_order(names)) + ")"


LADDER, CLOSEST = "reduction-ladder", "closest-study"
# ---- tuning ----

def microseconds(value):
    return f"{value / 1000:.3f} ms" if value >= 1000 else f"{value:.1f} µs"


def tuned(rows):
    lines = [(row["capability"], row["what"], row["n"],
              row["trials"] + row["pruned"], row["pruned"], row["runs"], microseconds(row["own_us"]), row["found"],
              f"{row['gain']:.3f}") for row in rows if row["capability"] != "gemm"]  # its search is of figures alone
    return markdown(("capability", "measured", "n", "shapes", "that do not fit", "runs", "own choice", "found", "gain"), lines)


def tune_block(machine):
    def block():
        names, rows = results("tune", "searches", (machine,))
        if not rows:
            return f"No result has this table yet; `bench/tune.py` measures it on an {machine.upper()}."
        _, model_rows = results("tune", "model", (machine,))
        figures = results("tune", "figures", (machine,))[1]
        text = f"{tuned(rows)}\n\n{files(names)}"
        if figures:
            text += "\n\nFigures of gemm's model: " + ", ".join(f"`{row['parameter']}` {row['value']}" for row in figures) + "."
        for row in model_rows:
            text += (f" Products of {row['n']}: {microseconds(row['candidate_us'])} with them, "
                     f"{microseconds(row['candidate_own_us'])} without; of {row['other_n']}: "
                     f"{microseconds(row['other_candidate_us'])} and {microseconds(row['other_candidate_own_us'])}. "
                     + ("They are used." if row["kept"] else "They are not used."))
        return text
    return block


TABLES = {
    "ladder": made_from(LADDER, "ladder", ladder, ("h100",)),
    "ladder-blocks": made_from(LADDER, "blocks", by_column("kernel", "block", RATE, "b = {}"), ("h100",)),
    "ladder-operators": made_from(LADDER, "operators", plain(
        ("operator", "operator", ""), ("type", "type", ""), ("K1", "k1_gbs", ".0f"), ("K2", "k2_gbs", ".0f"),
        ("K3", "k3_gbs", ".0f"), ("K4", "k4_gbs", ".0f"), ("K5", "k5_gbs", ".0f"),
        ("K5 shuffles", "k5_shuffles_gbs", ".0f"),
        ("K6", "k6_gbs", ".0f"), ("K6 shuffles", "k6_shuffles_gbs", ".0f")), ("h100",)),
    "ladder-model": made_from(LADDER, "model", plain(
        ("elements a thread", "each", ""), ("threads", "workers", ""), ("cost n + p log2 p", "cost", ".0f"),
        ("measured, µs", "kernel_us", "digits"), ("by the model, µs", "model_us", "digits"),
        ("measured / model", "measured_by_model", ".2f"), ("cost-optimal", "optimal", "")), ("h100",)),
    "ladder-scans": made_from(LADDER, "scans", by_column("kernel", "n", RATE, "n = {}: GB/s (of a copy)"), ("h100",)),
    "dense": dense,
    "dense-blocks": made_from("dense-study", "blocks", dense_blocks),
    "dense-region": made_from("dense-study", "region", plain(
        ("by itself, µs", "us", "digits"), ("the fastest, µs", "best_us", "digits"), ("one of 20 in a row, µs", "in_a_row_us", "digits"))),
    "closest-blocked": made_from(CLOSEST, "blocked", by_column(
        "b", "n", lambda row: digits(row["ms"]), "n = {}", runs_below=True), ("cpu",)),
    "closest-brute": made_from(CLOSEST, "brute", lambda rows: best_of_line(rows, "n", "threads")),
    "closest-brute-average": made_from(CLOSEST, "brute", averages("threads")),
    "closest-balance": made_from(CLOSEST, "balance", plain(("n", "n", ""), ("rows", "rows_ms", "digits"),
                                                           ("balanced", "balanced_ms", "digits"))),
    "closest-divide-cpu": made_from(CLOSEST, "divide-cpu", plain(
        ("n", "n", ""), ("leaf", "cutoff", ""), ("search", "search_ms", "digits"), ("total", "ms", "digits"),
        ("sort %", "sort_percent", ".0f")), ("cpu",)),
    "closest-divide": made_from(CLOSEST, "divide", lambda rows: best_of_line(rows, "n", "base")),
    "closest-divide-average": made_from(CLOSEST, "divide", averages("base")),
    "closest-blocked-gain": made_from(CLOSEST, "blocked", gains, ("cpu",)),
    "closest-kernels": made_from(CLOSEST, "kernels", plain(
        ("kernel", "kernel", ""), ("ms", "ms", "digits"), ("%", "percent", ".1f"),
        ("% without sorts", "percent_without_sort", ".1f"))),
    "closest-limit": made_from(CLOSEST, "limit", plain(
        ("n", "n", ""), ("variant", "variant", ""), ("ms without sorts", "without_sort_ms", "digits"),
        ("compareStripPoints, ms", "compare_ms", "digits"), ("tests", "tests", ""),
        ("taken %", "taken_percent", ".1f"),
        ("divergent warps %", "divergent_warps_percent", ".1f"))),
    "closest-sorts": made_from(CLOSEST, "sorts", plain(
        ("n", "n", ""), ("sort", "sort", ""), ("sorts, ms", "sort_ms", "digits"), ("total, ms", "ms", "digits"),
        ("comparators", "comparators", ""))),
    "closest-combinations": made_from(CLOSEST, "combinations", plain(
        ("sort", "sort", ""), ("strip test", "strip", ""), ("blocks", "limit", ""), ("ms", "ms", "digits"),
        ("sorts, ms", "sort_ms", "digits"), ("rest, ms", "without_sort_ms", "digits"))),
    "closest-crossover": made_from(CLOSEST, "crossover", plain(
        ("n", "n", ""), ("P3, ms", "p3_ms", "digits"), ("P5, ms", "p5_ms", "digits"),
        ("P3 / P5", "p3_by_p5", ".2f"))),
    "closest-layouts": made_from(CLOSEST, "layouts", plain(
        ("data", "data", ""), ("layout", "layout", ""), ("all members, ms", "all_ms", "digits"),
        ("one, ms", "one_ms", "digits"))),
    "closest-memory": made_from(CLOSEST, "memory", plain(
        ("memory", "memory", ""), ("work", "work", ""), ("ms", "ms", "digits"), ("GB/s", "gbs", "digits"))),
    "closest-streams": made_from(CLOSEST, "streams", plain(("order", "order", ""), ("ms", "ms", "digits"))),
    "align-programs": made_from("align-study", "programs", align_programs),
    "align-effects": made_from("align-study", "effects", align_effects),
    "align-programs-cpu": made_from("align-study", "programs", align_programs, ("cpu",)),
    "align-effects-cpu": made_from("align-study", "effects", align_effects, ("cpu",)),
    "queue-dgemm": made_from("queue-study", "dgemm", queue_rates),
    "queue-dgemv": made_from("queue-study", "dgemv", queue_rates),
    "queue-daxpy": made_from("queue-study", "daxpy", queue_rates),
    "queue-2xh200": queue_by_subqueues("2xh200"),
    "queue-summary": queue_summary,
    "scaling-strong": of_runs("cpu", scaling("strong")),
    "scaling-4xh200-strong": of_runs("4xh200", scaling("strong")),
    "scaling-4xh200-weak": of_runs("4xh200", scaling("weak")),
    "tune-h200": tune_block("h200"),
    "tune-h100": tune_block("h100"),
    "scaling-inputs": lambda: model.inputs_table(model.scenarios()),
    "scaling-h200-model-strong": predicted(1, False),
    "scaling-h200-model-weak": predicted(1, True),
}


def rewritten(text):
    """The page with its blocks as they should be. A name that is none ends the program."""
    def block(match):
        return f"{match[1]}{TABLES[match[2]]()}\n{match[3]}" if match[2] != "readme" else match[0]
    return BLOCK.sub(block, text)


def write(check):
    """Rewrites the pages, or says which ones are old. Returns the exit status."""
    old = []
    for page in [*sorted((ROOT / "bench/study").rglob("*.md")), ROOT / "docs/scaling.md", ROOT / "docs/tuning.md"]:
        text = page.read_text()
        new = rewritten(text)
        if new != text:
            old.append(page)
            if not check:
                page.write_text(new)
    for page in old if check else []:
        print(f"{page.relative_to(ROOT)} differs from bench/results; bench/plot.py tables writes it")
    return 1 if check and old else 0
