//===- GbnfParser.cpp - parser of llama.cpp's grammar format --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive descent parser of the format that llama.cpp's grammars/README.md
// describes.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

using namespace sluice;
using namespace sluice::grammar;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) ||
         c == '-' || c == '_';
}

/// Parses a text. The first error ends the parse: functions then return false
/// or nothing, and `status` has the error.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<GbnfGrammar> run() {
    skipSpace(/*newlines=*/true);
    while (at < text.size())
      if (!parseRule())
        return status;
    for (uint32_t rule = 0; rule < out.rules.size(); ++rule)
      if (definedAt[rule] == 0)
        return failure("grammar, line ", namedAt[rule], ": the rule '",
                       out.rules[rule].name, "' is not defined");
    auto root = numbers.find("root");
    if (root == numbers.end())
      return failure("grammar: there is no rule 'root' to start with");
    out.root = root->second;
    return std::move(out);
  }

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }

  template <typename... Parts> bool fail(const Parts &...parts) {
    status = failure("grammar, line ", line(), ": ", parts...);
    return false;
  }

  /// Returns the current line. Counts on from the last call, since the position
  /// only grows.
  size_t line() {
    lineNow += static_cast<size_t>(
        std::count(text.begin() + static_cast<ptrdiff_t>(countedTo),
                   text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    countedTo = at;
    return lineNow;
  }

  /// Returns a description of the next token for a message.
  std::string found() const {
    if (at >= text.size())
      return "the end of the text";
    if (text[at] == '\n' || text[at] == '\r')
      return "the end of the line";
    size_t length = text::characterLength(text[at]);
    return "'" + std::string(text.substr(at, length)) + "'";
  }

  /// Skips blanks and comments.
  void skipSpace(bool newlines) {
    while (at < text.size()) {
      char c = text[at];
      if (c == '#')
        at = std::min(text.find_first_of("\r\n", at), text.size());
      else if (c == ' ' || c == '\t' || (newlines && (c == '\r' || c == '\n')))
        ++at;
      else
        return;
    }
  }

  std::string_view parseName() {
    size_t begin = at;
    while (isNameCharacter(peek()))
      ++at;
    return text.substr(begin, at - begin);
  }

  uint32_t ruleNumber(std::string_view name) {
    auto [it, fresh] = numbers.try_emplace(
        std::string(name), static_cast<uint32_t>(out.rules.size()));
    if (fresh) {
      out.rules.push_back({std::string(name), 0});
      definedAt.push_back(0);
      namedAt.push_back(line());
    }
    return it->second;
  }

  bool parseRule() {
    std::string_view name = parseName();
    if (name.empty())
      return fail("expected the name of a rule, not ", found());
    uint32_t rule = ruleNumber(name);
    if (definedAt[rule] != 0)
      return fail("the rule '", name, "' is defined already, in line ",
                  definedAt[rule]);
    if (out.rules.size() > maxGbnfRules)
      return fail("more than ", maxGbnfRules, " rules");
    definedAt[rule] = line();
    skipSpace(false);
    if (!text.substr(at).starts_with("::="))
      return fail("expected '::=' behind '", name, "', not ", found());
    at += 3;
    skipSpace(true);
    std::optional<ExpressionId> body = parseChoice(0);
    if (!body)
      return false;
    out.rules[rule].body = *body;
    if (at < text.size() && peek() != '\r' && peek() != '\n')
      return fail("expected the end of the rule, not ", found());
    skipSpace(true);
    return true;
  }

  /// Parses a choice inside `depth` open groups.
  std::optional<ExpressionId> parseChoice(size_t depth) {
    std::vector<ExpressionId> parts;
    while (true) {
      std::optional<ExpressionId> part = parseSequence(depth);
      if (!part)
        return std::nullopt;
      parts.push_back(*part);
      if (peek() != '|')
        return out.expressions.choice(std::move(parts));
      ++at;
      skipSpace(true);
    }
  }

  std::optional<ExpressionId> parseSequence(size_t depth) {
    constexpr size_t maxRepetitions = 8; // as in (x+)?, without the group
    std::vector<ExpressionId> parts;
    size_t repetitions = 0;
    while (true) {
      char c = peek();
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (parts.empty() || ++repetitions > maxRepetitions)
          return fail("there is nothing that '", c, "' could repeat"),
                 std::nullopt;
        if (!parseRepetition(parts.back()))
          return std::nullopt;
      } else {
        repetitions = 0;
        std::optional<ExpressionId> item;
        if (!parseItem(depth, item))
          return std::nullopt;
        if (!item)
          return out.expressions.sequence(std::move(parts));
        parts.push_back(*item);
      }
      skipSpace(/*newlines=*/depth > 0);
    }
  }

  /// Leaves `item` empty at the end of a sequence.
  bool parseItem(size_t depth, std::optional<ExpressionId> &item) {
    char c = peek();
    if (c == '"')
      return parseLiteral(item);
    if (c == '[')
      return parseClass(item);
    if (c == '(')
      return parseGroup(depth, item);
    if (c == '.') {
      ++at;
      item = out.expressions.characters(CodePointSet::all());
    } else if (isNameCharacter(c)) {
      item = out.expressions.reference(ruleNumber(parseName()));
    } else if (c == '<' || c == '!') {
      return fail("tokens, as in <think> or <[7]>, are not supported");
    }
    return true;
  }

  bool parseGroup(size_t depth, std::optional<ExpressionId> &item) {
    if (depth + 1 > maxDepth)
      return fail("more than ", maxDepth, " groups within each other");
    ++at;
    skipSpace(true);
    item = parseChoice(depth + 1);
    if (!item)
      return false;
    if (peek() != ')')
      return fail("expected ')', not ", found());
    ++at;
    return true;
  }

  bool parseLiteral(std::optional<ExpressionId> &item) {
    ++at;
    std::u32string characters;
    while (peek() != '"') {
      std::optional<uint32_t> character = parseCharacter();
      if (!character)
        return false;
      characters.push_back(*character);
    }
    ++at;
    item = out.expressions.literal(std::move(characters));
    return true;
  }

  bool parseClass(std::optional<ExpressionId> &item) {
    ++at;
    bool negated = peek() == '^';
    at += negated;
    std::vector<CodePointSet::Range> ranges;
    while (peek() != ']') {
      std::optional<uint32_t> low = parseCharacter();
      if (!low)
        return false;
      CodePointSet::Range range{*low, *low};
      if (peek() == '-' && peek(1) != ']') {
        ++at;
        std::optional<uint32_t> high = parseCharacter();
        if (!high)
          return false;
        range.high = *high;
      }
      if (range.low > range.high)
        return fail("a range of characters that ends before it begins");
      ranges.push_back(range);
    }
    ++at;
    if (ranges.empty())
      return fail("a character class without characters");
    CodePointSet set(std::move(ranges));
    item = out.expressions.characters(negated ? set.complement() : set);
    return true;
  }

  std::optional<uint32_t> parseCharacter() {
    if (at >= text.size())
      return fail("the text ends within a literal or a class"), std::nullopt;
    if (text[at] != '\\')
      return text::nextCodePoint(text, at);
    char c = peek(1);
    at += 2;
    switch (c) {
    case 'x':
      return parseHex(2);
    case 'u':
      return parseHex(4);
    case 'U':
      return parseHex(8);
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'n':
      return '\n';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
      return c;
    default:
      at -= 1;
      return fail("there is no escape of a backslash and ", found()),
             std::nullopt;
    }
  }

  std::optional<uint32_t> parseHex(size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i, ++at) {
      char c = peek();
      uint32_t digit = isDigit(c)             ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : 16;
      if (digit == 16)
        return fail("expected ", digits, " hexadecimal digits, not ", found()),
               std::nullopt;
      value = value << 4 | digit;
    }
    if (!CodePointSet::all().contains(value))
      return fail("an escape that is no character"), std::nullopt;
    return value;
  }

  bool parseRepetition(ExpressionId &item) {
    constexpr uint32_t unbounded = ExpressionTree::unbounded;
    char c = text[at++];
    uint32_t min = c == '+' ? 1 : 0, max = c == '?' ? 1 : unbounded;
    if (c == '{') {
      skipSpace(true);
      if (!parseBound(min))
        return false;
      skipSpace(true);
      max = min;
      if (peek() == ',') {
        ++at;
        skipSpace(true);
        max = unbounded;
        if (isDigit(peek()) && !parseBound(max))
          return false;
        skipSpace(true);
      }
      if (peek() != '}')
        return fail("expected '}', not ", found());
      ++at;
      if (min > max)
        return fail("a repetition of at least ", min, " and at most ", max);
    }
    item = out.expressions.repeat(item, min, max);
    return true;
  }

  bool parseBound(uint32_t &bound) {
    constexpr uint32_t max = 1 << 24;
    if (!isDigit(peek()))
      return fail("expected a number of repetitions, not ", found());
    uint64_t value = 0;
    for (; isDigit(peek()); ++at)
      value = std::min<uint64_t>(value * 10 + (peek() - '0'), max + 1);
    if (value > max)
      return fail("more than ", max, " repetitions");
    bound = static_cast<uint32_t>(value);
    return true;
  }

  std::string_view text;
  size_t at = 0;
  size_t lineNow = 1, countedTo = 0; // for line()
  GbnfGrammar out;
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<size_t> definedAt; // [rule]: the line of its definition, or 0
  std::vector<size_t> namedAt;   // [rule]: the line of the first reference
  Status status;
};

} // namespace

Expected<GbnfGrammar> sluice::grammar::parseGbnf(std::string_view text) {
  if (text.size() > maxGbnfBytes)
    return failure("grammar: ", text.size(), " bytes, more than ",
                   maxGbnfBytes);
  if (!text::isValidUtf8(text))
    return failure("grammar: not valid UTF-8");
  return Parser(text).run();
}
