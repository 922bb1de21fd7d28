//===- StringLengthTest.cpp - tests of string lengths with patterns -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/test/TestGrammars.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::grammar;
using nlohmann::ordered_json;

namespace {

Grammar schema(const ordered_json &json) {
  Expected<Grammar> grammar = Grammar::fromJsonSchema(json);
  if (!grammar) {
    ADD_FAILURE() << grammar.status().message() << " in " << json;
    return *Grammar::anyJsonObject();
  }
  return *grammar;
}

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

TEST(StringLengthTest, FormatsThatPydanticWrites) {
  Grammar url = schema({{"type", "string"},
                        {"format", "uri"},
                        {"minLength", 1},
                        {"maxLength", 2083}});
  const std::string start = "\"http://a/";
  EXPECT_TRUE(matches(url, start + "b\""));
  EXPECT_TRUE(matches(url, start + std::string(2083 - 9, 'b') + "\""));
  EXPECT_EQ(match(url, start + std::string(2084 - 9, 'b')), Match::None);
  EXPECT_FALSE(matches(url, "\"http\""));
  // With three characters left there is room for "%41", with two there is none.
  EXPECT_EQ(match(url, start + std::string(2083 - 12, 'b') + "%"),
            Match::Prefix);
  EXPECT_EQ(match(url, start + std::string(2083 - 11, 'b') + "%"), Match::None);
  // "://a" has to follow.
  EXPECT_EQ(match(url, "\"" + std::string(2083 - 4, 'h') + ":"), Match::Prefix);
  EXPECT_EQ(match(url, "\"" + std::string(2083 - 3, 'h')), Match::None);
}

TEST(StringLengthTest, LengthsTakeNoStates) {
  auto statesFor = [](const ordered_json &json) {
    return schema(json).tables().states.size();
  };
  ordered_json json = {{"format", "email"}};
  size_t without = statesFor(json);
  for (int64_t max : {200L, 5000L, 4000000000L}) {
    json["maxLength"] = max;
    EXPECT_LT(statesFor(json), without + 10) << max;
    json["minLength"] = max / 2;
    EXPECT_LT(statesFor(json), without + 10) << max;
  }
}

TEST(StringLengthTest, EscapesCountAsWhatTheyStandFor) {
  Grammar any =
      schema({{"pattern", "^[^x]*$"}, {"minLength", 3}, {"maxLength", 4}});
  EXPECT_TRUE(matches(any, R"("\n\"\\")"));
  EXPECT_TRUE(matches(any, R"("\u0001é😀€")"));
  EXPECT_FALSE(matches(any, R"("\u0001é")"));
  EXPECT_EQ(match(any, R"("\u0001é😀€a)"), Match::None);
}

TEST(StringLengthTest, Bounds) {
  Grammar min = schema({{"pattern", "^(ab)*$"}, {"minLength", 40000}});
  EXPECT_TRUE(matches(min, "\"" + repeat("ab", 20000) + "\""));
  EXPECT_TRUE(matches(min, "\"" + repeat("ab", 30000) + "\""));
  EXPECT_FALSE(matches(min, "\"" + repeat("ab", 19999) + "\""));
  // A string that can grow no further must be long enough when its end begins.
  Grammar tail = schema({{"pattern", "^a+b?$"}, {"minLength", 5}});
  EXPECT_EQ(match(tail, "\"aaab"), Match::None);
  EXPECT_TRUE(matches(tail, "\"aaaab\""));
  Grammar empty = schema({{"pattern", "^a*$"}, {"maxLength", 0}});
  EXPECT_TRUE(matches(empty, "\"\""));
  EXPECT_EQ(match(empty, "\"a"), Match::None);
  // This counts as no bound, since no answer is as long.
  EXPECT_TRUE(matches(
      schema({{"type", "string"}, {"maxLength", 9007199254740992}}), "\"ab\""));
  Grammar names = schema(
      {{"type", "object"},
       {"propertyNames", {{"pattern", "^(ab)+$"}, {"maxLength", 5000}}}});
  EXPECT_TRUE(matches(names, "{\"" + repeat("ab", 2500) + "\":1}"));
  EXPECT_EQ(match(names, "{\"" + repeat("ab", 2500) + "a"), Match::None);
}

//===----------------------------------------------------------------------===//
// Compares every mask on random walks with a slow search
//===----------------------------------------------------------------------===//

/// A character and its spelling in JSON. No spelling begins another.
struct Letter {
  const char *text;
  const char *pattern;
  const char *spelling;
};
constexpr Letter letters[] = {{"a", "a", "a"},
                              {"b", "b", "b"},
                              {"é", "é", "é"},
                              {"😀", "😀", "😀"},
                              {"\n", "\\n", "\\n"},
                              {"\"", "\"", "\\\""},
                              {"\x01", "\\x01", "\\u0001"}};

/// Decides whether a text can be a prefix of a string that matches a pattern
/// and has a length between two bounds.
class Search {
public:
  Search(const TextAutomaton &automaton, size_t min, std::optional<size_t> max)
      : automaton(automaton), min(min), max(max) {}

  bool isPrefix(std::string_view json) {
    if (json.empty())
      return true;
    if (json[0] != '"')
      return false;
    json.remove_prefix(1);
    WalkState place{0, 0};
    while (true) {
      if (json == "\"")
        return mayEnd(place);
      const Letter *whole = nullptr;
      bool part = false;
      for (const Letter &letter : letters) {
        std::string_view spelling = letter.spelling;
        if (json.starts_with(spelling))
          whole = &letter;
        else if (spelling.starts_with(json))
          part |= leadsOn(place, letter);
      }
      if (!whole)
        return json.empty() ? canEnd(place) : part;
      std::optional<WalkState> next = after(place, *whole);
      if (!next || !canEnd(*next))
        return false;
      place = *next;
      json.remove_prefix(std::string_view(whole->spelling).size());
    }
  }

private:
  struct WalkState {
    uint32_t state;
    size_t length;
    auto operator<=>(const WalkState &) const = default;
  };

  bool mayEnd(WalkState place) const {
    return automaton.states()[place.state].accepting && place.length >= min &&
           (!max || place.length <= *max);
  }

  std::optional<WalkState> after(WalkState place, const Letter &letter) const {
    if (max && place.length == *max)
      return std::nullopt;
    std::string_view text = letter.text;
    uint32_t character = text.size() == 1   ? uint32_t(text[0])
                         : text.size() == 2 ? 0xE9
                                            : 0x1F600;
    for (TextAutomaton::Edge edge : automaton.states()[place.state].edges)
      if (edge.low <= character && character <= edge.high)
        return WalkState{edge.target, max ? place.length + 1
                                          : std::min(place.length + 1, min)};
    return std::nullopt;
  }

  bool leadsOn(WalkState place, const Letter &letter) {
    std::optional<WalkState> next = after(place, letter);
    return next && canEnd(*next);
  }

  bool canEnd(WalkState from) {
    auto [known, fresh] = ends.try_emplace(from, false);
    if (fresh)
      known->second = search(from);
    return known->second;
  }

  bool search(WalkState from) const {
    std::set<WalkState> seen{from};
    std::vector<WalkState> work{from};
    while (!work.empty()) {
      WalkState place = work.back();
      work.pop_back();
      if (mayEnd(place))
        return true;
      for (const Letter &letter : letters)
        if (auto next = after(place, letter); next && seen.insert(*next).second)
          work.push_back(*next);
    }
    return false;
  }

  const TextAutomaton &automaton;
  size_t min;
  std::optional<size_t> max;
  std::map<WalkState, bool> ends; ///< for canEnd()
};

/// Returns a regular expression over the letters.
std::string randomPattern(std::mt19937 &random, int depth) {
  auto letter = [&] {
    return std::string(letters[random() % std::size(letters)].pattern);
  };
  constexpr const char *times[] = {"",  "",    "*",   "+",
                                   "?", "{2}", "{3}", "{2,5}"};
  std::string out;
  for (size_t n = 1 + random() % 3; n > 0; --n) {
    switch (random() % (depth > 0 ? 4 : 2)) {
    case 0:
      out += letter();
      break;
    case 1:
      out += "[" + letter() + letter() + "]";
      break;
    default:
      out += "(" + randomPattern(random, depth - 1) + "|" +
             randomPattern(random, depth - 1) + ")";
    }
    out += times[random() % std::size(times)];
  }
  return out;
}

std::vector<std::string> makeVocabulary() {
  std::vector<std::string> tokens{"\"", "a\"", "ab\"",  "x",
                                  "\\", "n",   "u",     "0",
                                  "1",  "01",  "\\u00", "\xF0\x9F"};
  std::vector<std::string> words{""};
  for (size_t i = 0; i < words.size(); ++i)
    for (const Letter &letter : letters)
      if (words[i].size() < 3)
        words.push_back(words[i] + letter.spelling);
  tokens.insert(tokens.end(), words.begin() + 1, words.end());
  for (const char *word : {"aaaa", "bbbbbb", "éaé", "\\n\\n\\n", "abab"})
    tokens.push_back(word);
  for (int byte = 0x80; byte < 0x100; ++byte)
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  return tokens;
}

void walk(const std::vector<std::string> &vocabulary,
          const std::shared_ptr<const TokenGrammar> &grammar, Search &search,
          std::mt19937 &random) {
  GrammarState state(grammar);
  std::string text;
  std::vector<uint64_t> mask(grammar->maskWords());
  for (int step = 0; step < 10; ++step) {
    Status status = state.fillMask(mask);
    std::vector<TokenId> allowed;
    for (size_t id = 0; id < vocabulary.size(); ++id) {
      auto token = static_cast<TokenId>(id);
      bool wanted = search.isPrefix(text + vocabulary[id]) &&
                    !(text.size() > 1 && state.isComplete());
      ASSERT_EQ(mask[id / 64] >> (id % 64) & 1, wanted)
          << "at " << text << " token " << vocabulary[id];
      ASSERT_EQ(state.accepts(token), wanted)
          << "at " << text << " token " << vocabulary[id];
      if (wanted)
        allowed.push_back(token);
    }
    // There is always a way to go on, except after the end.
    ASSERT_EQ(allowed.empty(), state.isComplete()) << text;
    if (allowed.empty())
      return;
    TokenId token = allowed[random() % allowed.size()];
    ASSERT_TRUE(state.advance(token));
    text += vocabulary[static_cast<size_t>(token)];
  }
}

TEST(StringLengthTest, MasksAreThoseOfASlowSearch) {
  std::vector<std::string> vocabulary = makeVocabulary();
  auto trie = makeTrie(vocabulary);
  std::mt19937 random(7);
  const std::vector<std::string> awkward{
      "(aaa)*",    "(aa|bbb)*",     "(a{4}|b{6})*", "a{2,4}b*", "(a|bb){3,5}",
      "(ab|abé)+", "(\\x01b|\\n)*", "a*b?",         "a"};
  int without = 0, walked = 0;
  for (size_t i = 0; i < 200; ++i) {
    std::string pattern =
        "^(" +
        (i % 2 ? randomPattern(random, 1) : awkward[i / 2 % awkward.size()]) +
        ")$";
    size_t min = random() % 8;
    std::optional<size_t> max;
    if (random() % 4)
      max = min + random() % 5;
    ordered_json json = {{"pattern", pattern}, {"minLength", min}};
    if (max)
      json["maxLength"] = *max;
    SCOPED_TRACE(json.dump());
    Expected<TextAutomaton> automaton = compilePattern(pattern, anyWork());
    ASSERT_TRUE(automaton) << automaton.status().message();
    Search search(*automaton, min, max);
    Expected<Grammar> grammar = Grammar::fromJsonSchema(json);
    ASSERT_EQ(bool(grammar), search.isPrefix("\""));
    without += !grammar;
    if (!grammar)
      continue;
    auto tokens = std::make_shared<const TokenGrammar>(*grammar, trie);
    for (int turn = 0; turn < 2; ++turn, ++walked)
      ASSERT_NO_FATAL_FAILURE(walk(vocabulary, tokens, search, random));
  }
  EXPECT_GT(walked, 200);
  EXPECT_GT(without, 5);
}

} // namespace
