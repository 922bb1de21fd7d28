"""The report as text: docs/results/cuda.md."""

HEAD = """# Measured on a GPU

Made by `utils/check-device` ({date}); what was not run says so. A fraction is of
the copy bandwidth, or of the matrix rate, that was measured in the same run.
"""
# Of a layer of Llama 8B; what the linear kernels' shapes are called.
LAYER = ("qkv", "output", "gate-up", "down")


def table(heads, rows):
    if not rows:
        return ""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


def linear(data, found):
    """A layer's products together, for each kind and number of rows."""
    copy = found.get("copy", 0)
    rows = sorted({each["rows"] for each in data})
    lines = []
    for kind in dict.fromkeys(each["kind"] for each in data):
        cells = [kind]
        for count in rows:
            layer = [each for each in data if each["kind"] == kind
                     and each["rows"] == count and each["shape"] in LAYER]
            if len(layer) < len(LAYER):
                cells.append("")
                continue
            us = sum(each["us"] for each in layer)
            rate = sum(each["bytes"] for each in layer) / us / 1e3
            cells.append(f"{us:.0f} us, {percent(rate, copy) or f'{rate:.0f} GB/s'}")
        lines.append(cells)
    return ("A layer's four products of Llama 8B, and the bytes that they must "
            "move as a fraction of the copy bandwidth.\n\n"
            + table(["weights"] + [f"{n} rows" for n in rows], lines))


def kernels(data, found):
    copy, matrix = found.get("copy", 0), found.get("teraflops", 0)
    names = [key for key in data[0]
             if key not in ("part", "us", "bytes", "gigabytesPerSecond",
                            "teraflops")]
    return table(
        names + ["us", "GB/s", "of the copy", "TFLOP/s", "of the products"],
        [[each[name] for name in names]
         + [f"{each['us']:.1f}", f"{each['gigabytesPerSecond']:.0f}",
            percent(each["gigabytesPerSecond"], copy),
            f"{each['teraflops']:.1f}", percent(each["teraflops"], matrix)]
         for each in data])


def checks(data, found):
    bad = [each for each in data if not each["holds"]]
    text = (f"{len(data) - len(bad)} of {len(data)} cases hold; "
            f"{sum(each.get('isEqual', False) for each in data)} have the "
            "emulator's bits.\n\n")
    return text + table(["case", "why"],
                        [[each["case"], each.get("why", "the numbers differ")]
                         for each in bad])


def plain(data, found):
    """Whatever it is: a table of its fields, or of names and values."""
    if isinstance(data, dict):
        return table(["", ""], data.items())
    names = list(dict.fromkeys(key for each in data for key in each
                               if key != "part"))
    return table(names, [[each.get(name, "") for name in names]
                         for each in data])


SHOWN = {"linear kernels": linear, "attention kernels": kernels,
         "prompt kernels": kernels, "rows that leave": kernels,
         "kernels against the emulator": checks}


def part_text(part, found):
    name = part["name"]
    text = f"\n## {name[0].upper()}{name[1:]}\n\n"
    if part["status"] == "not run":
        return text + f"Not run: {part['why']}.\n"
    if part["status"] == "failed":
        text += f"**Failed**: {part['why']}.\n\n"
    if part.get("data"):
        text += SHOWN.get(part["name"], plain)(part["data"], found) + "\n"
    text += f"{part['seconds']} s; " + ", ".join(
        f"`{command}`" for command in part["commands"]) + "\n"
    return text


def markdown(made):
    text = HEAD.format(date=made["date"])
    if made["build"]:
        text += (f"\nBuilt from {made['build']['commit']} for "
                 f"{made['build']['chips']}, {made['build']['bytes']} bytes "
                 "carried.\n")
    if "nothing" in made:
        text += f"\n**Nothing was run**: {made['nothing']}.\n"
    if "device" in made:
        chip = made["device"]
        text += (f"\n{chip['name']}, compute capability {chip['capability']}, "
                 f"{chip['multiprocessors']} multiprocessors, "
                 f"{chip['memoryBytes'] / 2**30:.0f} GiB.\n")
    found = made.get("found", {})
    for part in made["parts"]:
        text += part_text(part, found)
    return text
