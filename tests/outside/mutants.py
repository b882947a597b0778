#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds faults, one at a time, and runs the test that has to notice each.

    mutants.py [--list | --check] [--only NAME[,NAME...] | --stale] [--folder FOLDER] [--log FILE]

A fault is one edit of a source in a copy of the working tree, which FOLDER keeps (build-mutants), so that a second
run builds only what the edits touch. For each fault the test's program is built and run (NAME_amd: as tests/CMakeLists.txt
runs it on devices that pose as AMD's): it must build, and fail or not end within five minutes. First the tests must pass as they are. Prints a table; the exit status is 1 if a fault
survives, does not build, or has no place any more. --log keeps the last verdict on each fault in a file,
tests/outside/mutants.log. A whole run takes 40 minutes and more on two cores, so it is run by hand.

--check builds and runs nothing: each fault must have one place in its file, and a line of that file in mutants.log,
which must end with the summary of its lines (ctest runs it as `mutants`). A line has git's hash of the file in which
the fault was; --stale chooses the faults whose file is another one by now.
"""
import argparse
import dataclasses
import datetime
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "tests/outside/mutants.log"
LIMIT_S = 300
ENVIRONMENT = {"KMP_BLOCKTIME": "0", "DAVIT_TUNING_FILE": "", "DAVIT_TEST_SCALE": "0.5",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
AMD = {"DAVIT_SIMULATE": "amd", "CUDA_VISIBLE_DEVICES": "", "DAVIT_THREADS": "1", "DAVIT_TEST_SCALE": "0.05"}


@dataclasses.dataclass
class Mutant:
    name: str
    path: str
    old: str
    new: str
    test: str


def study(name, path, old, new, test):
    return Mutant(name, "bench/study/" + path, old, new, "study_" + test)


MUTANTS = [
    # ---- the study: reductions and scans ----
    study("k6-starts-from-0", "reduce/reduce.inc", "    s[t] = IDENTITY;\n    for", "    s[t] = (T){0};\n    for",
          "reduce"),
    study("load-has-no-identity", "reduce/reduce.inc", "  if (i >= n)\n    return IDENTITY;",
          "  if (i >= n)\n    return (T){0};", "reduce"),
    study("k2-wrong-pairs", "reduce/reduce.inc", "int i = 2 * t * step;", "int i = t * step;", "reduce"),
    study("k5-lost-stage", "reduce/reduce.inc", "    STAGE(16, WARP_BARRIER)\n", "", "reduce"),
    study("k1-no-barrier", "reduce/reduce.inc", "      NAME(fold)(s, t, t, t + step);\n    BARRIER();",
          "      NAME(fold)(s, t, t, t + step);", "barriers"),
    study("k3-no-barrier", "reduce/reduce.inc", "    NAME(fold)(s, t, t, t + half);\n    BARRIER();",
          "    NAME(fold)(s, t, t, t + half);", "barriers"),
    study("k4-no-barrier-after-loads", "reduce/reduce.inc", "    s[t] = COMBINE(a, b);\n  }\n  BARRIER();",
          "    s[t] = COMBINE(a, b);\n  }", "barriers"),
    study("k6-grid-stride", "reduce/reduce.inc", "i += teams * (2 * BLOCK)", "i += teams * BLOCK", "reduce"),
    study("shuffles-wrong-lane", "reduce/reduce.inc", "value, t, t + distance);", "value, t, t + distance + 1);",
          "barriers"),
    study("reduce-cpu-threshold", "reduce/reduce.c",
          "  if (status == DAVIT_SUCCESS)\n    status = finish(r->op, n, x, result);",
          "  if (status == DAVIT_SUCCESS)\n    status = finish(r->op, n > 1 ? n - 1 : n, x, result);", "reduce"),
    study("ranks-out-of-order", "reduce/reduce.c", "sum = monoid->combine(sum, study_get(monoid, &of_rank, 0));",
          "sum = monoid->combine(study_get(monoid, &of_rank, 0), sum);", "reduce"),
    study("cost-model", "reduce/model.c", "size / workers + log2(workers)", "size / workers + log2(size)", "reduce"),
    study("p1-no-barrier", "reduce/scan.inc", "values[t - offset] : IDENTITY;\n    BARRIER();",
          "values[t - offset] : IDENTITY;", "barriers"),
    study("p2-no-warp-barrier", "reduce/scan.inc", "values[t - d] : IDENTITY;\n    WARP_BARRIER();",
          "values[t - d] : IDENTITY;", "barriers"),
    study("p1-swaps-operands", "reduce/scan.inc",
          "NOTE_COMBINE(t, t - offset, t);\n      T right = values[t];\n      values[t] = COMBINE(OWN(left, t), right);",
          "NOTE_COMBINE(t, t - offset, t);\n      T right = values[t];\n      values[t] = COMBINE(right, OWN(left, t));", "scan"),
    study("p3-total-without-prefix", "reduce/scan.inc",
          "y[first + t] = OWN(own, t);\n    if (totals && t == NAME(threads) - 1) {\n"
          "      T prefix = warp_totals[t / 32], warp = values[t];\n      totals[team] = COMBINE(prefix, warp);",
          "y[first + t] = OWN(own, t);\n    if (totals && t == NAME(threads) - 1) {\n"
          "      T warp = values[t];\n      totals[team] = warp;", "scan"),
    study("p4-no-shift", "reduce/scan.c", "  if (tiles > 1 && status == DAVIT_SUCCESS)",
          "  if (tiles > 2 && status == DAVIT_SUCCESS)", "scan"),
    # ---- the study: dense kernels ----
    study("product-no-barrier", "dense/product.inc", "data[k * n + j] : 0;\n    }\n    BARRIER();",
          "data[k * n + j] : 0;\n    }", "barriers"),
    study("product-no-barrier-behind", "dense/product.inc", "right[k * BLOCK + t % BLOCK];\n    BARRIER();",
          "right[k * BLOCK + t % BLOCK];", "barriers"),
    study("product-reads-past-rows", "dense/product.inc", "left[t] = k < m && i < n", "left[t] = i < n", "dense"),
    study("atax-no-barrier", "dense/atax.inc", "staged[t] = x[first + t];\n    BARRIER();",
          "staged[t] = x[first + t];", "barriers"),
    study("atax-no-warp-barrier", "dense/atax.inc", "sums[t] = OWN(sum, t);\n  WARP_BARRIER();",
          "sums[t] = OWN(sum, t);", "barriers"),
    study("atax-no-warp-barrier-in-tree", "dense/atax.inc", "      sums[t] += sums[t + half];\n    WARP_BARRIER();",
          "      sums[t] += sums[t + half];", "barriers"),
    study("convolution-coefficient", "dense/point.h", "+0.6, -0.9", "+0.6, -0.8", "dense"),
    study("convolution-border", "dense/dense.c", "row > 0 && col > 0", "row > 0 && col >= 0", "dense"),
    study("mean-divisor", "dense/dense.c", "mean[col] = sum / divisor;", "mean[col] = sum / (double)m;", "dense"),
    study("memory-budget", "dense/run.c", "return bytes <= (double)room", "return bytes < (double)room", "dense"),
    # ---- the study: alignment ----
    study("gap-down-opens-cheap", "align/text.h", "h.at[up] - t->open", "h.at[up] - t->extend", "align"),
    study("v5-loses-e-of-the-border", "align/text.h", "at_border[border.stride] = e;",
          "at_border[border.stride] = 0;", "align"),
    study("row-0-moves", "align/text.h", "1 + (int64_t)order[i - 1]", "(int64_t)order[i - 1]", "align"),
    # ---- the study: the closest pair ----
    study("p3-compares-with-itself", "closest/brute.inc",
          "tile == block ? t + 1 : 0;\n          NAME(row)(cache, first, count, OWN(low",
          "tile == block ? t : 0;\n          NAME(row)(cache, first, count, OWN(low", "closest"),
    study("p3-no-barrier", "closest/brute.inc", "cache[t] = points[start + t];\n      BARRIER();",
          "cache[t] = points[start + t];", "barriers"),
    study("minimum-no-barrier", "closest/tree.inc", "      }\n    }\n    BARRIER();", "      }\n    }", "barriers"),
    study("strip-without-abs", "closest/divide.inc",
          "if (__builtin_fabsf(sy[block * BLOCK + t].x - middle) <= delta)",
          "if (sy[block * BLOCK + t].x - middle <= delta)", "divide"),
    study("strip-no-limit", "closest/divide.inc", "      seen++;\n", "", "divide"),
    study("strip-no-barrier", "closest/divide.inc", "cache[t] = sy[tile * BLOCK + t];\n      BARRIER();",
          "cache[t] = sy[tile * BLOCK + t];", "barriers"),
    study("sort-no-barrier", "closest/sort.c", "        }\n      }\n      BARRIER();", "        }\n      }",
          "barriers"),
    study("batches-sorted-down", "closest/sort.c", "(l->low & (length - 1) & size) == 0", "(l->low & size) == 0",
          "closest"),
    study("time-is-lost", "closest/brute.c", "  times->transfer_ms += study_lap(&since);",
          "  (void)study_lap(&since);", "divide"),
    study("layout-of-pixels", "closest/background.c", "layout == STUDY_AOS ? 3 : 4", "layout == STUDY_AOS ? 4 : 3",
          "background"),
    study("matrix-no-barrier", "closest/product.inc", "b[l * n + col] : 0;\n    }\n    BARRIER();",
          "b[l * n + col] : 0;\n    }", "barriers"),
    study("matrix-no-barrier-behind", "closest/product.inc", "right[k * SIDE + t % SIDE];\n    BARRIER();",
          "right[k * SIDE + t % SIDE];", "barriers"),
    study("v5-no-barrier", "align/tiles.inc", "    TEAM_BARRIER();\n    for (int run", "    for (int run", "barriers"),
    study("v5-no-barrier-behind", "align/tiles.inc", "first, columns, tile);\n    TEAM_BARRIER();",
          "first, columns, tile);", "barriers"),
    study("v5-loses-its-maximum", "align/tiles.inc", "  *score = study_align_rows(", "  (void)study_align_rows(", "barriers"),
    study("parts-of-the-last-run", "program.c", "left + (size_t)median.number * bytes", "left + (size_t)(count - 1) * bytes",
          "program"),
    Mutant("counts-of-eight-digits", "bench/bench.c", "fabs(value) < 0x1p53", "fabs(value) < 1e8",
           "study_program"),
    study("network-direction", "closest/network.c",
          "ascending ? (study_comparator){i, i + reach} : (study_comparator){i + reach, i}",
          "(study_comparator){i, i + reach}", "network"),
    # ---- offload: texts of kernels ----
    Mutant("scan-exclusive-is-inclusive", "offload/kernel/scan.inc", "out.at[k] = exclusive ? left : running;",
           "out.at[k] = running;", "scan_stream"),
    Mutant("scan-tile-hides-its-head", "offload/kernel/scan.inc", "segmented && heads ? 2 : 1, &all", "1, &all",
           "scan_stream"),
    Mutant("scan-no-barrier", "offload/kernel/scan.inc", "segmented, only_sums);\n  dvt_barrier();",
           "segmented, only_sums);", "scan_stream"),
    Mutant("reduce-no-barrier", "offload/kernel/tree.inc", "group[thread / 32] = value;\n  dvt_barrier();",
           "group[thread / 32] = value;", "reduce_stream"),
    Mutant("reduce-pads-with-0", "offload/kernel/tree.inc", "last[k] = (NAME(vector))(NEUTRAL);",
           "last[k] = (NAME(vector))(0);", "reduce"),
    Mutant("reduce-takes-nan-for-a-number", "offload/kernel/tree.inc", "if (numbers && one != one)",
           "if (numbers && one < one)", "reduce"),
    Mutant("reduce-begins-sums-again", "offload/kernel/tree.inc", "i < NAME(section_groups),", "true,", "reduce"),
    Mutant("reduce-section-runs-on", "offload/kernel/tree.inc", "stop = end < size ? end : size, lane", "stop = size, lane",
           "reduce_stream"),
    Mutant("copy-columns-at-wrong-pitch", "src/runtime/copy.c", "c->source + from_row + from_col * c->source_pitch",
           "c->source + from_row + from_col * c->destination_pitch", "memory"),
    Mutant("copy-past-caches-at-wrong-pitch", "src/runtime/copy.c", "c->source + from_row + j * c->source_pitch",
           "c->source + from_row + j * c->destination_pitch", "memory"),
    Mutant("stencil-transposed", "offload/stencil_host.inc", "a + k % 3 - 1 + (k / 3 - 1) * lda",
           "a + k / 3 - 1 + (k % 3 - 1) * lda", "operations"),
    Mutant("stencil-last-block", "offload/stencil_host.inc", "dvt_at_most(down.end - i, BLOCK)",
           "dvt_at_most(down.end - i - 1, BLOCK)", "operations"),
    Mutant("reduce-team-skips-tiles", "offload/kernel/tree.inc", "index += dvt_teams()",
           "index += dvt_teams() + 1", "reduce_stream"),
    Mutant("reduce-sections-are-the-first", "offload/kernel/tree.inc", "size, dvt_team() % NAME(sections));", "size, 0);",
           "reduce_stream"),
    Mutant("reduce-does-not-wait-for-sections", "offload/kernel/tree.inc", "(uint32_t)dvt_teams() - 1;", "(uint32_t)dvt_teams() - 2;",
           "reduce_stream"),
    Mutant("reduce-leaves-its-counter", "offload/kernel/tree.inc", "      *counter = 0;", "      *counter = 1;", "reduce_stream"),
    # ---- tuning ----
    Mutant("tune-believes-noise", "src/cli/tune_search.c", "SIGMAS = 3;", "SIGMAS = 0;", "tune_search"),
    Mutant("tune-loses-elsewhere", "src/cli/tune_search.c", "s->tuned = code == 0 && !beats(", "s->tuned = code == 0 || beats(",
           "tune_search"),
    Mutant("tune-runs-what-does-not-fit", "src/cli/tune_search.c", "    if (fits)\n", "    if (fits || s->fits)\n", "tune_search"),
    Mutant("tune-keeps-the-slower-half", "src/cli/tune_search.c", "a->seconds <= b->seconds", "a->seconds >= b->seconds",
           "tune_search"),
    Mutant("figures-are-not-read", "src/level3/parameters.c", "    if (value > 0)\n", "    if (value < 0)\n", "model_figures"),
    Mutant("all-threads-copy", "src/runtime/staging.c", "all - all / 4", "all", "model_figures"),
    Mutant("figure-of-area", "src/level3/parameters.c", "(1 + depth / n)) - 1), 1);", "(1 + depth / n))), 1);", "model_figures"),
    # ---- ref ----
    Mutant("gemv-leaves-nan-to-blis", "ref/gemv.c", "if (factor != 0 || all_finite", "if (true || all_finite", "operations"),
    Mutant("gap-is-not-extended", "ref/cell.inc", "return LARGER(LONGER(gap, extend), opened);", "return opened;",
           "align"),
    Mutant("p-value-of-0", "ref/detect.c", "(double)(no_less + 1) / (double)(n + 1)", "(double)no_less / (double)n",
           "detect_oracle"),
    Mutant("slab-without-its-neighbours", "offload/closest_pair_grid.h",
           "(cell >= g->begin || cell + 1 == g->begin) && (cell < g->end || cell == g->end)", "cell >= g->begin && cell < g->end",
           "closest_pair_stream"),
    Mutant("pairs-of-two-slabs", "offload/closest_pair_grid.h", "return !g->slab || (cell >= g->begin && cell < g->end);",
           "return true || cell < g->end;", "closest_pair_stream"),
    Mutant("far-cells-backwards", "offload/closest_pair_grid.h", "return bits < 0 ? INT64_MIN - bits : bits;", "return bits;",
           "closest_pair_stream"),
    Mutant("slabs-of-chance", "offload/closest_pair_grid.h", "return x < y || (!(y < x) && j < k);", "return j < k;",
           "closest_pair_stream"),
    Mutant("crowd-of-one-slab", "src/closest_search.c", "    state->stop |= dvt_closest_is_crowded(other);\n", "", "closest_pair"),
    Mutant("reader-goes-on-after-the-end", "offload/align_reader.h", "block = (block & ~after) | (blank & after);",
           "block |= 0 * after;", "align_stream"),
    Mutant("reader-is-never-late", "offload/align_reader.h", "8 * (uint32_t)late);", "0 * (uint32_t)late);", "align_stream"),
    Mutant("item-keeps-a-corner", "offload/align_kernel.inc", "l->s.corner = l->s.best = (T){0};", "l->s.best = (T){0};",
           "align_stream"),
    Mutant("item-forgets-lanes-before", "offload/align_kernel.inc", "g > 0 ? NAME(larger)(before, l->s.best) : l->s.best;",
           "l->s.best;", "align_stream"),
    Mutant("items-are-left-out", "offload/align_kernel.inc", "(uint32_t)groups) : 0;", "(uint32_t)groups + 1) : 0;", "align_stream"),
    Mutant("strip-enters-a-row-twice", "offload/align_kernel.inc", "next + k, &l->entering[k]", "next, &l->entering[k]", "align_stream"),
    Mutant("strip-keeps-its-last-row", "offload/align_kernel.inc", "w->leaves && l->row < l->edge.length,",
           "w->leaves && l->row < l->edge.length - 1,", "align_stream"),
    Mutant("strips-of-pairs-meet", "offload/align_kernel.inc", "(before + more) / 2 :", "before / 2 :", "align_stream"),
    Mutant("strips-begin-too-late", "offload/align_kernel.inc", "(before + more) / 2 :", "before :", "align_stream"),
    Mutant("borders-of-a-target-too-many", "offload/align_stream.c", "target_at(s, middle - 1), w->pairs) <= rows)",
           "target_at(s, middle - 1), w->pairs) <= rows + 30)", "align_stream"),
    Mutant("pairs-in-half-the-rows", "offload/align_stream.c", "dvt_divide_up(rows + dvt_align_length(t, first), 2)",
           "dvt_divide_up(rows, 2)", "align_stream"),
    Mutant("large-scores-are-not-said", "offload/align_kernel.inc", "*t->exceeded = 1;", "(void)t->exceeded;", "align_stream"),
    Mutant("scores-of-the-next-target", "src/align.c", "d->score[own[k].which] = &s->scores[k];",
           "d->score[own[k].which] = &s->scores[k > 0 ? k - 1 : k];", "align_database"),
    Mutant("profile-of-the-first-columns", "offload/align_lanes.inc", "table + begin, count, symbols, (int8_t *)scores);",
           "table, count, symbols, (int8_t *)scores);", "align_profile"),
    Mutant("profile-of-the-first-columns-wide", "offload/align_lanes.inc", "table + begin, count, symbols, narrow);",
           "table, count, symbols, narrow);", "align_profile"),
    Mutant("profile-columns-lose-the-corner", "offload/lanes.inc", "  state->corner = corner;\n", "", "align_profile"),
    Mutant("profile-columns-lose-gaps", "offload/lanes.inc", "    state->e[k] = e[k];\n", "", "align_profile"),
    Mutant("profile-of-striped-rows", "offload/align_striped.inc", "= from[q + t * query->m];",
           "= from[q + t * query->m - (q > 0)];", "align_profile"),
    Mutant("profile-of-tiles-ahead", "offload/align_tile.inc", "first[k * costs->m + row * s->step];", "first[k * costs->m + row];",
           "align_profile"),
    Mutant("profile-reaches-the-query", "offload/align.c", "s->profile ? likes_at(query, i) :", "s->profile ? 0 :",
           "align_profile"),
    Mutant("profile-of-waves-ahead", "offload/align_wavefront.inc", "place = p->query + row * p->step;",
           "place = p->query + row;", "align_wavefront"),
    Mutant("profile-and-matrix", "src/align_trace.c", "if (scoring->matrix && scoring->profile)", "if (false)", "align_profile"),
    Mutant("part-searched-too-early", "src/align_share.c", "status = dvt_lane_wait(s->lane, brought);", "status = DAVIT_SUCCESS;",
           "align_streams"),
    Mutant("part-brought-too-early", "src/align_share.c", "  if (searched)\n    DVT_TRY(dvt_lane_wait(s->copies, searched));\n",
           "  (void)searched;\n", "align_streams"),
    Mutant("part-scores-of-part-0", "src/align_share.c", ".scores = s->scores + part->first,", ".scores = s->scores,",
           "align_parts"),
    Mutant("part-in-one-buffer", "src/align_share.c", "k ? s->buffer[k % 2] : s->resident", "k ? s->buffer[0] : s->resident",
           "align_parts"),
    Mutant("part-too-large", "src/align_share.c", "p->resident = bytes - 2 * p->buffer;", "p->resident = bytes - p->buffer;",
           "align_parts"),
    Mutant("part-refused-for-good", "src/align_share.c", "again = status == DAVIT_OUT_OF_DEVICE_MEMORY && !cache_bytes;",
           "again = false;", "align_parts"),
    Mutant("pssm-mean-rounded-up", "src/cli/formats/pssm.c", "(sum - (sum & 1)) / 2", "sum / 2", "cli_pssm"),
    Mutant("pssm-statistics-of-any-gaps", "src/cli/align_scheme.c",
           "fabs(published[i].lambda - s->profile.standard.lambda) < apart", "true", "cli_pssm"),
    Mutant("date-line-is-two-places", "src/cli/coordinates.c", "quarters = nearbyint(degrees / 90)", "quarters = 0", "cli_neighbors"),
    Mutant("printed-radius-loses-its-pair", "src/cli/coordinates.c", "while (way_of(nextafter(chord, INFINITY)) <= way)",
           "while (false)", "cli_neighbors"),
    Mutant("pipe-called-by-its-operand", "src/cli/fail.c", 'strcmp(path, "-") ? path : "standard input"', "path", "cli_neighbors"),
    Mutant("fold-spans-the-query-alone", "offload/align.c", "+ w->folding.reach - 1;", "+ w->tables->query->m - 1;",
           "align_database"),
    Mutant("fold-forgets-the-next-lane", "offload/align.c", "over = dvt_at_most(at / rows->height, DVT_ALIGN_LANES);",
           "over = 0;", "align_database"),
    Mutant("piece-begins-with-its-lane", "offload/align.c", "begin = l * rows.height + rows.first;",
           "begin = l * rows.height;", "align_database"),
    Mutant("fold-ends-in-the-last-lane", "offload/align.c", "if (lanes[l] >= score) {", "if (lanes[l] > score) {", "align_pairs"),
    Mutant("fold-ends-with-its-lane", "offload/align.c", "dvt_at_most(n, begin + height + folding->reach - 1);",
           "dvt_at_most(n, begin + height + 0 * folding->reach);", "align_pairs"),
    Mutant("pairs-gaps-only-go-on", "offload/align_pairs.c", "c->f = __builtin_elementwise_max(goes_on, down);", "c->f = goes_on;",
           "align_pairs"),
    Mutant("pairs-gaps-go-on-at-ties", "offload/align_pairs.c", "((longer > opens) & DVT_ALIGN_D_EXTENDS)",
           "((longer >= opens) & DVT_ALIGN_D_EXTENDS)", "align_pairs"),
    Mutant("pairs-look-too-near-for-begins", "ref/align_pair.h", "left = rest > 0 ? rest : 0,",
           "left = rest > 1 ? rest - 1 : 0,", "align_pairs"),
    Mutant("pairs-look-too-near-for-columns", "ref/align_pair.h", "2 * (c->open - c->extend) + (right",
           "2 * (c->open - c->extend) + 1 + (right", "align_pairs"),
    Mutant("pairs-strings-of-each-block", "src/align_pairs_dispatch.c", "p->results[k].cigar += used;", "(void)used;", "align_pairs"),
    Mutant("band-too-wide", "src/align_pairs.c", "dvt_at_least(0, n - m) + band);", "dvt_at_least(0, n - m) + band + 1);",
           "align_pairs"),
    Mutant("pairs-rows-in-wrong-halves", "offload/align_pairs_scores.c", "_mm256_permute4x64_epi64(low, 0xd8)",
           "_mm256_permute4x64_epi64(low, 0xe4)", "align_pairs"),
    Mutant("pairs-take-a-neighbour-backward", "offload/align_pairs_scores.c", "s->at - from - (ROWS - 1)", "s->at - from - ROWS",
           "align_pairs"),
    Mutant("plain-gaps-go-on-at-ties", "ref/align_pair.c", "f - extend > here - open", "f - extend >= here - open", "align_single"),
    Mutant("single-open-above", "offload/align_pairs_single.inc", "w->h[rows.from - 1] = w->f[rows.from - 1] = w->h[",
           "w->h[rows.from - 1] = w->h[", "align_single"),
    Mutant("single-ends-late", "offload/align_pairs_single.inc", "(most == best->score && number - rows.to >= best->column)",
           "most == best->score", "align_single"),
    Mutant("single-drops-at-x", "offload/align_pairs_single.inc", "!drops || all >= least", "!drops || all > least", "align_single"),
    Mutant("single-gaps-go-on-at-ties", "offload/align_pairs_single.inc", "(longer > opened ? DVT_ALIGN_D_EXTENDS : 0)",
           "(longer >= opened ? DVT_ALIGN_D_EXTENDS : 0)", "align_single"),
    Mutant("single-begins-below", "offload/align_pairs_single.inc", "for (int64_t i = !begins;", "for (int64_t i = 1;", "align_single"),
    Mutant("single-edges-cost", "offload/align_pairs_single.inc", "w->h[edges[k]] = 0;", "w->h[edges[k]] = -1;", "align_single"),
    Mutant("single-in-few-bits", "src/align_pairs.h", "return shorter * p->largest > DVT_PAIR_SINGLE_RANGE ||",
           "return p->band < 0 &&", "align_pairs"),
    Mutant("device-pairs-search-on", "offload/align_pairs_pass.inc", "(score == best[k].score && column < best[k].column)",
           "(score == best[k].score && column <= best[k].column)", "align_pairs_stream"),
    Mutant("device-pairs-search-later-columns", "offload/align_pairs_pass.inc", "best[k].score > 1 ? best[k].score - 1 : 0",
           "best[k].score", "align_pairs_stream"),
    Mutant("device-pairs-match-beyond", "offload/align_pairs_stream.c", "PAD_SCORE = INT8_MIN", "PAD_SCORE = INT8_MAX",
           "align_pairs_stream"),
    Mutant("device-pairs-lose-the-corner", "offload/align_pairs_pass.inc", "    *h = NAME(edge)(r, w, i0 - 1, 0);",
           "    *h = r->none;", "align_pairs_stream"),
    Mutant("device-pairs-pick-a-neighbour", "offload/align_pairs_pass.inc", "if (here && row >> b & 1)",
           "if (here && (row + 1) >> b & 1)", "align_pairs_stream"),
    Mutant("device-pairs-read-beside", "offload/align_pairs_pass.inc", "t->shift[k] = 8 * place;",
           "t->shift[k] = 8 * (place & 2);", "align_pairs_stream"),
    Mutant("device-pairs-all-bands", "offload/align_pairs_pass.inc",
           "NAME(negative)(ALL(row) - band->first) | NAME(negative)(band->last - ALL(row))",
           "NAME(negative)(ALL(row) - band->first)", "align_pairs_stream"),
    Mutant("device-gaps-go-on-at-ties", "offload/align_pairs_pass.inc", "down - gap", "down - gap - ALL(1)",
           "align_pairs_stream"),
    Mutant("device-pairs-in-16-bits", "src/align_pairs_device.c", "most <= DVT_PAIRS_NARROW_RANGE && lost",
           "most <= 4 * DVT_PAIRS_NARROW_RANGE && lost", "align_pairs_stream"),
    Mutant("device-pairs-unsorted-names", "src/align_pairs_device.c", "d->order[d->moved[i]] = (int32_t)i;",
           "d->order[i] = (int32_t)d->moved[i];", "align_pairs_stream"),
    Mutant("device-looks-at-last-lines", "src/align_pairs_device.c", "most[i] = __builtin_elementwise_max(most[i], x);",
           "most[i] = x;", "align_pairs_stream"),
    Mutant("device-pairs-share-targets", "src/align_pairs_device.c", " || symbols_of(p->targets, k, 1) != l.n", "",
           "align_pairs_stream"),
    Mutant("device-scores-rest-in-front", "src/align_pairs_device.c", "all->scores[pairs[k]] = few", "all->scores[k] = few",
           "align_pairs_stream"),
    Mutant("device-extensions-search-no-ends", "offload/align_pairs_stream.c", "launch_pass(l, EXTENSION_ENDS, DVT_PAIR_BEGIN)",
           "launch_pass(l, EXTENSION_ENDS, DVT_PAIR_ENDS)", "align_pairs_stream"),
    Mutant("device-strings-of-neighbours", "offload/align_pairs_stream.c", "to[place[k] - place[first] + i]",
           "to[place[k] - place[first] + (i ^ 1)]", "align_pairs_stream"),
    Mutant("device-walks-one-gap", "offload/align_pairs_stream.c", "words[2] >> bit & 1 ? WALK_D : WALK_BOTH",
           "WALK_BOTH", "align_pairs_stream"),
    Mutant("drop-at-x", "offload/align_pairs_extend.c", "counts = here >= r->least;", "counts = here > r->least;",
           "align_pairs_extend"),
    Mutant("drop-below-this-anti-diagonal", "ref/align_pair.c", "all >= least ?", "all >= larger(least, best->score - 50) ?",
           "align_pairs_extend"),
    Mutant("drop-forgets-matches", "offload/align_pairs_extend.c", "    w->before = w->last;", "    w->before = DVT_PAIR_NO_ROWS;",
           "align_pairs_extend"),
    Mutant("extension-ends-late", "offload/align_pairs_extend.c", "(c->most > w->most) | ((c->most == w->most) & (column < w->column))",
           "c->most > w->most", "align_pairs_extend"),
    Mutant("extension-gaps-go-on", "offload/align_pairs_extend.c", "(noted_step(t, lane, i, j - 1) & DVT_ALIGN_D_EXTENDS)",
           "(noted_step(t, lane, i, j) & DVT_ALIGN_D_EXTENDS)", "align_pairs_extend"),
    Mutant("extension-open-below", "offload/align_pairs_extend.c", "lists[k][rows.from - 1] = lists[k][rows.to + 1] = all(NONE);",
           "lists[k][rows.from - 1] = all(NONE);", "align_pairs_extend"),
    Mutant("extension-misses-last-columns", "offload/align_pairs_extend.c",
           "if (rows.to < w->inner.m && number - rows.from < w->inner.n)", "if (rows.to < w->inner.m)", "align_pairs_extend"),
    Mutant("extension-columns-too-soon", "offload/align_pairs_extend.c", "(number - i) % ROWS * COLUMN_BYTES",
           "(number - i + 1) % ROWS * COLUMN_BYTES", "align_pairs_extend"),
    Mutant("extension-of-no-drop", "src/align_pairs_dispatch.c", "options->x_drop < most ? options->x_drop : 0;",
           "options->x_drop < most / 16 ? options->x_drop : 0;", "align_pairs_extend"),
    Mutant("extension-in-few-bits", "src/align_pairs_extend.c", "p->x_drop <= DVT_PAIR_RANGE &&",
           "p->x_drop <= 2 * DVT_PAIR_RANGE &&", "align_pairs_extend"),
    Mutant("drop-row-above-in-own-slot", "offload/align_pairs_drop.inc", "(k + DROP_SLOTS - 1) % DROP_SLOTS;", "k;",
           "align_pairs_stream"),
    Mutant("drop-of-the-lane's-best", "offload/align_pairs_drop.inc", "w->most = warp_most(most);", "w->most = most;",
           "align_pairs_stream"),
    Mutant("drop-gap-of-its-own-cell", "offload/align_pairs_drop.inc", "staged_step(number - 1 - first, i) & DVT_ALIGN_D_EXTENDS",
           "staged_step(number - first, i) & DVT_ALIGN_D_EXTENDS", "align_pairs_stream"),
    Mutant("drop-in-too-few-slots", "offload/align_pairs_drop.inc", "      return false;", "      {}", "align_pairs_stream"),
    Mutant("drop-undone-and-kept", "src/align_pairs_device.c", "  leave_undone(d, b);\n", "", "align_pairs_stream"),
    Mutant("columns-score-no-openings", "src/align_columns.c", "(opens ? costs->first : 0)", "0", "align_pairs"),
    Mutant("columns-score-by-one-symbol", "src/align_columns.c", "j += columns[k] != 'I';", "j = i;", "align_pairs"),
    Mutant("pairs-pass-words", "src/align_pairs.c", "a->n) * p->largest <= DVT_PAIR_RANGE",
           "a->n) * p->largest <= 2 * DVT_PAIR_RANGE", "align_pairs"),
    Mutant("ties-of-scores", "ref/detect.c", "null_scores[r] >= score", "null_scores[r] > score", "detect_oracle"),
    Mutant("quiet-bands-count", "ref/detect_white.c", "w->gain[k] + least) - w->centre", "w->gain[k]) - w->centre", "detect_oracle"),
    Mutant("weight-above-1", "ref/detect_white.c", "fmin(mean > 0 ? length / mean : 0, 1)", "(mean > 0 ? length / mean : 0)",
           "detect_oracle"),
    Mutant("effect-without-its-background", "ref/detect_white.c", "w->gain[k] + usual)", "w->gain[k])", "detect_oracle"),
    Mutant("copies-without-a-price", "src/detect_copies.c", "fmin(hit->p_value + lowest, 1)", "hit->p_value", "detect_copies"),
    Mutant("copies-by-chance", "src/detect_copies.h", "fmax(0.08, fmax(15 *", "fmin(0.08, fmax(15 *", "detect_copies"),
    Mutant("tones-are-copies", "src/detect_spectrum.c", "one < least[2 * c] ? one", "one > least[2 * c] ? one", "detect_copies"),
    Mutant("places-between-unturned", "src/detect_spectrum.c", "twiddle_row(&s->part[1]", "twiddle_row(&s->part[0]", "detect_copies"),
    Mutant("rows-mirrored-at-themselves", "src/detect_spectrum.c", "m->near + (back == r ? 0 : s->pitch)", "m->near", "detect_copies"),
    Mutant("cells-of-energy-late", "src/detect_spectrum.c", "energy[cell + k + 1] = ", "energy[cell + k] = ", "detect_copies"),
    Mutant("variants-fuse-products", "src/detect_spectrum.c", "#pragma STDC FP_CONTRACT OFF\n", "", "detect_copies"),
    Mutant("rest-of-a-place-forgotten", "src/detect_correlate.c", "for (int64_t k = 0; k < rest; k++)", "for (int64_t k = 1; k < rest; k++)", "detect_copies"),
    Mutant("ranges-need-not-agree", "src/detect_spectrum.c", "values[lag] = lanes[0];", "values[lag] = fabsf(lanes[0]);", "detect_copies"),
    Mutant("inverted-copies-unseen", "src/detect_spectrum.c", "most = below[lag] > most ? below[lag] : most;", "", "detect_copies"),
    Mutant("lags-of-later-samples-only", "src/detect_spectrum.c", "turn_to(-sample * (double)DVT_SPECTRUM_REACH", "turn_to(0 * sample", "detect_copies"),
    Mutant("peaks-beside-copies-checked", "src/detect_correlate.c", "if (is_shadowed(b, sure, reach, &p))", "if (false)", "detect_copies"),
    Mutant("parts-of-white-streams-end", "ref/detect_white.c", "last = i + 1 == frames", "last = i + 1 == end", "detect"),
    Mutant("blocks-without-overlap", "src/detect_correlate.c", "(c->block - longest + 1) / c->frame", "c->block / c->frame", "detect_copies"),
    Mutant("output-is-input-by-its-name", "src/cli/files.c", "f->number == wanted->number && f->device == wanted->device", "!strcmp(f->name, wanted->name)", "outputs"),
    Mutant("input-of-two-operands-is-an-output", "src/cli/files.c", "find(&outputs, &input)", "find(&inputs, &input)", "outputs"),
    Mutant("trace-is-no-output", "src/cli/frame/output.c", ": check_inputs(option, path);", ": CLI_OK;", "outputs"),
    Mutant("archive-is-no-input", "src/cli/formats/archive.c", "return found ? cli_files_read(path, &status) : CLI_OK;", "return CLI_OK;", "outputs"),
    Mutant("trace-follows-links-to-nothing", "src/cli/frame/output.c", "if (why && leads_nowhere(path))", "if (false)", "outputs"),
    Mutant("report-of-any-name", "src/cli/frame/job.c", "if (row->ending && ", "if (false && ", "cli_bench_report"),
    Mutant("report-replaces-results", "src/cli/bench.c", 'return cli_files_read_path(name, standard ? "/dev/stdin" : path);', "return CLI_OK;", "cli_bench_report"),
    Mutant("tune-replaces-notes", "src/cli/tune.c", "if (strncmp(line, begin, sizeof begin - 1) != 0)", "if (!*line)", "cli_tune"),
    Mutant("tune-writes-without-news", "src/cli/tune.c", "return !t->written || davit_tuning_save", "return davit_tuning_save", "cli_tune"),
    Mutant("pairs-beyond-the-radius", "src/cli/pairs_bound.c", "(double)(llabs(by[axis]) + 1) * g->side[axis]", "(double)llabs(by[axis]) * g->side[axis]", "closest"),
    Mutant("pairs-of-cells-twice", "src/cli/pairs_bound.c", "for (by[1] = by[2] ? -most[1] : 0;", "for (by[1] = -most[1];", "closest"),
    Mutant("hits-merged-in-order", "src/cli/detect_rows.c", "qsort(hits, count, sizeof *hits, by_merit);", "", "cli_detect_copies"),
    Mutant("channels-cancel-unsaid", "src/cli/formats/sound.c", "s->mixed < least * s->apart", "s->mixed < 0", "cli_detect_copies"),
    Mutant("live-hit-twice", "src/cli/detect_live.c", "hit->onset + shift < last->offset", "false", "cli_detect"),
    Mutant("live-waits-for-more", "src/cli/formats/sound_file.c", "at + most < PIPE_HEAD ? at + most : PIPE_HEAD",
           "PIPE_HEAD", "cli_detect"),
    Mutant("similarity-truncated", "ref/similarity.h", "rintf(s)", "truncf(s)", "detect"),
    Mutant("shuffle-skips-itself", "ref/permutation.h", "* (uint64_t)(i + 1) >> 32", "* (uint64_t)i >> 32",
           "detect"),
    Mutant("philox-9-rounds", "ref/philox.h", "round < 10", "round < 9", "ref"),
    Mutant("strip-too-narrow", "ref/closest_pair.c", "cut) <= best.distance", "cut) <= 0.5 * best.distance",
           "closest_pair"),
    Mutant("closest-equal-distance", "ref/closest_pair.c", "r[j].at[axis] - r[i].at[axis] <= best->distance",
           "r[j].at[axis] - r[i].at[axis] < best->distance", "operations"),
    Mutant("pairs-swept-too-near", "ref/closest_pair.c", "r[j].at[0] - r[i].at[0] <= list->limit.distance",
           "r[j].at[0] - r[i].at[0] < list->limit.distance", "closest_pairs"),
    # ---- src: capabilities ----
    Mutant("neighbors-of-high-numbers", "offload/neighbors.inc",
           "if (!comes_before(NAME(box_square)(node, q, c, true), node->least[c], q->farthest, q->last))",
           "if (NAME(box_square)(node, q, c, true) >= q->farthest)", "neighbors"),
    Mutant("neighbors-leave-their-leaf", "offload/neighbors.inc", "NAME(children)(t, level, at)) & ~seen;",
           "NAME(children)(t, level, at)) & ~(seen | seen << 1);", "neighbors"),
    Mutant("neighbors-list-of-ties", "offload/neighbors_work.h",
           "comes_before(distance, index, q->distance[at - 1], q->index[at - 1]); at--)",
           "distance < q->distance[at - 1]; at--)", "neighbors"),
    Mutant("neighbors-heap-of-ties", "offload/neighbors_work.h",
           "child + 1 < count && comes_before(distance[child], row[child], distance[child + 1], row[child + 1])",
           "child + 1 < count && distance[child] < distance[child + 1]", "neighbors"),
    Mutant("neighbors-of-itself", "offload/neighbors.inc", "a->queries ? nobody : (uint32_t)(a->first + index)",
           "a->queries ? nobody : (uint32_t)index", "neighbors"),
    Mutant("radius-joined-twice", "src/neighbors.c", "counts[q + 1] = counts[q + d + 1] + sum;",
           "counts[q + 1] = counts[q + d + 1] + 2 * sum;", "neighbors"),
    Mutant("neighbors-unstable-sort", "offload/neighbors_sort.h", "const uint32_t before = same & ((1u << dvt_lane_number()) - 1)",
           "const uint32_t before = same >> 1 & ((1u << dvt_lane_number()) - 1)", "neighbors_stream"),
    Mutant("border-of-the-last-cluster", "offload/neighbors_cluster.inc", "q->clusters->parent[p] != nobody && q->clusters->cluster[p] < q->own;",
           "q->clusters->parent[p] != nobody;", "cluster"),
    Mutant("core-without-itself", "offload/neighbors_cluster.inc", "q.found >= q.room ? (uint32_t)p", "q.found > q.room ? (uint32_t)p", "cluster"),
    Mutant("clusters-of-distant-points", "offload/neighbors_cluster.inc", "q->set = join_sets(s, set, q->set);\n    return true;",
           "return true;", "cluster"),
    Mutant("clusters-of-half-the-neighbours", "offload/neighbors_cluster.inc", "parent = p < q->own ?", "parent = p + 3 < q->own ?", "cluster"),
    Mutant("clusters-tight-by-one-side", "offload/neighbors_cluster.inc", "(double)node->high[1][c] - (double)node->low[1][c],", "0,", "cluster"),
    Mutant("emst-ends-in-any-order", "offload/neighbors_forest.h", "return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;",
           "return (uint64_t)a << 32 | b;", "cluster"),
    Mutant("emst-ties-by-length-alone", "offload/neighbors.c", "DVT_TRY(sort_by_key(r, 2 * bits));", "", "cluster"),
    Mutant("emst-list-with-a-hole", "offload/neighbors_forest.inc", "dvt_shuffle(first, 31) + sum - count;", "dvt_shuffle(first, 31) + sum;",
           "neighbors_stream"),
    Mutant("emst-clear-by-the-lower-corner", "offload/neighbors_forest.inc", ".upper = {(double)node->high[0][c],", ".upper = {(double)node->low[0][c],",
           "cluster"),
    Mutant("last-box-counts-as-full", "offload/neighbors_cluster.inc", "return t->n - first < most ? t->n - first : most;", "return most;",
           "neighbors"),
    Mutant("point-counted-with-its-box", "offload/neighbors.inc", "q->found = -(int64_t)(q->self != nobody);", "q->found = 0;", "neighbors"),
    Mutant("pool-limit-of-another-place", "offload/neighbors_pool.h", "(before->farthest + apart)", "before->farthest", "neighbors_stream"),
    Mutant("pool-ties-by-distance-alone", "offload/neighbors_pool.h",
           "comes_before(distance, index, x->distance[r], x->index[r]) == lower", "(distance < x->distance[r]) == lower", "neighbors_stream"),
    Mutant("pool-chunks-never-mirrored", "offload/neighbors_pool.h", "(mirrored ? 2 * half - 1 - 2 * low : half)", "half", "neighbors_stream"),
    Mutant("pool-keeps-one-too-few", "offload/neighbors_pool.h", "const int last = pool_place(p->wanted - 1);",
           "const int last = pool_place(p->wanted - 2);", "neighbors_stream"),
    Mutant("pool-leaves-seen-twice", "offload/neighbors_pool.inc", "1u << walk->node % FAN", "0", "neighbors_stream"),
    Mutant("pool-skips-a-leaf", "offload/neighbors_pool.inc", "taken < 32 / LEAF; taken++", "taken <= 32 / LEAF; taken++", "neighbors_stream"),
    Mutant("pool-of-the-query-before", "offload/neighbors_pool.inc", "  p->count = 0;\n", "", "neighbors_stream"),
    Mutant("squares-without-a-margin", "offload/neighbors_work.h", "(float)q->limit * (1 + 0x1p-20f)", "(float)q->limit * (1 - 0x1p-20f)",
           "neighbors_stream"),
    Mutant("pairs-met-twice", "offload/closest_pair.inc", " && NAME(is_in_row)(&row, p)", "",
           "closest_pairs"),
    Mutant("pairs-behind-the-limit", "offload/closest_pair.inc",
           "!dvt_pair_before(last->distance, last->i, last->j, &pair)",
           "dvt_pair_before(pair.distance, pair.i, pair.j, last)", "closest_pairs"),
    Mutant("pairs-held-back-are-lost", "offload/closest_pair_work.h", "if (c->capacity > 0)\n    give_held(c);\n  else",
           "if (c->capacity == 0)", "closest_pairs"),
    Mutant("reduce-level", "src/reduce.c", "for (int64_t level = 1; level < values; level++)",
           "for (int64_t level = 1; level <= values; level++)", "reduce"),
    Mutant("short-work-on-a-lane", "src/runtime/split.c", "<= operation->short_bytes)\n    threads = DVT_ALONE;",
           "<= operation->short_bytes)\n    threads = 0;", "statistics"),
    Mutant("chunk-without-border", "src/runtime/split.c", "range.end + border, length", "range.end, length", "operations_amd"),
    Mutant("chunk-beside-border", "src/runtime/split.c", "at += (size_t)rows * element + (size_t)cols * pitch;",
           "at += (size_t)cols * pitch;", "operations_amd"),
    Mutant("chunks-ascend-backwards", "src/runtime/split.c", "inc < 0 ? (n - range.end) * stride",
           "inc < 0 ? range.begin * stride", "operations_amd"),
    Mutant("edges-are-written", "src/runtime/split.c", "if (is_matrix(operand) && operand->writes && e->untouched)",
           "if (false)", "operations_amd"),
    Mutant("buffer-keeps-other-block", "src/runtime/split.c", "return b->held.base == what->base &&", "return b->held.base &&",
           "operations_amd"),
    Mutant("last-chunk-stays-there", "src/runtime/split.c", "store_total(s, lane, total) : flush(s, lane, i));",
           "store_total(s, lane, total) : DAVIT_SUCCESS);", "operations_amd"),
    Mutant("chunks-do-not-follow", "src/runtime/split.c", "follows && before >= 0, follows};", "false, follows};", "operations"),
    Mutant("results-share-a-place", "src/runtime/split.c", "(size_t)(chunk->number * e->results)", "(size_t)(e->results)",
           "operations"),
    Mutant("short-work-takes-a-turn", "src/runtime/operation.c", "threads == DVT_ALONE ? operation->host",
           "false ? operation->host", "short_calls"),
    Mutant("one-thread-uses-openmp", "offload/kernel/threads.h", "if (wanted == 1)", "if (wanted == 0)",
           "short_calls"),
    Mutant("parts-go-up-too-far", "src/reduce.c", "if (parts[p].n % twice != 0)",
           "if (parts[p].n % monoid->reduce_tile != 0)", "reduce"),
    Mutant("scan-loses-carry", "src/scan.c", "carry_in = chunk->number > 0", "carry_in = chunk->number > 1",
           "operations"),
    Mutant("scan-waits-for-no-block", "offload/kernel/scan_host.inc",
           "for (int i = 0; __atomic_load_n(&from->blocks, __ATOMIC_ACQUIRE) != blocks; i++)",
           "for (int i = 0; i < 0; i++)", "scan_host"),
    Mutant("scan-claims-what-is-taken", "offload/kernel/scan_host.inc", "dynamic ? team + __atomic_fetch_add",
           "dynamic ? __atomic_fetch_add", "scan_host"),
    Mutant("scan-passes-on-in-another-order", "offload/kernel/scan_host.inc", ": COMBINE(in, both);",
           ": COMBINE(COMBINE(in, half), own);", "scan"),
    Mutant("scan-rakes-in-another-order", "offload/kernel/scan_host.inc", "sum = flags ? (head ? pack : next) : next;",
           "sum = flags ? (head ? pack : next) : i + k == 0 ? pack : TOGETHER(TOGETHER(sum, v[k]), v[k + 1]);",
           "scan_stream"),
    Mutant("scan-part-forgets-its-tail", "src/scan_parts.c", "run->begun = plan->tail;", "run->begun = 0;", "scan"),
    Mutant("scan-part-adds-before-a-cut", "src/scan_parts.c", "if (run->carried && !plan->cut)", "if (run->carried)", "scan"),
    Mutant("scan-carries-on-sums-alone", "src/scan_parts.c", "known(run, p - 1), before->sums", "NULL, before->sums", "scan"),
    Mutant("scan-passes-a-sum-twice", "src/scan_parts.c", "for (int64_t g = c->in ? 0 : 1;", "for (int64_t g = 0;", "scan"),
    Mutant("scan-schedule-knows-too-early", "src/scan_schedule.c", "fmin(fmax(s->part[p].entered, s->part[p].summed)",
           "fmin(fmax(0, s->part[p].summed)", "scan_schedule"),
    Mutant("scan-schedule-never-sums-ahead", "src/scan_schedule.c", "(s->sums_first || scan > l->free)", "s->sums_first",
           "scan_schedule"),
    Mutant("scan-carry-drops-what-enters", "offload/scan_carry.inc", "    sum = *in;", "    sum = NEUTRAL;", "scan_stream"),
    Mutant("scan-carry-mixes-batches", "offload/scan_carry.inc", "sums[first + (at < some", "sums[(at < some", "scan_stream"),
    Mutant("scan-refuses-in-place", "src/scan.c", "if (a != b && a < b + size", "if (a < b + size", "operations"),
    Mutant("gemm-column-left-out", "src/level3/distribution.c",
           "one->col1 = tile_at(&plan->cut[DVT_DIM_N], b->end[DVT_DIM_N]);",
           "one->col1 = tile_at(&plan->cut[DVT_DIM_N], b->end[DVT_DIM_N]) - (w > 0);", "gemm_plan"),
    Mutant("gemm-overwrites-what-is-read", "src/level3/tile_cache.c",
           "for (int32_t i = 0; i < buffer->readers; i++)\n    add(waits,",
           "for (int32_t i = 1; i < buffer->readers; i++)\n    add(waits,", "gemm_plan"),
    Mutant("handles-with-first-product", "src/level3/execute.c", "  if (!*prepared)\n", "  if (false)\n", "gemm_streams"),
    Mutant("level3-one-order", "src/level3/planner.c", "p->choice->by_tile > 0 ? p->choice->by_tile : 2", "2", "gemm_plan"),
    Mutant("choice-is-not-improved", "src/level3/choose.c", "one.seconds < worth * best->seconds", "one.seconds < 0", "gemm_choice"),
    Mutant("choice-margin-adds-up", "src/level3/choose.c", "fmax(each * (devices_of(&c->choice) - 1), -all)",
           "each * (devices_of(&c->choice) - 1)", "gemm_choice"),
    Mutant("host-memory-has-no-limit", "src/level3/simulate.c", "fmax(dvt_model_host_load(y->model, up, down), 1)",
           "fmax(0 * up * down, 1)", "model_play"),
    Mutant("host-memory-is-slower-both-ways", "src/level3/model.c", "fmax(both, 1)", "both", "model_play"),
    Mutant("peer-link-takes-for-nothing", "src/level3/simulate.c", "(given > taken ? given : taken)", "given + 0 * taken",
           "model_play"),
    Mutant("peer-link-gives-for-nothing", "src/level3/simulate.c", "(given > taken ? given : taken)", "taken + 0 * given",
           "model_play"),
    Mutant("matrix-on-a-device-has-no-owner", "src/level3/simulate.c", "owner >= 0 &&", "owner < 0 &&",
           "model_play"),
    Mutant("short-rows-weigh-all-their-time", "src/level3/simulate.c",
           "s->weight = dvt_model_weight(", "s->weight = dvt_model_strided(", "model_play"),
    Mutant("all-rows-keep-channels-busy", "src/level3/model.c", "fmod(pitch, far_apart) == 0 ?", "pitch > 0 ?", "model_play"),
    Mutant("far-rows-are-multiples", "src/level3/model.c", "(pitch >= far_apart ? looked_up : 0)",
           "(fmod(pitch, far_apart) == 0 ? looked_up : 0)", "model_play"),
    Mutant("array-grows-by-half-of-it", "src/base/allocate.c", "dvt_at_least(wanted, 2 * *room)", "dvt_at_least(wanted, *room)",
           "allocate"),
    Mutant("array-that-cannot-grow-has-room", "src/base/allocate.c", "  if (!at)\n    return false;\n  memcpy(array",
           "  *room = larger;\n  if (!at)\n    return false;\n  memcpy(array", "allocate"),
    Mutant("mapped-memory-keeps-the-rest", "src/base/allocate.c", "munmap(memory + before + length, DVT_LARGE_PAGE - before);",
           "", "allocate"),
    Mutant("trmm-does-all-the-flops", "src/level3/simulate.c", "k /= 2 * trmm_rate;", "k /= 1;", "model_play"),
    Mutant("choice-has-long-tiles-only", "src/level3/choose.c", "const bool needed = isinf(best->seconds) ||",
           "const bool needed = false &&", "gemm_choice"),
    Mutant("scores-ignore-what-is-received", "src/level3/choose.c", "least > 0 ? received(s, grid) / least - 1 : 0", "0",
           "gemm_choice"),
    Mutant("choices-are-forgotten", "src/level3/choose.c", "if (remembered && recall(", "if (remembered && false && recall(", "gemm_choice"),
    Mutant("peers-are-alike", "src/level3/simulate.c", "return fmin(from, to);", "return to;", "model_play"),
    Mutant("pinned-memory-is-copied-too", "src/level3/model.c", "copied += model->pageable[x] ? up_bytes + down_bytes : 0;",
           "copied += up_bytes + down_bytes;", "model_play"),
    Mutant("long-tiles-are-even", "src/level3/distribution.c", "tile >= 2 * LONG_ALIGN &&", "false &&", "gemm_plan"),
    Mutant("long-tiles-leave-slivers", "src/level3/distribution.c", "&& 4 * (length - (count - 1) * longer) >= longer", "", "gemm_plan"),
    Mutant("mapped-memory-is-inherited", "src/base/allocate.c", "  (void)madvise(memory + before, length, MADV_DONTFORK);\n", "",
           "allocate"),
    Mutant("mapped-memory-begins-anywhere", "src/base/allocate.c",
           "rounded_up((uintptr_t)memory, DVT_LARGE_PAGE) - (uintptr_t)memory", "0", "allocate"),
    Mutant("mapped-memory-is-cut-to-pages", "src/base/allocate.c", "(bytes + page - 1) / page * page", "bytes / page * page",
           "allocate"),
    Mutant("mapped-memory-has-no-sentence", "src/base/allocate.c", "errno = ENOMEM;\n    return checked(NULL, bytes);",
           "return NULL;", "allocate"),
    Mutant("own-memory-is-unpinned", "src/runtime/memory.c", "own && own->place == DAVIT_PINNED", "own && own->place == DAVIT_HOST",
           "memory"),
    Mutant("level3-store-waits-for-nothing", "src/level3/planner.c",
           "dvt_emit(p, &step, dvt_tile_buffer_at(p, which, DVT_C, s), NULL, NULL)",
           "dvt_emit(p, &step, NULL, NULL, NULL)", "gemm_plan"),
    Mutant("choice-skips-odd-numbers", "src/level3/choose.c", "    DVT_TRY(add_grids(s, next));\n",
           "    if (next <= 4 || next == s->shape->devices || next % 2 == 0)\n      DVT_TRY(add_grids(s, next));\n",
           "gemm_choice"),
    Mutant("task-follows-no-other", "src/runtime/graph.c", "i < task->count", "i < task->count - 1", "gemm_streams"),
    Mutant("task-is-recorded-too-early", "src/runtime/graph.c",
           "  return end(g, task, dvt_copy_submit(g->lane[task->lane], copy));",
           "  DVT_TRY(end(g, task, DAVIT_SUCCESS));\n  return dvt_copy_submit(g->lane[task->lane], copy);", "gemm_streams"),
    Mutant("graph-does-not-wait", "src/runtime/graph.c", "      dvt_error_keep(&first, dvt_lane_finish(g->lane[i]));\n", "      ;\n",
           "gemm_streams"),
    Mutant("company-goes-on", "src/runtime/command.c", "if (company && atomic_load(&company->state) == DVT_COMPANY_HAS_FAILED)",
           "if (company && false)", "graph"),
    Mutant("strip-is-used-too-soon", "src/runtime/staging.c", "  DVT_TRY(await_event(&p->event[at]));\n  if (r->up) {", "  if (r->up) {",
           "gemm_streams"),
    Mutant("strip-is-unpacked-too-soon", "src/runtime/staging.c",
           "  DVT_TRY(await_event(&p->event[at]));\n  pack(one->destination", "  pack(one->destination", "gemm_streams"),
    Mutant("command-overtakes-the-graph", "src/runtime/batch.c", "return atomic_load(&t->over) == *given;", "return true;", "streams"),
    Mutant("regions-are-not-over", "src/runtime/batch.c", "  t->certain = false; /* regions before it are over */\n", "", "streams"),
    Mutant("stream-counts-as-empty", "src/runtime/batch.c", "bool flushed = !t->in_stream;", "bool flushed = true;", "streams"),
    Mutant("shared-record-is-over", "src/runtime/batch.c",
           "  if (atomic_load(&lane->shared))\n    dvt_lane_state_of(lane)->in_stream = true;\n", "", "streams"),
    Mutant("regions-overtake-the-program", "src/runtime/backend_openmp.c", "regions && (shared || !t->certain)",
           "regions && !t->certain", "streams"),
    Mutant("shared-queue-is-not-waited-for", "src/runtime/lane.c", " &&\n                  !atomic_load(&lane->shared);", ";", "streams"),
    Mutant("interop-waits-for-nothing", "src/runtime/lane.c", "  dvt_record_wait_issued(record);\n  dvt_record_drop(record);\n  return",
           "  dvt_record_drop(record);\n  return", "streams"),
    Mutant("mapped-is-the-hosts", "src/runtime/operation.c", "  *pointer = mapped;\n", "", "mapped"),
    Mutant("mapped-on-any-device", "src/runtime/operation.c", "if (where.mapped && where.devices && where.device_count > 1)", "if (false)", "mapped"),
    Mutant("products-are-waited-for", "src/runtime/operation.c", "  if (can_be_tasks(lane, operation, arguments))", "  if (false)",
           "trace"),
    Mutant("worker-leaves-early", "src/runtime/generator.c", "atomic_load(&deferred) == 0 && atomic_load(&awake)", "atomic_load(&awake)",
           "queue"),
    Mutant("generator-runs-regions", "src/runtime/generator.c", "  if (atomic_load(&regions) > 0)\n    call_workers();\n  else\n    run_ready();",
           "  call_workers();\n  run_ready();", "queue"),
    Mutant("lone-region-at-the-end", "src/runtime/backend_openmp.c", "  if (!atomic_load(&generates_no_more))\n    dvt_task_alone",
           "  dvt_task_alone", "exit"),
    Mutant("thread-ends-and-drops-its-lane", "src/runtime/backend_openmp.c", "  if (lane)\n    activate(lane);", "  (void)lane;", "cancel"),
    Mutant("trsm-begins-at-the-other-end", "src/level3/rules.c",
           "trsm_descends(const dvt_plan_shape *shape) {\n  return !takes", "trsm_descends(const dvt_plan_shape *shape) {\n"
           "  return takes", "gemm_plan"),
    Mutant("level3-lets-go-of-half-a-triangle", "src/level3/planner.c",
           "(p->distribution == DVT_DISTRIBUTE_TRIANGLE && tile->row == tile->col);", "false;", "gemm_plan"),
    study("queue-product-before-its-load", "queue/tiled.c",
          "  return davit_queue_wait(s->queue[PRODUCTS], loaded);", "  return DAVIT_SUCCESS;", "queue"),
    study("queue-store-before-its-product", "queue/tiled.c",
          "  DVT_TRY(davit_queue_wait(s->queue[STORES], s->computed[one->number]));\n", "", "queue"),
    study("queue-tile-is-loaded-once-for-ever", "queue/tiled.c",
          "      if (t->site[i].known[x])", "      if (t->site[i].known[x] && x == C)", "queue"),
    Mutant("check-any-infinity", "src/cli/formats/compare.c", "return may_overflow ? 0 : INFINITY;", "return 0;", "compare"),
    Mutant("check-infinite-bound", "src/cli/formats/compare.c", "(double)fminl(bound, (long double)DBL_MAX)", "(double)bound",
           "compare"),
    Mutant("check-rest-of-infinity", "src/cli/formats/compare.c",
           "return isfinite(running->value) ? running->value + running->rest : running->value;",
           "return running->value + running->rest;", "compare"),
    Mutant("covariance-in-place", "src/covariance.c", "if (g->centred && g->centred == g->d && g->ldc != g->ldd)",
           "if (g->centred && g->centred == g->d && g->ldc < g->ldd)", "covariance"),
    Mutant("features-double-lines", "src/features.c", "if (share > 0)\n        a->overlaps",
           "if (share > 0 && band > 0)\n        a->overlaps", "features"),
    Mutant("occupancy-warp-unit", "src/occupancy.c", "divide(holds / card->warp_unit * card->warp_unit, warps)",
           "divide(holds, warps)", "occupancy"),
    Mutant("occupancy-shared-reserve", "src/occupancy.c", "needed + (int64_t)card->block_reserved_bytes", "needed",
           "occupancy"),
    # ---- src: runtime and base ----
    Mutant("event-checked-too-early", "src/runtime/event.c",
           "  if (state == DAVIT_EVENT_COMPLETE)\n    event->checked = true;", "  event->checked = true;", "event"),
    Mutant("event-waits-not", "src/runtime/event.c", "davit_status status = dvt_lane_wait(lane, record);",
           "davit_status status = DAVIT_SUCCESS;", "event"),
    Mutant("soft-reset-checks", "src/runtime/event.c", "  replace(event, NULL, false);",
           "  replace(event, NULL, true);", "event"),
    Mutant("timer-counts-from-stop", "src/runtime/timer.c", "timer->stop->time_ns - timer->start->time_ns",
           "timer->stop->time_ns - timer->stop->time_ns", "timer"),
    Mutant("subqueue-wraps-not", "src/runtime/queue.c", "(chosen(queue) + 1) % queue->subqueues",
           "(chosen(queue) + 1) % (queue->subqueues + 1)", "queue"),
    Mutant("copy-takes-wrong-pitch", "src/runtime/copy.c", "(dvt_columns){destination, (size_t)destination_ld",
           "(dvt_columns){destination, (size_t)source_ld", "memory"),
    Mutant("place-behind-a-block", "src/runtime/memory.c", "blocks[i - 1]->base) >= blocks[i - 1]->bytes",
           "blocks[i - 1]->base) > blocks[i - 1]->bytes", "memory"),
    Mutant("record-forgets-its-error", "src/runtime/record.c", "record->error.status = status;\n    if",
           "record->error.status = DAVIT_SUCCESS;\n    if", "queue_errors"),
    Mutant("ld-below-rows", "src/base/check.c", "if (given < minimum)", "if (given < minimum - 1)", "stencil"),
    Mutant("vectors-overlap", "src/base/check.c", "offset < size || offset > stride - size", "offset < size",
           "level1"),
    Mutant("waits-without-sleep", "src/runtime/record.c", "if (waited < YIELD_NS) {", "if (waited < INT64_MAX) {", "streams"),
    Mutant("workers-spin-on", "src/base/team.c", "  kmp_set_blocktime(SPIN);\n", "", "threads"),
    Mutant("team-takes-too-many", "src/base/team.c", "threads = wanted < limit ? wanted : limit;",
           "threads = wanted;", "threads"),
    # ---- several processes ----
    Mutant("mpi-head-stays", "src/mpi/reduce.c", "r->offsets[rank] / r->chunk * r->chunk", "r->offsets[rank]", "mpi_reduce"),
    Mutant("mpi-operands-exchanged", "src/mpi/operator.c", "monoid->combine(a, b, sum)", "monoid->combine(b, a, sum)",
           "mpi_reduce"),
    Mutant("mpi-head-does-not-cut", "src/mpi/scan.c", "carry_on(s, &p->out, p->cut && g == p->from,",
           "carry_on(s, &p->out, false,", "mpi_reduce"),
    Mutant("mpi-begun-group-is-lost", "src/mpi/scan.c", "p->out = p->in;", "p->out = p->in, p->out.begun = 0;",
           "mpi_reduce"),
    Mutant("mpi-wrong-last-head", "src/mpi/scan.c", ": end - length + i;", ": end - length;", "mpi_reduce"),
    Mutant("mpi-offset-of-a-block", "src/mpi/distribution.c", " - (distance == 0 ? d->offset : 0)", "", "mpi_matrix"),
    Mutant("mpi-beta-again", "src/mpi/multiply.c", "alpha, t == 0 ? beta : 1", "alpha, beta", "mpi_matrix"),
    Mutant("mpi-first-of-slab", "src/mpi/local_panel.c", "group + (size_t)(first * s->width) * s->bytes", "group", "mpi_matrix"),
    Mutant("mpi-one-turn-again-and-again", "src/mpi/local_panel.c", "stage_of(s, local, t + i)", "stage_of(s, local, t)", "mpi_matrix"),
    Mutant("mpi-upper-rest", "src/mpi/trsm.c", "(dvt_row_range){0, first, 0}", "(dvt_row_range){0, after, 0}",
           "mpi_matrix"),
    Mutant("mpi-solution-before-it-is-there", "src/mpi/trsm.c",
           "  DVT_TRY(dvt_channel_publish(&s->x));\n  return dvt_channel_await(&s->x);", "  return DAVIT_SUCCESS;", "mpi_matrix"),
    Mutant("mpi-range-of-triangle", "src/mpi/syrk.c", "u->uplo == 'L' ? j : j + 1", "j", "mpi_matrix"),
    Mutant("mpi-edge-is-all-added", "src/mpi/syrk.c", "(u->uplo == 'L' ? edge : row) - row", "0", "mpi_matrix"),
    Mutant("mpi-apart-not-empty", "src/mpi/local_panel.c", "s->bytes, 0, local->separate", "s->bytes, 63, local->separate",
           "mpi_matrix"),
    Mutant("mpi-pieces-of-others-join", "src/mpi/panel.c", "* p->bytes == piece->data", "* p->bytes != NULL", "mpi_matrix"),
    Mutant("mpi-part-not-yet-copied", "src/mpi/panel.c", "dvt_error_keep(failure, davit_queue_synchronize(p->queue));", ";",
           "mpi_matrix"),
    Mutant("mpi-two-shared-buffers", "src/mpi/panel.h", "DVT_SHARED_BUFFERS = 5", "DVT_SHARED_BUFFERS = 2", "mpi_matrix"),
    Mutant("mpi-mirror-rows-on-top", "src/mpi/mirror.c", "own.first = *sent;", "own.first = 0;", "mpi_matrix"),
    Mutant("mpi-mirror-joins-processes", "src/mpi/mirror.c", "owner == before", "true", "mpi_matrix"),
    Mutant("mpi-mirror-not-there-yet", "src/mpi/multiply.c", "return dvt_channel_await(&o->mirror.channel);",
           "return (o->mirror.channel.request_count = 0, DAVIT_SUCCESS);", "mpi_matrix"),
    Mutant("mpi-strip-of-pieces", "src/mpi/local_panel.c", "local->first * right[i].ld", "local->first", "mpi_matrix"),
    Mutant("mpi-potrf-first-rows-again", "src/mpi/potrf.c", "    *taken += (int)cols;\n", "", "mpi_factor"),
    Mutant("mpi-potrf-next-updated-twice", "src/mpi/potrf.c", "update(c, &b, next.after[1], f->cols)",
           "update(c, &b, next.first[1], f->cols)", "mpi_factor"),
    Mutant("mpi-potrf-sent-too-early", "src/mpi/potrf.c", "  DVT_FACTOR_DO(f, davit_event_synchronize(f->ready));\n", "",
           "mpi_factor"),
    Mutant("mpi-potrf-counts-an-area", "src/mpi/potrf.c", "c->diagonal, (int)width, type,",
           "c->diagonal, (int)(width * width), dvt_grid_type(f->type),", "mpi_factor"),
    Mutant("mpi-no-column-at-once", "src/mpi/distribution.h", "dvt_at_least(INT_MAX / dvt_at_least(rows, 1), 1)",
           "INT_MAX / dvt_at_least(rows, 1)", "mpi_factor"),
    Mutant("mpi-getrf-half-of-exchanges", "src/mpi/getrf.c", "    add(l, l->pivots[i] - 1);", "    (void)l;", "mpi_factor"),
    Mutant("mpi-getrf-rows-of-part", "src/mpi/getrf.c", "own[i] = (int)to.row + ", "own[i] = ", "mpi_matrix"),
    Mutant("mpi-getrf-last-zero", "src/mpi/getrf.c", "if (found && !f->info)", "if (found)", "mpi_factor"),
    Mutant("mpi-getrf-solved-too-early", "src/mpi/getrf.c",
           "cols, l->right, rank, true));\n  return davit_queue_synchronize(f->queue);",
           "cols, l->right, rank, true));\n  return DAVIT_SUCCESS;", "mpi_factor"),
    Mutant("mpi-exchange-not-unpacked", "src/mpi/redistribute.c", "move_all(e->grid, &e->receive, false);\n", "",
           "mpi_matrix"),
    # ---- triangular systems ----
    Mutant("solve-reads-diagonal", "offload/triangle_kernel.inc", "return unit || dvt_thread()", "return dvt_thread()",
           "triangle_stream"),
    Mutant("solve-tile-too-early", "offload/triangle_kernel.inc",
           "      dvt_barrier_warp();\n      const NAME(tile) solved", "      const NAME(tile) solved", "triangle_stream"),
    Mutant("solve-wrong-half-first", "offload/triangle.c", "down = t->lower != t->right;", "down = t->lower;",
           "triangle_stream"),
    Mutant("solve-alpha-twice", "offload/triangle.c", "    return descend(t, target, open, 1);",
           "    return descend(t, target, open, factor);", "triangle_stream"),
    Mutant("inverse-pivots-forwards", "ref/inverse.c", "for (int64_t i = p->n - 2; i >= 0; i--)",
           "for (int64_t i = 0; i + 1 < p->n; i++)", "inverse"),
    Mutant("inverse-keeps-l", "ref/inverse.c", "end, below, 0));", "end, below, 1));", "inverse"),
    Mutant("inverse-looks-at-ones", "ref/inverse.c", "  if (p->diag == 'U')\n    return DAVIT_SUCCESS;\n", "", "inverse"),
    Mutant("inverse-frees-callers-scratch", "src/inverse.c",
           "  p.scratch = NULL; /* of the caller, where this is a part */\n", "", "inverse"),
    Mutant("inverse-host-does-not-wait", "offload/inverse_stream.c",
           "return way == DVT_WITHIN ? DAVIT_SUCCESS : dvt_stream_synchronize(stream_of(on));",
           "return DAVIT_SUCCESS;", "inverse_streams"),
    Mutant("product-half-counts", "offload/triangle_kernel.inc", "= l <= row ? ", "= true ? ", "triangle_stream"),
    Mutant("product-replaced-too-early", "offload/triangle_kernel.inc",
           "    dvt_barrier_warp();\n#pragma unroll\n    for (int k = 0; k < GROUP; k++)\n      *NAME(tile_of)",
           "#pragma unroll\n    for (int k = 0; k < GROUP; k++)\n      *NAME(tile_of)", "triangle_stream"),
    Mutant("product-in-place-from-the-source", "offload/triangle.c", "return descend(t, source, known, 1);",
           "return descend(t, target, open, 1);", "triangle_stream"),
    Mutant("product-ends-too-early", "src/level3/planner.c", "k == p->rule->terms(p->shape, p->plan, i, j)",
           "k + 1 == p->rule->terms(p->shape, p->plan, i, j)", "gemm_plan"),
    Mutant("herk-of-nothing-keeps-its-diagonal", "ref/level3.c",
           "    scale(g);\n  if (dvt_level3_is_hermitian(g))\n    clear_imaginary_diagonal(g);\n", "    scale(g);\n", "level3_nan"),
    Mutant("trmm-leaves-infinities-to-blis", "ref/level3.c", "|| is_finite(g, threads)", "|| (is_finite(g, threads) || true)",
           "level3_nan"),
    Mutant("trsm-leaves-subnormals-to-blis", "ref/level3.c", "g->routine == DVT_TRSM && has_subnormal_diagonal(g)",
           "g->routine == DVT_TRSM && has_subnormal_diagonal(g) && false", "level3_nan"),
    Mutant("level3-team-for-little", "ref/level3.c", "dvt_level3_threads(flops_of(&g), dvt_ref_threads(site->threads))",
           "dvt_ref_threads(site->threads)", "short_calls"),
    Mutant("product-tile-of-b-in-place", "src/level3/dispatch.c", "(rule->over_b || (!rule->uniform && matrix == DVT_C))", "(!rule->uniform && matrix == DVT_C)", "operations"),
    Mutant("product-short-pair-missing", "offload/triangle.c", "rest = t->order % (2 * half) - half",
           "rest = 0", "triangle_stream"),
    Mutant("product-pairs-from-wrong-end", "offload/triangle.c", "lowest = upper ? t->order - end : 0;", "lowest = 0;",
           "triangle_stream"),
    # ---- factorisations by blocks ----
    Mutant("factor-cholesky-panel-wait", "src/factor/cholesky.c",
           "  dvt_follow(&all, p->ready);\n  dvt_follow(&all, blocks->last[to]);\n  DVT_TRY(dvt_factor_level3",
           "  dvt_follow(&all, blocks->last[to]);\n  DVT_TRY(dvt_factor_level3", "solve_streams"),
    Mutant("factor-lu-panel-wait", "src/factor/lu.c",
           "  dvt_follow(&all, p->ready);\n  dvt_follow_group(f, &all, g);\n  const dvt_permute",
           "  dvt_follow_group(f, &all, g);\n  const dvt_permute", "solve_streams"),
    Mutant("factor-lu-block-wait", "src/factor/lu.c",
           "  dvt_follow_group(f, &all, g);\n  const dvt_permute", "  const dvt_permute", "solve_streams"),
    Mutant("factor-lu-not-settled", "src/factor/lu.c",
           "  DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));\n  if (f->info[k] && !f->failed)",
           "  if (f->info[k] && !f->failed)", "solve_streams"),
    Mutant("factor-lu-rows-not-brought", "src/factor/lu.c",
           "  dvt_follow(&all, p->ready);\n  return dvt_factor_compute(f, w, DVT_NEXT",
           "  return dvt_factor_compute(f, w, DVT_NEXT", "solve_streams"),
    Mutant("factor-lu-exchanged-early", "src/factor/lu.c", "everything = dvt_factor_everything(f);",
           "everything = {.count = 0};", "lu"),
    Mutant("factor-lu-copied-too-late", "src/factor/lu.c",
           "      dvt_follow(&all, f->worker[w].newest[DVT_PEER]);", "      continue;", "solve_streams"),
    Mutant("factor-lu-late-rows", "src/factor/factor.c", "  DVT_TRY(f->rule->exchange(f, 0, k, &g));\n", "", "lu"),
    Mutant("factor-lu-sides-not-exchanged", "src/factor/lu.c",
           "    DVT_TRY(exchange_on_device(f, &g, 0, f->lists, count));\n", "    (void)g, (void)count;\n", "lu"),
    Mutant("factor-stored-too-early", "src/factor/factor.c",
           "  dvt_follow_group(f, &all, g);\n  f->call->report->written", "  f->call->report->written",
           "solve_streams"),
    Mutant("factor-group-follows-first", "src/factor/factor.c", "    else if (task > all->task[i])\n      all->task[i] = task;\n",
           "", "solve_streams"),
    Mutant("factor-lu-rows-not-back", "src/solve.c", "back ? from : to, back ? to : from}", "to, from}", "lu"),
    Mutant("factor-qr-panel-wait", "src/factor/qr.c",
           "  dvt_follow(&all, p->ready);\n  dvt_follow_group(f, &all, g);\n  DVT_TRY(dvt_factor_compute",
           "  dvt_follow_group(f, &all, g);\n  DVT_TRY(dvt_factor_compute", "solve_streams"),
    Mutant("factor-qr-block-wait", "src/factor/qr.c",
           "  dvt_follow_group(f, &all, g);\n  DVT_TRY(dvt_factor_compute", "  DVT_TRY(dvt_factor_compute",
           "solve_streams"),
    Mutant("factor-qr-tau-wait", "src/factor/qr.c", "  dvt_follow(&all, p->ready);\n  return compute_reflect",
           "  return compute_reflect", "solve_streams"),
    Mutant("factor-qr-t-not-adjoint", "src/factor/qr.c", ".adjoint = adjoint,", ".adjoint = false,", "qr"),
    Mutant("factor-qr-wrong-reflector", "src/factor/qr.c", "rest = dvt_blocks_length(&f->a) - start,",
           "rest = dvt_blocks_length(&f->a) - start - 1,", "qr"),
    Mutant("factor-panel-not-stored", "src/factor/factor.c", "  dvt_follow(&all, f->a.stored[k]);\n", "",
           "solve_streams"),
    Mutant("factor-slot-still-read", "src/factor/factor.c", "    dvt_follow(all, readers[i]);\n", "",
           "solve_streams"),
    Mutant("factor-slot-still-copied", "src/factor/factor.c",
           "    if (!stays)\n      f->worker[w].readers[k % DVT_SLOTS][i] = e->panel.ready;\n", "",
           "solve_streams"),
    Mutant("factor-slab-too-early", "src/factor/factor.c",
           "    DVT_TRY(factor_slab(f, first, end));\n    before = dvt_factor_everything(f);",
           "    DVT_TRY(factor_slab(f, first, end));", "solve_streams"),
    Mutant("factor-wrong-origin", "src/factor/factor.c", "f->rule->lower ? first : k);", "first);", "lu"),
    Mutant("factor-upper-square-alone", "src/factor/cholesky.c", "  if (start > 0)\n    DVT_TRY(dvt_factor_level3(f, dvt_owner",
           "  if (start < 0)\n    DVT_TRY(dvt_factor_level3(f, dvt_owner", "solve_streams"),
    Mutant("factor-upper-panel-wait", "src/factor/cholesky.c",
           "  dvt_follow(&all, p->ready);\n  dvt_follow_group(f, &all, g);\n", "  dvt_follow_group(f, &all, g);\n",
           "solve_streams"),
    Mutant("factor-upper-block-wait", "src/factor/cholesky.c",
           "  dvt_follow(&all, p->ready);\n  dvt_follow_group(f, &all, g);\n", "  dvt_follow(&all, p->ready);\n",
           "solve_streams"),
    Mutant("factor-upper-whole-columns", "src/factor/blocks.h", "b->upper ? dvt_block_start(b, k + 1) :", "", "solve"),
    Mutant("factor-solves-singular", "src/factor/factor.c", "if (f->failed || f->b.count == 0)",
           "if (f->b.count == 0)", "lu"),
    Mutant("factor-no-slots", "src/factor/memory.c", " && w >= f->panels)", ")", "qr"),
    Mutant("factor-room-without-slots", "src/factor/memory.c", "if (f->workers == 1 && factors && wanted <= e->bytes)",
           "if (f->workers == 1 && factors)", "lu"),
    Mutant("factor-full-devices-fail", "src/factor/plain.c", "return !done || dvt_plain_goes_home(p, status) ?", "return !done ?", "solve"),
    Mutant("factor-host-for-named-devices", "src/factor/plain.c", "DAVIT_OUT_OF_DEVICE_MEMORY || !p->any_device ||",
           "DAVIT_OUT_OF_DEVICE_MEMORY ||", "solve"),
    Mutant("tall-block-wait", "src/factor/qr.c",
           "    dvt_follow(&all, f->a.last[k]);\n    DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_cholesky_qr",
           "    DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_cholesky_qr", "solve_streams"),
    Mutant("tall-dependent-is-done", "src/factor/qr.c", "*done = f->info[k] == DVT_ORTHONORMAL;", "*done = true;",
           "solve_streams"),
    Mutant("tall-each-pass-is-first", "ref/cholesky_qr.c", "c->a ? forms->upper(", "true ? forms->upper(",
           "cholesky_qr"),
    Mutant("tall-signs-of-r", "ref/cholesky_qr.c", "r[e] * row;", "r[e];", "cholesky_qr"),
    Mutant("tall-corrects-by-the-whole", "ref/cholesky_qr.c", "(REAL(gram[j + j * n]) - 1) / 2;",
           "(REAL(gram[j + j * n]) - 1);", "cholesky_qr"),
    Mutant("tall-too-early-orthonormal", "ref/cholesky_qr.h", "most * most <= epsilon ?", "most * most <= 1e4 * epsilon ?",
           "cholesky_qr"),
    Mutant("tall-kernel-signs", "offload/cholesky_qr.inc", "NAME(real_part)(given) < 0 ? given - 1 : given + 1",
           "given + 1", "cholesky_qr"),
    Mutant("tall-kernel-no-barrier", "offload/cholesky_qr.inc",
           "    dvt_barrier();\n    if (group == j % GROUPS", "    if (group == j % GROUPS", "cholesky_qr"),
    Mutant("tall-kernel-takes-nan-for-a-number", "offload/cholesky_qr.inc",
           "real != real || imaginary != imaginary ? 2 : ", "", "cholesky_qr"),
    # ---- exact products ----
    Mutant("exact-modulus-has-a-divisor", "ref/exact.h", "0xe8eef0f6fafcfeff", "0xe8eef0f6fafdfeff", "exact_sums"),
    Mutant("exact-tie-goes-down", "ref/exact.h", "(rest == half && (more || (value & 1)))", "(rest == half && more)",
           "exact_sums"),
    Mutant("exact-limb-shift", "ref/exact.h", "r1 >> 24 | r2 << 16", "r1 >> 24 | r2 << 17", "exact_sums"),
    Mutant("exact-carry-is-lost", "ref/exact.h", "(sum < part) | (word[i] < sum)", "sum < part", "exact_sums"),
    Mutant("exact-bound-of-two-sums", "ref/exact.c", "(double)(dvt_at_most(length, most) - 1) * unit",
           "(double)(2 * dvt_at_most(length, most) - 1) * unit", "exact_sums"),
    Mutant("exact-run-too-long", "ref/exact.c", "      4096, /*", "      1048576, /*", "exact"),
    Mutant("exact-parts-of-equal-sign", "ref/exact.c", "p->number ? 1 : -1, 1));", "1, 1));", "exact"),
    Mutant("exact-window-too-high", "ref/exact.c", "dvt_exact_power(-2 * DVT_EXACT_STEP * window)",
           "dvt_exact_power(-DVT_EXACT_STEP * window)", "exact_stream"),
    Mutant("exact-reads-past-a-vector", "offload/exact.inc", "if (wide && first + GROUP <= length)", "if (wide && first < length)",
           "exact_stream"),
    Mutant("exact-table-too-early", "offload/exact.inc",
           "modulus_of(moduli, dvt_thread(), side, words);\n  dvt_barrier();",
           "modulus_of(moduli, dvt_thread(), side, words);", "exact_stream"),
    Mutant("exact-one-board", "offload/exact.inc", "          board_turn = 1 - board_turn;\n", "", "exact_stream"),
    Mutant("exact-first-run-alone", "offload/exact.inc", "for (int64_t r = 1; r < runs; r++)",
           "for (int64_t r = 1; r < runs && false; r++)", "exact_stream"),
    Mutant("exact-columns-of-other-square", "offload/exact.c", "part.vector[1] += j;", "part.vector[1] += i;",
           "exact_stream"),
    Mutant("exact-vectors-not-padded", "src/exact/product.c", "p->pitch = dvt_exact_padded(p->length);", "p->pitch = p->length;",
           "exact_stream"),
    Mutant("exact-need-among-kernels", "src/exact/exact.c", "new_task(p, w, STORE, &all)", "new_task(p, w, COMPUTE, &all)",
           "exact_stream"),
    Mutant("exact-need-before-kernels", "src/exact/exact.c", "behind(e->computed, DVT_EXACT_NOTHING)",
           "behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING)", "exact_stream"),
    Mutant("exact-others-first-tiles-unseen", "src/exact/exact.c", "p->looks = looks && !e->has_decided;", "p->looks = false;",
           "exact_stream"),
    Mutant("exact-panel-still-read", "src/exact/exact.c", "behind(e->panel_read[at], DVT_EXACT_NOTHING)",
           "behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING)", "exact_stream"),
    Mutant("exact-tile-still-stored", "src/exact/exact.c", "behind(e->tile_stored[at], loaded)", "behind(DVT_EXACT_NOTHING, loaded)",
           "exact_stream"),
    Mutant("exact-first-device-decides", "src/exact/exact.c", "need_of(p, 0, p->workers)", "need_of(p, 0, 1)",
           "exact_bits"),
    Mutant("exact-first-tile-decides", "src/exact/exact.c", "done = p->computes && is_same(&wanted, &p->choice);",
           "done = p->computes && p->choice.moduli;", "exact_bits"),
    Mutant("exact-written-is-forgotten", "src/level3.c", "      options->report->written |= report.written;\n", "",
           "exact_bits"),
    # ---- atax on the CPU ----
    Mutant("atax-last-line-counted-twice", "offload/atax.inc", "NAME(choose)(left, product, (NAME(line)){0})", "product",
           "atax"),
    # ---- atax on clusters ----
    Mutant("atax-sums-too-early", "offload/atax.inc", "  dvt_wait_for_earlier();\n", "", "atax_stream"),
    Mutant("atax-row-past-end", "offload/atax_panel.inc", "row = 0; /*", "row = row; /*", "atax_stream"),
    Mutant("atax-copies-not-waited-for", "offload/atax_panel.inc", "      dvt_copies_done_but_2();\n", "",
           "atax_stream"),
    Mutant("atax-cells-refilled-early", "offload/atax_panel.inc",
           "      dvt_barrier_warp();\n      NAME(copy_cells)", "      NAME(copy_cells)", "atax_stream"),
    Mutant("atax-one-place-for-sums", "offload/atax_panel.inc", "&teams[parity]", "&teams[0]", "atax_stream"),
    Mutant("atax-no-cluster-barrier", "offload/atax_panel.inc", "  dvt_barrier_cluster();\n  sum = 0;", "  sum = 0;",
           "atax_stream"),
    Mutant("atax-no-empty-group", "offload/atax_panel.inc", "dvt_copies_end(); /* empty", "(void)c; /* empty",
           "atax_stream"),
]


def edited(text, mutant):
    """The text with the fault, or None where it has not one such place."""
    return text.replace(mutant.old, mutant.new) if text.count(mutant.old) == 1 else None


def failure(said):
    """The first case that a program names as failed, or nothing."""
    failed = re.search(r"\[  FAILED  \] (\w+)|^(\w+) +FAILED", said, re.M)
    return failed and (failed[1] or failed[2])


class Bench:
    """A copy of the tree and its build."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "build"
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True,
                                check=True).stdout.decode().split("\0")
        wanted = {name for name in listed if name and (ROOT / name).is_file()}
        for old in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(old.relative_to(self.source)) not in wanted:
                old.unlink()
        for name in sorted(wanted):
            here, there = ROOT / name, self.source / name
            if not there.exists() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)  # with a new time, so that it is built

    def configure(self):
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if not subprocess.run(
            ["which", "ccache"], capture_output=True).returncode else []
        self.command(["cmake", "--preset", "host", "-B", str(self.build), "-DDAVIT_STUDY=ON", "-DDAVIT_BENCH=OFF",
                      *launcher])

    def command(self, words):
        done = subprocess.run(words, cwd=self.source, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout[-4000:] + done.stderr[-4000:])

    def script(self, test):
        """The test of the tool of that name, if it is one."""
        path = self.source / "tests" / "cli" / f"test_{test}.py"
        return path if path.exists() else None

    def make(self, tests):
        programs = {"bin/davit" if self.script(t) else f"test_{t.removesuffix('_amd')}" for t in tests}
        done = subprocess.run(["ninja", "-C", str(self.build), *sorted(programs)], cwd=self.source, capture_output=True, text=True)
        return done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    def passes(self, test):
        """(whether it does, what it says otherwise)"""
        words = [self.build / "bin" / f"test_{test.removesuffix('_amd')}"]
        if self.script(test):
            words = ["/usr/bin/python3", self.script(test), self.build / "bin" / "davit"]
        elif test.startswith("mpi_"):  # as tests/mpi/CMakeLists.txt does: in memory that ranks share, and in memory of each
            passed, words_said = self.runs(["mpirun", "--oversubscribe", "-n", "3", *words], {})
            if not passed:
                return passed, words_said
            return self.runs(["mpirun", "--oversubscribe", "-n", "4", *words], {"DAVIT_MPI_TRANSPORT": "peer"})
        return self.runs(words, AMD if test.endswith("_amd") else {})

    def runs(self, words, more):
        environment = {**os.environ, **ENVIRONMENT, **more}
        try:
            done = subprocess.run(words, cwd=self.build, env=environment, timeout=LIMIT_S, capture_output=True, text=True,
                                  errors="replace")
        except subprocess.TimeoutExpired as e:
            said = b"".join(part or b"" for part in (e.stdout, e.stderr)).decode(errors="replace")
            return False, failure(said) or "does not end"
        return done.returncode == 0, failure(done.stdout + done.stderr) or f"ends with {done.returncode}"

    def verdict(self, mutant):
        path = self.source / mutant.path
        text = path.read_text()
        changed = edited(text, mutant)
        if changed is None:
            return "NO PLACE", ""
        path.write_text(changed)
        try:
            built, output = self.make([mutant.test])
            if not built:
                return "NOT BUILT", "\n" + output
            passed, how = self.passes(mutant.test)
            return ("SURVIVES", "") if passed else ("caught", how)
        finally:
            path.write_text(text)


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.processor()}, {os.cpu_count()} cores"


