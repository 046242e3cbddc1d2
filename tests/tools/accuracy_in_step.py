#!/usr/bin/env python3
"""docs/accuracy.md is what the program writes of the shared tables of measurements.

    accuracy_in_step.py PROGRAM [--accept]

Exit status: 0 in step, 1 not, 4 skipped (the table is not there).
"""
import os
import subprocess
import sys
import tempfile

# Serving points, kernels and collectives by machine, published figures, static batches.
TABLES = ["serving.csv", "kernels/a100_sxm", "kernels/h100_sxm", "kernels/h200_sxm", "kernels/b200_sxm",
          "published.csv", "kernels/splitwise/perf_model_validation.csv"]
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "accuracy.md")


def main():
    shared = os.environ.get("SHARDPLAN_SHARED", os.path.join(ROOT, "..", "shared"))
    tables = [os.path.join(shared, "measured", table) for table in TABLES]
    if not all(os.path.exists(table) for table in tables):
        print("skipped: no tables of measurements")
        return 4
    with tempfile.TemporaryDirectory() as folder:
        written = PAGE if "--accept" in sys.argv else os.path.join(folder, "accuracy.md")
        command = [sys.argv[1], "validate", "--measured", ",".join(tables), "--quality", "A", "--folds", "--output", written]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr)
            return 1
        with open(written, encoding="utf-8") as new, open(PAGE, encoding="utf-8") as old:
            if new.read() == old.read():
                return 0
    print("docs/accuracy.md is not what the program says now: tests/tools/accuracy_in_step.py PROGRAM --accept")
    return 1


if __name__ == "__main__":
    sys.exit(main())
