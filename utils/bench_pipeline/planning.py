"""The planning model: what a pipeline of guesses can give at most.

Write D for the stages, tau for a trip through all of them by D, a for the
chance that the next guess is right, R = a / (1 - a), delta for the draft's time
a token and c for what one more row adds to a step, by a step of one row.
"""
import functools
import heapq
import itertools
import random

# Below this, rows cost so little that guesses travel in micro-batches.
CHEAP_ROWS = 0.1


class Planning:
    def __init__(self, prediction):
        stages = prediction["stages"]
        self.stages = len(stages)
        self.tau = prediction["trip_seconds"] / self.stages
        self.delta = prediction["draft_step_seconds"]
        slowest = max(stages, key=lambda s: s["step_seconds"]["1"])
        one, eight = (slowest["step_seconds"][rows] for rows in ("1", "8"))
        self.c = (eight - one) / 7 / one

    def plain(self):
        return 1 / (self.stages * self.tau)

    def single(self, a):
        """Asynchronous, one guess a step."""
        r = a / (1 - a)
        return (r + 1) / ((r + self.stages) * self.tau)

    def batched(self, a):
        """Asynchronous, guesses in micro-batches."""
        r = a / (1 - a)
        return (r + 1) / (self.stages * self.tau +
                          r * max(self.delta, self.c * self.tau))

    def chain(self, a):
        """Synchronous, the best chain."""
        return max((1 - a ** (k + 1)) / (1 - a) /
                   (k * self.delta + self.stages * self.tau * (1 + self.c * k))
                   for k in range(1, 33))


def hit_rate(a, width):
    """That one of the first `width` candidates of an oracle is right."""
    return 1 - (1 - a) * (1 - 0.385 * a) ** (width - 1) if width else 0


class Ideal:
    """The best that trees of an oracle's guesses can give where neither the
    draft nor further rows cost anything: each step takes the `rows` likeliest
    guesses that have not left yet, and what is known says so `stages` steps
    later."""

    def __init__(self, a, width, stages, rows, tokens, seed):
        self.chances = [hit_rate(a, i + 1) - hit_rate(a, i)
                        for i in range(width)]
        self.stages, self.rows, self.tokens = stages, rows, tokens
        draw = random.Random(seed)
        self.truth = [self.place(draw.random())
                      for _ in range(tokens + 64 * stages)]
        self.order = itertools.count()

    def place(self, drawn):
        """Which candidate is right, if any."""
        for i, chance in enumerate(self.chances):
            drawn -= chance
            if drawn < 0:
                return i
        return None

    def is_true(self, path):
        return all(self.truth[self.root + i] == each
                   for i, each in enumerate(path))

    def expand(self, chance, path):
        for i, each in enumerate(self.chances):
            heapq.heappush(self.waiting,
                           (-chance * each, next(self.order), path + (i,)))

    def restart(self, at, step):
        """Nobody guessed token `at`: its row leaves alone."""
        self.root, self.waiting = at, []
        self.arrivals = {at: step + self.stages}
        self.expand(1, ())

    def confirm(self, count):
        """`count` more tokens are known, and were guessed."""
        known = self.truth[self.root:self.root + count]
        share = 1
        for each in known:
            share *= self.chances[each]
        self.waiting = [(chance / share, i, path[count:])
                        for chance, i, path in self.waiting
                        if len(path) > count and list(path[:count]) == known]
        heapq.heapify(self.waiting)
        self.root += count

    def send(self, step):
        for _ in range(min(self.rows, len(self.waiting))):
            chance, _, path = heapq.heappop(self.waiting)
            if self.is_true(path):
                self.arrivals[self.root + len(path)] = step + self.stages
            self.expand(-chance, path)

    def gain(self):
        """Over the plain pipeline."""
        self.restart(0, 0)
        for step in itertools.count(1):
            known = self.root
            while self.arrivals.get(known, step + 1) <= step:
                known += 1
            if known >= self.tokens:
                return known * self.stages / step
            if known > self.root and known not in self.arrivals:
                self.restart(known, step)
                continue
            if known > self.root:
                self.confirm(known - self.root)
            self.send(step)


@functools.cache
def ideal_gain(a, width, stages, rows):
    """Over the plain pipeline, the mean of some draws."""
    gains = [Ideal(a, width, stages, rows, 300, seed).gain()
             for seed in range(6)]
    return sum(gains) / len(gains)
