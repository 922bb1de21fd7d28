"""Puts a program into a folder under several names: FILE FOLDER NAME..."""
import pathlib
import sys

source, folder, *names = sys.argv[1:]
for name in names:
    path = pathlib.Path(folder, name)
    path.write_text(pathlib.Path(source).read_text().replace(
        "/usr/bin/env python3", sys.executable, 1))
    path.chmod(0o755)
