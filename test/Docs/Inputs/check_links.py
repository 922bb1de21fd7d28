#!/usr/bin/env python3
"""Checks the relative links of README.md, CONTRIBUTING.md and docs/.

  check_links.py CHECKOUT

Prints each link whose file or heading does not exist; exits with 1 if any.
"""
import pathlib
import re
import sys


def anchors(text):
    """The fragments that headings can be linked with, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in headings}


def check(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md",
             *sorted((root / "docs").rglob("*.md"))]
    for page in pages:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, fragment = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists():
                yield f"{page.relative_to(root)}: {link}: no such file"
            elif fragment and fragment not in anchors(target.read_text()):
                yield f"{page.relative_to(root)}: {link}: no such heading"


def main():
    errors = list(check(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
