//===- JsonWalkTest.cpp - tests that masks allow only valid JSON ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes random tokens that the masks of schemas allow, until the text ends. On
// the way, every token's bit is compared with a match of the token's bytes. At
// the end, a JSON library parses the text, and a validator that shares no code
// with the compiler of schemas checks it.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

using namespace sluice;
using namespace sluice::grammar;
using nlohmann::ordered_json;

namespace {

/// Validates the keywords of the schemas here, except formats. Exclusive bounds
/// count as inclusive ones, since a number of many digits may be rounded to a
/// bound.
class Validator {
public:
  explicit Validator(const ordered_json &root) : root(root) {}

  bool accepts(const ordered_json &schema, const ordered_json &value) const {
    if (schema.is_boolean())
      return schema.get<bool>();
    for (const auto &[key, argument] : schema.items())
      if (!acceptsKeyword(key, argument, value))
        return false;
    return acceptsObject(schema, value) && acceptsItems(schema, value);
  }

private:
  static bool isOfType(const std::string &type, const ordered_json &value) {
    return (type == "null" && value.is_null()) ||
           (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number() &&
            std::floor(value.get<double>()) == value.get<double>()) ||
           (type == "number" && value.is_number()) ||
           (type == "string" && value.is_string()) ||
           (type == "array" && value.is_array()) ||
           (type == "object" && value.is_object());
  }

  size_t matching(const ordered_json &schemas,
                  const ordered_json &value) const {
    size_t count = 0;
    for (const ordered_json &schema : schemas)
      count += accepts(schema, value);
    return count;
  }

  bool acceptsKeyword(const std::string &key, const ordered_json &argument,
                      const ordered_json &value) const {
    if (key == "type") {
      if (argument.is_string())
        return isOfType(argument, value);
      for (const std::string type : argument)
        if (isOfType(type, value))
          return true;
      return false;
    }
    if (key == "$ref") {
      std::string pointer = argument;
      return accepts(root.at(ordered_json::json_pointer(pointer.substr(1))),
                     value);
    }
    if (key == "const")
      return argument == value;
    if (key == "enum")
      return std::find(argument.begin(), argument.end(), value) !=
             argument.end();
    if (key == "allOf")
      return matching(argument, value) == argument.size();
    if (key == "anyOf")
      return matching(argument, value) > 0;
    if (key == "oneOf")
      return matching(argument, value) == 1;
    if (value.is_number())
      return acceptsNumber(key, argument, value.get<double>());
    if (value.is_string())
      return acceptsString(key, argument, value.get<std::string>());
    return true;
  }

  static bool acceptsNumber(const std::string &key,
                            const ordered_json &argument, double value) {
    if (key == "minimum" || key == "exclusiveMinimum")
      return value >= argument.get<double>();
    if (key == "maximum" || key == "exclusiveMaximum")
      return value <= argument.get<double>();
    if (key != "multipleOf" || std::abs(value) > 1e15)
      return true;
    return std::remainder(value, argument.get<double>()) == 0;
  }

