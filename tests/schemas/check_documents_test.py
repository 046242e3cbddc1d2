#!/usr/bin/env python3
"""check_documents.py against small documents: right ones pass, each wrong one is named."""
import copy
import os
import stat
import tempfile
import unittest

import check_documents

PARALLEL = {"replicas": 1, "pp": 1, "dpa": 1, "pcp": 1, "tp": 8, "dcp": 1, "moe_tp": 1, "ep": 8, "moe_dp": 1, "variant": {}}
STAGE = {"weights_bytes": 1, "kv_bytes": 1, "activation_bytes": 1, "workspace_bytes": 1, "total_bytes": 4}
MEMORY = {"fits": True, "capacity_bytes": 9, "stages": [STAGE], "kv_bytes_per_token": 2, "kv_capacity_tokens": 5}
OPERATION = {"name": "qkv", "count": 94, "flops": 1e9, "bytes": 2e6, "seconds": 1e-5, "bound": "memory"}
COLLECTIVE = {"name": "attention_out", "kind": "all_reduce", "algorithm": "ring", "group_size": 8, "message_bytes": 4096,
              "sent_bytes_per_rank": 7168, "count": 94, "seconds": 1e-5}
STEP = {"seconds": 2e-5, "compute_seconds": 1e-5, "communication_seconds": 1e-5, "overhead_seconds": 0,
        "exposed_communication_seconds": 1e-5, "wait_seconds": 0, "ops": [OPERATION], "collectives": [COLLECTIVE]}
SERVING = {"ttft_seconds": 0.1, "tpot_seconds": 0.02, "output_tokens_per_second": 800,
           "output_tokens_per_second_per_gpu": 100, "tokens_per_second_per_user": 50}
ESTIMATE = {"schema": "shardplan.estimate/1", "legal": True, "violations": [], "memory": MEMORY, "prefill": None,
            "decode": STEP, "serving": SERVING, "added_later": 1}
PLAN = {"schema": "shardplan.plan/1", "pareto": [], "search": {"considered": 9, "legal": 5, "fitting": 2, "seconds": 0.1},
        "plans": [{"parallel": PARALLEL, "gpus": 8, "memory": MEMORY, "serving": SERVING, "launch": {"vllm": "serve"}}],
        "rejected": [{"parallel": "tp=3", "rule": "heads", "message": "3 does not divide 64 heads"}]}
SCHEMAS = check_documents.load_schemas()


def changed(document, path, value):
    """A copy of `document` with the value at `path` replaced, or removed when None."""
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return result


class Documents(unittest.TestCase):
    def test_documents_as_described_are_valid(self):
        self.assertEqual(check_documents.errors_of(ESTIMATE, "estimate-1", SCHEMAS), [])
        self.assertEqual(check_documents.errors_of(PLAN, "plan-1", SCHEMAS), [])

    def test_every_required_key_is_missed(self):
        for path in (["legal"], ["memory", "fits"], ["memory", "stages", 0, "kv_bytes"], ["decode", "wait_seconds"],
                     ["decode", "ops", 0, "bound"], ["decode", "collectives", 0, "kind"], ["serving", "tpot_seconds"]):
            self.assertTrue(check_documents.errors_of(changed(ESTIMATE, path, None), "estimate-1", SCHEMAS), path)
        for path in (["search", "fitting"], ["plans", 0, "launch"], ["plans", 0, "parallel", "dcp"],
                     ["plans", 0, "memory", "fits"], ["rejected", 0, "rule"]):
            self.assertTrue(check_documents.errors_of(changed(PLAN, path, None), "plan-1", SCHEMAS), path)

    def test_wrong_types_and_negative_amounts_are_named_by_path(self):
        for path, value in ((["decode", "seconds"], -1), (["memory", "capacity_bytes"], 1.5), (["legal"], "yes"),
                            (["schema"], "shardplan.estimate/2"), (["serving", "ttft_seconds"], "0.1")):
            self.assertTrue(check_documents.errors_of(changed(ESTIMATE, path, value), "estimate-1", SCHEMAS), path)
        found = check_documents.errors_of(changed(PLAN, ["plans", 0, "parallel", "tp"], 0), "plan-1", SCHEMAS)
        self.assertEqual(found, ["$.plans[0].parallel.tp: 0 is less than the minimum of 1"])

    def test_text_that_is_not_strict_json_is_refused(self):
        for text in ('{"a": 1, "a": 2}', '{"a": NaN}', '{"a": Infinity}', "{", ""):
            self.assertIn("not strict JSON", check_documents.errors_of_text(text, "plan-1", SCHEMAS)[0])

    def test_an_unknown_schema_is_named(self):
        self.assertIn("no schema none-1", check_documents.errors_of({}, "none-1", SCHEMAS)[0])


class Program(unittest.TestCase):
    def check(self, script):
        """The exit status of checking a made-up program that runs `script`."""
        with tempfile.TemporaryDirectory() as folder:
            program, commands = os.path.join(folder, "program"), os.path.join(folder, "commands.txt")
            with open(program, "w", encoding="utf-8") as stream:
                stream.write("#!/bin/sh\n" + script)
            os.chmod(program, stat.S_IRWXU)
            with open(commands, "w", encoding="utf-8") as stream:
                stream.write("# a comment\nplan-1 plan --gpus 1\n")
            return check_documents.check_program(program, commands, SCHEMAS)

    def test_the_output_of_a_program_is_validated(self):
        document = '{"schema": "shardplan.plan/1", "plans": [], "rejected": [], "pareto": [], "search": %s}'
        good = document % '{"considered": 1, "legal": 0, "fitting": 0, "seconds": 0}'
        self.assertEqual(self.check(f"test \"$*\" = 'plan --gpus 1 --format json' && echo '{good}'"), 0)
        self.assertEqual(self.check(f"echo '{document % '{}'}'"), 1)
        self.assertEqual(self.check("echo broken >&2; exit 70"), 1)

    def test_a_missing_program_is_skipped(self):
        self.assertEqual(check_documents.check_program("/none", "/none", SCHEMAS), check_documents.SKIPPED)


if __name__ == "__main__":
    unittest.main()
