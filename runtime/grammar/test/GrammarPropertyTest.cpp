//===- GrammarPropertyTest.cpp - compares masks with a recogniser ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes random small grammars, as GBNF for the library and as trees for a naive
// recogniser that shares no code with it. The recogniser says where a part of
// the grammar can end, and whether a text can be a prefix of a longer match.
// Every token in every mask is compared with it.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

#include <map>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

const std::vector<std::string> alphabet{"a", "b", "c", "é", "€"};

struct Part {
  enum Kind { Letters, Rule, Sequence, Choice, Repeat } kind;
  std::set<std::string> letters = {};
  size_t rule = 0;
  std::vector<Part> parts = {};
  int min = 0, max = 0; // for Repeat; max < 0 means no bound
};

class RandomGrammar {
public:
  explicit RandomGrammar(uint32_t seed) : random(seed) {
    size_t count = 1 + random() % 4;
    for (size_t i = 0; i < count; ++i)
      rules.push_back(makeChoice(count, 2));
  }

  std::string text() const {
    std::string out;
    for (size_t i = 0; i < rules.size(); ++i)
      out += name(i) + " ::= (" + print(rules[i]) + ")\n";
    return out;
  }

  std::vector<Part> rules;

private:
  static std::string name(size_t rule) {
    return rule == 0 ? "root" : "r" + std::to_string(rule);
  }

  Part makeChoice(size_t count, int depth) {
    Part choice{.kind = Part::Choice};
    for (size_t i = 0, n = 1 + random() % 3; i < n; ++i) {
      Part sequence{.kind = Part::Sequence};
      // Most sequences begin with a letter: left recursion is common enough.
      for (size_t j = 0, m = random() % 4; j < m; ++j)
        sequence.parts.push_back(
            makeItem(count, depth, j == 0 && random() % 4 != 0));
      choice.parts.push_back(std::move(sequence));
    }
    return choice;
  }

  Part makeItem(size_t count, int depth, bool letters) {
    Part part{.kind = Part::Letters};
    unsigned what = letters ? 9 : random() % 10;
    if (what < 3 && depth > 0) {
      part = makeChoice(count, depth - 1);
    } else if (what < 6) {
      part.kind = Part::Rule;
      part.rule = random() % count;
    } else {
      for (size_t i = 0, n = 1 + random() % 2; i < n; ++i)
        part.letters.insert(alphabet[random() % alphabet.size()]);
    }
    if (random() % 3)
      return part;
    Part repeat{.kind = Part::Repeat};
    repeat.parts.push_back(std::move(part));
    constexpr int bounds[][2] = {{0, -1}, {1, -1}, {0, 1},  {2, 2},
                                 {1, 3},  {2, -1}, {0, 20}, {17, 18}};
    // Only letters get the large bounds, since the library counts those.
    size_t some =
        std::size(bounds) - (repeat.parts[0].kind == Part::Letters ? 0 : 2);
    auto &bound = bounds[random() % some];
    repeat.min = bound[0];
    repeat.max = bound[1];
    return repeat;
  }

  std::string print(const Part &part) const {
    std::string out;
    switch (part.kind) {
    case Part::Letters:
      for (const std::string &letter : part.letters)
        out += letter;
      return "[" + out + "]";
    case Part::Rule:
      return name(part.rule);
    case Part::Repeat:
      out = "(" + print(part.parts[0]) + "){" + std::to_string(part.min);
      return out + "," + (part.max < 0 ? "" : std::to_string(part.max)) + "}";
    default:
      for (const Part &child : part.parts) {
        if (&child != &part.parts[0])
          out += part.kind == Part::Choice ? " | " : " ";
        out += child.kind == Part::Choice ? "(" + print(child) + ")"
                                          : print(child);
      }
      return out;
    }
  }

  std::mt19937 random;
};

/// A slow and simple recogniser. It terminates for grammars without left
/// recursion.
class Recogniser {
public:
  explicit Recogniser(const std::vector<Part> &rules)
      : rules(rules), matchesSome(rules.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < rules.size(); ++i)
        if (!matchesSome[i] && hasText(rules[i]))
          changed = matchesSome[i] = true;
    }
  }

  bool hasRoot() const { return matchesSome[0]; }

  struct Result {
    std::set<size_t> ends; ///< a match ends here
    bool beyond = false;   ///< a match continues beyond the text's end
  };

  Result match(std::string_view newText) {
    text = newText;
    known.clear();
    return match(rules[0], 0);
  }

