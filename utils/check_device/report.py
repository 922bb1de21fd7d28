"""What results come to: a short table for the end of a run, and the page
docs/results/cuda.md, which says beside each figure whether it was measured."""
from .programs import PROGRAMS, known

MEASURED, PREDICTED = "measured", "predicted"


def shape_of(manifest, program):
    """The carried one's: another than its own in tests."""
    return manifest.get("shape") or program.shape


def first(lines, **fields):
    return next((line for line in lines if all(
        line.get(key) == value for key, value in fields.items())), None)


def copy_rate(lines):
    return next((line["gigabytesPerSecond"] for line in lines
                 if line["part"] == "device" and "gigabytesPerSecond" in line),
                None)


def matrix_rate(lines):
    return max((line["teraflops"] for line in lines
                if str(line.get("what", "")).startswith("bf16 product")),
               default=None)


def figure_lines(lines):
    return [line for line in lines if "us" in line and "pdl" in line]


def value_of(line, lines, manifest):
    """A figure as the share that is predicted: its name and its value."""
    program = known(line["model"])
    shape = shape_of(manifest, program)
    if line["what"] == "one row":
        rate = program.step_bytes(shape) / line["us"] / 1e3
        copied = copy_rate(lines)
        return "of the copy's rate", copied and rate / copied
    if line["what"].startswith("prompt of "):
        rows = int(line["what"].split()[-1])
        rate = 2 * program.step_products(shape) * rows / line["us"] / 1e6
        products = matrix_rate(lines)
        return "of large products' rate", products and rate / products
    one = first(lines, model=line["model"], what="one row", pdl=line["pdl"],
                carveout=line["carveout"], joined=line["joined"])
    return "times one row", one and line["us"] / one["us"]


# Before anything was measured, from the present kernels' bytes and launches and
# the datasheets' rates: of an H100 and of an H200 where they differ, or a range.
# A launch counts 1.6 us, a tail 1 us.
PREDICTIONS = {
    ("llama-1b-bf16", "one row"): "0.76 (H100), 0.69 (H200)",
    ("llama-8b-bf16", "one row"): "0.91 (H100), 0.87 (H200)",
    ("llama-8b-q4_0", "one row"): "0.69 (H100), 0.58 (H200)",
    ("llama-8b-e4m3", "one row"): "0.85 (H100), 0.75 (H200)",
    ("llama-8b-bf16", "32 rows"): "1.15 to 1.35",
    ("llama-8b-bf16", "prompt of 2048"): "0.36",
}
UNITS = {"one row": "of the copy's rate", "32 rows": "times one row",
         "prompt of 2048": "of large products' rate"}


def succeeded(lines):
    ends = [line.get("ended") for line in lines]
    return "passed" in ends and "failed" not in ends


def wrong_text(line):
    """A result that does not hold, in one line."""
    shown = {key: value for key, value in line.items()
             if key not in ("part", "holds", "second")
             and value not in ("", None)}
    return f"{line['part']}: " + ", ".join(
        f"{key} {value}" for key, value in shown.items())


def figure_rows(lines, manifest):
    """Name, ways and share, the least of one row's first."""
    rows = []
    for line in figure_lines(lines):
        unit, share = value_of(line, lines, manifest)
        way = (f"PDL {'on' if line['pdl'] else 'off'}, "
               f"carve-out {line['carveout']}"
               + ("" if line["joined"] else ", a launch for each task"))
        order = (share if share and line["what"] == "one row" else 9,
                 line["model"], line["what"])
        rows.append((order, f"{line['model']}: {line['what']}, {way}",
                     f"{line['us']:.1f} us, host {line['hostGapUs']:.1f} us"
                     + (f", {share:.2f} {unit}" if share else "")))
    return [row[1:] for row in sorted(rows)]


def table_of(lines, manifest):
    """The end of a run, which whoever started it sees: what is wrong first, then
    figures, the worst first, and the parts; the counts last."""
    text = [f"WRONG {wrong_text(line)}" for line in lines
            if line.get("holds") is False]
    text += [f"{name:<66} {value}" for name, value
             in figure_rows(lines, manifest)]
    ends = [line for line in lines if "ended" in line]
    order = {"failed": 0, "not run": 1, "passed": 2}
    for line in sorted(ends, key=lambda line: order[line["ended"]]):
        took = f" {line['seconds']:.1f} s of {line['limit']:.0f}" \
            if "seconds" in line else ""
        why = f": {line['why']}" if "why" in line else ""
        text.append(f"{line['part']:<24} {line['ended']}{took}{why}")
    counts = {each: sum(line["ended"] == each for line in ends)
              for each in ("passed", "failed", "not run")}
    text.append(", ".join(f"{count} {each}" for each, count in counts.items()))
    return "\n".join(text)


