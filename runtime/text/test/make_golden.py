#!/usr/bin/env python3
"""Makes the tokenizers and expected ids under test/models/tokenizers.

  make_golden.py OUT_DIR
Needs: tokenizers, sentencepiece, gguf. Trains a small tokenizer of each kind,
then writes for each its tokenizer.json (or .gguf) and what Hugging Face (or
SentencePiece) makes of the texts in texts.json. The tests compare with that.
"""
import io, json, os, random, sys

import gguf
import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.join(HERE, "../../../test/models/demo/reference.json")

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def corpus():
    reference = json.load(open(REFERENCE))
    text = reference["perplexity"]["text"]
    texts = [text] + [g["prompt"] + g["text"] for g in reference["greedy"]]
    other = ["naïve café — “quotes” fiancée über Ångström ", "日本語のテキストです。中文文本 한국어 텍스트 ",
             "Привет, мир! Ελληνικά κείμενα עברית عربي हिन्दी ไทย ", "x = 12345678 + 0x1F; // 3.14159\r\n\tif (a<b) return;\n",
             "don't DON'T we'll I'm he'd they've you're ", "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 😀😀 ", "ﬁ ² ½ ① Ⅷ ㎏ ｆｕｌｌ　ｗｉｄｔｈ "]
    return texts + other * 4


def texts():
    fixed = ["", " ", "  ", "   ", "\n", "\r\n", "\t", " \n ", "a", " a", "a ", "  a  b   c    ", "Hello, world!",
             "don't DON'T we'll WE'LL I'm 'sup 'ſ 'S's", "x = 12345678", "1 22 333 4444 55555 ½ ² Ⅷ ①②③ ٣٤٥ १२३",
             "tabs\tand\nnew\r\nlines  \n\n\n  end", "naïve café — “quotes”", "日本語のテキスト。中文，文本！한국어", "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 😀",
             "\0\x01", "a\0b\0", "e\u0301 \u00e9 A\u030a \u212b \ufb01 \uff26", "\u202eRTL עברית عربي\u202c", "\u200d\u200b\ufeff\u00a0\u3000\u180e\u2028x\u0085y",
             "a" * 70, " " * 60, "ab" * 100, "1" * 50, "." * 40 + "!" * 10, "\n" * 20, " \t" * 20, "\u0301" * 10, "한" * 30,
             "<|endoftext|>", "x<|endoftext|>y", "<|endoftext|><|endoftext|>", " <|endoftext|> ", "<|im_start|>user\nhi<|im_end|>",
             "<|im_start|><|im_end|><|im_start|", "<s>a</s> b <unk>", "a<mask>b", "a <mask> b", "a   <mask>   b", "<mask><mask>",
             "wordtok", "a wordtok b", "awordtokb wordtok. _wordtok", "wordtokwordtok", "ADDED added Added", "xADDEDx", "<0x41><0x0A>", "▁▁a▁b", "▁", "a▁ b",
             "http://example.com/a_b?c=d&e=f#g", "for (int i=0;i<10;++i) { a[i] = b->c; }", "THE QUICK Brown fOX", "İstanbul ŉ ǅ ẞ ß ΑΣ Σ",
             "$100.50 €5 10% #1 a+b=c <=> ~`^|", "The pass manager runs the pass manager.", "`code` and ``more code``", "____ -- ---- == \\\\ //",
             "\ud7ff\ue000\uffff\U0010ffff\U0001f468", "﷽ ﷺ ㍿ ㌀", "a\u0300\u0301\u0302b", "ก็ ที่ นี่ ำ", "हिन्दी क्ष", "각각 \u1100\u1161\u11a8",
             "\U00010d4a\U00010d4ba \u1c89x \U00031350\U00031351 \U00016d72\U00010d43 \U000113d4! \u2e52\u2e43", "🇩🇪🇫🇷🇯🇵"]
    rng = random.Random(20240607)
    pools = ["abcdefghij ", "ABCabc'st lmrved", "0123456789 .,", " \t\n\r", "éüñßøÅ\u0301\u0308", "日本語中文한국어の、。", "👩\u200d👧🏳️\u200d🌈😀🇩🇪", "\u00a0\u3000\u2009\u200b\u0085",
             "½²Ⅷ①٣१", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "עבריתعربيहिन्दीไทย", "\0\x01\x1f\x7f\ufffd", "▁_", "ǅİſKﬁﬀ"]
    words = ["<|endoftext|>", "<|im_start|>", "<mask>", "</s>", "wordtok", "ADDED", "the", " pass", "'ll", "\r\n", "   ", "<0x0A>", "▁▁"]
    fuzz = []
    for _ in range(260):
        parts = []
        for _ in range(rng.randint(1, 6)):
            if rng.random() < 0.2:
                parts.append(rng.choice(words))
            pool = rng.choice(pools)
            parts.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 6))))
        fuzz.append("".join(parts))
    for _ in range(60):
        fuzz.append("".join(chr(c) for c in (rng.choice((rng.randint(0, 0x2fff), rng.randint(0, 0xd7ff), rng.randint(0xe000, 0x1ffff)))
                                             for _ in range(rng.randint(1, 10))) if not (0xd800 <= c < 0xe000)))
    return fixed + fuzz