private:
  bool hasText(const Part &part) const {
    switch (part.kind) {
    case Part::Letters:
      return true;
    case Part::Rule:
      return matchesSome[part.rule];
    case Part::Repeat:
      return part.min == 0 || hasText(part.parts[0]);
    case Part::Sequence:
      for (const Part &child : part.parts)
        if (!hasText(child))
          return false;
      return true;
    case Part::Choice:
      for (const Part &child : part.parts)
        if (hasText(child))
          return true;
      return false;
    }
    return false;
  }

  Result match(const Part &part, size_t at) {
    if (auto it = known.find({&part, at}); it != known.end())
      return it->second;
    return known[{&part, at}] = matchPart(part, at);
  }

  Result matchPart(const Part &part, size_t at) {
    Result out;
    switch (part.kind) {
    case Part::Letters:
      for (const std::string &letter : part.letters) {
        std::string_view rest = text.substr(at);
        if (rest.starts_with(letter))
          out.ends.insert(at + letter.size());
        else if (letter.starts_with(rest))
          out.beyond = true;
      }
      return out;
    case Part::Rule:
      return match(rules[part.rule], at);
    case Part::Choice:
      for (const Part &child : part.parts) {
        Result one = match(child, at);
        out.ends.insert(one.ends.begin(), one.ends.end());
        out.beyond |= one.beyond;
      }
      return out;
    case Part::Sequence:
      out.ends = {at};
      for (size_t i = 0; i < part.parts.size(); ++i)
        follow(out, part.parts[i], [&] {
          for (size_t j = i + 1; j < part.parts.size(); ++j)
            if (!hasText(part.parts[j]))
              return false;
          return true;
        });
      return out;
    case Part::Repeat:
      return matchRepeat(part, at);
    }
    return out;
  }

  /// Matches `part` from each end of `out`. A match that goes beyond the text
  /// counts only if the rest can be completed.
  template <typename Fn>
  void follow(Result &out, const Part &part, Fn canComplete) {
    std::set<size_t> ends;
    for (size_t end : out.ends) {
      Result one = match(part, end);
      ends.insert(one.ends.begin(), one.ends.end());
      out.beyond |= one.beyond && canComplete();
    }
    out.ends = ends;
  }

  Result matchRepeat(const Part &part, size_t at) {
    // More repetitions than the text is long read nothing more.
    int max =
        part.max < 0 ? part.min + static_cast<int>(text.size()) + 1 : part.max;
    Result turn{.ends = {at}};
    Result out;
    if (part.min == 0)
      out.ends = {at};
    for (int i = 1; i <= max && !turn.ends.empty(); ++i) {
      // If one repetition goes beyond the text, the required ones can follow,
      // since the body then matches some text.
      follow(turn, part.parts[0], [] { return true; });
      out.beyond |= turn.beyond;
      if (i >= part.min)
        out.ends.insert(turn.ends.begin(), turn.ends.end());
    }
    return out;
  }

  const std::vector<Part> &rules;
  std::vector<bool> matchesSome;
  std::string_view text;
  std::map<std::pair<const Part *, size_t>, Result> known;
};

/// Decides whether some rule can begin with itself. Computes anew which parts
/// can be empty.
class LeftRecursion {
public:
  explicit LeftRecursion(const std::vector<Part> &rules)
      : rules(rules), empty(rules.size()), begins(rules.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < rules.size(); ++i)
        if (!empty[i] && canBeEmpty(rules[i]))
          changed = empty[i] = true;
    }
    for (size_t i = 0; i < rules.size(); ++i)
      collect(rules[i], begins[i]);
    for (size_t turn = 0; turn < rules.size(); ++turn)
      for (auto &set : begins)
        for (size_t rule : std::set<size_t>(set))
          set.insert(begins[rule].begin(), begins[rule].end());
  }

  bool any() const {
    for (size_t i = 0; i < rules.size(); ++i)
      if (begins[i].contains(i))
        return true;
    return false;
  }

private:
  bool canBeEmpty(const Part &part) const {
    switch (part.kind) {
    case Part::Letters:
      return false;
    case Part::Rule:
      return empty[part.rule];
    case Part::Repeat:
      return part.min == 0 || canBeEmpty(part.parts[0]);
    case Part::Sequence:
      for (const Part &child : part.parts)
        if (!canBeEmpty(child))
          return false;
      return true;
    case Part::Choice:
      for (const Part &child : part.parts)
        if (canBeEmpty(child))
          return true;
      return false;
    }
    return false;
  }

  void collect(const Part &part, std::set<size_t> &out) const {
    if (part.kind == Part::Rule)
      out.insert(part.rule);
    for (const Part &child : part.parts) {
      collect(child, out);
      if (part.kind == Part::Sequence && !canBeEmpty(child))
        return;
    }
  }

  const std::vector<Part> &rules;
  std::vector<bool> empty;
  std::vector<std::set<size_t>> begins;
};

