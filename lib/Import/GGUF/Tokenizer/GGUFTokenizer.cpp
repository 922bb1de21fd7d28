//===- GGUFTokenizer.cpp - reader of a GGUF file's tokenizer --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/GGUF/GGUFTokenizer.h"

#include "NamedPatterns.h"
#include "runtime/text/TokenIndex.h"
#include "sluice/Import/Support/Quote.h"

using namespace sluice;
using namespace sluice::gguf;
using namespace sluice::text;

namespace {

constexpr const char *space = "\xE2\x96\x81"; // SentencePiece's space, U+2581

class TokenizerReader {
public:
  explicit TokenizerReader(const GGUFFile &file) : file(file) {}

  Expected<TokenizerSpec> read();

  std::vector<std::string> warnings; ///< a line for each ignored setting

private:
  Status fail(std::string_view key, std::string_view reason) const {
    return failure(file.path(), ": ", prefixed(key), ": ", reason);
  }
  static std::string prefixed(std::string_view key) {
    return "tokenizer.ggml." + std::string(key);
  }

  // The functions below keep the first error.
  bool flag(std::string_view key, bool otherwise);
  std::optional<TokenId> id(std::string_view key,
                            std::optional<TokenId> otherwise, bool warns);
  /// Returns an empty string if the file does not have the key. `key` is the
  /// full key.
  std::string text(std::string_view key);
  void keep(const Status &error) {
    if (status.ok())
      status = error;
  }

  Status readTokens();
  Status readTypes();
  Status readScores();
  Status readBpe();
  Status readMerges();
  Status readLlama();
  Status readT5();
  void readNormalizer(bool words);
  void readTemplate(bool addBegin, bool addEnd,
                    std::optional<TokenId> defaultBegin,
                    std::optional<TokenId> defaultEnd);
  void lacksAdded(std::string_view key);
  void addSpecialTokens();

  const GGUFFile &file;
  TokenizerSpec spec;
  Status status;
};

} // namespace

bool TokenizerReader::flag(std::string_view key, bool otherwise) {
  Expected<std::optional<bool>> value = file.boolValue(prefixed(key));
  keep(value.status());
  return value ? value->value_or(otherwise) : otherwise;
}

std::string TokenizerReader::text(std::string_view key) {
  Expected<std::optional<std::string_view>> value = file.stringValue(key);
  keep(value.status());
  return std::string(value ? value->value_or("") : "");
}

/// Returns a token that the metadata names. Leaves out a token outside the
/// vocabulary, with a warning if `warns`. For tokens that end a text, the
/// model's configuration gives the warning.
std::optional<TokenId> TokenizerReader::id(std::string_view key,
                                           std::optional<TokenId> otherwise,
                                           bool warns) {
  Expected<std::optional<uint64_t>> value = file.uintValue(prefixed(key));
  keep(value.status());
  if (!value || !value->has_value())
    return otherwise && static_cast<size_t>(*otherwise) < spec.tokens.size()
               ? otherwise
               : std::nullopt;
  if (**value >= spec.tokens.size()) {
    if (warns)
      warnings.push_back(fail(key, "the id " + std::to_string(**value) +
                                       " is outside the vocabulary and is left "
                                       "out")
                             .message());
    return std::nullopt;
  }
  return static_cast<TokenId>(**value);
}

Status TokenizerReader::readTokens() {
  const MetadataValue *value = file.find(prefixed("tokens"));
  const std::vector<std::string_view> *texts =
      value ? value->asStrings() : nullptr;
  if (!texts || texts->empty())
    return fail("tokens", value ? "not a list of strings" : "missing");
  spec.tokens.reserve(texts->size());
  for (std::string_view text : *texts)
    spec.tokens.push_back({std::string(text)});
  return readTypes();
}

Status TokenizerReader::readTypes() {
  const MetadataValue *value = file.find(prefixed("token_type"));
  if (!value)
    return {};
  std::optional<std::vector<int64_t>> types = value->asInts();
  if (!types)
    return fail("token_type", "not a list of integers");
  if (types->size() != spec.tokens.size())
    return fail("token_type", "not as long as the list of tokens");
  for (size_t i = 0; i < types->size(); ++i) {
    constexpr TokenType known[] = {TokenType::Normal,  TokenType::Unknown,
                                   TokenType::Control, TokenType::UserDefined,
                                   TokenType::Unused,  TokenType::Byte};
    int64_t type = (*types)[i];
    // Type 0 is undefined; some files use it.
    if (type < 0 || type > 6)
      return fail("token_type", "token " + std::to_string(i) +
                                    " has the unknown type " +
                                    std::to_string(type));
    spec.tokens[i].type = type == 0 ? TokenType::Normal : known[type - 1];
  }
  return {};
}

