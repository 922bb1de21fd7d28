"""Tables and pictures of a report."""
import math


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


class Target:
    """What was wanted, and what came out."""

    def __init__(self, what, measured, wanted, met, note=""):
        self.row = (what, measured, wanted, "yes" if met else "**no**", note)
        self.met = met


COLORS = ("#57606a", "#0969da", "#8250df", "#bf8700", "#cf222e", "#1a7f37",
          "#953800")
WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 190, 34, 44


def _text(x, y, text, anchor="start", more=""):
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" '
            f'fill="#24292f"{more}>{text}</text>')


def _frame(title, y_label, most, step):
    """The picture up to its contents, and where a value lies."""
    bottom = HEIGHT - BOTTOM
    y = lambda value: bottom - (bottom - TOP) * value / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
             _text(LEFT, 20, title, more=' font-weight="bold"'),
             _text(14, (TOP + bottom) / 2, y_label, "middle",
                   f' transform="rotate(-90 14 {(TOP + bottom) / 2:.0f})"')]
    value = 0
    while value <= most:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" '
                     f'y1="{y(value):.1f}" y2="{y(value):.1f}" '
                     'stroke="#d0d7de"/>')
        parts.append(_text(LEFT - 6, y(value) + 4, f"{value:g}", "end"))
        value += step
    return parts, y


def _scale(most):
    """A round step between lines, 4 to 10 of them, and the last line."""
    step = 10.0 ** math.floor(math.log10(most)) / 10
    for times in (1, 2, 5, 10, 20):
        if most / (step * times) <= 10:
            step *= times
            break
    return step, math.ceil(most / step) * step


def lines(title, x_label, y_label, xs, series):
    """`series`: {name: [a value or None for each of xs]}; that named
    'bound' is dashed."""
    values = [v for ys in series.values() for v in ys if v is not None]
    step, most = _scale(max(values))
    parts, y = _frame(title, y_label, most, step)
    x = lambda value: LEFT + (WIDTH - LEFT - RIGHT) * (value - xs[0]) / (
        xs[-1] - xs[0] or 1)
    for value in xs:
        parts.append(_text(x(value), HEIGHT - BOTTOM + 18, f"{value:g}",
                           "middle", ' font-size="10"'))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label,
                       "middle"))
    for i, (name, ys) in enumerate(series.items()):
        color = COLORS[i % len(COLORS)]
        dash = ' stroke-dasharray="5 4"' if name == "bound" else ""
        places = [(x(a), y(v)) for a, v in zip(xs, ys) if v is not None]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" '
                     f'stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>'
                  for a, b in places if not dash]
        row = TOP + 10 + 20 * i
        parts.append(f'<line x1="{WIDTH - RIGHT + 12}" '
                     f'x2="{WIDTH - RIGHT + 34}" y1="{row}" y2="{row}" '
                     f'stroke="{color}" stroke-width="2"{dash}/>')
        parts.append(_text(WIDTH - RIGHT + 40, row + 4, name))
    return "\n".join(parts + ["</svg>"]) + "\n"


def bars(title, y_label, groups, names):
    """`groups`: {name, one line for each part between commas: a value for each
    of names}."""
    step, most = _scale(max(v for values in groups.values() for v in values))
    parts, y = _frame(title, y_label, most, step)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    wide = room * 0.8 / len(names)
    for g, (group, values) in enumerate(groups.items()):
        begin = LEFT + room * (g + 0.1)
        for i, value in enumerate(values):
            parts.append(f'<rect x="{begin + wide * i:.1f}" '
                         f'y="{y(value):.1f}" width="{wide * 0.9:.1f}" '
                         f'height="{HEIGHT - BOTTOM - y(value):.1f}" '
                         f'fill="{COLORS[i % len(COLORS)]}"/>')
        for i, line in enumerate(group.split(", ")):
            parts.append(_text(LEFT + room * (g + 0.5),
                               HEIGHT - BOTTOM + 18 + 16 * i, line, "middle"))
    for i, name in enumerate(names):
        row = TOP + 10 + 20 * i
        parts.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{row - 6}" width="12" '
                     f'height="12" fill="{COLORS[i % len(COLORS)]}"/>')
        parts.append(_text(WIDTH - RIGHT + 30, row + 4, name))
    return "\n".join(parts + ["</svg>"]) + "\n"
