"""Sections on speed: settings are swept in the simulator, the best confirmed
in emulation, and then measured."""
import statistics

from bench_common import report
from bench_common.report import Target, percent, table

from .measure import DEMO, Point
from .planning import CHEAP_ROWS, Planning, hit_rate, ideal_gain

CHAINS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
TREES = [(depth, width) for width in (2, 3, 4, 8, 16)
         for depth in (1, 2, 3, 4, 6, 8, 12)]
WIDTHS = (1, 2, 4, 8)
FINALISTS = 3  # of the demo pair's settings, over as many prompts
AT_LEAST = 0.95  # of a bound, where a target is above it


def off(cluster, draft):
    # Every plain run is the same; the demo's prompts are of other lengths.
    return Point(cluster, draft if draft == DEMO else 0, "off", 1, 1)


def asynchronous(cluster, draft, *flags):
    return Point(cluster, draft, "async", flags=flags)


def kinds(cluster, draft):
    """Settings to try: {kind: points}."""
    chains = [Point(cluster, draft, "sync", d, 1) for d in CHAINS]
    trees = [Point(cluster, draft, "sync", d, w) for d, w in TREES]
    # Where rows are fused again in a mailbox, or one by one all the way.
    split = [Point(cluster, draft, "sync", p.depth, p.width, True, flags)
             for p in chains + trees for flags in ((), ("--no-fuse",))]
    wide = [Point(cluster, draft, "async", 32, w) for w in WIDTHS]
    return {"chain": chains, "tree": trees, "split": split, "async": wide}


def best_settings(bench, cluster, drafts):
    """{(draft, kind): point}: the simulator's best, and for the demo pair, which
    it has no model of, the best of its first few by some emulated runs."""
    best, finalists = {}, []
    for draft in drafts:
        for kind, points in kinds(cluster, draft).items():
            simulated = bench.simulate(points)
            ranked = sorted(points, key=lambda p: -simulated[p].speed())
            best[draft, kind] = ranked[0]
            if draft == DEMO and kind != "async" and not bench.args.quick:
                finalists.append((kind, ranked[:FINALISTS]))
    bench.measure([p for _, each in finalists for p in each], FINALISTS)
    for kind, each in finalists:
        best[DEMO, kind] = max(each, key=lambda p: bench.of(
            p, FINALISTS).speed())
    return best


class Speeds:
    """All that is measured on a cluster."""

    def __init__(self, bench, cluster, drafts):
        self.bench, self.cluster, self.drafts = bench, cluster, drafts
        self.planning = Planning(bench.hardware(cluster))
        self.best = best_settings(bench, cluster, drafts)
        points = [asynchronous(cluster, d) for d in drafts]
        points += [off(cluster, d) for d in drafts] + list(self.best.values())
        bench.measure(points)

    def speed(self, draft, kind):
        if kind == "off":
            point = off(self.cluster, draft)
        elif kind == "default":
            point = asynchronous(self.cluster, draft)
        else:
            point = self.best[draft, kind]
        return self.bench.of(point).speed()

    def bound(self, draft):
        """Tokens/s that no schedule of guesses exceeds by much: the planning
        model's, or where rows are cheap what an ideal schedule of trees
        gives."""
        plan = self.planning
        if draft == DEMO:
            return None
        if plan.c >= CHEAP_ROWS:
            return plan.single(draft)
        return plan.plain() * ideal_gain(draft, 8, plan.stages, 8)

    def oracles(self):
        return [d for d in self.drafts if d != DEMO]

    def synchronous(self, draft):
        return max(self.speed(draft, "chain"), self.speed(draft, "tree"))

    def rows(self):
        for d in self.drafts:
            a = self.speed(d, "default")
            runs = self.bench.of(asynchronous(self.cluster, d))
            cells = [f"{d:g}" if d != DEMO else "demo pair",
                     f"{self.speed(d, 'off'):.2f}"]
            for kind in ("chain", "tree", "split"):
                point = self.best[d, kind]
                cells.append(f"{self.speed(d, kind):.2f} "
                             f"({point.settings()})")
            widest = self.best[d, "async"]
            cells += [f"**{a:.2f}**",
                      f"{self.speed(d, 'async'):.2f} ({widest.width})",
                      percent(runs.acceptance(), 0)]
            yield cells

    def ratios(self):
        for d in self.drafts:
            a = self.speed(d, "default")
            cells = [f"{d:g}" if d != DEMO else "demo pair",
                     *(f"{a / self.speed(d, kind):.2f}"
                       for kind in ("chain", "tree", "split", "off"))]
            if d == DEMO:
                yield cells + [""] * 4
                continue
            plan = self.planning
            yield cells + [f"{plan.single(d):.2f}", f"{plan.batched(d):.2f}",
                           f"{plan.chain(d):.2f}",
                           percent(a / self.bound(d), 0)]

    def picture(self):
        xs = self.oracles()
        series = {"plain": [self.speed(d, "off") for d in xs],
                  "sync, chain": [self.speed(d, "chain") for d in xs],
                  "sync, tree": [self.speed(d, "tree") for d in xs],
                  "sync, single rows": [self.speed(d, "split") for d in xs],
                  "async": [self.speed(d, "default") for d in xs],
                  "bound": [self.bound(d) for d in xs]}
        return report.lines(f"{self.cluster}: llama-70b, tinyllama-1.1b",
                            "oracle's acceptance", "tokens/s", xs, series)