Status TokenizerReader::readScores() {
  const MetadataValue *value = file.find(prefixed("scores"));
  if (!value)
    return fail("scores", "missing");
  std::optional<std::vector<float>> scores = value->asFloats();
  if (!scores)
    return fail("scores", "not a list of numbers");
  if (scores->size() != spec.tokens.size())
    return fail("scores", "not as long as the list of tokens");
  for (size_t i = 0; i < scores->size(); ++i)
    spec.tokens[i].score = static_cast<double>((*scores)[i]);
  return {};
}

Status TokenizerReader::readMerges() {
  const MetadataValue *value = file.find(prefixed("merges"));
  const std::vector<std::string_view> *merges =
      value ? value->asStrings() : nullptr;
  if (!merges)
    return fail("merges", value ? "not a list of strings" : "missing");
  TokenIndex index(spec.tokens.size());
  for (size_t i = 0; i < spec.tokens.size(); ++i)
    index.insert(spec.tokens[i].text, static_cast<TokenId>(i));
  spec.merges.reserve(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    std::string_view text = (*merges)[rank];
    size_t gap = text.find(' ', 1);
    std::string place = "merge " + std::to_string(rank) + " ";
    if (gap == std::string_view::npos)
      return fail("merges", place + quote(text) + " is not two tokens");
    std::string left(text.substr(0, gap)), right(text.substr(gap + 1));
    std::string result = left + right;
    Merge merge;
    for (auto [part, partId] :
         {std::pair(&left, &merge.left), std::pair(&right, &merge.right),
          std::pair(&result, &merge.result)}) {
      std::optional<TokenId> known = index.find(*part);
      if (!known)
        return fail("merges", place + "needs " + quote(*part) +
                                  ", which is not in the vocabulary");
      *partId = *known;
    }
    spec.merges.push_back(merge);
  }
  return {};
}

/// Reads the ids around a text, with defaults for what the file does not say,
/// and the ids that end a generation.
void TokenizerReader::readTemplate(bool addBegin, bool addEnd,
                                   std::optional<TokenId> defaultBegin,
                                   std::optional<TokenId> defaultEnd) {
  auto endId = [&](std::string_view key, std::optional<TokenId> otherwise) {
    return id(key, otherwise, /*warns=*/false);
  };
  spec.beginOfText = id("bos_token_id", defaultBegin, /*warns=*/true);
  std::optional<TokenId> end = endId("eos_token_id", defaultEnd);
  for (std::optional<TokenId> last :
       {end, endId("eot_token_id", {}), endId("eom_token_id", {})})
    if (last)
      spec.endOfText.push_back(*last);
  if (flag("add_bos_token", addBegin)) {
    if (spec.beginOfText)
      spec.prefix.push_back(*spec.beginOfText);
    else
      lacksAdded("bos_token_id");
  }
  if (flag("add_eos_token", addEnd)) {
    if (end)
      spec.suffix.push_back(*end);
    else
      lacksAdded("eos_token_id");
  }
}

/// Reports that a token that is to be added to texts does not exist: as an
/// error if the file does not name it, as a warning if the file names one
/// outside the vocabulary.
void TokenizerReader::lacksAdded(std::string_view key) {
  if (!file.find(prefixed(key)))
    keep(fail(key, "missing, and the token is to be added"));
  else
    warnings.push_back(
        fail(key, "outside the vocabulary, so that texts go without the token "
                  "that is to be added to them")
            .message());
}

/// Adds the tokens that are matched in a text before the model sees it.
void TokenizerReader::addSpecialTokens() {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    TokenType type = spec.tokens[i].type;
    bool special = type == TokenType::Control || type == TokenType::Unknown;
    if (!special && type != TokenType::UserDefined)
      continue;
    AddedToken added;
    added.id = static_cast<TokenId>(i);
    added.special = special;
    spec.addedTokens.push_back(added);
  }
}

Status TokenizerReader::readBpe() {
  spec.kind = ModelKind::BPE;
  std::string name = text(prefixed("pre"));
  std::optional<NamedPreTokenizer> named = findPreTokenizer(name);
  if (!named)
    return fail("pre",
                "the pre-tokenizer " + quote(name) + " is not supported");
  spec.preTokenizer = std::move(named->steps);
  spec.normalizer = std::move(named->normalizer);
  spec.ignoreMerges = named->ignoreMerges;
  spec.decoder.push_back({DecoderStep::Kind::ByteLevel});
  readTemplate(named->addsBeginOfText && file.find(prefixed("bos_token_id")),
               false, {}, {});
  return readMerges();
}

