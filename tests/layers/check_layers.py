#!/usr/bin/env python3
"""Holds the tree against the house rules that a compiler does not see.

    base <- models, hwprofiles <- costmodel <- sim, calibrate <- planner <- tools

A folder includes itself and what is lower, nothing else. CUDA, NCCL and MPI headers stay in
their folders, heavy headers stay out of ours, headers open with a comment and guard themselves,
no file is longer than 600 lines, and no file names a folder of one particular machine.
Functions over 60 lines are a warning only: braces are counted, C++ is not parsed.

Usage: check_layers.py [ROOT]; exit status 1 when a rule is broken. Standard library only.
"""
import os
import re
import sys

# What each folder may include besides itself.
ALLOWED = {
    "base": set(),
    "models": {"base"},
    "hwprofiles": {"base"},
    "costmodel": {"base", "models", "hwprofiles"},
    "sim": {"base", "models", "hwprofiles", "costmodel"},
    "calibrate": {"base", "models", "hwprofiles", "costmodel"},
    "planner": {"base", "models", "hwprofiles", "costmodel", "sim", "calibrate"},
    "tools": {"base", "models", "hwprofiles", "costmodel", "sim", "calibrate", "planner"},
}
# (what a header's name looks like, which files may include it, in words).
CONFINED = [
    (re.compile(r"(nccl|cuda|cudnn|cublas|cusparse|curand|cupti|nvml|nvtx|cub/|thrust/|mma\.h|cooperative_groups)"),
     re.compile(r"^calibrate/cuda/"), "CUDA and NCCL headers stay in calibrate/cuda/"),
    (re.compile(r"^mpi(cxx)?\.h$"),
     re.compile(r"^(calibrate/mpi/|planner/(?=.*sweep)(?=.*mpi))"),
     "MPI headers stay in calibrate/mpi/ and the planner's MPI sweep driver"),
]
HEAVY = re.compile(r"^(Eigen/|CLI/|boost/graph/|nlohmann/json\.hpp$)")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|root|home)/")

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
CODE = (".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".cmake")
TEXT = CODE + (".md", ".txt", ".json", ".in", ".yml", ".yaml", ".html", ".js", ".css", ".csv")
SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".cache"}
EXEMPT_FROM_PATHS = "tests/layers/"  # these files name the forbidden words

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT_OR_STRING = re.compile(
    r'R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def files_of(root):
    """Every text file, as paths relative to `root`, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        for name in names:
            if name.endswith(TEXT) or name in ("run", "LICENSE"):
                found.append(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/"))
    return sorted(found)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_comments(text):
    """Comments blanked out, strings kept (an include's name is one), lines kept."""
    def blank(match):
        piece = match.group(0)
        return re.sub(r"[^\n]", " ", piece) if piece.startswith("/") else piece
    return COMMENT_OR_STRING.sub(blank, text)


def layer_of(path):
    return path.split("/", 1)[0] if path.split("/", 1)[0] in ALLOWED else None


def check_include(path, bracket, header):
    """The broken rules of one include, as sentences."""
    layer, target = layer_of(path), layer_of(header)
    owner = path[len("tests/"):] if path.startswith("tests/") else path
    if layer and target and target != layer and target not in ALLOWED[layer]:
        yield f"{layer}/ may not include {target}/: {header}"
    if layer and bracket == '"' and "/" not in header:
        yield f'"{header}" is not named from the root of the repository'
    if layer and header.startswith(("..", "./", "tests/")):
        yield f"a layer does not include {header}"
    for name, allowed, sentence in CONFINED:
        if bracket == "<" and name.search(header) and not allowed.search(owner):
            yield f"{sentence}: {header}"
    if layer and path.endswith(".h") and HEAVY.search(header):
        yield f"a heavy header in a header: {header}"


def check_header_form(path, text):
    if not path.endswith((".h", ".cuh")):
        return
    if not text.startswith(("//", "/*")):
        yield 1, "a header opens with a comment that says what it is"
    if "#pragma once" not in text:
        yield 1, "a header has #pragma once"


def check_lines(path, text):
    lines = text.count("\n")
    if path.endswith(CODE) and lines > MAX_FILE_LINES:
        yield MAX_FILE_LINES, f"{lines} lines, at most {MAX_FILE_LINES}"
    if path.startswith(EXEMPT_FROM_PATHS):
        return
    for match in MACHINE_PATH.finditer(text):
        yield line_of(text, match.start()), f"a folder of one machine: {match.group(0)}"


def opens_function(before):
    """Whether `before`, the code from the last ; { or } to a brace, heads a function."""
    head = before.strip()
    if ")" not in head or re.match(r"(namespace|class|struct|enum|union|extern|else|do)\b", head):
        return False
    outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", head))
    return "=" not in re.sub(r"operator\s*[=<>!]+", "", outside)


def long_functions(text):
    """(line, length) of the functions longer than the limit."""
    code = COMMENT_OR_STRING.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
    depth, start, start_depth, last = 0, None, 0, 0
    for match in re.finditer(r"[;{}]", code):
        if match.group(0) == "{":
            if start is None and opens_function(code[last:match.start()]):
                start, start_depth = match.start(), depth
            depth += 1
        elif match.group(0) == "}":
            depth -= 1
            if start is not None and depth == start_depth:
                length = line_of(code, match.start()) - line_of(code, start) + 1
                if length > MAX_FUNCTION_LINES:
                    yield line_of(code, start), length
                start = None
        last = match.end()


def check_link_line(path, text):
    """A layer's DEPENDS in its CMakeLists.txt follows the same arrow."""
    layer = layer_of(path)
    if layer is None or os.path.basename(path) != "CMakeLists.txt":
        return
    for match in re.finditer(r"shardplan_layer\(\s*(\w+)[^)]*?\bDEPENDS\b([^)]*)\)", text):
        for name in re.split(r"\bLIBRARIES\b|\bSOURCES\b", match.group(2))[0].split():
            if name in ALLOWED and name != layer and name not in ALLOWED[layer]:
                yield line_of(text, match.start()), f"{layer}/ may not link {name}"


def check_file(path, text):
    """(errors, warnings) of one file, each a list of 'path:line: sentence'."""
    found = list(check_header_form(path, text)) + list(check_lines(path, text)) + list(check_link_line(path, text))
    warnings = []
    if path.endswith((".h", ".cc", ".cu", ".cuh")):
        code = without_comments(text)
        for match in INCLUDE.finditer(code):
            for sentence in check_include(path, match.group(1), match.group(2)):
                found.append((line_of(code, match.start(1)), sentence))
        warnings = [(line, f"a function of {length} lines") for line, length in long_functions(text)]
    return ([f"{path}:{line}: {sentence}" for line, sentence in found],
            [f"{path}:{line}: warning: {sentence}" for line, sentence in warnings])


def check_tree(root):
    """(number of files, errors, warnings) of the tree under `root`."""
    errors, warnings, paths = [], [], files_of(root)
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
            more_errors, more_warnings = check_file(path, stream.read())
        errors += more_errors
        warnings += more_warnings
    return len(paths), errors, warnings


def main(arguments):
    default_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    root = os.path.normpath(arguments[1] if len(arguments) > 1 else default_root)
    count, errors, warnings = check_tree(root)
    print("\n".join(warnings + errors + [f"{count} files, {len(errors)} errors, {len(warnings)} warnings"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