HEAD = f"{'fault':<30} {'in':<36} {'of':<11} {'test':<22} {'verdict':<10} {'on':<11} by"


def hash_of(path):
    """As `git hash-object` has it, its first ten digits."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()[:10]


def line_of(mutant, of, verdict, how):
    """`of`: the hash of the file that the fault was seeded in"""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return (f"{mutant.name:<30} {mutant.path:<36} {of:<11} test_{mutant.test:<17} {verdict:<10} {date:<11} {how}"
            .rstrip())


def lines_by_fault(path):
    """The line of each fault in the log."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split()[0]: line for line in lines if line.split()}


def date_of(line):
    return re.search(r" (\d{4}-\d\d-\d\d)\b", line)[1]


def summary(lines):
    """The last line of the log but for the machine."""
    caught, endless = (sum(words in line for line in lines) for words in (" caught ", "does not end"))
    return (f"{caught} of {len(MUTANTS)} caught, {endless} of them because the test does not end; "
            f"the oldest verdict is of {min(map(date_of, lines))}")


def keep(path, lines):
    """Puts the lines into the log, in place of older ones of the same faults."""
    known = {**lines_by_fault(path), **lines}
    kept = [known[m.name] for m in MUTANTS if m.name in known]
    path.write_text("\n".join([HEAD, *kept, f"{summary(kept)}; {machine()}"]) + "\n")


