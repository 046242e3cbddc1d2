#!/usr/bin/env python3
"""The articles' worked examples through `shardplan estimate --mode sol --format json`.

Expected values are those of golden.json in $SHARDPLAN_SHARED where that is there, else the ones
embedded here. Exit status: 0 all right, 1 not, 4 skipped (no program).
"""
import json
import os
import subprocess
import sys

SKIPPED = 4
MODEL = ["--model", "qwen3-235b-a22b", "--hardware", "h200-sxm", "--mode", "sol"]
DECODE = ["--batch", "64", "--context", "32768"]
LAYERS = 94

EMBEDDED = {
    "tp-allreduce-bytes": {"message_bytes": 524288, "ring_sent_bytes_per_rank": 917504},
    "tp-allreduce-sol": {"seconds": 2.0389e-06},
    "dcp-off": {"attention_flops": 17180000000.0, "kv_bytes_per_layer": 1073741824, "kv_read_seconds": 0.0002237},
    "dcp-2-ag-rs": {"attention_flops": 8590000000.0, "kv_bytes_per_layer": 536870912, "kv_read_seconds": 0.00011185,
                    "sent_bytes_per_rank": 262144, "sent_seconds": 5.825e-07},
    "pp-60-3": {"layers": [20, 20, 20]},
}


def expected():
    """The cases by id; embedded values where there is no shared file."""
    path = os.path.join(os.environ.get("SHARDPLAN_SHARED", ""), "golden.json")
    if not os.path.exists(path):
        return EMBEDDED
    with open(path, encoding="utf-8") as stream:
        return {case["id"]: case["expect"] for case in json.load(stream)["cases"]}


class Checks:
    def __init__(self, program):
        self.program, self.failed, self.made = program, 0, 0

    def estimate(self, *flags):
        result = subprocess.run([self.program, "estimate", *flags, "--format", "json"], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=60, check=False)
        if result.returncode != 0:
            self.check(" ".join(flags), result.stderr.strip(), "exit status 0")
            return None
        return json.loads(result.stdout)

    def check(self, what, found, wanted, tolerance=0.0):
        self.made += 1
        good = abs(found - wanted) <= tolerance * abs(wanted) if isinstance(wanted, (int, float)) and isinstance(found, (int, float)) else found == wanted
        if not good:
            self.failed += 1
            print(f"FAILED {what}: {found}, expected {wanted}")


def rows(step, key, **wanted):
    return [row for row in step[key] if all(row[name] == value for name, value in wanted.items())]


def attention(step):
    return next(row for row in step["ops"] if row["kv_bytes"] > 0)


def check_tensor_parallel(c, cases):
    document = c.estimate(*MODEL, "--tp", "8", "--batch", "64", "--context", "4096")
    if document is None:
        return
    reduces = rows(document["decode"], "collectives", kind="all_reduce", group_size=8)
    c.check("two all-reduces of a layer", sum(row["count"] for row in reduces if row["message_bytes"] == 524288) >= 2 * LAYERS, True)
    for row in reduces[:1]:
        c.check("all-reduce message", row["message_bytes"], cases["tp-allreduce-bytes"]["message_bytes"])
        c.check("all-reduce sent", row["sent_bytes_per_rank"], cases["tp-allreduce-bytes"]["ring_sent_bytes_per_rank"])
        c.check("all-reduce at the speed of light", row["seconds"], cases["tp-allreduce-sol"]["seconds"], 1e-3)


def check_decode(c, cases, case, *flags):
    document = c.estimate(*MODEL, *flags, *DECODE)
    if document is None:
        return None
    row, wanted = attention(document["decode"]), cases[case]
    c.check(f"{case}: attention of every layer", row["count"], LAYERS)
    c.check(f"{case}: cache read", row["kv_bytes"], wanted["kv_bytes_per_layer"])
    c.check(f"{case}: FLOPs", row["flops"], wanted["attention_flops"], 1e-3)
    c.check(f"{case}: cache read time", row["kv_bytes"] / 4.8e12, wanted["kv_read_seconds"], 1e-3)
    c.check(f"{case}: attention time", row["seconds"], wanted["kv_read_seconds"], 5e-3)
    return document


def check_decode_context_parallel(c, cases):
    check_decode(c, cases, "dcp-off", "--tp", "4")
    document = check_decode(c, cases, "dcp-2-ag-rs", "--tp", "8", "--dcp", "2")
    if document is None:
        return
    pair = rows(document["decode"], "collectives", group_size=2)
    sent = sum(row["sent_bytes_per_rank"] - row["lse_bytes"] for row in pair)
    c.check("dcp-2: sent over the pair beside the LSE", sent, cases["dcp-2-ag-rs"]["sent_bytes_per_rank"])
    c.check("dcp-2: LSE", sum(row["lse_bytes"] for row in pair), 4096)
    c.check("dcp-2: sent time", sent / 450e9, cases["dcp-2-ag-rs"]["sent_seconds"], 1e-3)
    c.check("dcp-2: collectives of every layer", {row["count"] for row in pair}, {LAYERS})


def check_pipeline(c, _cases):
    document = c.estimate("--model", "qwen3-32b", "--hardware", "h100-sxm", "--pp", "4", "--batch", "8", "--context", "1024")
    if document is None:
        return
    c.check("layers of stages", [stage["layers"] for stage in document["memory"]["stages"]], [16, 16, 16, 16])
    owners = [{item["owner"] for item in stage["weights"]} for stage in document["memory"]["stages"]]
    c.check("only the first stage embeds", ["embedding" in names for names in owners], [True, False, False, False])
    c.check("only the last stage has the head", ["head" in names for names in owners], [False, False, False, True])


def main():
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        print("skipped: no program")
        return SKIPPED
    checks, cases = Checks(os.path.abspath(sys.argv[1])), expected()
    for check in (check_tensor_parallel, check_decode_context_parallel, check_pipeline):
        check(checks, cases)
    print(f"{checks.made} values, {checks.failed} wrong")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