def markdown_table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"


HEAD = """# On a GPU

Made by `utils/check-device --record`. Beside each figure stands whether it was
*measured*, and else that it is *predicted*: by the bytes that the present kernels
read, their launches, and the datasheets' rates. A share is of the rate of a copy
on the device, or of a large product of bf16 matrices, that was measured in the
same run.

"""


class Run:
    """The results of one stage: the lines of a file."""

    def __init__(self, lines):
        self.lines = lines
        self.start = first(lines, part="start") or {}
        self.manifest = self.start.get("build", {})

    def title(self):
        """When it was, on what, and of which commit."""
        device = first(self.lines, part="device") or {}
        return (f"stage {self.start.get('stage', '?')}, "
                f"{self.start.get('date', 'at an unknown time')}, "
                f"{device.get('name', 'no device')}, built from "
                f"{self.manifest.get('commit', 'an unknown commit')}")

    def part(self, name):
        return [line for line in self.lines if line["part"] == name]

    def has_passed(self, name):
        return first(self.part(name), ended="passed") is not None

    def best(self, model, what):
        """The line of the usual way to launch: all that the device can."""
        return first(figure_lines(self.lines), model=model, what=what,
                     pdl=True, carveout="max", joined=True)


def figures_text(runs):
    """Each figure of the last run that has it."""
    rows = []
    for (model, what), prediction in PREDICTIONS.items():
        shares = [share for run in runs if (line := run.best(model, what))
                  and (share := value_of(line, run.lines, run.manifest)[1])]
        value = f"{shares[-1]:.2f}" if shares else prediction
        rows.append((f"{model}, {what}", f"{value} {UNITS[what]}",
                     MEASURED if shares else PREDICTED, prediction))
    return markdown_table(("figure", "value", "", "predicted"), rows)


def ways_text(runs):
    """Of each model, what the last run that has it has measured."""
    of_models = {}
    for run in runs:
        found = figure_lines(run.lines)
        of_models |= {name: [line for line in found if line["model"] == name]
                      for name in {line["model"] for line in found}}
    rows = [(line["model"], line["what"], "on" if line["pdl"] else "off",
             line["carveout"], "on" if line["joined"] else "off",
             *(f"{line[key]:.1f}"
               for key in ("us", "minUs", "graphUs", "hostGapUs")))
            for name in sorted(of_models) for line in of_models[name]]
    if not rows:
        return ""
    return "\n## Ways to launch\n\n" + markdown_table(
        ("model", "step", "PDL", "carve-out", "joined", "us", "least us",
         "graph us", "host us"), rows)


def part_text(name, lines):
    """The results of a part, as a table of their fields."""
    end = next((line for line in lines if "ended" in line), None)
    shown = [line for line in lines if "ended" not in line]
    text = f"\n## {name[0].upper()}{name[1:]}\n\n"
    if end and end["ended"] != "passed":
        text += f"{end['ended'].capitalize()}: {end.get('why', '')}.\n\n"
    if not shown:
        return text
    names = list(dict.fromkeys(key for line in shown for key in line
                               if key not in ("part", "second", "model"))) + \
        (["model"] if any("model" in line for line in shown) else [])
    return text + markdown_table(names, [[line.get(name, "") for name in names]
                                         for line in shown])


def parts_text(runs):
    """Each part of the last run in which it passed; where it never did, of the
    last run that has it."""
    text = ""
    names = dict.fromkeys(line["part"] for run in runs for line in run.lines)
    for name in names:
        having = [run for run in runs if run.part(name)]
        chosen = ([run for run in having if run.has_passed(name)] or having)[-1]
        if name != "start" and not name.startswith("figures"):
            text += part_text(name, chosen.part(name))
    return text


def markdown(files):
    """docs/results/cuda.md of the lines of such files, in the order in which
    they were made; of none, the predictions alone."""
    runs = [Run(lines) for lines in files]
    text = HEAD
    if runs:
        text += "".join(f"- {run.title()}\n" for run in runs) + "\n"
    else:
        text += "**Nothing has been measured yet**: no GPU was at hand.\n\n"
    return text + "## Figures\n\n" + figures_text(runs) + ways_text(runs) + \
        parts_text(runs)
