"""Writes a Hugging Face folder as a GGUF file, as the usual converter does: its
names, its order of rows, its metadata."""
import json
import pathlib
import re

from . import blocks, gguf, safetensors

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
# Of tensors in a file: before the layers, in each of them, and behind them.
FIRST = ["token_embd", "position_embd"]
LAYER = ["attn_norm", "attn_norm_2", "ffn_norm", "attn_q", "attn_k", "attn_v",
         "attn_qkv", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
LAST = ["output_norm", "output"]

# The pre-tokenizers of byte-level BPE that have a name in GGUF, by the pattern
# that splits words.
PRE_TOKENIZERS = {
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+": "llama-bpe",
}
NORMAL_TOKEN, CONTROL_TOKEN = 1, 3


def gguf_name(name):
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def place(name):
    """What a tensor's name in GGUF is sorted by."""
    layer, stem, part = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(\w+)",
                                     name).groups()
    bias = part == "bias"
    if layer is not None:
        return 1, int(layer), LAYER.index(stem), bias
    if stem in FIRST:
        return 0, 0, FIRST.index(stem), bias
    return 2, 0, LAST.index(stem), bias


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


def sizes_of(config):
    heads = config.get("num_attention_heads", config.get("n_head"))
    hidden = config.get("hidden_size", config.get("n_embd"))
    kv_heads = config.get("num_key_value_heads", heads)
    if config["model_type"] == "falcon":
        kv_heads = (config["num_kv_heads"]
                    if config["new_decoder_architecture"] else 1)
    return hidden, heads, kv_heads, config.get("head_dim") or hidden // heads


def describe(config, name):
    """The metadata of a model: (key, kind, value) each."""
    arch = ARCHITECTURES[config["model_type"]]
    hidden, heads, kv_heads, head_size = sizes_of(config)
    inner = (config.get("intermediate_size") or config.get("ffn_hidden_size")
             or config.get("n_inner") or 4 * hidden)
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    context = config.get("max_position_embeddings", config.get("n_positions"))
    yield "general.architecture", "str", arch
    yield "general.name", "str", name
    for key, value in (("context_length", context),
                       ("embedding_length", hidden), ("block_count", layers),
                       ("feed_forward_length", inner),
                       ("attention.head_count", heads),
                       ("attention.head_count_kv", kv_heads)):
        yield f"{arch}.{key}", "u32", value
    if arch != "gpt2":
        rope = config.get("rope_parameters", {})
        part = rope.get("partial_rotary_factor", 1)
        yield (f"{arch}.rope.dimension_count", "u32",
               config.get("rotary_dim") or int(part * head_size))
        yield f"{arch}.rope.freq_base", "f32", rope.get("rope_theta", 1e4)
    if "rms_norm_eps" in config:
        yield (f"{arch}.attention.layer_norm_rms_epsilon", "f32",
               config["rms_norm_eps"])
    else:
        yield (f"{arch}.attention.layer_norm_epsilon", "f32",
               config.get("layer_norm_eps", config.get("layer_norm_epsilon")))
    if config["model_type"] == "mistral" and config["sliding_window"]:
        yield ("llama.attention.sliding_window", "u32",
               config["sliding_window"])
    yield f"{arch}.vocab_size", "u32", config["vocab_size"]


def pre_tokenizer(tokenizer):
    splits = [part["pattern"]["Regex"]
              for part in tokenizer["pre_tokenizer"]["pretokenizers"]
              if part["type"] == "Split"]
    if len(splits) != 1 or splits[0] not in PRE_TOKENIZERS:
        raise ValueError(f"no name in GGUF for a pre-tokenizer of {splits}")
    return PRE_TOKENIZERS[splits[0]]


def describe_tokenizer(folder, config):
    """The metadata of a byte-level BPE tokenizer."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    options = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    model = tokenizer["model"]
    control = {token["id"] for token in tokenizer["added_tokens"]}
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    yield "tokenizer.ggml.model", "str", "gpt2"
    yield "tokenizer.ggml.pre", "str", pre_tokenizer(tokenizer)
    yield "tokenizer.ggml.tokens", "[str]", tokens
    yield ("tokenizer.ggml.token_type", "[i32]",
           [CONTROL_TOKEN if model["vocab"][token] in control else NORMAL_TOKEN
            for token in tokens])
    yield ("tokenizer.ggml.merges", "[str]",
           [merge if isinstance(merge, str) else " ".join(merge)
            for merge in model["merges"]])
    yield "tokenizer.ggml.bos_token_id", "u32", config["bos_token_id"]
    yield "tokenizer.ggml.eos_token_id", "u32", config["eos_token_id"]
    yield "tokenizer.ggml.add_bos_token", "bool", options["add_bos_token"]
    yield "tokenizer.chat_template", "str", options["chat_template"]


def convert(config, tensors, form):
    """Tensors as gguf.write has them: matrices of the type `form`, vectors in
    f32. Those in F32 stay so."""
    _, heads, kv_heads, head_size = sizes_of(config)
    arch = ARCHITECTURES[config["model_type"]]
    for name, (dtype, shape, data) in tensors.items():
        if arch == "gpt2" and len(shape) == 2 and ".h." in name:
            assert dtype == "F32", name
            shape, data = transpose(shape, data)
        rows = rows_of(shape, data)
        if arch == "llama" and re.search(r"\.[qk]_proj\.", name):
            rows = interleave(rows, heads if ".q_proj" in name else kv_heads)
        if "query_key_value" in name:
            rows = ungroup(rows, heads, kv_heads, head_size)
        data, type_ = b"".join(rows), form if len(shape) > 1 else "f32"
        if dtype == "BF16":
            data = blocks.FROM_BF16[type_](data)
        elif dtype != "F32" or type_ != "f32":
            raise ValueError(f"{name}: no way from {dtype} to {type_}")
        yield gguf_name(name), type_, shape, data


def to_gguf(folder, path, form="f32", changes=()):
    """changes: metadata that is written instead of a model's own, or added."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    metadata = list(describe(config, folder.name))
    if (folder / "tokenizer.json").exists():
        metadata += describe_tokenizer(folder, config)
    pairs = {key: (kind, value) for key, kind, value in metadata}
    pairs |= {key: (kind, value) for key, kind, value in changes}
    tensors = safetensors.read(folder / "model.safetensors")
    gguf.write(path, [(key, *rest) for key, rest in pairs.items()],
               sorted(convert(config, tensors, form),
                      key=lambda tensor: place(tensor[0])))
