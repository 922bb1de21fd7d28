//===- Pattern.cpp - regular expressions of JSON schemas ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Pattern.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using Ranges = std::vector<CodePointSet::Range>;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

const CodePointSet &digits() {
  static const CodePointSet set({{'0', '9'}});
  return set;
}
const CodePointSet &wordCharacters() {
  static const CodePointSet set(
      {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}
/// Returns the characters of ECMA-262's WhiteSpace and LineTerminator.
const CodePointSet &spaces() {
  static const CodePointSet set({{'\t', '\r'},
                                 {' ', ' '},
                                 {0xA0, 0xA0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200A},
                                 {0x2028, 0x2029},
                                 {0x202F, 0x202F},
                                 {0x205F, 0x205F},
                                 {0x3000, 0x3000},
                                 {0xFEFF, 0xFEFF}});
  return set;
}
const CodePointSet &lineTerminators() {
  static const CodePointSet set({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
  return set;
}

/// Returns the set of \d, \w, \s or one of their complements.
std::optional<CodePointSet> classEscape(char c) {
  switch (c) {
  case 'd':
    return digits();
  case 'D':
    return digits().complement();
  case 'w':
    return wordCharacters();
  case 'W':
    return wordCharacters().complement();
  case 's':
    return spaces();
  case 'S':
    return spaces().complement();
  default:
    return std::nullopt;
  }
}

/// Parses a pattern. The first error ends the parse: functions then return
/// nothing, and `status` has the error.
class Parser {
public:
  Parser(std::string_view text, WorkMeter &meter) : text(text), meter(meter) {}

  Expected<TextAutomaton> run() {
    std::optional<ExpressionId> root = parseChoice(0);
    if (root && at < text.size())
      refuse("a ')' without its '('");
    if (!status.ok())
      return status;
    return TextAutomaton::fromExpression(tree, *root, meter);
  }

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  bool atEnd() const { return at >= text.size(); }

  std::nullopt_t refuse(std::string_view what) {
    if (status.ok())
      status = failure("at byte ", at, ": ", what, " is not supported");
    return std::nullopt;
  }
  std::nullopt_t malformed(std::string_view what) {
    if (status.ok())
      status = failure("at byte ", at, ": ", what);
    return std::nullopt;
  }

  ExpressionId anything() {
    return tree.repeat(tree.characters(CodePointSet::all()), 0,
                       ExpressionTree::unbounded);
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
        return tree.choice(std::move(parts));
      ++at;
    }
  }

  std::optional<ExpressionId> parseSequence(size_t depth) {
    std::vector<ExpressionId> parts;
    bool fromStart = depth > 0, toEnd = depth > 0;
    if (depth == 0 && peek() == '^') {
      ++at;
      fromStart = true;
    }
    while (!atEnd() && peek() != '|' && peek() != ')') {
      if (depth == 0 && peek() == '$' &&
          (at + 1 == text.size() || peek(1) == '|')) {
        ++at;
        toEnd = true;
        break;
      }
      std::optional<ExpressionId> atom = parseAtom(depth);
      if (!atom || !parseQuantifier(*atom))
        return std::nullopt;
      parts.push_back(*atom);
    }
    if (!fromStart)
      parts.insert(parts.begin(), anything());
    if (!toEnd)
      parts.push_back(anything());
    return tree.sequence(std::move(parts));
  }

  std::optional<ExpressionId> parseAtom(size_t depth) {
    switch (char c = peek()) {
    case '^':
    case '$':
      return refuse("an anchor within the pattern");
    case '*':
    case '+':
    case '?':
      return malformed("there is nothing to repeat");
    case '(':
      return parseGroup(depth);
    case '[':
      return parseClass();
    case '.':
      ++at;
      return tree.characters(lineTerminators().complement());
    case '\\':
      if (std::optional<CodePointSet> set = classEscape(peek(1))) {
        at += 2;
        return tree.characters(*set);
      }
      [[fallthrough]];
    default: {
      // A brace that begins no quantifier is an ordinary character.
      if (c == '{' && isDigit(peek(1)))
        return malformed("there is nothing to repeat");
      std::optional<uint32_t> character = parseCharacter(/*inClass=*/false);
      if (!character)
        return std::nullopt;
      return tree.characters(CodePointSet({{*character, *character}}));
    }
    }
  }

  std::optional<ExpressionId> parseGroup(size_t depth) {
    if (depth + 1 > maxDepth)
      return refuse("a group in so many others");
    std::string_view rest = text.substr(at);
    if (rest.starts_with("(?=") || rest.starts_with("(?!"))
      return refuse("a look-ahead");
    if (rest.starts_with("(?<=") || rest.starts_with("(?<!"))
      return refuse("a look-behind");
    if (rest.starts_with("(?:")) {
      at += 3;
    } else if (rest.starts_with("(?<")) {
      size_t end = rest.find('>');
      if (end == std::string_view::npos)
        return malformed("a group's name without its '>'");
      at += end + 1;
    } else if (rest.starts_with("(?")) {
      return refuse("the group '" + std::string(rest.substr(0, 3)) + "'");
    } else {
      ++at;
    }
    std::optional<ExpressionId> body = parseChoice(depth + 1);
    if (!body)
      return std::nullopt;
    if (peek() != ')')
      return malformed("a group without its ')'");
    ++at;
    return body;
  }

  std::optional<ExpressionId> parseClass() {
    ++at;
    bool negated = peek() == '^';
    at += negated;
    Ranges ranges;
    while (peek() != ']') {
      if (atEnd())
        return malformed("a class without its ']'");
      if (!parseClassItem(ranges))
        return std::nullopt;
    }
    ++at;
    CodePointSet set(std::move(ranges));
    if (negated)
      set = set.complement();
    if (set.empty())
      return malformed("a class that no character is in");
    return tree.characters(std::move(set));
  }

  bool parseClassItem(Ranges &ranges) {
    auto takeSet = [&] {
      std::optional<CodePointSet> set;
      if (peek() == '\\')
        set = classEscape(peek(1));
      if (!set)
        return false;
      at += 2;
      ranges.insert(ranges.end(), set->ranges().begin(), set->ranges().end());
      return true;
    };
    if (takeSet())
      return true;
    std::optional<uint32_t> low = parseCharacter(/*inClass=*/true);
    if (!low)
      return false;
    if (peek() != '-' || peek(1) == ']' || at + 1 >= text.size()) {
      ranges.push_back({*low, *low});
      return true;
    }
    ++at;
    if (peek() == '\\' && classEscape(peek(1)))
      return refuse("a range up to a class"), false;
    std::optional<uint32_t> high = parseCharacter(/*inClass=*/true);
    if (!high)
      return false;
    if (*low > *high)
      return malformed("a range that ends before it begins"), false;
    ranges.push_back({*low, *high});
    return true;
  }

  std::optional<uint32_t> parseCharacter(bool inClass) {
    if (peek() != '\\')
      return text::nextCodePoint(text, at);
    if (at + 1 >= text.size())
      return malformed("a backslash at the end");
    char c = text[at + 1];
    switch (c) {
    case 't':
      return at += 2, '\t';
    case 'n':
      return at += 2, '\n';
    case 'r':
      return at += 2, '\r';
    case 'f':
      return at += 2, '\f';
    case 'v':
      return at += 2, '\v';
    case '0':
      if (isDigit(peek(2)))
        return refuse("an octal escape");
      return at += 2, '\0';
    case 'x':
    case 'u':
      return parseCodePoint(c == 'u');
    case 'b':
      if (inClass)
        return at += 2, '\b';
      return refuse("a word boundary");
    case 'B':
      return refuse("a word boundary");
    case 'p':
    case 'P':
      return refuse("a Unicode property");
    default:
      break;
    }
    if (isDigit(c) || c == 'k')
      return refuse("a back reference");
    if (wordCharacters().contains(static_cast<uint8_t>(c)) && c != '_')
      return refuse(std::string("the escape \\") + c);
    ++at;
    return text::nextCodePoint(text, at);
  }

  std::optional<uint32_t> parseDigits(size_t min, size_t max) {
    uint32_t value = 0;
    size_t count = 0;
    for (; count < max; ++count, ++at) {
      char c = peek();
      if (isDigit(c))
        value = value << 4 | static_cast<uint32_t>(c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        value = value << 4 | static_cast<uint32_t>((c | 0x20) - 'a' + 10);
      else
        break;
    }
    if (count < min)
      return malformed("an escape without its hexadecimal digits");
    return value;
  }

  std::optional<uint32_t> parseCodePoint(bool isU) {
    at += 2;
    std::optional<uint32_t> value;
    if (isU && peek() == '{') {
      ++at;
      value = parseDigits(1, 6);
      if (value && peek() != '}')
        return malformed("an escape without its '}'");
      ++at;
    } else {
      value = isU ? parseDigits(4, 4) : parseDigits(2, 2);
      // A pair of surrogates is one character.
      if (value && *value >= 0xD800 && *value <= 0xDBFF && peek() == '\\' &&
          peek(1) == 'u') {
        at += 2;
        std::optional<uint32_t> low = parseDigits(4, 4);
        if (low && *low >= 0xDC00 && *low <= 0xDFFF)
          value = 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
      }
    }
    if (value && !CodePointSet::all().contains(*value))
      return malformed("an escape that is no character");
    return value;
  }

  bool parseQuantifier(ExpressionId &atom) {
    constexpr uint32_t unbounded = ExpressionTree::unbounded;
    uint32_t min = 0, max = unbounded;
    switch (peek()) {
    case '*':
      break;
    case '+':
      min = 1;
      break;
    case '?':
      max = 1;
      break;
    case '{':
      if (!isDigit(peek(1)))
        return true;
      if (!parseBounds(min, max))
        return false;
      break;
    default:
      return true;
    }
    ++at;
    if (peek() == '?')
      ++at; // lazy
    atom = tree.repeat(atom, min, max);
    char next = peek();
    if (next == '*' || next == '+' || next == '?')
      return malformed("there is nothing to repeat"), false;
    return true;
  }

  /// Parses {m}, {m,} or {m,n}, up to its last character.
  bool parseBounds(uint32_t &min, uint32_t &max) {
    constexpr uint32_t limit = maxTextStates;
    auto number = [&] {
      uint32_t value = 0;
      for (; isDigit(peek()); ++at)
        value = std::min<uint32_t>(value * 10 + (peek() - '0'), limit + 1);
      return value;
    };
    ++at;
    min = max = number();
    if (peek() == ',') {
      ++at;
      max = isDigit(peek()) ? number() : ExpressionTree::unbounded;
    }
    if (peek() != '}')
      return malformed("a quantifier without its '}'"), false;
    if (min > limit || (max > limit && max != ExpressionTree::unbounded))
      return refuse("a repetition of more than " + std::to_string(limit)),
             false;
    if (min > max)
      return malformed("a quantifier whose bounds are the wrong way round"),
             false;
    return true;
  }

  std::string_view text;
  WorkMeter &meter;
  size_t at = 0;
  ExpressionTree tree;
  Status status;
};

} // namespace

Expected<TextAutomaton>
sluice::grammar::compilePattern(std::string_view pattern, WorkMeter &meter) {
  if (pattern.size() > maxPatternBytes)
    return failure("a pattern of ", pattern.size(), " bytes, more than ",
                   maxPatternBytes);
  if (!text::isValidUtf8(pattern))
    return failure("a pattern that is not valid UTF-8");
  SLUICE_RETURN_IF_ERROR(meter.spend(pattern.size()));
  return Parser(pattern, meter).run();
}
