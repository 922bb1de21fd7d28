"""The models whose programs are carried: shapes, with weights of a seed.

Each is compiled from a file of holes (utils/describe-model); the machine makes
its weights. All of them are linked into one program.
"""
import dataclasses
import importlib.machinery
import importlib.util
import pathlib

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
    # Also compiled for the emulator, which the device is compared with.
    emulated: bool = False

    @property
    def prefix(self):
        """What its symbols begin with."""
        return self.name.replace("-", "_").replace(".", "_")

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
            if name != "token_embd.weight" or describe.SHAPES[shape].tied:
                total += columns // elements * size * rows
        return total

    def step_products(self, shape):
        """Multiplications of a row."""
        return sum(columns * rows for name, _, columns, rows
                   in describe.tensors(shape, self.type)
                   if rows > 1 and (name != "token_embd.weight"
                                    or describe.SHAPES[shape].tied))


PROGRAMS = (
    Program("tiny-bf16", "tiny", "bf16", emulated=True),
    Program("tiny-q4_k", "tiny", "q4_k", emulated=True),
    # One layer of Llama 1B, and a small vocabulary.
    Program("layer-1b-bf16", "llama-1b-layer", "bf16", emulated=True),
    Program("llama-1b-bf16", "llama-1b", "bf16"),
    Program("llama-8b-bf16", "llama-8b", "bf16"),
    Program("llama-8b-q4_0", "llama-8b", "q4_0"),
    Program("llama-8b-q4_k", "llama-8b", "q4_k"),
    Program("llama-8b-e4m3", "llama-8b", "e4m3"),
    Program("llama-1b-f32", "llama-1b", "f32"),
    # Rows may leave it inside a step.
    Program("llama-8b-checkpoints", "llama-8b", "bf16",
            ("--cluster", ROOT / "utils/clusters/h200.yaml",
             "--max-latency-us", "100")),
)


def known(name):
    return next(each for each in PROGRAMS if each.name == name)
