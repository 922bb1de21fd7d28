//===- TokenizerJson.cpp - reader of tokenizer.json -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/HuggingFace/TokenizerJson.h"

#include "JsonFields.h"
#include "Steps.h"
#include "TokenizerConfig.h"
#include "VocabularyBuilder.h"
#include "runtime/base/MappedFile.h"
#include "sluice/Import/Support/JSON.h"
#include "sluice/Import/Support/Quote.h"

#include <filesystem>

using namespace sluice;
using namespace sluice::hf;
using namespace sluice::text;
using nlohmann::json;

namespace {

class TokenizerReader {
public:
  Expected<TokenizerSpec> read(const json &file);

private:
  Status readModel(const json &value);
  Status readBpe(JsonFields &fields);
  Status readMerges(const json &merges);
  Status readUnigram(JsonFields &fields);
  Status readAddedTokens(const json &list);
  Status readStages(JsonFields &file);
  void setUnknown(JsonFields &fields, const char *name, TokenId id);

  TokenizerSpec spec;
  VocabularyBuilder vocabulary;
};

/// Returns the two tokens of a merge, written "a b" or ["a", "b"].
std::optional<std::pair<std::string, std::string>>
mergePair(const json &merge) {
  if (merge.is_string()) {
    const auto &text = merge.get_ref<const std::string &>();
    size_t space = text.find(' ');
    if (space == std::string::npos ||
        text.find(' ', space + 1) != std::string::npos)
      return std::nullopt;
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() ||
      !merge[1].is_string())
    return std::nullopt;
  return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
}

} // namespace

Status TokenizerReader::readMerges(const json &merges) {
  spec.merges.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    auto pair = mergePair(merges[rank]);
    if (!pair)
      return failure("model.merges[", rank, "]: not two tokens");
    Merge merge;
    std::string result = pair->first + pair->second;
    for (auto [text, id] : {std::pair(&pair->first, &merge.left),
                            std::pair(&pair->second, &merge.right),
                            std::pair(&result, &merge.result)}) {
      std::optional<TokenId> known = vocabulary.find(*text);
      if (!known)
        return failure("model.merges[", rank, "]: ", quote(*text),
                       " is not in the vocabulary");
      *id = *known;
    }
    spec.merges.push_back(merge);
  }
  return {};
}

Status TokenizerReader::readBpe(JsonFields &fields) {
  spec.kind = ModelKind::BPE;
  if (const json *dropout = fields.find("dropout"))
    if (!dropout->is_number() || dropout->get<double>() != 0)
      fields.fail("dropout", "not supported");
  for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!fields.optionalString(name).value_or("").empty())
      fields.fail(name, "not supported");
  spec.fuseUnknown = fields.flag("fuse_unk", false);
  spec.byteFallback = fields.flag("byte_fallback", false);
  spec.ignoreMerges = fields.flag("ignore_merges", false);
  std::optional<std::string> unknown = fields.optionalString("unk_token");
  const json &words = fields.get("vocab");
  if (!words.is_object())
    fields.fail("vocab", "not an object");
  const json &merges = fields.array("merges");
  if (!fields.ok())
    return fields.finish();
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!word->is_number_unsigned())
      return failure("model.vocab: the id of ", quote(word.key()),
                     " is not a token id");
    Status status = vocabulary.add(word->get<uint64_t>(), {word.key()});
    if (!status.ok())
      return status.withContext("model.vocab");
  }
  if (unknown) {
    spec.unknown = vocabulary.find(*unknown);
    if (!spec.unknown)
      fields.fail("unk_token", quote(*unknown) + " is not in the vocabulary");
  }
  fields.keep(readMerges(merges));
  return fields.finish();
}

Status TokenizerReader::readUnigram(JsonFields &fields) {
  spec.kind = ModelKind::Unigram;
  spec.byteFallback = fields.flag("byte_fallback", false);
  spec.fuseUnknown = true;
  const json &words = fields.array("vocab");
  for (size_t id = 0; id < words.size() && fields.ok(); ++id) {
    const json &word = words[id];
    if (!word.is_array() || word.size() != 2 || !word[0].is_string() ||
        !word[1].is_number()) {
      fields.fail("vocab[" + std::to_string(id) + "]",
                  "not a token and its score");
      break;
    }
    fields.keep(
        vocabulary.add(id, {word[0].get<std::string>(), word[1].get<double>()})
            .withContext("model.vocab"));
  }
  if (fields.find("unk_id")) {
    uint32_t unknown = fields.number("unk_id");
    if (unknown >= words.size())
      fields.fail("unk_id", "is outside the vocabulary");
    spec.unknown = static_cast<TokenId>(unknown);
  }
  return fields.finish();
}

Status TokenizerReader::readModel(const json &value) {
  JsonFields fields(value, "model");
  std::optional<std::string> type = fields.optionalString("type");
  // In older files the model has no type and is recognised by its fields.
  if (!type && fields.find("merges"))
    type = "BPE";
  if (!type && fields.find("vocab") && fields.get("vocab").is_array())
    type = "Unigram";
  if (type == "BPE")
    return readBpe(fields);
  if (type == "Unigram")
    return readUnigram(fields);
  fields.fail("type", type ? quote(*type) + " is not supported" : "missing");
  return fields.finish();
}

