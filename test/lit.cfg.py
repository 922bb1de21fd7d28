"""How lit runs the tests in this folder; lit.site.cfg.py says where things are."""

import os
import shlex
import shutil
import subprocess
import sys

import lit.formats

config.name = "Sluice"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "models", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.sluice_binary_dir, "test")

# Our tools and FileCheck, not, count come from these two, whatever else is
# installed.
config.environment["PATH"] = os.path.pathsep.join(
    [config.sluice_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

check_reference = os.path.join(
    config.test_source_root, "EndToEnd", "check_reference.py"
)
config.substitutions += [
    ("%python", shlex.quote(sys.executable)),
    ("%check_reference", shlex.join([sys.executable, check_reference])),
    ("%build_dir", config.sluice_binary_dir),
    ("%check_device", shlex.join([sys.executable, os.path.join(
        os.path.dirname(config.test_source_root), "utils", "check-device")])),
    ("%sluice_tools", config.sluice_tools_dir),
    ("%models", os.path.join(config.sluice_binary_dir, "models")),
    ("%runtime_archive", config.sluice_runtime_archive),
]


def cpu_features():
    """The ISA levels of emitted programs that this CPU can run."""
    try:
        with open("/proc/cpuinfo", encoding="ascii") as cpuinfo:
            flags = next(
                (set(l.split()) for l in cpuinfo if l.startswith("flags")), set()
            )
    except OSError:
        return
    if {"avx2", "fma", "f16c", "bmi2"} <= flags:
        yield "cpu-avx2"
        if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
            yield "cpu-avx512"
            if "avx512_vnni" in flags:
                yield "cpu-avx512vnni"


config.available_features.update(cpu_features())
for mpi, (mpirun, header) in config.sluice_mpi.items():
    config.substitutions.append((f"%mpirun_{mpi}", shlex.quote(mpirun)))
    if os.access(mpirun, os.X_OK) and os.path.exists(header):
        config.available_features.add(f"mpirun-{mpi}")
# The clients that servers are tested with. utils/check installs them; the package
# of OpenAI comes from PyPI, where that can be reached.
openai_python = os.path.join(
    config.sluice_binary_dir, "openai-client", "bin", "python"
)
config.substitutions.append(("%openai_python", shlex.quote(openai_python)))
if os.access(openai_python, os.X_OK):
    config.available_features.add("openai-package")
if shutil.which("curl"):
    config.available_features.add("curl")
if any(map(shutil.which, ("chromium-headless-shell", "chromium",
                          "chromium-browser", "google-chrome"))):
    config.available_features.add("chromium")
# ptxas, of PATH or of where toolkits lie: without one generated kernels are not
# assembled. lit counts those tests as unsupported.
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    toolkit = os.path.dirname(os.path.dirname(ptxas))
    config.substitutions.append(("%cuda_toolkit", shlex.quote(toolkit)))
    # CUDA 13.0's chips, by the last of them.
    options = subprocess.run([ptxas, "--help"], capture_output=True, text=True)
    if "'sm_121a'" in options.stdout:
        config.available_features.add("ptxas-13")
# A copy of the sources without git does not say what of them is tracked.
if shutil.which("git") and subprocess.run(
        ["git", "-C", config.test_source_root, "ls-files", "--error-unmatch",
         "lit.cfg.py"], capture_output=True).returncode == 0:
    config.available_features.add("git-checkout")
# Tests that mount file systems do so where nobody else sees them.
for words in (["unshare", "--mount"],
              ["unshare", "--user", "--map-root-user", "--mount"]):
    if shutil.which("unshare") and subprocess.run(
            [*words, "mount", "-t", "tmpfs", "none", "/mnt"],
            capture_output=True).returncode == 0:
        config.available_features.add("mount-namespace")
        config.substitutions.append(("%in_mount_namespace", shlex.join(words)))
        break
if config.sluice_sanitizer:
    config.available_features.add("sanitizer")
