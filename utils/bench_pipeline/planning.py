"""The planning model: what a pipeline of guesses can give at most.

Write D for the stages, tau for a trip through all of them by D, a for the
chance that the next guess is right, R = a / (1 - a), delta for the draft's time
a token and c for what one more row adds to a step, by a step of one row.
"""


class Planning:
    def __init__(self, prediction):
        stages = prediction["stages"]
        self.stages = len(stages)
        self.tau = prediction["trip_seconds"] / self.stages
        self.delta = prediction["draft_step_seconds"]
        slowest = max(stages, key=lambda s: s["step_seconds_1"])
        one, eight = slowest["step_seconds_1"], slowest["step_seconds_8"]
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