def is_stale(mutant, line):
    return not line or line.split()[2] != hash_of(ROOT / mutant.path)


def problems(log):
    """What is wrong with the faults' places and with the log."""
    known = lines_by_fault(log)
    for m in MUTANTS:
        path = ROOT / m.path
        places = path.read_text().count(m.old) if path.exists() else 0
        if places != 1:
            yield f"{m.name} has {places} places in {m.path}, not one"
        if m.name not in known:
            yield f"{m.name} has no line in {log.name}"
        elif known[m.name].split()[1:4:2] != [m.path, f"test_{m.test}"]:
            yield f"{m.name} is in {m.path}, for test_{m.test}; {log.name} has another file or test: run it again"
        elif " caught " not in known[m.name]:
            yield f"{m.name} is not caught"
    first, *lines, last = log.read_text().splitlines()
    if [line.split()[0] for line in lines] != [m.name for m in MUTANTS if m.name in known]:
        yield f"{log.name} has other faults, or in another order"
    elif not last.startswith(summary(lines) + "; "):
        yield f"{log.name} ends with another summary than '{summary(lines)}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--stale", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build-mutants")
    parser.add_argument("--log", type=pathlib.Path)
    options = parser.parse_args()
    if options.check:
        found = list(problems(LOG))
        print("\n".join(found))
        return 1 if found else 0
    names = options.only.split(",") if options.only else [m.name for m in MUTANTS]
    chosen = [m for m in MUTANTS if m.name in names]
    if len(chosen) != len(names):
        sys.exit(f"no such fault: {', '.join(set(names) - {m.name for m in MUTANTS})}")
    if options.stale:
        known = lines_by_fault(LOG)
        chosen = [m for m in chosen if is_stale(m, known.get(m.name))]
    if options.list:
        for m in chosen:
            print(f"{m.name:<30} {m.path:<36} test_{m.test}")
        return 0
    start, tests = time.monotonic(), sorted({m.test for m in chosen})
    bench = Bench(options.folder.resolve())
    bench.configure()
    built, output = bench.make(tests)
    if not built:
        sys.exit(output)
    broken = [f"test_{t}: {how}" for t in tests for passed, how in [bench.passes(t)] if not passed]
    if broken:
        sys.exit("without a fault: " + "; ".join(broken))
    print(HEAD, flush=True)
    lines = {}
    for m in chosen:
        of = hash_of(bench.source / m.path)
        lines[m.name] = line_of(m, of, *bench.verdict(m))
        print(lines[m.name], flush=True)
    left = sum(" caught " not in line for line in lines.values())
    minutes = (time.monotonic() - start) / 60
    print(f"{len(chosen) - left} of {len(chosen)} caught in {minutes:.0f} minutes, {machine()}")
    if options.log:
        keep(options.log, lines)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
