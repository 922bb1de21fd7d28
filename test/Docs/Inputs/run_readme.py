#!/usr/bin/env python3
"""Runs the README's example as it would be pasted.

  run_readme.py CHECKOUT FOLDER

Takes the ```sh block after the comment "Run by test/Docs/readme.test", checks
that utils/try builds the tools in it and makes the models, and runs it in FOLDER,
where build/bin is the folder of the sluice-opt in PATH, build/models the one
beside that, and utils is the checkout's. Then looks for the lines of the README's
```mlir block in the build/demo.mlir that the commands wrote. Exits with 1 if
something fails.
"""
import pathlib
import re
import shutil
import subprocess
import sys


def main():
    checkout, folder = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    text = (checkout / "README.md").read_text()
    match = re.search(
        r"Run by test/Docs/readme\.test.*?```sh\n(.*?)```", text, re.S)
    if not match:
        sys.exit("README.md has no example that says it is run")
    built = re.search(r"^build build (.*?)[^\\]$",
                      (checkout / "utils/try").read_text(), re.M | re.S)
    wanted = re.findall(r"build/bin/(\S+)", match.group(1))
    wanted += ["models-" + name
               for name in re.findall(r"build/models/(\w+)", match.group(1))]
    for target in wanted:
        if target not in built.group(0).split():
            sys.exit(f"utils/try does not build {target}")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    tools = pathlib.Path(shutil.which("sluice-opt")).parent
    (folder / "build/bin").symlink_to(tools)
    (folder / "build/models").symlink_to(tools.parent / "models")
    (folder / "utils").symlink_to(checkout / "utils")
    commands = ["bash", "-euxo", "pipefail", "-c", match.group(1)]
    if subprocess.run(commands, cwd=folder, check=False).returncode:
        return 1
    module = (folder / "build/demo.mlir").read_text().splitlines()
    written = {line.strip() for line in module}
    shown = re.search(r"```mlir\n(.*?)```", text, re.S).group(1).splitlines()
    missing = [line for line in shown if line not in written]
    print("\n".join(f"not in demo.mlir: {line}" for line in missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
