"""Section "same tokens": every way to run gives the same text."""
import concurrent.futures
import shutil

from bench_common.report import Target, table

from . import measure
from .measure import CLUSTERS, DEMO, PROMPTS

# An emulated cluster with short steps: without one, the demo's stages are so
# fast that the policy would send no guess.
EMULATED = ["--emulate", CLUSTERS / "gpu8-10g.yaml", "--emulate-target",
            "llama-8b"]
TRANSPORTS = {
    "inproc": lambda ranks: [],
    "Open MPI": lambda ranks: ["mpirun.openmpi", "--allow-run-as-root",
                               "--oversubscribe", "-n", ranks],
    "MPICH": lambda ranks: ["mpirun.mpich", "-n", ranks],
}
TEMPERATURES = {"0": [], "0.8": ["--temperature", "0.8", "--seed", "7"]}


def name_of(draft):
    return "demo pair" if draft == DEMO else f"oracle {draft:g}"


def cases(args):
    for stages in args.stages:
        for transport in TRANSPORTS:
            for temperature in TEMPERATURES:
                yield stages, transport, temperature, "off", DEMO
                for mode in ("sync", "async"):
                    for draft in args.drafts:
                        yield stages, transport, temperature, mode, draft


def command(bench, case):
    stages, transport, temperature, mode, draft = case
    ranks = TRANSPORTS[transport](stages + 1)
    if ranks and not shutil.which(ranks[0]):
        return None
    oracle = [] if draft == DEMO else ["--oracle-acceptance", draft]
    return [*ranks, bench.compile(stages), "generate", "--json",
            "--ignore-eos", "-p", PROMPTS[0], "-n", bench.args.same_tokens,
            "--speculate", mode, *oracle, *TEMPERATURES[temperature],
            *EMULATED]


def section(bench):
    plain = bench.compile(1, draft=False)
    truth = {name: measure.run_json(
        [plain, "generate", "--json", "--ignore-eos", "-p", PROMPTS[0], "-n",
         bench.args.same_tokens, *options])["tokens"]
        for name, options in TEMPERATURES.items()}
    wanted = [(case, command(bench, case)) for case in cases(bench.args)]
    missing = sorted({case[1] for case, what in wanted if what is None})
    wanted = [(case, what) for case, what in wanted if what]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda each: measure.run_json(each[1]),
                                wanted))
    runs, differ = {}, []
    for (case, _), result in zip(wanted, results):
        stages, transport, temperature, mode, draft = case
        if result["tokens"] != truth[temperature]:
            differ.append(", ".join(map(str, case)))
        row = runs.setdefault((mode, "" if mode == "off" else name_of(draft)),
                              {})
        cell = row.setdefault(transport, [0, 0, 0])
        cell[0] += result["tokens"] == truth[temperature]
        cell[1] += 1
        cell[2] += result["speculation"]["launched"]
    names = [name for name in TRANSPORTS if name not in missing]
    rows = [[mode, draft, *(f"{row[n][0]} of {row[n][1]}" for n in names),
             f"{sum(row[n][2] for n in names):,}"]
            for (mode, draft), row in runs.items()]
    text = f"""Each cell: runs whose {bench.args.same_tokens} tokens are those \
of the model as one program without stages and draft, over stages \
{', '.join(map(str, bench.args.stages))} and temperatures 0 and 0.8 (with a \
seed). Emulated with the steps of llama-8b on `gpu8-10g`, so that guesses are \
worth sending.

{table(['speculation', 'draft', *names, 'guesses sent'], rows)}"""
    for name in missing:
        text += f"\n{name} is not installed here: its runs are missing.\n"
    for each in differ:
        text += f"\nDifferent: {each}.\n"
    return text, [Target("same tokens", f"{len(results) - len(differ)} of "
                         f"{len(results)} runs", "all",
                         not differ and not missing)], {}