HEAD = ["acceptance", "plain", "sync, chain", "sync, tree",
        "sync, single rows", "async", "async, best width",
        "accepted of sent"]
RATIO_HEAD = ["acceptance", "x chain", "x tree", "x single rows", "x plain",
              "plan: one guess a step", "plan: micro-batches",
              "plan: sync chain", "async, of its bound"]


def tables(speeds):
    plan = speeds.planning
    name = f"pipeline-{speeds.cluster}.svg"
    text = f"""Tokens/s:

{table(HEAD, speeds.rows())}
![Tokens/s over the oracle's acceptance]({name})

Asynchronous against the others, and what the planning model gives (delta = \
{1e3 * plan.delta:.2f} ms, tau = {1e3 * plan.tau:.2f} ms (links included), \
c = {plan.c:.3f}):

{table(RATIO_HEAD, speeds.ratios())}"""
    return text, {name: speeds.picture()}


def gains(speeds):
    """Asynchronous over the best synchronous one, by acceptance from 0.3."""
    return {d: speeds.speed(d, "default") / speeds.synchronous(d)
            for d in speeds.drafts if d == DEMO or d >= 0.3}


def reaches(value, wanted, bound):
    """A target, or what is left of it below a bound."""
    return value >= min(wanted, AT_LEAST * bound)


def gain_targets(speeds):
    name, plan = speeds.cluster, speeds.planning
    gain = gains(speeds)
    best = max(gain, key=gain.get)
    bounds = {d: speeds.bound(d) / speeds.synchronous(d) for d in gain
              if d != DEMO}
    most = max(bounds.values())
    yield Target(f"{name}: async over the best sync (batch), best point",
                 f"{gain[best]:.2f} at {best}", "2.15",
                 reaches(gain[best], 2.15, most), f"bound: {most:.2f}")
    mean = statistics.mean(gain[d] for d in bounds)
    bound = statistics.mean(bounds.values())
    yield Target(f"{name}: the same, mean over oracles from 0.3 up",
                 f"{mean:.2f}", "1.3", reaches(mean, 1.3, bound),
                 f"bound: {bound:.2f}")
    tree = {d: speeds.speed(d, "default") / speeds.speed(d, "tree")
            for d in gain}
    best = max(tree, key=tree.get)
    most = max(speeds.bound(d) / speeds.speed(d, "tree") for d in bounds)
    yield Target(f"{name}: async over sync trees, best point (goal)",
                 f"{tree[best]:.2f} at {best}", "2.4",
                 reaches(tree[best], 2.4, most), f"bound: {most:.2f}")


def plain_targets(speeds):
    name, plan = speeds.cluster, speeds.planning
    for d in speeds.oracles():
        if d < 0.93:
            continue
        ratio = speeds.speed(d, "default") / speeds.speed(d, "off")
        bound = speeds.bound(d) / plan.plain()
        yield Target(f"{name}: async over plain, hit rate {d:g}",
                     f"{ratio:.2f}", "5.6", reaches(ratio, 5.6, bound),
                     f"bound: {bound:.2f}")
    for d in (0.64, DEMO):
        if d not in speeds.drafts:
            continue
        hits = (speeds.bench.hit_rates() if d == DEMO else
                {width: hit_rate(d, width) for width in (1, 8)})
        ratio = speeds.speed(d, "async") / speeds.speed(d, "off")
        # A tree that holds the top 8 at each of its levels has 8, 64, 512
        # rows in them. A step takes 8 where rows are cheap, or a chain's.
        bound, of = plan.single(hits[1]) / plan.plain(), "of a chain"
        if plan.c < CHEAP_ROWS:
            bound = ideal_gain(hits[1], 8, plan.stages, 8)
            of = "of an oracle's tree, 8 rows a step"
        yield Target(
            f"{name}: async over plain, "
            f"{'demo pair' if d == DEMO else f'oracle {d:g}'} (top 1 right at "
            f"{hits[1]:.2f}, top 8 at {hits[8]:.2f})", f"{ratio:.2f}", "5.6",
            reaches(ratio, 5.6, bound), f"bound {of}: {bound:.2f}")


def speeds_of(bench, cluster):
    key = ("speeds", cluster)
    if key not in bench.memo:
        drafts = list(bench.args.acceptances) + [DEMO]
        bench.memo[key] = Speeds(bench, cluster, drafts)
    return bench.memo[key]


