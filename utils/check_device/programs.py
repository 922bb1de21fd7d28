"""The executables that parts run: shapes of models, with weights of a seed.

Each is compiled from a file of holes (utils/describe-model) and carried as .xz;
the machine makes its weights.
"""
import dataclasses
import importlib.machinery
import importlib.util
import lzma
import pathlib
import subprocess
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


def compile_one(program, shape, compiler, options, carry, effort):
    """`effort`: xz's preset."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, program.name + ".gguf")
        made = pathlib.Path(folder, program.name)
        quantises = program.type in QUANTISED
        describe.describe(shape, "bf16" if quantises else program.type, 16384,
                          model)
        subprocess.run([compiler, "--target", "cpu,cuda", *options,
                        *program.options_at(shape),
                        *(["--quantize", program.type] if quantises else []),
                        model, "-o", made], check=True)
        subprocess.run(["strip", made], check=True)
        packed = carry / "programs" / (program.name + ".xz")
        packed.write_bytes(lzma.compress(made.read_bytes(), preset=effort))
        return packed


def compile_all(compiler, options, carry, shape=None):
    """`shape`: of all of them, for tests, which carry them nowhere and pack them
    in a seventh of the time; None: their own."""
    (carry / "programs").mkdir()
    return [compile_one(each, shape or each.shape, compiler, options, carry,
                        effort=0 if shape else 6)
            for each in PROGRAMS]
