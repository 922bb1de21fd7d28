//===- TokenizerConfig.cpp - reader of the files beside tokenizer.json ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenizerConfig.h"

#include "JsonFields.h"
#include "sluice/Import/Support/JSON.h"
#include "sluice/Import/Support/Quote.h"

#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

using namespace sluice;
using namespace sluice::hf;
using namespace sluice::text;
using nlohmann::json;

namespace {

constexpr const char *configFile = "tokenizer_config.json";
constexpr const char *addedTokensFile = "added_tokens.json";

/// Adds the tokens of the two files to a tokenizer.
class ConfigReader {
public:
  ConfigReader(TokenizerSpec &spec, std::vector<std::string> &warnings);

  Status readConfig(const json &file);
  Status readAddedTokens(const json &file);

private:
  Status readDecoder(const json &tokens);
  void readSpecialTexts(JsonFields &config);
  Status readToken(JsonFields &config, const char *name,
                   std::optional<TokenId> &id);
  void add(uint64_t id, const std::string &content, AddedToken token,
           const char *file);
  /// Warns of a token that cannot be added.
  void leaveOut(const char *file, const Status &reason) {
    warnings.push_back(reason.withContext(file).message() +
                       "; the token is left out");
  }
  std::optional<TokenId> find(const std::string &text) const;

  TokenizerSpec &spec;
  std::vector<std::string> &warnings;
  std::unordered_map<std::string, TokenId> ids;
  std::set<TokenId> added;            ///< the ids in spec.addedTokens
  std::set<std::string> specialTexts; ///< named by the configuration
};

/// Returns the text of a token that is written as a string or as an object that
/// holds it.
std::optional<std::string> textOf(const json &token) {
  if (token.is_string())
    return token.get<std::string>();
  auto content = token.is_object() ? token.find("content") : token.end();
  if (content == token.end() || !content->is_string())
    return std::nullopt;
  return content->get<std::string>();
}

std::optional<uint64_t> parseId(const std::string &text) {
  uint64_t id = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return id;
}

} // namespace

ConfigReader::ConfigReader(TokenizerSpec &spec,
                           std::vector<std::string> &warnings)
    : spec(spec), warnings(warnings) {
  for (size_t id = 0; id < spec.tokens.size(); ++id)
    ids.emplace(spec.tokens[id].text, static_cast<TokenId>(id));
  for (const AddedToken &token : spec.addedTokens)
    added.insert(token.id);
}

std::optional<TokenId> ConfigReader::find(const std::string &text) const {
  auto known = ids.find(text);
  return known == ids.end() ? std::nullopt
                            : std::optional<TokenId>(known->second);
}

/// Adds a token that tokenizer.json lacks. As in transformers, a token that the
/// vocabulary has keeps its id, and a new token gets the next id.
void ConfigReader::add(uint64_t id, const std::string &content,
                       AddedToken token, const char *file) {
  token.id = static_cast<TokenId>(spec.tokens.size());
  if (std::optional<TokenId> known = find(content))
    token.id = *known;
  if (!added.insert(token.id).second)
    return;
  if (static_cast<uint64_t>(token.id) != id)
    warnings.push_back(std::string(file) + ": token " + quote(content) +
                       " has the id " + std::to_string(token.id) + ", not " +
                       std::to_string(id));
  if (ids.emplace(content, token.id).second)
    spec.tokens.push_back({content, 0, TokenType::Added});
  spec.addedTokens.push_back(token);
}

/// Reads added_tokens_decoder: tokens by id, with the same fields as
/// tokenizer.json's added tokens.
Status ConfigReader::readDecoder(const json &tokens) {
  if (!tokens.is_object())
    return failure("added_tokens_decoder: not an object");
  std::multimap<uint64_t, const json *> ordered;
  for (auto token = tokens.begin(); token != tokens.end(); ++token) {
    if (std::optional<uint64_t> id = parseId(token.key()))
      ordered.emplace(*id, &*token);
    else
      leaveOut(configFile, failure("added_tokens_decoder: ", quote(token.key()),
                                   " is not a token id"));
  }
  for (const auto &[id, value] : ordered) {
    JsonFields fields(*value, "added_tokens_decoder." + std::to_string(id));
    AddedToken token;
    std::string content = fields.string("content");
    token.special = fields.flag("special", false);
    token.singleWord = fields.flag("single_word", false);
    token.lstrip = fields.flag("lstrip", false);
    token.rstrip = fields.flag("rstrip", false);
    token.normalized = fields.flag("normalized", !token.special);
    if (fields.ok() && content.empty())
      fields.fail("content", "empty");
    if (fields.ok())
      add(id, content, token, configFile);
    else
      leaveOut(configFile, fields.error());
  }
  return {};
}

