//===- NamedPatterns.cpp - pre-tokenizers that GGUF files name ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GGUF file has no patterns, only the name of a family of tokenizers. The
// patterns here are those of the families' tokenizer.json files.
//
//===----------------------------------------------------------------------===//

#include "NamedPatterns.h"

using namespace sluice;
using namespace sluice::gguf;
using namespace sluice::text;

using Kind = PreTokenizerStep::Kind;

namespace {

constexpr std::string_view llama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view qwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view tekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view gpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view deepseek3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view bloomPattern = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";

// The pattern of GPT-2 for files without a name. It lacks GPT-2's last
// alternative, `\s+`: white space that it does not match becomes a piece of its
// own anyway.
constexpr std::string_view gpt2WordsPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
    R"(\s+(?!\S))";

enum class Family : uint8_t {
  Default,
  GPT2,
  GPT2Composed,
  Llama3,
  Llama3Plain,
  Qwen2,
  Qwen2Plain,
  Digits,
  DigitsComposed,
  Falcon,
  Tekken,
  GPT4o,
  DeepSeek3,
  DeepSeekCoder,
  Bloom,
  Viking,
};

struct Name {
  std::string_view name;
  Family family;
};

constexpr Name names[] = {
    {"", Family::Default},
    {"default", Family::Default},
    {"gpt-2", Family::GPT2},
    {"phi-2", Family::GPT2},
    {"jais", Family::GPT2},
    {"mpt", Family::GPT2Composed},
    {"olmo", Family::GPT2Composed},
    {"llama3", Family::Llama3},
    {"llama-v3", Family::Llama3},
    {"llama-bpe", Family::Llama3},
    {"falcon3", Family::Llama3},
    {"pixtral", Family::Llama3},
    {"dbrx", Family::Llama3Plain},
    {"smaug-bpe", Family::Llama3Plain},
    {"chatglm-bpe", Family::Llama3Plain},
    {"glm4", Family::Llama3Plain},
    {"qwen2", Family::Qwen2},
    {"stablelm2", Family::Qwen2Plain},
    {"deepseek-r1-qwen", Family::Qwen2Plain},
    {"megrez", Family::Qwen2Plain},
    {"starcoder", Family::Digits},
    {"refact", Family::Digits},
    {"smollm", Family::Digits},
    {"codeshell", Family::Digits},
    {"command-r", Family::DigitsComposed},
    {"falcon", Family::Falcon},
    {"tekken", Family::Tekken},
    {"gpt-4o", Family::GPT4o},
    {"llama4", Family::GPT4o},
    {"deepseek-v3", Family::DeepSeek3},
    {"deepseek-coder", Family::DeepSeekCoder},
    {"bloom", Family::Bloom},
    {"poro-chat", Family::Bloom},
    {"gpt3-finnish", Family::Bloom},
    {"viking", Family::Viking},
};

PreTokenizerStep split(std::string_view pattern) {
  PreTokenizerStep step;
  step.kind = Kind::SplitRegex;
  step.pattern = pattern;
  return step;
}

PreTokenizerStep byteLevel(bool usesPattern) {
  PreTokenizerStep step;
  step.kind = Kind::ByteLevel;
  step.flag = usesPattern;
  return step;
}

PreTokenizerStep digits(bool alone) {
  PreTokenizerStep step;
  step.kind = Kind::Digits;
  step.flag = alone;
  return step;
}

PreTokenizerStep punctuationRuns() {
  PreTokenizerStep step;
  step.kind = Kind::Punctuation;
  step.behavior = SplitBehavior::Contiguous;
  return step;
}

std::vector<PreTokenizerStep> stepsOf(Family family) {
  switch (family) {
  case Family::Default:
    return {split(R"([\p{P}\$\+<=>\^~\|]+)"), split(gpt2WordsPattern),
            split(R"(\p{N}+)"), split("[0-9][0-9][0-9]"), byteLevel(false)};
  case Family::GPT2:
  case Family::GPT2Composed:
    return {byteLevel(true)};
  case Family::Llama3:
  case Family::Llama3Plain:
    return {split(llama3Pattern), byteLevel(false)};
  case Family::Qwen2:
  case Family::Qwen2Plain:
    return {split(qwen2Pattern), byteLevel(false)};
  case Family::Digits:
  case Family::DigitsComposed:
    return {digits(/*alone=*/true), byteLevel(true)};
  case Family::Falcon:
    return {punctuationRuns(), byteLevel(true), digits(/*alone=*/false),
            split("[0-9][0-9][0-9]")};
  case Family::Tekken:
    return {split(tekkenPattern), byteLevel(false)};
  case Family::GPT4o:
    return {split(gpt4oPattern), byteLevel(false)};
  case Family::DeepSeek3:
    return {split(R"(\p{N}{1,3})"), split("[一-龥぀-ゟ゠-ヿ]+"),
            split(deepseek3Pattern), byteLevel(false)};
  case Family::DeepSeekCoder:
    return {split(R"([\r\n])"),     split(R"(\s?\p{L}+)"),
            split(R"(\s?\p{P}+)"),  split("[一-龥ࠀ-一가-퟿]+"),
            digits(/*alone=*/true), byteLevel(false)};
  case Family::Bloom:
    return {split(bloomPattern), byteLevel(false)};
  case Family::Viking:
    return {split(bloomPattern), digits(/*alone=*/true), byteLevel(false)};
  }
  return {};
}

} // namespace

std::optional<NamedPreTokenizer> gguf::findPreTokenizer(std::string_view name) {
  for (const Name &known : names) {
    if (known.name != name)
      continue;
    Family family = known.family;
    NamedPreTokenizer result;
    result.steps = stepsOf(family);
    if (family == Family::Qwen2 || family == Family::GPT2Composed ||
        family == Family::DigitsComposed)
      result.normalizer.push_back({NormalizerStep::Kind::NFC});
    result.ignoreMerges = family == Family::Llama3 || family == Family::Tekken;
    result.addsBeginOfText = result.ignoreMerges;
    return result;
  }
  return std::nullopt;
}
