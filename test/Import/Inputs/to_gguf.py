"""Writes a small Hugging Face model (float32) as a GGUF file, as the usual
converter does: its names, its order of rows, its metadata.

  to_gguf.py FOLDER FILE [KEY=TYPE:VALUE]...    TYPE: u32, f32 or str
"""

import json
import os
import re
import struct
import sys

import safetensors_file

ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "gpt2": "gpt2",
    "gptj": "gptj",
    "gpt_neox": "gptneox",
    "falcon": "falcon",
}

# In their order: what Hugging Face calls a tensor, and what GGUF does.
NAMES = [
    (r"^(model|transformer|gpt_neox)\.", ""),
    (r"^(layers|h)\.", "blk."),
    (r"^(embed_tokens|wte|embed_in|word_embeddings)\.", "token_embd."),
    (r"^wpe\.", "position_embd."),
    (r"^(norm|ln_f|final_layer_norm)\.", "output_norm."),
    (r"^(lm_head|embed_out)\.", "output."),
    (r"\.ln_attn\.", ".attn_norm_2."),
    (r"\.(input_layernorm|ln_1|ln_mlp)\.", ".attn_norm."),
    (r"\.(post_attention_layernorm|ln_2)\.", ".ffn_norm."),
    (r"\.(self_attn|attn)\.([qkv])_proj\.", r".attn_\2."),
    (r"\.(self_attn\.o_proj|attn\.out_proj|attn\.c_proj)\.", ".attn_output."),
    (r"\.(attention|self_attention)\.dense\.", ".attn_output."),
    (r"\.(attn\.c_attn|\w+\.query_key_value)\.", ".attn_qkv."),
    (r"\.mlp\.gate_proj\.", ".ffn_gate."),
    (r"\.mlp\.(up_proj|c_fc|fc_in|dense_h_to_4h)\.", ".ffn_up."),
    (r"\.mlp\.(down_proj|c_proj|fc_out|dense_4h_to_h)\.", ".ffn_down."),
]


def gguf_name(name):
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def rows_of(shape, data):
    size = len(data) // shape[0]
    return [data[i * size:(i + 1) * size] for i in range(shape[0])]


def interleave(rows, heads):
    """Puts the two features that rope turns together side by side."""
    size = len(rows) // heads
    result = []
    for head in range(heads):
        part = rows[head * size:(head + 1) * size]
        for pair in zip(part[:size // 2], part[size // 2:]):
            result += pair
    return result


def ungroup(rows, heads, kv_heads, size):
    """All queries, then all keys, then all values."""
    group = heads // kv_heads
    parts = ([], [], [])
    for head in range(len(rows) // size):
        within = head % (group + 2)
        kind = 0 if within < group else within - group + 1
        parts[kind].extend(rows[head * size:(head + 1) * size])
    return parts[0] + parts[1] + parts[2]


def transpose(shape, data):
    rows, columns = shape
    values = [data[i:i + 4] for i in range(0, len(data), 4)]
    data = b"".join(values[r * columns + c]
                    for c in range(columns) for r in range(rows))
    return [columns, rows], data


class Metadata:
    def __init__(self):
        self.count, self.content = 0, b""

    @staticmethod
    def string(text):
        text = text.encode()
        return struct.pack("<Q", len(text)) + text

    def add(self, key, kind, value):
        number, layout = {"u32": (4, "<I"), "f32": (6, "<f"), "str": (8, "")}[kind]
        self.count += 1
        self.content += self.string(key) + struct.pack("<I", number)
        self.content += (self.string(value) if kind == "str"
                         else struct.pack(layout, value))


def sizes_of(config):
    heads = config.get("num_attention_heads", config.get("n_head"))
    hidden = config.get("hidden_size", config.get("n_embd"))
    kv_heads = config.get("num_key_value_heads", heads)
    if config["model_type"] == "falcon":
        kv_heads = (config["num_kv_heads"]
                    if config["new_decoder_architecture"] else 1)
    return hidden, heads, kv_heads, config.get("head_dim") or hidden // heads


def describe(config, arch, metadata):
    hidden, heads, kv_heads, head_size = sizes_of(config)
    inner = (config.get("intermediate_size") or config.get("ffn_hidden_size")
             or config.get("n_inner") or 4 * hidden)
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    context = config.get("max_position_embeddings", config.get("n_positions"))
    metadata.add("general.architecture", "str", arch)
    metadata.add("general.name", "str", "test")
    for key, value in (("block_count", layers), ("context_length", context),
                       ("embedding_length", hidden),
                       ("feed_forward_length", inner),
                       ("attention.head_count", heads),
                       ("attention.head_count_kv", kv_heads)):
        metadata.add(f"{arch}.{key}", "u32", value)
    if "rms_norm_eps" in config:
        metadata.add(f"{arch}.attention.layer_norm_rms_epsilon", "f32",
                     config["rms_norm_eps"])
    else:
        metadata.add(f"{arch}.attention.layer_norm_epsilon", "f32",
                     config.get("layer_norm_eps", config.get("layer_norm_epsilon")))
    if arch != "gpt2":
        rope = config.get("rope_parameters", {})
        part = rope.get("partial_rotary_factor", 1)
        metadata.add(f"{arch}.rope.dimension_count", "u32",
                     config.get("rotary_dim") or int(part * head_size))
        metadata.add(f"{arch}.rope.freq_base", "f32", rope.get("rope_theta", 1e4))
    if config["model_type"] == "mistral" and config["sliding_window"]:
        metadata.add("llama.attention.sliding_window", "u32",
                     config["sliding_window"])


def convert(config, arch, tensors):
    _, heads, kv_heads, head_size = sizes_of(config)
    for name, (dtype, shape, data) in tensors.items():
        assert dtype == "F32", name
        conv1d = arch == "gpt2" and len(shape) == 2 and ".h." in name
        if conv1d:
            shape, data = transpose(shape, data)
        rows = rows_of(shape, data)
        if arch == "llama" and re.search(r"\.[qk]_proj\.", name):
            rows = interleave(rows, heads if ".q_proj" in name else kv_heads)
        if "query_key_value" in name:
            rows = ungroup(rows, heads, kv_heads, head_size)
        yield gguf_name(name), shape, b"".join(rows)


def main():
    folder, path, *extra = sys.argv[1:]
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    arch = ARCHITECTURES[config["model_type"]]
    metadata = Metadata()
    describe(config, arch, metadata)
    for entry in extra:
        key, _, typed = entry.partition("=")
        kind, _, value = typed.partition(":")
        read = {"u32": int, "f32": float, "str": str}[kind]
        metadata.add(key, kind, read(value))

    tensors = safetensors_file.read(os.path.join(folder, "model.safetensors"))
    infos, data, count = b"", b"", 0
    for name, shape, content in convert(config, arch, tensors):
        infos += Metadata.string(name) + struct.pack("<I", len(shape))
        infos += b"".join(struct.pack("<Q", size) for size in reversed(shape))
        infos += struct.pack("<IQ", 0, len(data))
        data += content + bytes(-len(content) % 32)
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, metadata.count)
    head += metadata.content + infos
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


main()