/// Reads added_tokens.json: the ids of tokens by their texts.
Status ConfigReader::readAddedTokens(const json &file) {
  if (!file.is_object())
    return failure("not an object");
  std::multimap<uint64_t, std::string> ordered;
  for (auto token = file.begin(); token != file.end(); ++token) {
    if (token->is_number_unsigned() && !token.key().empty())
      ordered.emplace(token->get<uint64_t>(), token.key());
    else
      leaveOut(addedTokensFile,
               failure("the id of ", quote(token.key()), " is not a token id"));
  }
  for (const auto &[id, content] : ordered) {
    AddedToken token;
    token.special = specialTexts.contains(content);
    add(id, content, token, addedTokensFile);
  }
  return {};
}

/// Reads the texts that the configuration names as special, whether or not the
/// vocabulary has them.
void ConfigReader::readSpecialTexts(JsonFields &config) {
  for (const char *name : {"bos_token", "eos_token", "unk_token", "sep_token",
                           "pad_token", "cls_token", "mask_token"})
    if (const json *field = config.find(name))
      if (std::optional<std::string> text = textOf(*field))
        specialTexts.insert(*text);
  for (const char *name : {"additional_special_tokens", "extra_special_tokens"})
    if (const json *list = config.find(name); list && list->is_array())
      for (const json &field : *list)
        if (std::optional<std::string> text = textOf(field))
          specialTexts.insert(*text);
}

Status ConfigReader::readToken(JsonFields &config, const char *name,
                               std::optional<TokenId> &id) {
  const json *field = config.find(name);
  if (!field)
    return {};
  std::optional<std::string> text = textOf(*field);
  if (!text)
    return failure(name, ": not a token");
  id = find(*text);
  if (!id)
    warnings.push_back(std::string(configFile) + ": " + name + ": " +
                       quote(*text) +
                       " is not in the vocabulary and is left out");
  return {};
}

void hf::keepNamedTemplate(std::string_view name, std::string text,
                           TokenizerSpec &spec) {
  if (name == "default")
    spec.chatTemplate = std::move(text);
  else if (name == "tool_use")
    spec.toolTemplate = std::move(text);
}

/// Reads a template, or a list of named templates.
static Status readChatTemplates(const json &field, TokenizerSpec &spec) {
  if (field.is_string()) {
    spec.chatTemplate = field.get<std::string>();
    return {};
  }
  if (!field.is_array())
    return failure("chat_template: neither a string nor a list");
  for (const json &entry : field) {
    JsonFields fields(entry, "chat_template");
    std::string name = fields.string("name");
    std::string text = fields.string("template");
    if (!fields.ok())
      return fields.finish();
    keepNamedTemplate(name, std::move(text), spec);
  }
  return {};
}

Status ConfigReader::readConfig(const json &file) {
  JsonFields config(file, "");
  if (!config.ok())
    return config.error();
  readSpecialTexts(config);
  if (const json *tokens = config.find("added_tokens_decoder"))
    SLUICE_RETURN_IF_ERROR(readDecoder(*tokens));
  std::optional<TokenId> end;
  SLUICE_RETURN_IF_ERROR(readToken(config, "bos_token", spec.beginOfText));
  SLUICE_RETURN_IF_ERROR(readToken(config, "eos_token", end));
  if (end)
    spec.endOfText.push_back(*end);
  const json *templates = config.find("chat_template");
  return templates ? readChatTemplates(*templates, spec) : Status();
}

Status hf::readTokenizerConfig(std::string_view configJson,
                               std::string_view addedTokensJson,
                               TokenizerSpec &spec,
                               std::vector<std::string> &warnings) {
  ConfigReader reader(spec, warnings);
  if (!configJson.empty()) {
    Expected<json> config = parseJSON(configJson);
    Status status = config ? reader.readConfig(*config) : config.status();
    if (!status.ok())
      return status.withContext(configFile);
  }
  if (!addedTokensJson.empty()) {
    Expected<json> tokens = parseJSON(addedTokensJson);
    Status status = tokens ? reader.readAddedTokens(*tokens) : tokens.status();
    if (!status.ok())
      return status.withContext(addedTokensFile);
  }
  return {};
}
