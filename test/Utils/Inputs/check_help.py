"""check_help.py TOOL...: each tool's --help keeps to 80 columns and calls values by
names of their own, not by the types that its parser has for them."""
import re
import subprocess
import sys

PARSERS_TYPES = re.compile(
    r"\b(?:INT|UINT|FLOAT|TEXT|REQUIRED)\b|:\{|\[Option|\b(?:Needs|Excludes|Env):|"
    r"<(?:u?int|u?long|number|string)>")

bad = False
for tool in sys.argv[1:]:
    shown = subprocess.run([tool, "--help"], check=True, capture_output=True,
                           text=True).stdout
    for line in shown.splitlines():
        if len(line) > 80 or PARSERS_TYPES.search(line):
            print(f"{tool}: {line}")
            bad = True
sys.exit(bad)
