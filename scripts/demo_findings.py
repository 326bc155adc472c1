"""What is seen in the runs of the demo, in two sentences made from their summaries.

Usage: demo_findings.py RUN...   (a run directory for each policy)
"""

import json
import sys
from pathlib import Path


def percent(part):
    return f"{100 * part:.1f} %"


def share(run, learner):
    """How much of the community model is this learner's."""
    contributions = [each["contribution"] for each in run["learners"]]
    return contributions[learner] / sum(contributions)


def about_weights(runs, partition):
    """Who counts for how much; empty if the runs do not tell."""
    faulty = [each["learner"] for each in partition["learners"] if each["faulty"]]
    if len(faulty) != 1 or not {"async-fedavg", "async-dvw"} <= runs.keys():
        return ""
    held = [sum(each["class_counts"]) for each in partition["learners"]]
    learner = faulty[0]
    return (f"Learner {learner} holds {percent(held[learner] / sum(held))} of the examples, and its "
            f"labels are wrong: async-fedavg, which weighs by size, lets it count for "
            f"{percent(share(runs['async-fedavg'], learner))}, async-dvw, which weighs by what its "
            f"model recognises of everybody's validation images, for "
            f"{percent(share(runs['async-dvw'], learner))}.")


def about_accuracy(runs):
    final = {policy: run["accuracy"]["final"] for policy, run in runs.items()}
    order = sorted(final, key=final.get, reverse=True)
    told = ", ".join(f"{policy} {percent(final[policy])}" for policy in order)
    length = max(run["length_s"] for run in runs.values())
    seed = next(iter(runs.values()))["seed"]
    return (f"After {length:.0f} virtual seconds of seed {seed} the community models recognise of the "
            f"test images: {told}.")


def main():
    directories = [Path(each) for each in sys.argv[1:]]
    runs = {}
    for directory in directories:
        summary = json.loads((directory / "summary.json").read_text())
        runs[summary["policy"]] = summary
    partition = json.loads((directories[0] / "partition.json").read_text())
    print("\n".join(filter(None, [about_weights(runs, partition), about_accuracy(runs)])))


if __name__ == "__main__":
    main()