Status TokenizerReader::readAddedTokens(const json &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    JsonFields fields(list[i], "added_tokens[" + std::to_string(i) + "]");
    AddedToken added;
    std::string content = fields.string("content");
    uint32_t id = fields.number("id");
    added.special = fields.flag("special");
    added.singleWord = fields.flag("single_word");
    added.lstrip = fields.flag("lstrip");
    added.rstrip = fields.flag("rstrip");
    added.normalized = fields.flag("normalized");
    Status status = fields.finish();
    if (!status.ok())
      return status;
    if (vocabulary.find(content) != static_cast<TokenId>(id)) {
      status = vocabulary.add(id, {content, 0, TokenType::Added});
      if (!status.ok())
        return status.withContext(fields.at("id"));
    }
    added.id = static_cast<TokenId>(id);
    spec.addedTokens.push_back(added);
  }
  return {};
}

Status TokenizerReader::readStages(JsonFields &file) {
  using Read = Status (*)(const json &, const std::string &, TokenizerSpec &);
  const std::pair<const char *, Read> stages[] = {
      {"normalizer", readNormalizer},
      {"pre_tokenizer", readPreTokenizer},
      {"post_processor", readPostProcessor},
      {"decoder", readDecoder},
  };
  for (auto [name, read] : stages)
    if (const json *stage = file.find(name))
      file.keep(read(*stage, name, spec));
  return file.finish();
}

Expected<TokenizerSpec> TokenizerReader::read(const json &value) {
  JsonFields file(value, "");
  file.ignore("version");
  // These two fields concern batches of texts.
  file.ignore("truncation");
  file.ignore("padding");
  Status status = readModel(file.get("model"));
  if (status.ok() && file.find("added_tokens"))
    status = readAddedTokens(file.array("added_tokens"));
  if (status.ok())
    status = readStages(file);
  if (!status.ok())
    return status;
  Expected<std::vector<Token>> tokens = vocabulary.take();
  if (!tokens)
    return tokens.status();
  spec.tokens = tokens.take();
  return std::move(spec);
}

Expected<TokenizerSpec>
hf::parseTokenizerJson(const TokenizerTexts &texts,
                       std::vector<std::string> *warnings) {
  Expected<json> parsed = parseJSON(texts.tokenizer);
  if (!parsed)
    return parsed.status().withContext("tokenizer.json");
  Expected<TokenizerSpec> spec = TokenizerReader().read(*parsed);
  Status status = spec ? spec->validate() : spec.status();
  if (!status.ok())
    return status.withContext("tokenizer.json");
  std::vector<std::string> said;
  status = readTokenizerConfig(texts.config, texts.addedTokens, *spec, said);
  if (status.ok())
    status = spec->validate();
  if (!status.ok())
    return status;
  if (warnings)
    warnings->insert(warnings->end(), said.begin(), said.end());
  return spec;
}

/// Returns the text of a file, or an empty string if the file is missing.
static Expected<std::string> readOptional(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return std::string();
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  return std::string(reinterpret_cast<const char *>(file->bytes().data()),
                     file->bytes().size());
}

/// Reads the templates from files of their own. They replace the
/// configuration's.
static Status readTemplateFiles(const std::string &folder,
                                TokenizerSpec &spec) {
  constexpr std::pair<const char *, std::string_view> files[] = {
      {"/chat_template.jinja", "default"},
      {"/additional_chat_templates/tool_use.jinja", "tool_use"}};
  for (const auto &[file, name] : files) {
    Expected<std::string> text = readOptional(folder + file);
    if (!text)
      return text.status();
    if (!text->empty())
      keepNamedTemplate(name, text.take(), spec);
  }
  return {};
}

Expected<TokenizerSpec>
hf::readTokenizerJson(const std::string &folder,
                      std::vector<std::string> *warnings) {
  Expected<MappedFile> file = MappedFile::open(folder + "/tokenizer.json");
  if (!file)
    return file.status();
  Expected<std::string> config =
      readOptional(folder + "/tokenizer_config.json");
  if (!config)
    return config.status();
  Expected<std::string> added = readOptional(folder + "/added_tokens.json");
  if (!added)
    return added.status();
  std::vector<std::string> said;
  Expected<TokenizerSpec> spec = parseTokenizerJson(
      {.tokenizer = {reinterpret_cast<const char *>(file->bytes().data()),
                     file->bytes().size()},
       .config = *config,
       .addedTokens = *added},
      &said);
  if (!spec)
    return failure(folder, "/", spec.status().message());
  SLUICE_RETURN_IF_ERROR(readTemplateFiles(folder, *spec));
  if (warnings)
    for (const std::string &line : said)
      warnings->push_back(folder + "/" + line);
  return spec;
}