def trained(model, trainer, normalizer=None, pre=None):
    tokenizer = Tokenizer(model)
    if normalizer: tokenizer.normalizer = normalizer
    if pre: tokenizer.pre_tokenizer = pre
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def byte_level(pre, size=700, special=("<|endoftext|>",), **kwargs):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer = trained(models.BPE(**kwargs), trainer, pre=pre)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def make_gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def make_llama3():
    pre = pre_tokenizers.Sequence([split(LLAMA3), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer = byte_level(pre, special=(), ignore_merges=True)
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def make_qwen2():
    pre = pre_tokenizers.Sequence([split(QWEN2), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer = byte_level(pre, special=())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("wordtok", normalized=False), AddedToken("ADDED", normalized=False)])
    return tokenizer


def make_falcon():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                   pre_tokenizers.Digits(False), split("[0-9][0-9][0-9]")])
    return byte_level(pre)


def make_starcoder():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return byte_level(pre)


def make_tekken():
    pre = pre_tokenizers.Sequence([split(TEKKEN), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return byte_level(pre)


def make_bloom():
    pre = pre_tokenizers.Sequence([split(BLOOM), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return byte_level(pre)


def make_roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), special=("<s>", "<pad>", "</s>", "<unk>"))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=False), AddedToken("<|endoftext|>", rstrip=True, lstrip=True)])
    tokenizer.add_tokens([AddedToken("wordtok", single_word=True, normalized=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def make_llama2(pre=None):
    """SentencePiece's byte-pair encoding as Hugging Face converts it."""
    specials = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=specials, limit_alphabet=80, show_progress=False)
    train_pre = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainer, pre=train_pre)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = state["added_tokens"][:3]
    state["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(state))
    if pre is None:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def make_mistral():
    tokenizer = make_llama2(pre_tokenizers.Metaspace(prepend_scheme="first", split=False))
    tokenizer.add_tokens([AddedToken("wordtok", single_word=True, normalized=True), AddedToken("ADDED", lstrip=True, rstrip=True)])
    return tokenizer


RULES = "".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in [
    ("ﬁ", "fi"), ("½", "1/2"), ("\u3000", " "), ("\u00a0", " "), ("e\u0301", "é"), ("\u0301", ""), ("\u212b", "\u00c5"), ("①", "1"), ("\t", " "), ("\n", " "), ("한", "han"), ("\u200b", " ")])


def fields(message):
    """The fields of a protocol buffer: (number, value) pairs."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80: return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}[tag & 7] if tag & 7 != 2 else varint()
        yield tag >> 3, message[at:at + size]
        at += size


def character_map(model):
    """ModelProto.normalizer_spec.precompiled_charsmap."""
    return b"".join(value for number, spec in fields(model) if number == 3 for inner, value in fields(spec) if inner == 2)


def pieces_of(processor):
    """(text, score, type) of each piece, with GGUF's numbers for the types."""
    kinds = ((processor.is_unknown, 2), (processor.is_control, 3), (processor.is_unused, 5), (processor.is_byte, 6))
    return [(processor.id_to_piece(i), processor.get_score(i), next((number for test, number in kinds if test(i)), 1))
            for i in range(processor.get_piece_size())]


def sentencepiece_model(kind, rules=None, **options):
    folder = os.path.join("/tmp", "sluice-golden-%d" % os.getpid())
    os.makedirs(folder, exist_ok=True)
    if rules:
        open(os.path.join(folder, "rules.tsv"), "w").write(rules)
        options["normalization_rule_tsv"] = os.path.join(folder, "rules.tsv")
    lines = [line for text in corpus() for line in text.split("\n") if line]
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, model_type=kind, minloglevel=2, num_threads=1, **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    return processor, pieces_of(processor), character_map(out.getvalue())


def make_t5():
    """A unigram model with a character map, as Hugging Face converts it."""
    _, pieces, charsmap = sentencepiece_model("unigram", rules=RULES, vocab_size=400, character_coverage=0.98)
    tokenizer = Tokenizer(models.Unigram([piece[:2] for piece in pieces], 0, False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip(left=False, right=True),
                                                 normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return tokenizer


def make_unigram_bytes():
    _, pieces, _ = sentencepiece_model("unigram", vocab_size=640, character_coverage=0.98, byte_fallback=True, normalization_rule_name="identity")
    tokenizer = Tokenizer(models.Unigram([piece[:2] for piece in pieces], 0, True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def make_mixed(pre, normalizer=None, decoder=None, **kwargs):
    trainer = trainers.BpeTrainer(vocab_size=260, special_tokens=["[UNK]"], limit_alphabet=120, show_progress=False)
    tokenizer = trained(models.BPE(unk_token="[UNK]", **kwargs), trainer, normalizer, pre)
    tokenizer.add_tokens([AddedToken("ADDED", normalized=True), AddedToken("wordtok", single_word=True, normalized=False)])
    if decoder: tokenizer.decoder = decoder
    return tokenizer


def mixed():
    accents = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip(),
                                    normalizers.Replace(Regex(r"\s+"), " ")])
    compat = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("``", '"')])
    yield "mix-words", make_mixed(pre_tokenizers.Whitespace(), accents, fuse_unk=True)
    yield "mix-removed", make_mixed(pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]), compat)
    yield "mix-previous", make_mixed(split(r"[\s,.]", "merged_with_previous"), normalizers.NFKD(), decoders.Fuse())
    yield "mix-next", make_mixed(pre_tokenizers.Sequence([pre_tokenizers.Split("a", "merged_with_next"), pre_tokenizers.Metaspace(prepend_scheme="first")]),
                                 None, decoders.Metaspace(prepend_scheme="first"))
    yield "mix-contiguous", make_mixed(pre_tokenizers.Sequence([pre_tokenizers.Digits(False), split(r"\w+|\h", "contiguous")]))
    yield "mix-invert", make_mixed(pre_tokenizers.Sequence([split(r"[\w'-]+", "removed", True),
                                                            pre_tokenizers.Digits(True)]), None, decoders.Sequence([decoders.Strip("a", 1, 0), decoders.Replace(Regex("[bc]+"), "_")]))


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")


