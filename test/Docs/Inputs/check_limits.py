#!/usr/bin/env python3
"""Compares the numbers of docs/Limits.md with the constants that they stand for.

  check_limits.py CHECKOUT

Exits with 1 where a constant is no longer there, or its number is not on the page.
"""
import pathlib
import re
import sys

CONSTANTS = {
    "lib/Import/GGUF/GGUFParser.cpp": ["longestKey", "maxDimensions"],
    "lib/Import/HuggingFace/SafetensorsFile.cpp": ["headerLimit"],
    "lib/Import/Support/JSON.cpp": ["deepest"],
    "lib/Import/Model/ModelConfig.cpp": ["largestSize"],
    "include/sluice/Import/Model/ModelConfig.h": ["maxLayers"],
    "include/sluice/Dialect/Sluice/IR/SluiceOps.h": ["maxGuessDepth",
                                                     "maxGuessWidth"],
    "runtime/text/Normalizer.h": ["maxTextBytes"],
    "runtime/jinja/ChatTemplate.h": ["maxTemplateBytes"],
    "runtime/jinja/Ast.h": ["maxNames", "maxExpressionDepth"],
    "runtime/program/ProgramDescriptor.cpp": ["maxHeads", "maxHeadDim"],
    "runtime/program/DescriptorChecks.h": ["maxTokens", "maxGroupMembers"],
    "runtime/program/ExecutionPlan.cpp": ["maxRanks"],
    "runtime/cluster/Partition.h": ["maxStages"],
    "runtime/core/Stage.cpp": ["maxRows"],
    "runtime/core/CachePages.cpp": ["maxPages", "maxSequences"],
    "runtime/device/cuda/CudaProgram.cpp": ["maxRows"],
    "runtime/device/cpu/ThreadPool.h": ["maxThreads"],
}

BINARY = [(1 << 30, "GiB"), (1 << 20, "MiB")]


def value_of(text, name):
    match = re.search(rf"\b{name} *= *([^;,]+)[;,]", text)
    if not match:
        return None
    number = match.group(1).replace("'", "")
    number = re.sub(r"\b(?:u?int\d+_t|size_t)\b", "", number)
    number = re.sub(r"[{}]", " ", number).replace("()", "")
    return eval(number.strip(), {"__builtins__": {}})  # only shifts and sums


def spellings(value):
    yield f"{value:,}"
    if value % 1_000_000 == 0:
        yield f"{value // 1_000_000} MB"
    for unit, name in BINARY:
        if value % unit == 0:
            yield f"{value // unit} {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / "docs/Limits.md").read_text()
    wrong = 0
    for path, names in CONSTANTS.items():
        text = (root / path).read_text()
        for name in names:
            value = value_of(text, name)
            if value is None:
                print(f"{path}: there is no {name}")
            elif not any(re.search(rf"(?<![\d,]){re.escape(spelling)}(?![\d,])",
                                   page) for spelling in spellings(value)):
                print(f"docs/Limits.md: {value} is missing, {name} of {path}")
            else:
                continue
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
