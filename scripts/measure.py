"""What the scripts that fill docs/performance.md have in common."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


class Bench:
    """Runs the binary."""

    def __init__(self, options):
        self.options = options
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
        self.binary = options.binary or ROOT / target / "release" / "osier"

    def run(self, line):
        command = [str(self.binary), *line.split(), "--json", "-"]
        done = subprocess.run(command, cwd=self.options.dir, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        print(f"  {line}", file=sys.stderr, flush=True)
        return json.loads(done.stdout)

    def seconds(self):
        return f"--seconds {self.options.seconds} --warmup {min(1, self.options.seconds)}"


def median(values):
    return statistics.median(values)


def k(number):
    return f"{number / 1e6:.2f} M" if number >= 1e6 else f"{number / 1e3:.1f} k"


def describe(bench):
    run = bench.run("bench ycsb --records 1000 --transactions 1000")
    machine = run["machine"]
    text = (f"Commit {run['git_commit']}, {machine['build']} build; {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB, Linux {machine['kernel']}. Medians of "
            f"{bench.options.repetitions}, {bench.options.seconds} s each after a warm-up. `txn/s` are acknowledged "
            f"durable transactions, except with protocol `none`.")
    return textwrap.fill(text, 125)


def write(script, text):
    """Puts `text` between the markers of `script` in the page."""
    begin, end = f"<!-- begin: scripts/{script} -->", f"<!-- end: scripts/{script} -->"
    head, rest = PAGE.read_text().split(begin, 1)
    _, tail = rest.split(end, 1)
    PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def options(doc, add=lambda parser: None):
    """The options of a script, and a bench for them."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="only rows whose name contains this; nothing is written")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path.cwd(), help="where databases are kept")
    parser.add_argument("--binary", type=pathlib.Path, help="a binary that is built already")
    parser.add_argument("--dry-run", action="store_true", help="print the tables, do not write the page")
    add(parser)
    chosen = parser.parse_args()
    chosen.dir = chosen.dir.resolve()
    if chosen.binary is None:
        subprocess.run(["cargo", "build", "--release", "-p", "osier-server"], cwd=ROOT, check=True)
    else:
        chosen.binary = chosen.binary.resolve()
    return chosen, Bench(chosen)


def finish(script, chosen, parts):
    """Prints the parts and writes them into the page."""
    text = "\n\n".join(parts)
    print(text)
    if not chosen.dry_run and not chosen.only:
        write(script, text)
