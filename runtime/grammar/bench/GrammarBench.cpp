//===- GrammarBench.cpp - measures the time of masks ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: grammar-bench [TOKENS]
//
// Writes documents token by token, as a model would, and measures the time of
// the mask before each token: with an empty cache, and again with the cache of
// the first pass. TOKENS is a vocabulary, one token a line as the hexadecimal
// digits of its bytes. Without it, a vocabulary of 128,000 tokens is made up,
// with about as many letters, punctuation marks and parts of characters as a
// real one.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarState.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using Clock = std::chrono::steady_clock;

double microsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

std::vector<std::string> readTokens(const char *path) {
  std::vector<std::string> tokens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string &token = tokens.emplace_back();
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      token += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return tokens;
}

std::vector<std::string> makeTokens() {
  constexpr size_t wanted = 128000;
  std::mt19937 random(1);
  std::set<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.insert(std::string(1, static_cast<char>(byte)));
  for (int number = 0; number < 1000; ++number)
    tokens.insert(std::to_string(number));
  const std::string marks = "\"{}[]:,.;()<>/\\'=-+*&|!?#$%^_`~ \n\t";
  while (tokens.size() < 5000) {
    std::string token;
    for (size_t length = 1 + random() % 5; token.size() < length;)
      token += marks[random() % (token.empty() ? marks.size() : 16)];
    tokens.insert(token);
  }
  for (size_t blanks = 2; blanks <= 80; ++blanks)
    tokens.insert(std::string(blanks, ' '));
  const std::string often = "eeeetttaaaooiinnsshhrrddlluucmwfgypbvkjxqz";
  while (tokens.size() < 100000) {
    std::string token = random() % 2 ? " " : "";
    for (size_t length = 2 + random() % 8; length > 0; --length)
      token += often[random() % often.size()];
    if (random() % 5 == 0)
      token[token[0] == ' '] -= 'a' - 'A';
    tokens.insert(token);
  }
  while (tokens.size() < wanted) {
    std::string token;
    for (size_t length = 1 + random() % 4; length > 0; --length) {
      token += static_cast<char>(0xE3 + random() % 7);
      token += static_cast<char>(0x80 + random() % 64);
      token += static_cast<char>(0x80 + random() % 64);
    }
    token.resize(token.size() - random() % 2);
    tokens.insert(token);
  }
  std::vector<std::string> list(tokens.begin(), tokens.end());
  std::shuffle(list.begin(), list.end(), random);
  return list;
}

struct Case {
  const char *name;
  Expected<Grammar> (*make)();
  std::string text;
};

Expected<Grammar> fromSchema(const char *text) {
  return Grammar::fromJsonSchema(nlohmann::ordered_json::parse(text));
}

Expected<Grammar> personSchema() {
  return fromSchema(R"({"type": "object", "properties": {
    "name": {"type": "string"}, "age": {"type": "integer", "minimum": 0,
    "maximum": 150}, "email": {"type": "string", "format": "email"},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}},
    "role": {"enum": ["admin", "user", "guest"]}, "bio": {"type": "string",
    "maxLength": 500}}, "required": ["name", "age", "email", "tags", "role",
    "bio"], "additionalProperties": false})");
}

Expected<Grammar> url() {
  return fromSchema(R"({"type": "string", "format": "uri"})");
}

/// The schema that pydantic writes for HttpUrl.
Expected<Grammar> urlWithLength() {
  return fromSchema(R"({"type": "string", "format": "uri", "minLength": 1,
    "maxLength": 2083})");
}

Expected<Grammar> jsonGbnf() {
  return Grammar::fromGbnf(R"gbnf(
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] |
  "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15}) ("." [0-9]+)?
  ([eE] [-+]? [0-9]+)?) ws
ws ::= | " " | "\n" [ \t]{0,20}
)gbnf");
}

