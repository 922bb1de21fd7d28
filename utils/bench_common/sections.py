"""A report of sections, each of which can be measured anew by itself."""
import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

from .report import table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "docs/results"


def say(text):
    print(text, file=sys.stderr, flush=True)


def machine():
    """The processor, its family and model, since names are of many, and its
    cores."""
    # Of the first core, behind which stands an empty line.
    core = open("/proc/cpuinfo").read().split("\n\n")[0]
    said = {key.strip(): value.strip() for key, _, value in
            (line.partition(":") for line in core.splitlines())}
    name = said.get("model name", platform.machine())
    if "cpu family" in said:
        name += f" (family {said['cpu family']}, model {said['model']})"
    return f"{name}, {os.cpu_count()} cores"


def source():
    """Which commit is measured; empty where the sources are in no repository."""
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], check=True,
                              capture_output=True, text=True).stdout.strip()
    try:
        commit = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--", ".", ":!docs/results")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f", of {commit}" + (" with changes" if changed else "")


def option_parser(program, doc, sections):
    """The options that all such benchmarks have."""
    parser = argparse.ArgumentParser(
        prog=program, description=doc.splitlines()[0],
        epilog="sections: " + ", ".join(sections))
    parser.add_argument("--quick", action="store_true",
                        help="few repeats, to see that it works")
    parser.add_argument("--only", nargs="+", choices=sections, default=[],
                        metavar="SECTION")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/bin",
                        metavar="FOLDER", help="where Sluice's programs are")
    parser.add_argument("--llama-bin", type=pathlib.Path, metavar="FOLDER",
                        help="where llama.cpp's programs are")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER",
                        default=ROOT / "build/bench",
                        help="for models, made once")
    parser.add_argument("--record", action="store_true",
                        help="write docs/results; not with --quick")
    return parser


def parse(parser):
    """The options. What is recorded is measured in full."""
    args = parser.parse_args()
    if args.record and args.quick:
        parser.error("--record is for whole measurements, --quick for none")
    # Where a program lies is a path, not a name to look for.
    for name in ("tools", "llama_bin", "work"):
        if folder := getattr(args, name):
            setattr(args, name, folder.resolve())
    args.say = say
    args.narrowed = ""  # the program's own options that leave something out
    return args


def _measure(program, name, titled, args, kind):
    """A section's text between its marks, its pictures, and whether all of its
    targets were met."""
    title, section = titled
    title += f", {kind}" if kind else ""
    say(title)
    began, load, measured = time.monotonic(), os.getloadavg()[0], source()
    text, targets, pictures = section(args)
    took = time.monotonic() - began
    command = (program + (" --quick" if args.quick else "") + f" --only {name}"
               + args.narrowed + (" --record" if args.record else ""))
    wanted = table(["what", "measured", "wanted", "met", "note"],
                   [t.row for t in targets]) if targets else ""
    mark = _mark(name, kind)
    text = f"""<!-- {mark}: from here -->
## {title}

`{command}`{measured}, {datetime.date.today()}, {took:.0f} s; \
{machine()}, load at the start {load:.1f}.

{wanted}
{text}
<!-- {mark}: to here -->
"""
    return text, pictures, all(t.met for t in targets)


def _mark(name, kind):
    return f"{name}-{kind}" if kind else name


def _merge(report, mark, text):
    """The report with the section in its place, or behind the others."""
    marks = re.compile(rf"<!-- {mark}: from here -->.*<!-- {mark}: to here -->\n",
                       re.DOTALL)
    if marks.search(report):
        return marks.sub(lambda _: text, report)
    return report + "\n" + text


def run_sections(program, sections, args, file, head, kind=None):
    """Measures sections ({name: (title, function of args)}) and puts them into
    `file` of docs/results, or of build/ without --record, leaving those that
    were not measured as they are, and those of machines of another `kind`. The
    exit status: 1 if a target was missed."""
    folder = RESULTS if args.record else ROOT / "build" / pathlib.Path(
        program).name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    report = path.read_text() if path.exists() else head
    met = True
    for name in args.only or sections:
        text, pictures, good = _measure(program, name, sections[name], args,
                                        kind)
        print(text)
        report = _merge(report, _mark(name, kind), text)
        met &= good
        for picture, content in pictures.items():
            (folder / picture).write_text(content)
        path.write_text(report)  # what was measured is kept if a later one fails
    say(f"written to {path}")
    return 0 if met else 1