/// Reads the normalization that SentencePiece applies to a text before it
/// handles spaces. With `words`, the text is later cut into words at spaces,
/// and the steps are those of Hugging Face's converter.
void TokenizerReader::readNormalizer(bool words) {
  using Kind = NormalizerStep::Kind;
  const MetadataValue *map = file.find(prefixed("precompiled_charsmap"));
  std::optional<std::vector<int64_t>> bytes =
      map ? map->asInts() : std::nullopt;
  if (map && !bytes)
    keep(fail("precompiled_charsmap", "not a list of bytes"));
  if (bytes && !bytes->empty()) {
    NormalizerStep step{Kind::Precompiled};
    for (int64_t byte : *bytes)
      step.pattern.push_back(static_cast<char>(byte));
    spec.normalizer.push_back(std::move(step));
  }
  if (!flag("remove_extra_whitespaces", false))
    return;
  NormalizerStep strip{Kind::Strip};
  strip.left = !words;
  strip.right = true;
  spec.normalizer.push_back(strip);
  spec.normalizer.push_back({Kind::ReplaceRegex, " {2,}", words ? space : " "});
}

Status TokenizerReader::readLlama() {
  using Step = DecoderStep::Kind;
  spec.kind = ModelKind::SentencePieceBPE;
  spec.byteFallback = spec.fuseUnknown = true;
  Status scores = readScores();
  if (!scores.ok())
    return scores;
  spec.unknown = id("unknown_token_id", 0, /*warns=*/true);
  readTemplate(true, false, 1, 2);
  readNormalizer(/*words=*/false);
  bool prefix = flag("add_space_prefix", true);
  if (prefix)
    spec.normalizer.push_back({NormalizerStep::Kind::Prepend, "", space});
  spec.normalizer.push_back({NormalizerStep::Kind::ReplaceString, " ", space});
  spec.decoder = {
      {Step::ReplaceString, space, " "}, {Step::ByteFallback}, {Step::Fuse}};
  if (prefix) {
    DecoderStep strip{Step::Strip, "", " "};
    strip.start = 1;
    spec.decoder.push_back(strip);
  }
  return {};
}

Status TokenizerReader::readT5() {
  spec.kind = ModelKind::Unigram;
  spec.fuseUnknown = true;
  for (const Token &token : spec.tokens)
    spec.byteFallback |= token.type == TokenType::Byte;
  Status scores = readScores();
  if (!scores.ok())
    return scores;
  spec.unknown = id("unknown_token_id", 2, /*warns=*/true);
  readTemplate(false, true, {}, 1);
  readNormalizer(/*words=*/true);
  PreTokenizerStep words;
  words.kind = PreTokenizerStep::Kind::Metaspace;
  words.pattern = space;
  words.scheme = flag("add_space_prefix", true) ? PrependScheme::Always
                                                : PrependScheme::Never;
  words.flag = true;
  spec.preTokenizer.push_back(words);
  DecoderStep decoder{DecoderStep::Kind::Metaspace, space};
  decoder.scheme = words.scheme;
  if (spec.byteFallback)
    spec.decoder.push_back({DecoderStep::Kind::ByteFallback});
  spec.decoder.push_back(decoder);
  return {};
}

Expected<TokenizerSpec> TokenizerReader::read() {
  std::string model = text(prefixed("model"));
  if (status.ok() && model.empty())
    return failure(file.path(), ": has no tokenizer");
  Status tokens = status.ok() ? readTokens() : status;
  if (!tokens.ok())
    return tokens;
  Status rest;
  if (model == "gpt2")
    rest = readBpe();
  else if (model == "llama")
    rest = readLlama();
  else if (model == "t5")
    rest = readT5();
  else
    rest = fail("model", "the tokenizer " + quote(model) + " is not supported");
  keep(rest);
  spec.chatTemplate = text("tokenizer.chat_template");
  spec.toolTemplate = text("tokenizer.chat_template.tool_use");
  if (!status.ok())
    return status;
  addSpecialTokens();
  Status valid = spec.validate();
  if (!valid.ok())
    return failure(file.path(), ": tokenizer: ", valid.message());
  return std::move(spec);
}

Expected<TokenizerSpec>
gguf::readTokenizer(const GGUFFile &file, std::vector<std::string> *warnings) {
  TokenizerReader reader(file);
  Expected<TokenizerSpec> spec = reader.read();
  if (warnings)
    warnings->insert(warnings->end(), reader.warnings.begin(),
                     reader.warnings.end());
  return spec;
}
