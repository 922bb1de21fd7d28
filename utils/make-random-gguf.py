#!/usr/bin/env python3
"""Writes a GGUF file of a real model's shape with random weights, for speed tests (nothing to download).

  make-random-gguf.py --shape tinyllama-1.1b --type q4_0 -o model.gguf
Shapes: tinyllama-1.1b, llama-1b, llama-8b, tiny. Types: f32, f16, q8_0, q4_0, q4_k, q6_k (norms stay f32; token_embd and output use the type too),
and q4_k_m: q4_k, with q6_k for output and, in the layers that llama.cpp's Q4_K_M has it in, for attn_v and ffn_down.
The values are small enough for finite activations. Needs: numpy, gguf.
"""
import argparse

try:
    import gguf, numpy as np
except ImportError as missing:
    raise SystemExit(f"{missing}: pip install numpy gguf")

SHAPES = {  # layers, hidden, heads, kv heads, feed-forward, vocabulary, rope theta
    "tiny": (4, 256, 8, 4, 768, 1000, 10000.0),
    "tinyllama-1.1b": (22, 2048, 32, 4, 5632, 32000, 10000.0),
    "llama-1b": (16, 2048, 32, 8, 8192, 32000, 500000.0),
    "llama-8b": (32, 4096, 32, 8, 14336, 32000, 500000.0),
}
Q = gguf.GGMLQuantizationType

def random_tensor(rng, rows, cols, kind):
    """rows x cols weights of standard deviation about 1/sqrt(cols), already in the file's format."""
    s = cols ** -0.5
    if kind == "f32": return rng.standard_normal((rows, cols), dtype=np.float32) * s, None
    if kind == "f16": return (rng.standard_normal((rows, cols), dtype=np.float32) * s).astype(np.float16), None
    blocks = rows * cols // 32
    d = (np.full(blocks, 1.0) * s * (0.5 + rng.random(blocks))).astype(np.float32)
    if kind == "q8_0":
        out = np.empty((blocks, 34), np.uint8)
        out[:, :2] = (d / 73.0).astype(np.float16).view(np.uint8).reshape(-1, 2)
        out[:, 2:] = rng.integers(-127, 128, (blocks, 32), dtype=np.int8).view(np.uint8)
        return out.reshape(rows, cols // 32 * 34), Q.Q8_0
    if kind == "q4_0":
        out = np.empty((blocks, 18), np.uint8)
        out[:, :2] = (d / 4.6).astype(np.float16).view(np.uint8).reshape(-1, 2)
        out[:, 2:] = rng.integers(0, 256, (blocks, 16), dtype=np.uint8)
        return out.reshape(rows, cols // 32 * 18), Q.Q4_0
    if kind == "q4_k":
        # d * scale * quant - dmin * min: means 32 and 7.5, so that minima of 7.5 * 32 d take the mean away.
        blocks = rows * cols // 256
        d = s / 310 * (0.5 + rng.random(blocks))
        out = np.empty((blocks, 144), np.uint8)
        out[:, :2] = d.astype(np.float16).view(np.uint8).reshape(-1, 2)
        out[:, 2:4] = (7.5 * d).astype(np.float16).view(np.uint8).reshape(-1, 2)
        out[:, 4:] = rng.integers(0, 256, (blocks, 140), dtype=np.uint8)
        return out.reshape(rows, cols // 256 * 144), Q.Q4_K
    if kind == "q6_k":
        blocks = rows * cols // 256
        out = np.empty((blocks, 210), np.uint8)
        out[:, :192] = rng.integers(0, 256, (blocks, 192), dtype=np.uint8)
        out[:, 192:208] = rng.integers(-127, 128, (blocks, 16), dtype=np.int8).view(np.uint8)
        out[:, 208:] = (s / 1350 * (0.5 + rng.random(blocks))).astype(np.float16).view(np.uint8).reshape(-1, 2)
        return out.reshape(rows, cols // 256 * 210), Q.Q6_K
    raise SystemExit("unknown type " + kind)

def type_of(name, layer, layers, kind):
    """The type of a matrix in a file of that type."""
    if kind != "q4_k_m": return kind
    if name == "output.weight": return "q6_k"
    more = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    return "q6_k" if more and name.endswith(("attn_v.weight", "ffn_down.weight")) else "q4_k"

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shape", default="tinyllama-1.1b", choices=SHAPES); p.add_argument("--type", default="q4_0")
    p.add_argument("-o", required=True); p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    L, H, nh, nkv, F, V, theta = SHAPES[a.shape]
    rng = np.random.default_rng(a.seed)
    w = gguf.GGUFWriter(a.o, "llama")
    w.add_name(a.shape + " random"); w.add_context_length(4096); w.add_embedding_length(H); w.add_block_count(L)
    w.add_feed_forward_length(F); w.add_head_count(nh); w.add_head_count_kv(nkv); w.add_rope_dimension_count(H // nh)
    w.add_rope_freq_base(theta); w.add_layer_norm_rms_eps(1e-5); w.add_vocab_size(V)
    w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default")
    toks = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
    toks += [b"\xe2\x96\x81w%d" % i for i in range(V - len(toks))]
    w.add_token_list(toks); w.add_token_scores([0.0] * 3 + [0.0] * 256 + [-float(i) for i in range(V - 259)])
    w.add_token_types([2, 3, 3] + [6] * 256 + [1] * (V - 259))
    w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0)
    def put(name, rows, cols, layer=0):
        t, q = random_tensor(rng, rows, cols, type_of(name, layer, L, a.type))
        w.add_tensor(name, t, raw_dtype=q)
    def norm(name): w.add_tensor(name, np.ones(H, np.float32))
    put("token_embd.weight", V, H)
    for i in range(L):
        b = f"blk.{i}."
        norm(b + "attn_norm.weight"); put(b + "attn_q.weight", H, H)
        put(b + "attn_k.weight", nkv * H // nh, H); put(b + "attn_v.weight", nkv * H // nh, H, i); put(b + "attn_output.weight", H, H)
        norm(b + "ffn_norm.weight"); put(b + "ffn_gate.weight", F, H); put(b + "ffn_up.weight", F, H); put(b + "ffn_down.weight", H, F, i)
    norm("output_norm.weight"); put("output.weight", V, H)
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()

if __name__ == "__main__":
    main()