std::vector<Case> cases() {
  std::string person = R"({
  "name": "Ada Lovelace",
  "age": 36,
  "email": "ada.lovelace@example.org",
  "tags": ["mathematics", "engines", "poetry"],
  "role": "admin",
  "bio": "She wrote notes on a machine that was never built, and in them a )"
                       R"(method to compute numbers of Bernoulli. \"It can do )"
                       R"(whatever we know how to order it to perform.\""
})";
  std::string nested = R"({"a": [1, 2.5, {"b": {"c": [[], [true, null]]}}],)"
                       R"( "text": "some words in a row, and then some more",)"
                       R"( "d": {"e": "f", "g": [{"h": -1e5}]}})";
  std::string link = R"("https://example.org/a/path/to/some%20where/and/more?)"
                     R"(with=a&query=that-is-long#and-the-place")";
  return {{"any JSON object", &Grammar::anyJsonObject, nested},
          {"schema of a person", &personSchema, person},
          {"URL", &url, link},
          {"URL with a length", &urlWithLength, link},
          {"JSON as GBNF", &jsonGbnf, nested}};
}

/// Splits the text into tokens, always taking the longest.
std::vector<TokenId> tokenize(const std::map<std::string, TokenId> &ids,
                              const std::string &text) {
  std::vector<TokenId> out;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min<size_t>(text.size() - at, 16);
    while (!ids.contains(text.substr(at, length)))
      --length;
    out.push_back(ids.at(text.substr(at, length)));
    at += length;
  }
  return out;
}

void print(const char *what, std::vector<double> micros) {
  std::sort(micros.begin(), micros.end());
  double sum = 0;
  for (double value : micros)
    sum += value;
  std::printf("  %-14s mean %8.1f  median %8.1f  90%% %8.1f  max %8.1f us\n",
              what, sum / static_cast<double>(micros.size()),
              micros[micros.size() / 2], micros[micros.size() * 9 / 10],
              micros.back());
}

int run(const Case &it, std::shared_ptr<const TokenTrie> trie,
        const std::map<std::string, TokenId> &ids) {
  auto start = Clock::now();
  Expected<Grammar> grammar = it.make();
  if (!grammar) {
    std::fprintf(stderr, "%s\n", grammar.status().message().c_str());
    return 1;
  }
  std::printf("%s: made in %.0f us\n", it.name, microsSince(start));
  auto tokens = std::make_shared<const TokenGrammar>(*grammar, trie);
  std::vector<TokenId> text = tokenize(ids, it.text);
  std::vector<uint64_t> mask(tokens->maskWords());
  for (const char *pass : {"mask, cold", "mask, warm"}) {
    GrammarState state(tokens);
    std::vector<double> masks, copies, advances;
    for (TokenId token : text) {
      start = Clock::now();
      Status status = state.fillMask(mask);
      masks.push_back(microsSince(start));
      start = Clock::now();
      GrammarState guess = state;
      copies.push_back(microsSince(start));
      start = Clock::now();
      bool taken = state.advance(token);
      advances.push_back(microsSince(start));
      if (!status.ok() || !taken ||
          !(mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1)) {
        std::fprintf(stderr, "%s: a token is not allowed\n", it.name);
        return 1;
      }
    }
    print(pass, masks);
    if (pass[6] == 'w') {
      print("copy", copies);
      print("advance", advances);
    }
  }
  std::printf("  %zu tokens, %zu bytes cached\n", text.size(),
              tokens->cachedBytes());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> tokens =
      argc > 1 ? readTokens(argv[1]) : makeTokens();
  std::vector<std::string_view> views(tokens.begin(), tokens.end());
  auto start = Clock::now();
  Expected<TokenTrie> made = TokenTrie::create(views, {});
  if (!made) {
    std::fprintf(stderr, "%s\n", made.status().message().c_str());
    return 1;
  }
  auto trie = std::make_shared<const TokenTrie>(made.take());
  std::printf("%zu tokens, %zu nodes, trie made in %.1f ms\n", tokens.size(),
              trie->nodeCount(), microsSince(start) / 1000);
  std::map<std::string, TokenId> ids;
  for (size_t id = 0; id < tokens.size(); ++id)
    ids.emplace(tokens[id], static_cast<TokenId>(id));
  for (const Case &it : cases())
    if (int status = run(it, trie, ids))
      return status;
  return 0;
}
