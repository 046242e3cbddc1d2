#!/usr/bin/env python3
"""Whole command lines against what they print.

    scenarios.py PROGRAM            every line of scenarios.txt against golden/<name>.txt,
                                    every line of bad_input.txt against its expected error
    scenarios.py PROGRAM --accept   writes golden/ anew (accept.sh does this; CI never)

scenarios.txt: "name: command line". bad_input.txt: "command line => part of the error": exit
status 2, one line on standard error, nothing on standard output, no file left. {tmp} is a folder
that lasts for one line, {inputs} is tests/tools/inputs. Wall times and the version are left out
of JSON. Exit status: 0 all as expected, 1 not, 4 skipped (no program).
"""
import difflib
import json
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 4


def lines_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as stream:
        return [line.rstrip("\n") for line in stream if line.strip() and not line.startswith("#")]


def run(program, line, scratch):
    words = [word.replace("{tmp}", scratch).replace("{inputs}", os.path.join(HERE, "inputs")) for word in shlex.split(line)]
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          cwd=scratch, check=False)


def without_provenance(text):
    """JSON without what differs from run to run; any other text as it is."""
    if not text.startswith("{"):
        return text
    document = json.loads(text)
    document.pop("run", None)
    document.pop("wall_seconds", None)
    if "search" in document:
        document["search"].pop("seconds", None)
        document["search"].pop("passes", None)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def printed(program, line):
    """What a scenario prints: each command of "a && b" in turn, in one scratch folder."""
    text = ""
    with tempfile.TemporaryDirectory() as scratch:
        for command in line.split(" && "):
            result = run(program, command, scratch)
            text += without_provenance(result.stdout) + result.stderr
            if result.returncode != 0:
                text += f"exit status {result.returncode}\n"
        return text.replace(scratch, "{tmp}").replace(os.path.join(HERE, "inputs"), "{inputs}")


def check_scenario(program, name, line, accept):
    path = os.path.join(HERE, "golden", f"{name}.txt")
    found = printed(program, line)
    if accept:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(found)
        return []
    if not os.path.exists(path):
        return [f"no golden/{name}.txt: look at the output, then run tests/tools/accept.sh"]
    with open(path, encoding="utf-8") as stream:
        wanted = stream.read()
    return list(difflib.unified_diff(wanted.splitlines(), found.splitlines(), "golden", "printed", lineterm="", n=1))[:40]


def check_bad_input(program, line, part):
    with tempfile.TemporaryDirectory() as scratch:
        result = run(program, line, scratch)
        left = os.listdir(scratch)
    errors = []
    if result.returncode != 2:
        errors.append(f"exit status {result.returncode}, not 2")
    if len(result.stderr.splitlines()) != 1 or not result.stderr.startswith("shardplan: "):
        errors.append(f"not one line: {result.stderr!r}")
    if part not in result.stderr:
        errors.append(f"{result.stderr.strip()!r} does not say {part!r}")
    if result.stdout:
        errors.append(f"on standard output: {result.stdout[:100]!r}")
    if left:
        errors.append(f"files left: {left}")
    return errors


def report(title, errors):
    if errors:
        print(f"FAILED {title}")
        for error in errors:
            print(f"    {error}")
    return bool(errors)


def main():
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        print("skipped: no program")
        return SKIPPED
    program, accept = os.path.abspath(sys.argv[1]), "--accept" in sys.argv
    failed = 0
    scenarios, bad = lines_of("scenarios.txt"), lines_of("bad_input.txt")
    for line in scenarios:
        name, command = line.split(": ", 1)
        failed += report(f"{name}: {command}", check_scenario(program, name, command, accept))
    for line in bad:
        command, part = line.rsplit(" => ", 1)
        failed += report(line, check_bad_input(program, command, part))
    print(f"{len(scenarios)} scenarios and {len(bad)} bad inputs, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
