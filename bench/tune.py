#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `davit tune` for capabilities, and writes one result: a row for each search, and one for each figure of gemm's model.

    tune.py DAVIT FILE [--seconds S] [--devices LIST] [NAME ...]     FILE: the tuning file, made anew

Without names all capabilities are tuned, in S seconds (180) in all at the most. Prints JSON (docs/bench.md); what won is
in FILE.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

# Parts of the time; the figures of gemm's model take what they take.
CAPABILITIES = {"gemm": 4, "reduce": 2, "scan": 1, "stencil": 2, "atax": 2, "covariance": 2, "align": 2, "detect": 2,
                "closest": 1, "axpy": 1, "gemv": 1, "copy": 1}


def run_json(*words):
    process = subprocess.run([*map(str, words), "--json"], capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(f"tune.py: {' '.join(map(str, words))} ended with {process.returncode}: {process.stderr.strip()}")
    return json.loads(process.stdout)


def words_of(values):
    return ", ".join(f"{name} {value}" for name, value in values.items() if value) or "davit's own"


def comparisons_of(comparisons):
    """The workload that decides, then the other one, from the comparison of the last candidate with davit's choice."""
    row = {}
    for which, one in zip(("", "other_"), comparisons):
        row |= {f"{which}n": one["n"], f"{which}candidate": words_of(one["candidate"]["values"]),
                f"{which}candidate_us": 1e6 * one["candidate"]["seconds"],
                f"{which}candidate_noise_us": 1e6 * one["candidate"]["noise"],
                f"{which}candidate_own_us": 1e6 * one["own"]["seconds"],
                f"{which}candidate_own_noise_us": 1e6 * one["own"]["noise"],
                f"{which}candidate_ratio": one["own"]["seconds"] / one["candidate"]["seconds"]}
    return row


def shape_of(shape, which):
    return {f"{which}_{key}": shape[key] for key in ("threads", "registers", "team_bytes", "teams", "occupancy")}


def rows_of(report):
    capability = report["capability"]
    for search in report["searches"]:
        row = {"table": "searches", "capability": capability, "what": search["what"]}
        row |= comparisons_of(search["comparisons"])
        row |= {"n": search["n"], "found": words_of(search["winner"]["values"]), "tuned": search["tuned"],
                "complete": search["complete"], "own_us": 1e6 * search["own"]["seconds"],
                "us": 1e6 * search["winner"]["seconds"], "gain": search["gain"],
                "trials": len(search["trials"]), "pruned": search["pruned"], "runs": search["runs"]}
        for which in ("own", "winner"):
            if f"{which}_shape" in search:
                row |= shape_of(search[f"{which}_shape"], which)
        yield row
    for figure in report.get("figures", {}).get("measured", []):
        yield {"table": "figures", "capability": capability, **figure}
    if "figures" in report:
        yield {"table": "model", "capability": capability, "kept": report["figures"]["kept"],
               **comparisons_of(report["figures"]["comparisons"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("davit")
    parser.add_argument("file")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--devices")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()  # names may follow the options
    names = options.names or list(CAPABILITIES)
    pathlib.Path(options.file).unlink(missing_ok=True)
    os.environ["DAVIT_TUNING_FILE"] = ""
    share = options.seconds / sum(CAPABILITIES[name] for name in names)
    rows = []
    for name in names:
        words = [options.davit, "tune", name, "-o", options.file, "--budget", CAPABILITIES[name] * share]
        report = run_json(*words, *(["--devices", options.devices] if options.devices else []))
        rows += [{"device": report["devices"][0], **row} for row in rows_of(report)]
        print(f"{name}: {report['seconds']:.1f} s", file=sys.stderr)
    version = subprocess.run([options.davit, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    machine = [{key: device[key] for key in ("device", "kind", "name")} for device in run_json(options.davit, "devices")["list"]]
    now = datetime.datetime.now(datetime.timezone.utc)
    arguments = [f"--seconds {options.seconds:g}"] + ([f"--devices {options.devices}"] if options.devices else []) + options.names
    print(json.dumps({"benchmark": "tune", "version": version, "date": f"{now:%Y-%m-%dT%H:%M:%SZ}",
                      "command": " ".join(["tune.py DAVIT FILE", *(arguments if names != list(CAPABILITIES) else arguments[:1])]),
                      "machine": {"devices": machine}, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
