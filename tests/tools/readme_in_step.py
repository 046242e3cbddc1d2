#!/usr/bin/env python3
"""The sessions that README.md shows are what the program prints.

    readme_in_step.py PROGRAM [--accept]

In a ```console block every "$ shardplan ..." is run, in one folder. A line of its own "..." stands for any lines, one that
ends in "..." for a longer one. --accept puts today's lines in the place of those shown: as many of them, and cut as short. Exit status: 0 in step, 1 not.
"""
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

README = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md"))
CUT = "..."


def same(shown, printed):
    return printed.startswith(shown[:-len(CUT)]) if shown.endswith(CUT) else printed == shown


def as_shown(shown, printed):
    """The printed line, cut where the one shown was."""
    room = len(shown) - len(CUT)
    return printed[:room] + CUT if shown.endswith(CUT) and len(printed) > room else printed


def place_of(shown, printed, start):
    """Where a part that begins with `shown` begins: at that line, or else at the most similar one."""
    for at in range(start, len(printed)):
        if same(shown, printed[at]):
            return at
    ratio = difflib.SequenceMatcher(b=shown, autojunk=False)

    def likeness(at):
        ratio.set_seq1(printed[at])
        return ratio.ratio()

    return max(range(start, len(printed)), key=likeness, default=start)


def today(shown, printed):
    """The lines shown, as the program prints them now."""
    lines, at, skipping = [], 0, False
    for line in shown:
        if line.strip() == CUT:
            skipping = True
            lines.append(line)
            continue
        if skipping:
            at, skipping = place_of(line, printed, at), False
        now = printed[at] if at < len(printed) else ""
        lines.append(line if same(line, now) else as_shown(line, now))
        at += 1
    return lines if skipping else lines + [line for line in printed[at:] if line]


def session(program, block, folder):
    """The block with today's output under each command."""
    out = []
    for part in re.split(r"^(?=\$ )", block, flags=re.M):
        command, *shown = part.split("\n")
        if not command.startswith("$ shardplan "):
            out.append(part)
            continue
        done = subprocess.run([program, *shlex.split(command)[2:]], capture_output=True, text=True, cwd=folder, check=False)
        blank = [""] if shown and not shown[-1] else []
        shown = shown[:len(shown) - len(blank)]
        lines = today(shown, done.stdout.split("\n")) if shown else []
        out.append("\n".join([command, *lines, *blank]))
    return "".join(out)


def main():
    program = os.path.abspath(sys.argv[1])
    with open(README, encoding="utf-8") as stream:
        text = stream.read()
    with tempfile.TemporaryDirectory() as folder:
        new = re.sub(r"(?<=```console\n)(.*?)(?=```)", lambda m: session(program, m.group(1), folder), text, flags=re.S)
    if new == text:
        return 0
    if "--accept" in sys.argv:
        with open(README, "w", encoding="utf-8") as stream:
            stream.write(new)
        return 0
    for line in difflib.unified_diff(text.split("\n"), new.split("\n"), "README.md", "printed", lineterm="", n=1):
        print(line)
    print("README.md does not show what the program prints: tests/tools/readme_in_step.py PROGRAM --accept")
    return 1


if __name__ == "__main__":
    sys.exit(main())
