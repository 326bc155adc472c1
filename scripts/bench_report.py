#!/usr/bin/env python3
"""Turns the JSON of Google Benchmark into ratios to the limit, each with its goal.

Benchmarks are named group/case. Within a group the case "limit" (or, for the community, "10 learners") is what the others are divided by; a group whose limit the filter left out is left out as well.
Time is CPU time: nothing measured here waits, and what other processes take is no part of it. Of all
repetitions the fastest counts: a neighbour that fills caches and memory bus can only add to it. Of memory
the most counts.

Trained networks are groups like "cifar10-cnn fp32": their limit is a bare libtorch loop, "python" the
plain loop of Python's torch. "simulation" are whole federations (bench/simulate_bench.py), "exchange" are
federations over loopback (bench/exchange_bench.cc): there two processes wait for each other, and time is
that of the clock.

  scripts/bench_report.py kernels.json community.json
  scripts/bench_report.py --json kernels.json

Exit status: 0, also when goals are missed; with --strict 3 if one is; 1 if a benchmark failed or nothing was
measured, with --strict also if a limit was left out.
"""

import argparse
import json
import re
import sys

# Group, case, the largest ratio that is good. Cases without a goal are there to be compared.
GOALS = [
    (r"average ", r"avx", 1.35),
    (r"replace ", r"avx", 1.25),
    # Not for the warm cases: there ten learners' models stay in a large cache, a thousand cannot.
    (r"community 1M$", r"\d+ learners", 1.20),
    (r"community ", r"allocations", 0),
    (r".* (?:fp32|bf16)$", r"metis$", 1 / 0.97),
    (r"cifar10-cnn fp32$", r"metis to python", 1 / 1.1),
    (r"simulation$", r"10 learners$", 1 / 0.9),
    (r"simulation threads$", r"2 threads", 1 / 1.8),
    (r"simulation 1000$", r"1000 learners", 1 / 0.8),
    (r"simulation memory$", r"1000 learners", 1),
    (r"exchange plain$", r"\d+ learners", 2.5),
    (r"exchange (?:durable |spilled )?memory$", r"\d+ learners", 1.6),
    (r"exchange durable$", r"\d+ learners", 1.5),
    (r"exchange tls$", r"\d+ learners", 1 / 0.85),
]


class BenchmarkFailed(Exception):
    pass


def read(paths):
    """{group: {case: fastest time}} in order of registration, and {group: most allocations}."""
    times, allocations = {}, {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                benchmarks = json.load(file)["benchmarks"]
        except (json.JSONDecodeError, KeyError):
            # An empty file: the filter left nothing of this executable.
            continue
        for each in sorted(benchmarks, key=lambda each: each["family_index"]):
            if each.get("error_occurred"):
                raise BenchmarkFailed(f"{each['name']}: {each.get('error_message', 'failed')}")
            if each["run_type"] != "iteration":
                continue
            group, case = each["name"].split("/")[:2]
            cases = times.setdefault(group, {})
            # What a benchmark clocked itself stands under real_time; it is CPU time as well.
            time = each["real_time" if each["name"].endswith("manual_time") else "cpu_time"]
            counts = max if group.endswith("memory") else min
            cases[case] = counts(time, cases.get(case, time))
            if "allocations" in each:
                allocations[group] = max(each["allocations"], allocations.get(group, 0))
    return times, allocations


def goal_of(group, case):
    for groups, cases, goal in GOALS:
        if re.match(groups, group) and re.match(cases, case):
            return goal
    return None


def row(group, case, value):
    goal = goal_of(group, case)
    verdict = "" if goal is None else "over" if value > goal else "ok"
    return {
        "group": group,
        "case": case,
        "ratio": round(value, 3),
        "goal": goal,
        "verdict": verdict,
    }


def limit_of(group, cases):
    """The case that the others are divided by; None if the filter left it out."""
    limit = "10 learners" if group.startswith("community") else "limit"
    return limit if limit in cases else None


def rows(times, allocations):
    for group, cases in times.items():
        limit = limit_of(group, cases)
        if limit is None:
            continue
        for case, time in cases.items():
            if case != limit:
                yield row(group, case, time / cases[limit])
        if group in allocations:
            yield row(group, "allocations", allocations[group])
        if "metis" in cases and "python" in cases:
            yield row(group, "metis to python", cases["metis"] / cases["python"])
        floats = times.get(group.replace(" bf16", " fp32"), {})
        if group.endswith(" bf16") and "metis" in cases and "metis" in floats:
            yield row(group, "metis to its fp32", cases["metis"] / floats["metis"])


def print_table(table):
    group_width = max(len(each["group"]) for each in table)
    case_width = max(len(each["case"]) for each in table)
    for each in table:
        goal = "" if each["goal"] is None else f"  (goal {each['goal']:.2f})"
        over = "  over" if each["verdict"] == "over" else ""
        name = f"{each['group']:<{group_width}}  {each['case']:<{case_width}}"
        print(f"{name}  {each['ratio']:6.2f}{goal}{over}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="for machines: a list of rows")
    parser.add_argument("--strict", action="store_true", help="a goal that is missed, or cannot be judged, fails")
    parser.add_argument("results", nargs="+", help="files of --benchmark_out")
    arguments = parser.parse_args()
    try:
        times, allocations = read(arguments.results)
    except (BenchmarkFailed, OSError) as error:
        sys.exit(f"bench: {error}")
    table = list(rows(times, allocations))
    without = [group for group, cases in times.items() if limit_of(group, cases) is None]
    for group in without:
        print(f"bench: {group} is left out: the filter leaves out its limit", file=sys.stderr)
    if not table:
        sys.exit("bench: nothing was measured: does the filter leave a limit and a case?")
    if arguments.json:
        print(json.dumps(table, indent=2))
    else:
        print_table(table)
    if arguments.strict and any(each["verdict"] == "over" for each in table):
        return 3
    return 1 if arguments.strict and without else 0


if __name__ == "__main__":
    sys.exit(main())
