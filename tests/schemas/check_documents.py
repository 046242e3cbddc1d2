#!/usr/bin/env python3
"""Validates JSON documents against schemas/, strictly read (no duplicate key, no NaN).

    check_documents.py --schema plan-1 plan.json ...       files against one schema
    check_documents.py --program PATH [--commands FILE]    the program's own output

A line of the commands file is "SCHEMA COMMAND LINE"; `--format json` is added. {root} is the
repository and {tmp} a folder that lasts for the run; with `--output FILE` the document is that
file, else what the program prints. Every schema is itself checked first.
Exit status: 0 all valid, 1 not, 4 skipped (no program, no jsonschema).
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 4
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed (tools/setup.sh installs it)")
    sys.exit(SKIPPED)


class Unique(dict):
    """A JSON object that refuses a key given twice."""

    def __init__(self, pairs):
        super().__init__(pairs)
        if len(self) != len(pairs):
            raise ValueError(f"a key is given twice among {sorted(key for key, _ in pairs)}")


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def strict_json(text):
    return json.loads(text, object_pairs_hook=Unique, parse_constant=refuse_constant)


def load_schemas(folder=os.path.join(ROOT, "schemas")):
    """All schemas by name ("plan-1"), each of them valid as a schema."""
    schemas = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".schema.json"):
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                schema = strict_json(stream.read())
            jsonschema.Draft202012Validator.check_schema(schema)
            schemas[name[:-len(".schema.json")]] = schema
    return schemas


def validator_of(name, schemas):
    """A validator that finds the other schemas by file name, with old and new jsonschema."""
    store = {f"{key}.schema.json": schema for key, schema in schemas.items()}
    try:
        import referencing
    except ImportError:
        resolver = jsonschema.RefResolver(f"{name}.schema.json", schemas[name], store=store)
        return jsonschema.Draft202012Validator(schemas[name], resolver=resolver)
    return jsonschema.Draft202012Validator(schemas[name], registry=referencing.Registry().with_contents(store.items()))


def errors_of(document, name, schemas):
    """What is wrong with `document`, one line each; empty when valid."""
    if name not in schemas:
        return [f"no schema {name} in schemas/: there are {', '.join(schemas)}"]
    found = sorted(validator_of(name, schemas).iter_errors(document), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message[:200]}" for error in found[:20]]


def errors_of_text(text, name, schemas):
    try:
        return errors_of(strict_json(text), name, schemas)
    except ValueError as error:
        return [f"not strict JSON: {error}"]


def run_command(program, line, scratch):
    """The text of the document that `line` makes; raises RuntimeError when the program fails."""
    words = [word.replace("{root}", ROOT).replace("{tmp}", scratch) for word in shlex.split(line)]
    result = subprocess.run([program, *words, "--format", "json"], capture_output=True, text=True, timeout=300,
                            stdin=subprocess.DEVNULL, cwd=scratch, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"exit status {result.returncode}: {result.stderr.strip()[:400]}")
    if "--output" in words:
        with open(os.path.join(scratch, words[words.index("--output") + 1]), encoding="utf-8") as stream:
            return stream.read()
    return result.stdout


def check_command(program, line, schemas, scratch):
    name, command = line.split(None, 1)
    try:
        return errors_of_text(run_command(program, command, scratch), name, schemas)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return [str(error)]


def report(title, errors):
    print(f"{'FAILED' if errors else 'valid '} {title}")
    for error in errors:
        print(f"    {error}")
    return bool(errors)


def check_program(program, commands, schemas):
    if not os.access(program, os.X_OK):
        print(f"skipped: no program {program}; {len(schemas)} schemas are well-formed")
        return SKIPPED
    with open(commands, encoding="utf-8") as stream:
        lines = [line.strip() for line in stream if line.strip() and not line.startswith("#")]
    with tempfile.TemporaryDirectory() as scratch:
        failed = sum(report(line, check_command(os.path.abspath(program), line, schemas, scratch)) for line in lines)
    print(f"{len(lines)} documents, {failed} not valid")
    return 1 if failed or not lines else 0


def check_files(paths, name, schemas):
    failed = 0
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            failed += report(path, errors_of_text(stream.read(), name, schemas))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", help="name of a schema, such as plan-1")
    parser.add_argument("--program", help="the shardplan program whose output to validate")
    parser.add_argument("--commands", default=os.path.join(ROOT, "tests", "schemas", "commands.txt"))
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    schemas = load_schemas()
    if arguments.program:
        return check_program(arguments.program, arguments.commands, schemas)
    if not arguments.schema or not arguments.files:
        parser.error("give --program, or --schema and files")
    return check_files(arguments.files, arguments.schema, schemas)


if __name__ == "__main__":
    sys.exit(main())