def section(bench, cluster):
    speeds = speeds_of(bench, cluster)
    text, pictures = tables(speeds)
    return text, [*gain_targets(speeds), *plain_targets(speeds)], pictures


def never_slower(bench):
    rows, targets = [], []
    for cluster in bench.args.clusters:
        plain, guessing = off(cluster, 0), asynchronous(cluster, 0)
        measured = bench.measure([plain, guessing])
        ratio = measured[guessing].speed() / measured[plain].speed()
        unsure = asynchronous(cluster, 0, "--confidence", "uninformative")
        simulated = bench.simulate([plain, guessing, unsure])
        plain_sim = simulated[plain].speed()
        rows.append([cluster, f"{measured[plain].speed():.3f}",
                     f"{measured[guessing].speed():.3f}", f"**{ratio:.3f}**",
                     f"{simulated[guessing].speed() / plain_sim:.3f}",
                     f"{simulated[unsure].speed() / plain_sim:.3f}", "0.98"])
        targets.append(Target(f"{cluster}: async over plain, acceptance 0",
                              f"{ratio:.3f}", "0.98", ratio >= 0.98))
    head = ["cluster", "plain", "async", "ratio", "ratio, simulated",
            "the same, a draft that says 0.5 of each wrong guess",
            "at least"]
    return f"""At acceptance 0, tokens/s. The oracle's confidence is then 0; \
a draft that is sure of its wrong guesses is the harder case.

{table(head, rows)}""", targets, {}


def slow_links(bench):
    acceptances = [d for d in bench.args.acceptances if d in (0.5, 0.8, 0.95)]
    rows, found = [], {}
    fast, slow = "cpu8-100g", "cpu8-1g"
    for cluster in (slow, fast):
        for d in acceptances:
            choices = kinds(cluster, d)["chain"] + kinds(cluster, d)["tree"]
            simulated = bench.simulate(choices)
            sync = max(choices, key=lambda p: simulated[p].speed())
            found[cluster, d] = sync
    bench.measure([p for (c, d), sync in found.items()
                   for p in (sync, asynchronous(c, d))])
    ratios, said = [], []
    for d in acceptances:
        gain, simulated = {}, {}
        for cluster in (slow, fast):
            pair = [asynchronous(cluster, d), found[cluster, d]]
            a, s = (bench.of(p).speed() for p in pair)
            gain[cluster] = a / s
            both = bench.simulate(pair)
            simulated[cluster] = both[pair[0]].speed() / both[pair[1]].speed()
            rows.append([f"{d:g}", cluster, f"{s:.2f} ({pair[1].settings()})",
                         f"{a:.2f}", f"{gain[cluster]:.3f}",
                         f"{simulated[cluster]:.3f}"])
        ratios.append(gain[slow] / gain[fast])
        said.append(simulated[slow] / simulated[fast])
    ratio = statistics.mean(ratios)
    targets = [Target(
        "gain over sync at 1 Gb/s by that at 100 Gb/s, mean",
        f"{ratio:.4f}", "1", ratio >= 1,
        f"each: {', '.join(f'{r:.3f}' for r in ratios)}; simulated: "
        f"{statistics.mean(said):.4f}")]
    return table(["acceptance", "cluster", "sync", "async", "async / sync",
                  "simulated"], rows), targets, {}


def prediction(bench):
    rows, errors = [], []
    known = [p for p in {key[0] for key in bench.memo
                         if isinstance(key[0], Point)}
             if p.draft != DEMO and all((p, i) in bench.memo for i in
                                        range(bench.repetitions(p)))]
    if not known:
        known = [make("cpu8-1g", 0.8) for make in (off, asynchronous)]
        known.append(Point("cpu8-1g", 0.8, "sync", 1, 1))
        bench.measure(known)
    simulated = bench.simulate(known)
    order = sorted(known, key=lambda p: (p.cluster, p.mode, p.split, p.draft,
                                         p.width, p.depth, p.flags))
    for point in order:
        got, said = bench.of(point).speed(), simulated[point].speed()
        errors.append(said / got - 1)
        rows.append([point.cluster, f"{point.draft:g}", point.name(),
                     f"{got:.2f}", f"{said:.2f}", f"{100 * errors[-1]:+.1f} %"])
    worst = max(errors, key=abs)
    inside = sum(abs(e) <= 0.1 for e in errors)
    return f"""The simulator was given the same draws. It has no models, so \
the demo pair is not in this table.

{table(['cluster', 'acceptance', 'setting', 'emulated', 'simulated',
        'difference'], rows)}""", [Target(
        "sluice-sim by the emulated runs",
        f"{inside} of {len(errors)} within 10 %, worst {100 * worst:+.1f} %",
        "10 %", abs(worst) <= 0.1,
        f"median {100 * statistics.median(map(abs, errors)):.1f} %")], {}
