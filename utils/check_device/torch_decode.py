"""PyTorch's decoding of one sequence: the peer of `one row`, as JSON lines.

  torch_decode.py SECONDS NAME ...

Llama's shapes with random weights in bf16 by transformers, a static cache, the
step captured as a CUDA graph. All models without the compiler first; with it
those for which time is left, as it takes long.
"""
import json
import sys
import time

import torch
from torch_rates import matrix_rate

CONTEXT, STEPS = 512, 64
# That the compiler may need for one model.
COMPILING_S = 90
SHAPES = {
    "llama-1b-bf16": dict(hidden_size=2048, intermediate_size=8192,
                          num_hidden_layers=16, num_attention_heads=32,
                          num_key_value_heads=8, head_dim=64,
                          vocab_size=128256, tie_word_embeddings=True),
    "llama-8b-bf16": dict(hidden_size=4096, intermediate_size=14336,
                          num_hidden_layers=32, num_attention_heads=32,
                          num_key_value_heads=8, vocab_size=128256,
                          tie_word_embeddings=False),
}


def model_of(shape):
    # Not above: this takes seconds, and large products are measured first.
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(max_position_embeddings=CONTEXT, **shape)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).eval()


def tokens_per_second(model, compiled):
    """Greedy steps, one token each, with the whole step as a graph."""
    from transformers import StaticCache
    cache = StaticCache(config=model.config, max_cache_len=CONTEXT)
    token = torch.ones(1, 1, dtype=torch.long, device="cuda")
    position = torch.zeros(1, dtype=torch.long, device="cuda")

    def forward(token, position):
        logits = model(token, past_key_values=cache, use_cache=True,
                       cache_position=position,
                       position_ids=position[None]).logits
        return logits[:, -1].argmax(-1, keepdim=True)

    step = torch.compile(forward, mode="max-autotune-no-cudagraphs") \
        if compiled else forward
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(token, position)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        token.copy_(step(token, position))
        position.add_(1)
    position.zero_()
    graph.replay()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        graph.replay()
    torch.cuda.synchronize()
    return STEPS / (time.perf_counter() - start)


def say(**line):
    print(json.dumps(line), flush=True)


@torch.inference_mode()
def main(seconds, names):
    end = time.monotonic() + seconds
    say(**matrix_rate())
    for compiled in (False, True):
        for name in names:
            if compiled and end - time.monotonic() < COMPILING_S:
                say(model=name, how="compiled, graph", why="no time was left")
                continue
            model = model_of(SHAPES[name])
            say(model=name, how="compiled, graph" if compiled else "graph",
                tokensPerSecond=tokens_per_second(model, compiled))
            del model
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
