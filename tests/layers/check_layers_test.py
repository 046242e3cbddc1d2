#!/usr/bin/env python3
"""check_layers.py against made-up trees: what is right passes, each wrong thing is caught."""
import os
import tempfile
import unittest

import check_layers

GOOD_HEADER = "// What it is.\n#pragma once\n"


def errors_of(files):
    """The errors of a tree made of `files`, a dict of path to text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        return check_layers.check_tree(root)[1]


class Arrow(unittest.TestCase):
    def test_every_layer_may_include_itself_and_all_that_is_lower(self):
        for layer, lower in check_layers.ALLOWED.items():
            text = "".join(f'#include "{name}/a.h"\n' for name in sorted(lower | {layer}))
            self.assertEqual(errors_of({f"{layer}/b.cc": text + "#include <vector>\n"}), [])

    def test_every_include_against_the_arrow_is_caught(self):
        for layer, lower in check_layers.ALLOWED.items():
            for target in set(check_layers.ALLOWED) - lower - {layer}:
                found = errors_of({f"{layer}/deep/b.cc": f'\n#include "{target}/a.h"\n'})
                self.assertEqual(found, [f"{layer}/deep/b.cc:2: {layer}/ may not include {target}/: {target}/a.h"])

    def test_siblings_do_not_include_each_other(self):
        self.assertTrue(errors_of({"models/a.cc": '#include "hwprofiles/b.h"\n'}))
        self.assertTrue(errors_of({"hwprofiles/a.cc": '#include "models/b.h"\n'}))
        self.assertTrue(errors_of({"sim/a.cc": '#include "calibrate/b.h"\n'}))
        self.assertTrue(errors_of({"calibrate/a.cc": '#include "sim/b.h"\n'}))

    def test_tests_may_include_any_layer(self):
        self.assertEqual(errors_of({"tests/base/a_test.cc": '#include "planner/b.h"\n#include "tests/catch.h"\n'}), [])

    def test_odd_spacing_and_angle_brackets_do_not_hide_an_include(self):
        self.assertTrue(errors_of({"base/a.cc": "#  include\t<sim/b.h>\n"}))

    def test_an_include_in_a_comment_is_none(self):
        text = '// #include "sim/b.h"\n/*\n#include "sim/c.h"\n*/\nconst char* url = "http://x";\n'
        self.assertEqual(errors_of({"base/a.cc": text}), [])

    def test_includes_are_named_from_the_root(self):
        self.assertTrue(errors_of({"base/a.cc": '#include "b.h"\n'}))
        self.assertTrue(errors_of({"base/a.cc": '#include "../base/b.h"\n'}))
        self.assertTrue(errors_of({"base/a.cc": '#include "tests/catch.h"\n'}))

    def test_a_link_line_against_the_arrow_is_caught(self):
        wrong = "shardplan_layer(base\n  SOURCES a.cc\n  DEPENDS sim\n  LIBRARIES fmt::fmt)\n"
        self.assertEqual(errors_of({"base/CMakeLists.txt": wrong}), ["base/CMakeLists.txt:1: base/ may not link sim"])
        self.assertEqual(len(errors_of({"models/families/CMakeLists.txt": wrong})), 1)
        self.assertEqual(errors_of({"sim/CMakeLists.txt": "shardplan_layer(sim SOURCES a.cc DEPENDS base)\n"}), [])


class ConfinedHeaders(unittest.TestCase):
    def test_cuda_and_nccl_stay_in_their_folder(self):
        for header in ("cuda_runtime.h", "nccl.h", "cublasLt.h", "nvml.h", "cuda/std/span"):
            text = f"#include <{header}>\n"
            self.assertEqual(errors_of({"calibrate/cuda/a.cc": text, "tests/calibrate/cuda/a.cc": text}), [])
            self.assertEqual(len(errors_of({"calibrate/a.cc": text, "planner/a.cc": text, "tests/sim/a.cc": text})), 3)

    def test_mpi_stays_in_its_folder_and_the_sweep_driver(self):
        good = ("calibrate/mpi/a.cc", "planner/sweep/mpi_driver.cc", "planner/sweep_mpi.cc")
        self.assertEqual(errors_of({path: "#include <mpi.h>\n" for path in good}), [])
        wrong = ("planner/search.cc", "planner/sweep/driver.cc", "calibrate/a.cc", "tools/main.cc")
        self.assertEqual(len(errors_of({path: "#include <mpi.h>\n" for path in wrong})), len(wrong))

    def test_heavy_headers_stay_out_of_headers(self):
        for header in ("Eigen/Dense", "CLI/CLI.hpp", "boost/graph/adjacency_list.hpp", "nlohmann/json.hpp"):
            include = f"#include <{header}>\n"
            self.assertEqual(len(errors_of({"planner/a.h": GOOD_HEADER + include})), 1)
            self.assertEqual(errors_of({"planner/a.cc": include}), [])
        self.assertEqual(errors_of({"base/a.h": GOOD_HEADER + "#include <nlohmann/json_fwd.hpp>\n"}), [])


class Form(unittest.TestCase):
    def test_a_header_opens_with_a_comment_and_guards_itself(self):
        self.assertEqual(errors_of({"base/a.h": GOOD_HEADER}), [])
        self.assertEqual(len(errors_of({"base/a.h": "int f();\n"})), 2)

    def test_a_long_file_is_caught(self):
        self.assertEqual(errors_of({"base/a.cc": "\n" * 600}), [])
        self.assertEqual(len(errors_of({"base/a.cc": "\n" * 601})), 1)

    def test_a_folder_of_one_machine_is_caught_in_any_text(self):
        for path in ("docs/a.md", "tools/a.sh", "base/a.cc", "hwprofiles/catalog/a.json"):
            for folder in ("/work/x", "/root/x", "/home/someone"):
                self.assertEqual(len(errors_of({path: f"see {folder}\n"})), 1)
        self.assertEqual(errors_of({"docs/a.md": "teamwork/root, https://x.org/home/\n"}), [])

    def test_build_folders_are_not_looked_at(self):
        self.assertEqual(errors_of({"build/release/base/a.h": "int f();\n"}), [])


class LongFunctions(unittest.TestCase):
    def lengths(self, text):
        return [length for _, length in check_layers.long_functions(text)]

    def test_a_function_over_the_limit_is_measured(self):
        body = "  if (x) { y(); }\n" * 70
        self.assertEqual(self.lengths("namespace a {\nint f(int x) {\n" + body + "}\n}\n"), [72])
        self.assertEqual(self.lengths("struct S {\n  void f() const {\n" + body + "  }\n};\n"), [72])

    def test_tables_classes_and_braces_in_text_are_no_functions(self):
        rows = "  {1, f(2)},\n" * 70
        self.assertEqual(self.lengths("const Row kRows[] = {\n" + rows + "};\n"), [])
        self.assertEqual(self.lengths("class A {\n" + "  int f() { return 1; }\n" * 70 + "};\n"), [])
        self.assertEqual(self.lengths('void f() {\n  g("{", \'{\');  // {\n}\n' + "int x;\n" * 70), [])


if __name__ == "__main__":
    unittest.main()
