#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what transformers computes with tiny models, in float32 on the CPU.

usage: make_references.py MODEL...      as archs/llama

A MODEL is a folder with a config.json. Its weights are a model.safetensors in it,
or made of the seed in its weights.json; where it has neither, weights.json is
written, with the shapes that transformers says. Then reference.json is written:
for each prompt of the one before (or for random ones of 1, 7 and 40 tokens) the
logits of the last position and the greedy tokens.

Of seeds, the first is taken with which the reference says something: greedy tokens
are clear choices, of more than one token, and the same in float64. Each thing of
WITHOUT has to move the logits, so that a program that overlooks it is found out.

Needs torch and transformers: nothing in the build or the tests runs this.
"""

import contextlib
import json
import pathlib
import random
import re
import sys
import tempfile

import torch
import transformers

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "utils"))

import seeded_weights  # noqa: E402
from model_files import safetensors  # noqa: E402

# Of the two best logits, how far they have to be apart at every greedy step.
MARGIN = 1e-3
# How far float64's logits may be away, and how far those without an option have to
# be: the tests compare within 1e-3.
NOISE, EFFECT = 1e-4, 1e-2
SEEDS = 50
LENGTHS, GREEDY = (1, 7, 40), 24

# What is left out of a model's configuration (the key's default holds then), or,
# in a pair of slashes, of which tensors are made zero.
WITHOUT = {
    "archs/falcon-gqa": ["/ln_attn.bias/", "/ln_mlp.bias/"],
    "archs/falcon-mqa": ["/input_layernorm.bias/"],
    "archs/gpt-neox": ["/bias/"],
    "archs/gpt2": ["/bias/", "/wpe/"],
    "archs/gptj": ["/bias/"],
    "archs/mistral-swa": ["sliding_window"],
    "archs/qwen2": ["/q_proj.bias/", "/k_proj.bias/", "/v_proj.bias/"],
    "options/falcon-alibi": ["alibi"],
    "options/falcon-serial": ["alibi", "parallel_attn", "/query_key_value.bias/",
                              "/dense.bias/", "/h_to_4h.bias/",
                              "/4h_to_h.bias/"],
    "options/gpt-neox-serial": ["rope_scaling", "rotary_emb_base", "rotary_pct",
                                "use_parallel_residual"],
    "options/gpt2-layer-scale": ["scale_attn_by_inverse_layer_idx",
                                 "activation_function"],
    "options/llama-yarn": ["rope_scaling", "rope_scaling.beta_fast",
                           "rope_scaling.beta_slow", "rope_scaling.mscale",
                           "rope_scaling.mscale_all_dim",
                           "rope_scaling.truncate"],
    "options/llama3-biases": ["rope_scaling", "/self_attn.*bias/",
                              "/mlp.*bias/"],
    "options/qwen2-window": ["use_sliding_window", "max_window_layers"],
}


class Unclear(Exception):
    """A reference that would say too little."""


def load(config, tensors):
    """A model of transformers. Its attention is `sdpa`, which is the default; of
    Falcon's `eager` one adds alibi twice."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(config))
        safetensors.write(folder / "model.safetensors", tensors)
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa",
            output_loading_info=True)
    return model.eval(), {kind for kind, names in report.items() if names}


def logits_of(model, tokens):
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0]


def follow(model, prompt, count):
    """The greedy tokens, and the closest that a choice among them was."""
    tokens, least = list(prompt), float("inf")
    for _ in range(count):
        best = logits_of(model, tokens)[-1].topk(2)
        first, second = best.values.tolist()
        least = min(least, first - second)
        tokens.append(int(best.indices[0]))
    return tokens[len(prompt):], least


def cases_of(model, prompts):
    """Of prompts with how many tokens each is followed by. Changes the model to
    one in float64."""
    cases = []
    for prompt, count in prompts:
        greedy, least = follow(model, prompt, count)
        if least < MARGIN:
            raise Unclear(f"two logits are {least:.1e} apart")
        if len(prompt) > 1 and len(set(greedy)) < 3:
            raise Unclear(f"{count} tokens are {sorted(set(greedy))}")
        cases.append({"prompt": prompt, "greedy": greedy,
                      "last_logits": logits_of(model, prompt)[-1].tolist()})
    model.double()
    for case in cases:
        exact = logits_of(model, case["prompt"] + case["greedy"][:-1])
        exact = exact[len(case["prompt"]) - 1:]
        noise = max(abs(a - b) for a, b in zip(exact[0].tolist(),
                                               case["last_logits"]))
        if noise > NOISE or exact.argmax(-1).tolist() != case["greedy"]:
            raise Unclear(f"float64 is {noise:.1e} away")
        case["last_logits"] = [round(x, 6) for x in case["last_logits"]]
    return cases


