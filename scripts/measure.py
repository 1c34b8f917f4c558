"""What the scripts that fill docs/performance.md have in common."""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


# Where cargo builds, for every package.
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


class Bench:
    """Runs the binary."""

    def __init__(self, options, name="osier"):
        self.options = options
        self.binary = options.binary or TARGET / "release" / name

    def run(self, line):
        command = [str(self.binary), *line.split(), "--json", "-"]
        done = subprocess.run(command, cwd=self.options.dir, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        print(f"  {line}", file=sys.stderr, flush=True)
        return json.loads(done.stdout)

    def text(self, line):
        """What a command prints."""
        command = [str(self.binary), *line.split()]
        return subprocess.run(command, cwd=self.options.dir, capture_output=True, text=True, check=True).stdout

    def seconds(self):
        return f"--seconds {self.options.seconds} --warmup {min(1, self.options.seconds)}"


def median(values):
    return statistics.median(values)


def recovered(bench, line, transactions, settings=("",)):
    """How long it takes to recover the log of so many transactions, load included: a number for each of the settings."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="recovered-", dir=bench.options.dir))
    try:
        directory = home / "db"
        bench.run(f"bench {line} --transactions {transactions} --dir {directory}")
        runs = [[bench.run(f"recover {directory} {setting}")["recovery"]["seconds"] for setting in settings]
                for _ in range(bench.options.repetitions)]
    finally:
        shutil.rmtree(home)
    return [median(of_setting) for of_setting in zip(*runs)]


def k(number):
    if number >= 1e6:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.1f} k" if number >= 1e3 else f"{number:.0f}"


def describe(bench, length=True, run=None):
    """What was measured, on what and how often; with `length`, how long each run took. `run` is any run of the binary."""
    run = run or bench.run("bench ycsb --records 1000 --transactions 1000")
    machine = run["machine"]
    text = (f"Commit {run['git_commit']}, {machine['build']} build; {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB, Linux {machine['kernel']}. Medians of "
            f"{bench.options.repetitions}{f', {bench.options.seconds} s each after a warm-up' if length else ''}. `txn/s` are "
            f"acknowledged durable transactions, except with protocol `none`.")
    return textwrap.fill(text, 125)


def write(script, text):
    """Puts `text` between the markers of `script` in the page."""
    begin, end = f"<!-- begin: scripts/{script} -->", f"<!-- end: scripts/{script} -->"
    head, rest = PAGE.read_text().split(begin, 1)
    _, tail = rest.split(end, 1)
    PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


COLOURS = ["#c0392b", "#2471a3", "#d68910", "#1e8449", "#7d3c98"]


def plot(name, curves, x_label, y_label, shows, logarithmic=False):
    """Draws lines through points (x, y) by name into docs/, as SVG; returns the line of the page that shows it, with `shows` as
    the text in its place."""
    width, height, margin, legend = 760, 320, 48, 290
    points = [point for curve in curves.values() for point in curve]
    scale = math.log10 if logarithmic else lambda value: value
    x_max, top = max(x for x, _ in points), max(y for _, y in points)
    ticks = ticks_up_to(top, min(y for _, y in points) if logarithmic else 0, logarithmic)
    low, high = scale(ticks[0]), scale(max(ticks[-1], top))
    x = lambda value: margin + (width - margin - legend) * value / x_max
    y = lambda value: height - margin - (height - 2 * margin) * (scale(value) - low) / (high - low)
    text = lambda at_x, at_y, what, more="": f'<text x="{at_x:.0f}" y="{at_y:.0f}" {more}>{what}</text>'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<path d="M{margin} {margin} V{height - margin} H{x(x_max):.0f}" fill="none" stroke="#888"/>',
             text(x(x_max / 2), height - 8, x_label, 'text-anchor="middle"'), text(8, margin - 16, y_label)]
    parts += [text(x(at), height - margin + 16, f"{at:g}", 'text-anchor="middle"') for at in sorted({x for x, _ in points})]
    for tick in ticks:
        parts.append(f'<path d="M{margin} {y(tick):.1f} H{x(x_max):.0f}" stroke="#eee"/>')
        parts.append(text(margin - 6, y(tick) + 4, f"{tick:g}", 'text-anchor="end"'))
    # Names stand beside the ends of their lines, or below one another where those are close.
    free = 0
    for at, label, colour in sorted((y(curve[-1][1]), label, colour) for (label, curve), colour in zip(curves.items(), COLOURS)):
        free = max(at, free)
        parts.append(text(x(x_max) + 8, free + 4, label, f'fill="{colour}"'))
        free += 15
    for curve, colour in zip(curves.values(), COLOURS):
        path = " L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in curve)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    (ROOT / "docs" / f"{name}.svg").write_text("\n".join([*parts, "</svg>"]) + "\n")
    return f"![{shows}]({name}.svg)"


def bars(name, rows, parts, x_label, shows):
    """Draws a bar for each row, put together of parts, into docs/, as SVG; returns the line of the page that shows it."""
    width, label_width, step, head = 760, 260, 22, 40
    height = head + step * len(rows) + 30
    scale = (width - label_width - 60) / max(sum(of_row) for of_row in rows.values())
    text = lambda x, y, what, more="": f'<text x="{x:.0f}" y="{y:.0f}" {more}>{what}</text>'
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for at, (part, colour) in enumerate(zip(parts, COLOURS)):
        drawn.append(text(label_width + 110 * at, 20, part, f'fill="{colour}"'))
    for at, (label, of_row) in enumerate(rows.items()):
        x, y = label_width, head + step * at
        drawn.append(text(label_width - 8, y + 12, label, 'text-anchor="end"'))
        for value, colour in zip(of_row, COLOURS):
            drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{value * scale:.1f}" height="16" fill="{colour}"/>')
            x += value * scale
        drawn.append(text(x + 6, y + 12, f"{sum(of_row):.1f}"))
    drawn.append(text(label_width, height - 10, x_label))
    (ROOT / "docs" / f"{name}.svg").write_text("\n".join([*drawn, "</svg>"]) + "\n")
    return f"![{shows}]({name}.svg)"


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def ticks_up_to(top, low, logarithmic):
    """Round numbers for the axis of values, from at or below `low`."""
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(top))
        return [10**exponent for exponent in range(first, last + 1)]
    step = next(step for exponent in range(-3, 12) for step in (10**exponent, 2 * 10**exponent, 5 * 10**exponent)
                if top / step <= 6)
    return [step * tick for tick in range(int(top / step) + 1)]


def parse(doc, add=lambda parser: None):
    """The options of a script."""
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
    if chosen.binary is not None:
        chosen.binary = chosen.binary.resolve()
    return chosen


def options(doc, add=lambda parser: None):
    """The options of a script, and a bench for them."""
    chosen = parse(doc, add)
    if chosen.binary is None:
        subprocess.run(["cargo", "build", "--release", "-p", "osier-server"], cwd=ROOT, check=True)
    return chosen, Bench(chosen)


def finish(script, chosen, parts):
    """Prints the parts and writes them into the page."""
    text = "\n\n".join(parts)
    print(text)
    if not chosen.dry_run and not chosen.only:
        write(script, text)
