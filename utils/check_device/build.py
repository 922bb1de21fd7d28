"""Builds what the machine with the GPU runs, and says what it is."""
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess

from . import programs

TARGETS = {"sluice-cuda-bench": "bin", "SluiceCudaTests": "unittests",
           "SluiceNcclTests": "unittests"}
MOST_BYTES = 64 << 20
# Of the C library alone: the machine has nothing of ours.
SYSTEM_LIBRARIES = re.compile(
    r"^(libc|libm|libpthread|libdl|librt|ld-linux-x86-64)\.so\.")
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DSLUICE_BUILD_COMPILER=OFF",
           "-DSLUICE_BUILD_CUDA=ON", "-DSLUICE_CUDA_ARCHITECTURES=90a",
           "-DSLUICE_CUDA_PTX=90",
           "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout


def needs(program):
    """The shared libraries that the program is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program))


def newest_glibc(program):
    """Of the versions that it wants, the newest."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)",
                          output("readelf", "-V", program))
    return ".".join(max(versions, key=lambda v: [int(n) for n in v]))


def describe(path):
    return {"file": path.name, "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "needs": needs(path), "glibc": newest_glibc(path)}


def describe_packed(path):
    """Executables are linked with the C library alone."""
    return {"file": path.name, "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "needs": []}


def commit(root):
    return output("git", "-C", root, "describe", "--always", "--dirty",
                  "--abbrev=12").strip()


def problems(files):
    """What keeps these files from being carried or from running there."""
    for each in files:
        other = [n for n in each["needs"] if not SYSTEM_LIBRARIES.match(n)]
        if other:
            yield f"{each['file']} needs {', '.join(other)}"
    total = sum(each["bytes"] for each in files)
    if total > MOST_BYTES:
        yield f"{total} bytes to carry, the limit is {MOST_BYTES}"


def make(root, folder):
    environment = dict(os.environ, CCACHE_BASEDIR=str(root),
                       CCACHE_NOHASHDIR="1")
    subprocess.run(["cmake", "-S", root, "-B", folder, "-G", "Ninja",
                    "-DCMAKE_C_COMPILER=clang-22",
                    "-DCMAKE_CXX_COMPILER=clang++-22", *OPTIONS],
                   check=True, stdout=subprocess.DEVNULL, env=environment)
    subprocess.run(["ninja", "-C", folder, "--quiet", "sluice_runtime",
                    *TARGETS], check=True, env=environment)


def models(folder, carry, compiler):
    """The executables; where there is no compiler the parts that run them say
    that none were carried."""
    if not compiler.is_file():
        print(f"check-device: no {compiler}: without the models' programs")
        return []
    archive = folder / "lib/libsluice_runtime.a"
    return [describe_packed(programs.compile_all(
        compiler, ["--cuda-arch", "sm_90a", "--runtime-archive", archive],
        carry))]


def build_emulated(root, carry, made, compiler):
    """What the parts that run models need, for the emulated GPU: to test this
    script. Nothing of it runs anywhere else."""
    shutil.rmtree(carry, ignore_errors=True)
    carry.mkdir(parents=True)
    shutil.copy(made / "bin/sluice-cuda-bench-emulated",
                carry / "sluice-cuda-bench")
    programs.compile_all(compiler, ["--cuda-arch", "emulator"], carry,
                         shape="tiny")
    (carry / "manifest.json").write_text(json.dumps(
        {"commit": commit(root), "chips": "the emulated GPU", "shape": "tiny",
         "bytes": 0, "files": []}))
    return 0


def build(root, carry, made, compiler):
    """`made`: the build folder to take the programs from; None: makes one."""
    folder = made or carry.parent / "build"
    if not made:
        make(root, folder)
    shutil.rmtree(carry, ignore_errors=True)
    carry.mkdir(parents=True)
    for name, where in TARGETS.items():
        subprocess.run(["strip", "-o", carry / name, folder / where / name],
                       check=True)
    files = [describe(carry / name) for name in TARGETS]
    files += models(folder, carry, compiler)
    wrong = list(problems(files))
    manifest = {"commit": commit(root), "chips": "sm_90a",
                "date": datetime.datetime.now(datetime.timezone.utc)
                .isoformat(timespec="seconds"),
                "nvcc": output("nvcc", "--version").splitlines()[-1]
                if shutil.which("nvcc") else "nvcc of the build",
                "bytes": sum(each["bytes"] for each in files), "files": files}
    (carry / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    for each in wrong:
        print(f"check-device: error: {each}")
    print(f"{manifest['bytes'] / 2**20:.1f} MiB in {carry}")
    return 1 if wrong else 0
