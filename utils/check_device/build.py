"""Builds the one program that the machine with the GPU runs, and says what it
is: the models' programs, the tests of all kernels, and what measures both."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from . import programs, travel
from .machine import now

NAME = "sluice-device-check"
# Of the C library alone: the machine has nothing of ours.
SYSTEM_LIBRARIES = re.compile(
    r"^(libc|libm|libpthread|libdl|librt|ld-linux-x86-64)\.so\.")
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DSLUICE_BUILD_COMPILER=OFF",
           "-DSLUICE_BUILD_CUDA=ON", "-DSLUICE_CUDA_ARCHITECTURES=90a",
           "-DSLUICE_CUDA_PTX=90"]
COMPILER = "clang++-22"
# What CPU code of models is for, as any machine with such a GPU has it; and what
# /proc/cpuinfo calls what it uses.
CPU, CPU_FLAGS = "x86-64-v3", ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
LIBRARIES = ["-lgtest", "-lgmock", "-l:libpcre2-8.a", "-l:libutf8proc.a",
             "-l:libyaml-cpp.a", "-l:libssl.a", "-l:libcrypto.a",
             "-lpthread", "-ldl", "-lm"]
TABLE = """#include "runtime/devicecheck/LinkedModels.h"

{declarations}
std::span<const sluice::devicecheck::LinkedModel>
sluice::devicecheck::linkedModels() {{
  static const LinkedModel models[] = {{
{models}  }};
  return models;
}}
"""


def output(*command):
    return subprocess.run([str(word) for word in command], check=True,
                          capture_output=True, text=True).stdout


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def needs(program):
    """The shared libraries that the program is linked with."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", program))


def newest_glibc(program):
    """Of the versions that it wants, the newest."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)",
                          output("readelf", "-V", program))
    return ".".join(max(versions, key=lambda v: [int(n) for n in v]))


def commit(root):
    return output("git", "-C", root, "describe", "--always", "--dirty",
                  "--abbrev=12").strip()


def make(root, folder, targets):
    environment = dict(os.environ, CCACHE_BASEDIR=str(root),
                       CCACHE_NOHASHDIR="1")
    run("cmake", "-S", root, "-B", folder, "-G", "Ninja",
        "-DCMAKE_C_COMPILER=clang-22", f"-DCMAKE_CXX_COMPILER={COMPILER}",
        *OPTIONS, stdout=subprocess.DEVNULL, env=environment)
    run("ninja", "-C", folder, "--quiet", *targets, env=environment)


def compile_object(program, shape, compiler, arch, targets, prefix, folder):
    """The model's object, whose symbols begin with the prefix."""
    model, made = folder / "model.gguf", folder / f"{prefix}.o"
    quantises = program.type in programs.QUANTISED
    programs.describe.describe(shape, "bf16" if quantises else program.type,
                               16384, model)
    run(compiler, "--compile-to=object", "--target", targets,
        "--cuda-arch", arch, "--cpu", CPU,
        *program.options_at(shape),
        *(["--quantize", program.type] if quantises else []),
        model, "-o", made)
    defined = [line.split()[-1] for line in
               output("nm", "--defined-only", "--extern-only",
                      made).splitlines()]
    renames = folder / "renames"
    renames.write_text("".join(f"{name} {prefix}_{name}\n" for name in defined))
    run("objcopy", f"--redefine-syms={renames}", made)
    return made


def compile_models(compiler, arch, shape, folder):
    """Objects of all models, and the source of their table."""
    objects, declarations, models = [], "", ""
    for program in programs.PROGRAMS:
        # What the emulator compares is small enough for it.
        shape_here = program.shape if program.emulated \
            else shape or program.shape
        objects.append(compile_object(program, shape_here, compiler, arch,
                                      "cpu,cuda", program.prefix, folder))
        declarations += f"SLUICE_DECLARE_MODEL({program.prefix})\n"
        emulated = "{}"
        if program.emulated:
            prefix = program.prefix + "_emulated"
            objects.append(compile_object(program, shape_here, compiler,
                                          "emulator", "cuda", prefix, folder))
            declarations += f"SLUICE_DECLARE_MODEL({prefix})\n"
            emulated = f"SLUICE_LINKED_IMAGE({prefix})"
        models += (f'      {{"{program.name}", '
                   f"SLUICE_LINKED_IMAGE({program.prefix}), {emulated}}},\n")
    table = folder / "models.cpp"
    table.write_text(TABLE.format(declarations=declarations, models=models))
    return objects, table


def link(root, build, runtime, objects, table, made):
    """`runtime`: archives that have the driver and all below."""
    tests = build / "lib/libsluice_device_tests.a"
    run(COMPILER, "-std=c++20", "-O1", f"-I{root}", "-Wall", "-Werror", table,
        *objects, "-Wl,--whole-archive", tests, "-Wl,--no-whole-archive",
        build / "lib/libsluice_device_check.a", *runtime, *LIBRARIES,
        "-fuse-ld=lld", "-static-libstdc++", "-static-libgcc",
        "-Wl,--gc-sections", "-o", made)
    run("strip", made)


def describe(path):
    return {"file": path.name, "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "needs": needs(path), "glibc": newest_glibc(path)}


def problems(root, carry, described):
    """What keeps this from travelling, or from running there."""
    other = [n for n in described["needs"] if not SYSTEM_LIBRARIES.match(n)]
    if other:
        yield f"{described['file']} needs {', '.join(other)}"
    total = travel.tracked_bytes(root) + travel.carried_bytes(carry)
    if total > travel.MOST_BYTES:
        yield (f"{total / 2**20:.1f} MiB would travel, the limit is "
               f"{travel.MOST_BYTES / 2**20:.0f}")


def build(root, carry, made, compiler, shape):
    """`made`: the build folder to take libraries from; None: makes one.
    `shape`: the large models have it instead of their own, and all are for the
    emulated GPU, to test this script; nothing of that runs anywhere else. None:
    for a GPU."""
    start = time.monotonic()
    folder = made or carry.parent / "build"
    if not made:
        make(root, folder, ("sluice_runtime", "sluice_device_check",
                            "sluice_device_tests", "SluiceCudaEmulator"))
    shutil.rmtree(carry, ignore_errors=True)
    carry.mkdir(parents=True)
    library = folder / "lib"
    runtime = [library / "libsluice_runtime_emulated.a"] if shape else \
        [library / "libSluiceCudaEmulator.a", library / "libsluice_runtime.a"]
    with tempfile.TemporaryDirectory() as scratch:
        objects, table = compile_models(
            compiler, "emulator" if shape else "sm_90a", shape,
            pathlib.Path(scratch))
        link(root, folder, runtime, objects, table, carry / NAME)
    described = describe(carry / NAME)
    manifest = {"commit": commit(root), "date": now(),
                "chips": "the emulated GPU" if shape else "sm_90a",
                "emulated": [each.name for each in programs.PROGRAMS
                             if each.emulated],
                "flags": CPU_FLAGS,
                **({"shape": shape} if shape else {}), **described}
    (carry / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    wrong = [] if shape else list(problems(root, carry, described))
    for each in wrong:
        print(f"check-device: error: {each}")
    print(f"{travel.carried_bytes(carry) / 2**20:.1f} MiB in {carry}, beside "
          f"{travel.tracked_bytes(root) / 2**20:.1f} MiB of the tree; built in "
          f"{time.monotonic() - start:.0f} s")
    return 1 if wrong else 0
