"""What travels to the machine with the GPU: the working tree and what is
carried. The test models stay behind, by a sparse checkout."""
import os
import pathlib
import subprocess

# Of tree and carried files together; the machine takes 64 MiB.
MOST_BYTES = 50 << 20
LEFT_BEHIND = "test/models"


class Refused(Exception):
    """The text is one line."""


def git(root, *arguments):
    done = subprocess.run(["git", "-C", str(root), *arguments],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def leave_models(root):
    """The checkout without test/models. Refused where anything in there is not
    committed: it would be lost, or travel all the same."""
    changed = git(root, "status", "--porcelain", "--", LEFT_BEHIND).strip()
    if changed:
        raise Refused(f"{LEFT_BEHIND} has changes that are not committed: "
                      f"{changed.splitlines()[0].split(maxsplit=1)[-1]}")
    git(root, "sparse-checkout", "set", "--no-cone", "/*",
        f"!/{LEFT_BEHIND}/")


def bring_models(root):
    git(root, "sparse-checkout", "disable")


def tree_bytes(root):
    """Of the files that a copy of the working tree has: tracked ones that are
    there, and others that git does not ignore."""
    listed = git(root, "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard").split("\0")
    return sum(os.lstat(pathlib.Path(root) / name).st_size for name in listed
               if name and os.path.lexists(pathlib.Path(root) / name))


def tracked_bytes(root, left_behind=LEFT_BEHIND):
    """Of a clean clone of what is committed, without what stays behind."""
    total = 0
    for line in git(root, "ls-tree", "-r", "-l", "-z", "HEAD").split("\0"):
        if line:
            facts, name = line.split("\t")
            if not name.startswith(left_behind + "/"):
                total += int(facts.split()[3])
    return total


def carried_bytes(folder):
    return sum(each.stat().st_size for each in pathlib.Path(folder).rglob("*")
               if each.is_file())
