"""The executables that parts run: shapes of models, with weights of a seed.

Each is compiled from a file of holes (utils/describe-model); the machine makes
its weights. They are carried in one archive: most of each is the same runtime.
"""
import dataclasses
import importlib.machinery
import importlib.util
import lzma
import pathlib
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load_describe():
    """utils/describe-model, whose name is no module's."""
    loader = importlib.machinery.SourceFileLoader(
        "describe_model", str(ROOT / "utils/describe-model"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


describe = load_describe()

ARCHIVE = "programs.tar.xz"
# How far back the packer looks for what it has seen: further than an executable
# is long, so that it finds the one before.
WINDOW = 64 << 20

# Elements and bytes of a block of types that no file has: a file of bf16 is
# quantised while it is loaded.
QUANTISED = {"e4m3": (128, 132)}


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    shape: str
    type: str
    options: tuple = ()  # of sluice-compile
    wanted: float = 0.0  # of the copy bandwidth, by one row a step; 0: not asked

    def options_at(self, shape):
        """For tests: checkpoints in a step that would need none."""
        if shape == self.shape or not self.options:
            return self.options
        return "--max-latency-us", "60"

    def step_bytes(self, shape):
        """Of weights, that a step must read: all but the table, of which it
        reads a row, where no product uses it as well."""
        total = 0
        for name, form, columns, rows in describe.tensors(shape, self.type):
            elements, size = QUANTISED.get(form) or describe.TYPES[form][1:]
            if name != "token_embd.weight" or describe.SHAPES[shape][-1]:
                total += columns // elements * size * rows
        return total

    def step_products(self, shape):
        """Multiplications of a row."""
        return sum(columns * rows for name, _, columns, rows
                   in describe.tensors(shape, self.type)
                   if rows > 1 and (name != "token_embd.weight"
                                    or describe.SHAPES[shape][-1]))


PROGRAMS = (
    Program("llama-1b-bf16", "llama-1b", "bf16", wanted=0.80),
    Program("llama-8b-bf16", "llama-8b", "bf16", wanted=0.88),
    Program("llama-8b-q4_0", "llama-8b", "q4_0", wanted=0.70),
    Program("llama-8b-q4_k", "llama-8b", "q4_k", wanted=0.70),
    Program("llama-8b-e4m3", "llama-8b", "e4m3", wanted=0.80),
    Program("llama-1b-f32", "llama-1b", "f32"),
    # Rows may leave it inside a step.
    Program("llama-8b-checkpoints", "llama-8b", "bf16",
            ("--cluster", ROOT / "utils/clusters/h200.yaml",
             "--max-latency-us", "100")),
)


def compile_one(program, shape, compiler, options, folder):
    """The executable, in `folder`."""
    model, made = folder / "model.gguf", folder / program.name
    quantises = program.type in QUANTISED
    describe.describe(shape, "bf16" if quantises else program.type, 16384, model)
    subprocess.run([compiler, "--target", "cpu,cuda", *options,
                    *program.options_at(shape),
                    *(["--quantize", program.type] if quantises else []),
                    model, "-o", made], check=True)
    subprocess.run(["strip", made], check=True)
    return made


def compile_all(compiler, options, carry, shape=None):
    """The archive of all executables. `shape`: of all of them, for tests, which
    carry them nowhere and pack them in a seventh of the time; None: their own."""
    archive = carry / ARCHIVE
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0 if shape else 6,
                "dict_size": WINDOW}]
    with tempfile.TemporaryDirectory() as folder, \
            lzma.open(archive, "wb", filters=filters) as packed, \
            tarfile.open(fileobj=packed, mode="w") as files:
        for each in PROGRAMS:
            files.add(compile_one(each, shape or each.shape, compiler, options,
                                  pathlib.Path(folder)), arcname=each.name)
    return archive


def unpack(archive, folder):
    """All executables of an archive, by their names."""
    with tarfile.open(archive) as files:
        files.extractall(folder)