def write_cases(out, name, tokenizer, lines):
    """ids: as encoded; plain: without template, special tokens as text; text: of ids, where not the text itself."""
    rng = random.Random(7)
    cases = []
    for text in lines:
        case = {"ids": tokenizer.encode(text).ids}
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        if plain != case["ids"]: case["plain"] = plain
        decoded = tokenizer.decode(case["ids"], skip_special_tokens=False)
        if decoded != text: case["text"] = decoded
        skipped = tokenizer.decode(case["ids"], skip_special_tokens=True)
        if skipped != decoded: case["skipped"] = skipped
        cases.append(case)
    size = tokenizer.get_vocab_size()
    decode = []
    for _ in range(60):
        ids = [rng.randrange(size) for _ in range(rng.randint(1, 6))]
        decode.append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)})
    write(os.path.join(out, name, "cases.json"), {"cases": cases, "decode": decode})


def write_gguf(path, model, tokens, types, scores=None, merges=None, **keys):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    if keys.get("pre"): writer.add_tokenizer_pre(keys["pre"])
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores: writer.add_token_scores(scores)
    if merges: writer.add_token_merges(merges)
    for name, value in keys.get("flags", {}).items(): writer.add_bool("tokenizer.ggml." + name, value)
    for name, value in keys.get("ids", {}).items(): writer.add_uint32("tokenizer.ggml." + name, value)
    if keys.get("charsmap"): writer.add_precompiled_charsmap(keys["charsmap"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def gguf_from_json(out, name, pre, **ids):
    state = json.load(open(os.path.join(out, name, "tokenizer.json")))
    vocab = dict(state["model"]["vocab"])
    special = {}
    for added in state["added_tokens"]:
        vocab[added["content"]] = added["id"]
        special[added["id"]] = 3 if added["special"] else 4
    tokens = sorted(vocab, key=vocab.get)
    types = [special.get(i, 1) for i in range(len(tokens))]
    merges = [" ".join(m) for m in state["model"]["merges"]]
    begin = {"bos_token_id": vocab["<|begin_of_text|>"]} if "<|begin_of_text|>" in vocab else {}
    write_gguf(os.path.join(out, name, "tokenizer.gguf"), "gpt2", tokens, types, merges=merges, pre=pre,
               ids={**begin, "eos_token_id": vocab["<|endoftext|>"]}, flags={"add_bos_token": bool(begin)})


def zip_pieces(pieces):
    texts, scores, types = zip(*pieces)
    return list(texts), list(types), list(scores)


def make_sentencepiece_gguf(out, lines):
    """llama's model: ids from SentencePiece itself."""
    for name, prefix in (("spm", True), ("spm-plain", False)):
        processor, pieces, _ = sentencepiece_model("bpe", vocab_size=900, character_coverage=0.98, byte_fallback=True, normalization_rule_name="identity",
                                                   remove_extra_whitespaces=False, add_dummy_prefix=prefix)
        os.makedirs(os.path.join(out, name), exist_ok=True)
        write_gguf(os.path.join(out, name, "tokenizer.gguf"), "llama", *zip_pieces(pieces), flags={"add_bos_token": True, "add_eos_token": False, "add_space_prefix": prefix},
                   ids={"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0})
        # SentencePiece ends a text at a NUL, and has no special tokens in text.
        cases = [{"index": i, "plain": processor.encode(text), "text": processor.decode(processor.encode(text))}
                 for i, text in enumerate(lines) if "\0" not in text]
        write(os.path.join(out, name, "cases.json"), {"cases": cases})
    _, pieces, charsmap = sentencepiece_model("unigram", rules=RULES, vocab_size=400, character_coverage=0.98)
    write_gguf(os.path.join(out, "t5", "tokenizer.gguf"), "t5", *zip_pieces(pieces), charsmap=charsmap,
               flags={"add_bos_token": False, "add_eos_token": True, "add_space_prefix": True, "remove_extra_whitespaces": True},
               ids={"eos_token_id": 2, "unknown_token_id": 0})


def main():
    out = sys.argv[1]
    lines = texts()
    os.makedirs(out, exist_ok=True)
    write(os.path.join(out, "texts.json"), lines)
    makers = {"gpt2": make_gpt2, "llama3": make_llama3, "qwen2": make_qwen2, "falcon": make_falcon, "starcoder": make_starcoder, "tekken": make_tekken,
              "bloom": make_bloom, "roberta": make_roberta, "llama2": make_llama2, "mistral": make_mistral, "t5": make_t5, "unigram-bytes": make_unigram_bytes}
    tokenizers = [(name, make()) for name, make in makers.items()] + list(mixed())
    for name, tokenizer in tokenizers:
        os.makedirs(os.path.join(out, name), exist_ok=True)
        open(os.path.join(out, name, "tokenizer.json"), "w").write(tokenizer.to_str(pretty=False) + "\n")
        tokenizer = Tokenizer.from_file(os.path.join(out, name, "tokenizer.json"))
        write_cases(out, name, tokenizer, lines)
    for name, pre in (("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("qwen2", "qwen2"), ("falcon", "falcon"), ("starcoder", "starcoder"), ("tekken", "tekken"), ("bloom", "bloom")):
        gguf_from_json(out, name, pre)
    make_sentencepiece_gguf(out, lines)


if __name__ == "__main__":
    main()