  static bool acceptsString(const std::string &key,
                            const ordered_json &argument,
                            const std::string &value) {
    auto length = static_cast<size_t>(std::count_if(
        value.begin(), value.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    if (key == "minLength")
      return length >= argument.get<size_t>();
    if (key == "maxLength")
      return length <= argument.get<size_t>();
    return key != "pattern" ||
           std::regex_search(value, std::regex(argument.get<std::string>()));
  }

  bool acceptsObject(const ordered_json &schema,
                     const ordered_json &value) const {
    if (!value.is_object())
      return true;
    for (const std::string name : schema.value("required", ordered_json()))
      if (!value.contains(name))
        return false;
    if (value.size() < schema.value("minProperties", size_t(0)) ||
        value.size() > schema.value("maxProperties", size_t(-1)))
      return false;
    ordered_json named = schema.value("properties", ordered_json::object());
    ordered_json patterns =
        schema.value("patternProperties", ordered_json::object());
    for (const auto &[name, member] : value.items()) {
      bool declared = named.contains(name);
      if (declared && !accepts(named[name], member))
        return false;
      for (const auto &[pattern, other] : patterns.items())
        if (std::regex_search(name, std::regex(pattern))) {
          declared = true;
          if (!accepts(other, member))
            return false;
        }
      if (!declared && schema.contains("additionalProperties") &&
          !accepts(schema["additionalProperties"], member))
        return false;
      if (schema.contains("propertyNames") &&
          !accepts(schema["propertyNames"], name))
        return false;
    }
    return true;
  }

  bool acceptsItems(const ordered_json &schema,
                    const ordered_json &value) const {
    if (!value.is_array())
      return true;
    if (value.size() < schema.value("minItems", size_t(0)) ||
        value.size() > schema.value("maxItems", size_t(-1)))
      return false;
    for (size_t i = 0; i < value.size(); ++i)
      if (schema.value("uniqueItems", false) &&
          std::count(value.begin(), value.end(), value[i]) > 1)
        return false;
    ordered_json tuple = schema.value("prefixItems", ordered_json::array());
    for (size_t i = 0; i < value.size(); ++i) {
      if (i < tuple.size()
              ? !accepts(tuple[i], value[i])
              : schema.contains("items") && !accepts(schema["items"], value[i]))
        return false;
    }
    return true;
  }

  const ordered_json &root;
};

/// Returns bytes, words and pieces of JSON; enough for subtrees that are
/// accepted at once.
std::vector<std::string> makeVocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  const std::vector<std::string> pieces{"a", "b",  "c", "na", "ke", "x1", "é",
                                        "€", "😀", " ", "1",  "0",  "\"", ",",
                                        "}", "]",  "{", "[",  ":",  "\\n"};
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string token;
    for (size_t n = 2 + random() % 4; n > 0; --n)
      token += pieces[random() % (random() % 4 ? 9 : pieces.size())];
    token.resize(token.size() - random() % 2);
    tokens.push_back(token);
  }
  for (const char *word : {"true", "false", "null", "\": ", "\",\"", "\"}",
                           "}}", "]}", "\n  ", "name", "12345", "a\",", "na\"]",
                           "b\",\"a", "ke\"}", "1\"}]", "a\"\"", "b\" "})
    tokens.push_back(word);
  return tokens;
}

/// Returns the text of a random walk; nothing if the walk was too long.
std::optional<std::string> walk(const std::shared_ptr<const TokenGrammar> &it,
                                std::mt19937 &random) {
  constexpr int max = 300, patient = 20;
  size_t count = it->trie().vocabularySize();
  std::vector<uint64_t> mask(it->maskWords());
  GrammarState state(it);
  std::string text;
  for (int step = 0; step < max; ++step) {
    Status status = state.fillMask(mask);
    EXPECT_TRUE(status.ok()) << text << ": " << status.message();
    std::vector<TokenId> allowed, closing;
    for (size_t id = 0; id < count; ++id) {
      auto token = static_cast<TokenId>(id);
      bool isIn = mask[id / 64] >> (id % 64) & 1;
      if (isIn != state.accepts(token)) {
        ADD_FAILURE() << text << " and token '" << it->trie().bytes(token)
                      << "'";
        return std::nullopt;
      }
      if (!isIn)
        continue;
      allowed.push_back(token);
      if (it->trie().isEndToken(token) ||
          it->trie().bytes(token).find_first_of("\"}]") != std::string::npos)
        closing.push_back(token);
    }
    const auto &from = step > patient && !closing.empty() ? closing : allowed;
    TokenId token = from[random() % from.size()];
    EXPECT_TRUE(state.advance(token));
    if (state.hasEnded())
      return text;
    text += it->trie().bytes(token);
  }
  return std::nullopt;
}

/// Schemas of strings with lengths, which end inside tokens, of values that
/// must match one schema of several, and of items that must differ.
constexpr const char *hardSchemas[] = {
    R"({"type": "array", "items": {"$ref": "#/$defs/s"},
        "$defs": {"s": {"type": "string", "minLength": 2, "maxLength": 30}}})",
    R"({"type": "array", "items": {"pattern": "^(aa|bbb|na)*$", "minLength": 5,
        "maxLength": 11}, "maxItems": 4})",
    R"({"oneOf": [{"type": "number", "minimum": -99, "maximum": 99},
        {"type": "integer"}]})",
    R"({"oneOf": [{"type": "integer", "minimum": 0},
        {"type": "number", "maximum": 10}]})",
    R"({"oneOf": [{"type": "string", "pattern": "^a"},
        {"type": "string", "pattern": "b$", "maxLength": 4},
        {"enum": ["a", "b", "c", 1]}]})",
    R"({"oneOf": [{"type": "string", "minLength": 3}, {"maxLength": 6},
        {"type": ["null", "boolean"]}]})",
    R"({"type": "object", "properties": {"a": {"type": "integer"},
        "b": {"type": "boolean"}, "c": {"type": "null"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]},
                  {"required": ["c"]}]})",
    R"({"oneOf": [{"type": "object", "properties": {"k": {"enum": ["a", "b"]},
        "x": {"type": "integer"}}}, {"type": "object",
        "properties": {"k": {"const": "c"}, "x": {"type": "null"}}}]})",
    R"({"type": "object", "additionalProperties": {"type": "boolean"},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
    R"({"oneOf": [{"type": "object", "properties": {"x": {}, "a": {}},
        "additionalProperties": false}, {"type": "object",
        "properties": {"x": {"type": "integer"}, "b": {}},
        "additionalProperties": false}]})",
    R"({"type": "array", "items": {"enum": ["a", "b", 1, null, "ke"]},
        "uniqueItems": true, "minItems": 2})"};

/// Returns these schemas and those of schema_cases.json.
std::vector<ordered_json> schemas() {
  std::ifstream file(SLUICE_GRAMMAR_TEST_DATA "/schema_cases.json");
  std::vector<ordered_json> out;
  for (const char *schema : hardSchemas)
    out.push_back(ordered_json::parse(schema));
  for (const auto &it : ordered_json::parse(file, nullptr, false))
    out.push_back(it["schema"]);
  return out;
}

TEST(JsonWalkTest, WhatIsWrittenIsValid) {
  auto trie = makeTrie(makeVocabulary());
  std::mt19937 random(1);
  int ended = 0, walks = 0;
  for (const ordered_json &schema : schemas()) {
    Expected<Grammar> grammar = Grammar::fromJsonSchema(schema);
    ASSERT_TRUE(grammar) << schema;
    auto tokens = std::make_shared<const TokenGrammar>(*grammar, trie);
    for (int i = 0; i < 6; ++i, ++walks) {
      std::optional<std::string> text = walk(tokens, random);
      if (!text)
        continue;
      ++ended;
      auto value = ordered_json::parse(*text, nullptr, false);
      ASSERT_FALSE(value.is_discarded()) << schema << " wrote " << *text;
      EXPECT_TRUE(Validator(schema).accepts(schema, value))
          << schema << " wrote " << *text;
    }
  }
  // Some walks continue in arrays of arrays; most do not.
  EXPECT_GT(walks, 300);
  EXPECT_GT(ended, walks * 3 / 4);
}

} // namespace