const std::vector<std::string> someTokens{
    "a",    "b",    "c",        "é",    "€",        "aa",   "ab",
    "ba",   "abc",  "cb",       "\xC3", "\xA9",     "aé",   "\xE2",
    "\x82", "\xAC", "\xE2\x82", "é€",   "\xA9\xE2", "aaaa", "bbbbbbbb",
    "bca",  "ccc",  "aabb",     "éa",   "x"};

/// These tokens, and tokens that make subtrees which can be accepted at once.
const std::vector<std::string> vocabulary = [] {
  std::vector<std::string> tokens = someTokens, words{""};
  for (size_t i = 0; i < words.size(); ++i)
    for (std::string letter : {"a", "b", "é"})
      if (words[i].size() < 2)
        words.push_back(words[i] + letter);
  tokens.insert(tokens.end(), words.begin() + 1, words.end());
  return tokens;
}();

/// Takes random tokens, and compares every mask on the way.
void walk(const std::string &description, const GrammarState &start,
          size_t words, Recogniser &recogniser, std::mt19937 &random) {
  GrammarState state = start;
  std::string text;
  for (int step = 0; step < 8; ++step) {
    std::vector<uint64_t> mask(words);
    Status status = state.fillMask(mask);
    std::vector<TokenId> allowed;
    bool complete = recogniser.match(text).ends.contains(text.size());
    ASSERT_EQ(state.isComplete(), complete) << description << "at " << text;
    for (size_t id = 0; id < vocabulary.size(); ++id) {
      std::string next = text + vocabulary[id];
      Recogniser::Result result = recogniser.match(next);
      bool wanted = result.beyond || result.ends.contains(next.size());
      auto token = static_cast<TokenId>(id);
      ASSERT_EQ(mask[id / 64] >> (id % 64) & 1, wanted)
          << description << "at '" << text << "' token '" << vocabulary[id]
          << "'";
      ASSERT_EQ(state.accepts(token), wanted);
      if (wanted)
        allowed.push_back(token);
    }
    size_t end = vocabulary.size();
    ASSERT_EQ(mask[end / 64] >> (end % 64) & 1, complete);
    ASSERT_EQ(status.ok(), complete || !allowed.empty());
    if (allowed.empty())
      return;
    TokenId token = allowed[random() % allowed.size()];
    // Sometimes the walk goes through a copy, as a guess does.
    GrammarState guess = state;
    ASSERT_TRUE(guess.advance(token));
    if (random() % 2)
      state = guess;
    else
      ASSERT_TRUE(state.advance(token));
    text += vocabulary[static_cast<size_t>(token)];
  }
}

TEST(GrammarPropertyTest, MasksAreThoseOfTheNaiveRecogniser) {
  auto trie = makeTrie(vocabulary);
  int walked = 0, leftRecursive = 0, without = 0, tooLarge = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    RandomGrammar grammar(seed);
    std::string text = grammar.text();
    Expected<Grammar> made = Grammar::fromGbnf(text);
    if (!made &&
        made.status().message().find("too large") != std::string::npos) {
      ++tooLarge;
      continue;
    }
    bool recursive = LeftRecursion(grammar.rules).any();
    leftRecursive += recursive;
    if (recursive) {
      ASSERT_FALSE(made) << text;
      ASSERT_NE(made.status().message().find("left-recursive"),
                std::string::npos)
          << text << made.status().message();
      continue;
    }
    Recogniser recogniser(grammar.rules);
    if (!recogniser.hasRoot()) {
      ++without;
      ASSERT_FALSE(made) << text;
      ASSERT_NE(made.status().message().find("matches no text"),
                std::string::npos)
          << text << made.status().message();
      continue;
    }
    ASSERT_TRUE(made) << text << made.status().message();
    auto tokens = std::make_shared<const TokenGrammar>(*made, trie);
    std::mt19937 random(seed);
    GrammarState start(tokens);
    for (int i = 0; i < 2; ++i)
      ASSERT_NO_FATAL_FAILURE(
          walk(text, start, tokens->maskWords(), recogniser, random));
    ++walked;
  }
  // The seeds must make grammars of every kind.
  EXPECT_GT(walked, 200);
  EXPECT_GT(leftRecursive, 50);
  EXPECT_GT(without, 2);
  EXPECT_LT(tooLarge, 20);
}

} // namespace