def left_out(config, tensors, what):
    if what.startswith("/"):
        pattern = re.compile(what.strip("/"))
        hit = {name for name in tensors if pattern.search(name)}
        assert hit, what
        return config, {name: (dtype, shape, bytes(len(data)))
                        if name in hit else (dtype, shape, data)
                        for name, (dtype, shape, data) in tensors.items()}
    config = json.loads(json.dumps(config))
    *path, key = what.split(".")
    inner = config
    for name in path:
        inner = inner[name]
    del inner[key]
    return config, tensors


def check_effects(name, config, tensors, cases):
    prompt = cases[-1]["prompt"]
    for what in WITHOUT.get(name, []):
        model, _ = load(*left_out(config, tensors, what))
        moved = max(abs(a - b) for a, b in zip(
            logits_of(model, prompt)[-1].tolist(), cases[-1]["last_logits"]))
        print(f"  without {what}: a logit moves by {moved:.3f}")
        if moved < EFFECT:
            raise Unclear(f"{what} moves no logit by more than {moved:.1e}")


def reference_of(name, config, tensors, prompts):
    model, troubles = load(config, tensors)
    if troubles:
        sys.exit(f"{name}: transformers reports {', '.join(sorted(troubles))}")
    cases = cases_of(model, prompts)
    check_effects(name, config, tensors, cases)
    return {"architecture": type(model).__name__, "dtype": "float32",
            "cases": cases}


def describe(config):
    """The shapes of a model's tensors, as transformers writes them; those of
    layers once."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(config))
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.from_pretrained(folder))
        model.save_pretrained(folder)
        written = safetensors.read(folder / "model.safetensors")
    tensors, layers = {}, 1
    for name, (_, shape, _) in sorted(written.items()):
        layer = re.search(r"\.(\d+)\.", name)
        layers = max(layers, int(layer[1]) + 1 if layer else 0)
        tensors[re.sub(r"\.\d+\.", ".#.", name)] = shape
    return {"seed": 0, "strength": 1, "layers": layers, "tensors": tensors}


def text_of(description):
    """A tensor a line."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)},\n"
             for key, value in description.items() if key != "tensors"]
    shapes = [f"    {json.dumps(name)}: {json.dumps(shape)}"
              for name, shape in description["tensors"].items()]
    return ("{\n" + "".join(lines) + '  "tensors": {\n' + ",\n".join(shapes)
            + "\n  }\n}\n")


def prompts_of(folder, config):
    with contextlib.suppress(FileNotFoundError):
        before = json.loads((folder / "reference.json").read_text())
        return [(case["prompt"], len(case["greedy"]))
                for case in before["cases"]]
    draw = random.Random(folder.name)
    return [([draw.randrange(2, config["vocab_size"]) for _ in range(length)],
             GREEDY) for length in LENGTHS]


def make(name):
    folder = HERE / name
    config = json.loads((folder / "config.json").read_text())
    prompts = prompts_of(folder, config)
    own, described = folder / "model.safetensors", folder / "weights.json"
    if own.exists():
        try:
            reference = reference_of(name, config, safetensors.read(own),
                                     prompts)
        except Unclear as reason:
            sys.exit(f"{name}: {reason}")
        (folder / "reference.json").write_text(json.dumps(reference) + "\n")
        return
    description = (json.loads(described.read_text()) if described.exists()
                   else describe(config))
    for description["seed"] in range(SEEDS):
        tensors = seeded_weights.make(folder.name, description)
        try:
            reference = reference_of(name, config, tensors, prompts)
        except Unclear as reason:
            print(f"{name}: seed {description['seed']}: {reason}")
            continue
        described.write_text(text_of(description))
        (folder / "reference.json").write_text(json.dumps(reference) + "\n")
        print(f"{name}: seed {description['seed']}")
        return
    sys.exit(f"{name}: no seed gives a good reference")


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in sys.argv[1:]:
        make(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
