//===- JsonRules.cpp - rules for JSON texts -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/JsonRules.h"

#include "runtime/grammar/NumberAutomaton.h"
#include "runtime/text/Utf8.h"

#include <map>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::grammar;
using nlohmann::ordered_json;

namespace {

/// Returns the characters that need no escape in a string (RFC 8259, section
/// 7).
const CodePointSet &unescaped() {
  static const CodePointSet set =
      CodePointSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).complement();
  return set;
}

struct ShortEscape {
  char character;
  char letter;
};
constexpr ShortEscape controlEscapes[] = {
    {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};

} // namespace

BuilderState JsonRules::space(BuilderState from) {
  BuilderState to = builder.addState();
  builder.call(from, spaceRule(), to);
  return to;
}

BuilderState JsonRules::mark(BuilderState from, char mark) {
  BuilderState behind = builder.addState();
  builder.literal(from, std::string_view(&mark, 1), behind);
  return space(behind);
}

RuleId JsonRules::spaceRule() {
  constexpr int maxBlanks = 20;
  if (spaces)
    return *spaces;
  spaces = builder.addRule("space");
  BuilderState from = builder.start(*spaces), to = builder.end(*spaces);
  builder.epsilon(from, to);
  builder.literal(from, " ", to);
  BuilderState line = builder.addState(), blanks = builder.addState();
  builder.literal(from, "\n", line);
  builder.literal(line, "\n", blanks);
  builder.epsilon(line, blanks);
  for (int i = 0; i < maxBlanks; ++i) {
    BuilderState next = builder.addState();
    builder.epsilon(blanks, to);
    builder.literal(blanks, " ", next);
    builder.literal(blanks, "\t", next);
    blanks = next;
  }
  builder.epsilon(blanks, to);
  return *spaces;
}

void JsonRules::value(BuilderState from, BuilderState to) {
  builder.call(from, valueRule(), to);
}
void JsonRules::object(BuilderState from, BuilderState to) {
  builder.call(from, objectRule(), to);
}
void JsonRules::array(BuilderState from, BuilderState to) {
  builder.call(from, arrayRule(), to);
}
void JsonRules::string(BuilderState from, BuilderState to) {
  builder.call(from, stringRule(), to);
}
void JsonRules::number(BuilderState from, BuilderState to) {
  builder.call(from, numberRule(), to);
}
void JsonRules::integer(BuilderState from, BuilderState to) {
  builder.call(from, integerRule(), to);
}

RuleId JsonRules::valueRule() {
  if (values)
    return *values;
  values = builder.addRule("value");
  BuilderState from = builder.start(*values), to = builder.end(*values);
  object(from, to);
  array(from, to);
  string(from, to);
  number(from, to);
  for (std::string_view word : {"true", "false", "null"})
    builder.literal(from, word, to);
  return *values;
}

RuleId JsonRules::objectRule() {
  if (objects)
    return *objects;
  objects = builder.addRule("object");
  BuilderState open = mark(builder.start(*objects), '{');
  BuilderState name = builder.addState(), close = builder.addState();
  builder.epsilon(open, name);
  builder.epsilon(open, close);
  BuilderState named = builder.addState(), valued = builder.addState();
  string(name, named);
  value(mark(space(named), ':'), valued);
  BuilderState behind = space(valued);
  builder.epsilon(mark(behind, ','), name);
  builder.epsilon(behind, close);
  builder.literal(close, "}", builder.end(*objects));
  return *objects;
}

RuleId JsonRules::arrayRule() {
  if (arrays)
    return *arrays;
  arrays = builder.addRule("array");
  BuilderState open = mark(builder.start(*arrays), '[');
  BuilderState item = builder.addState(), close = builder.addState();
  builder.epsilon(open, item);
  builder.epsilon(open, close);
  BuilderState valued = builder.addState();
  value(item, valued);
  BuilderState behind = space(valued);
  builder.epsilon(mark(behind, ','), item);
  builder.epsilon(behind, close);
  builder.literal(close, "]", builder.end(*arrays));
  return *arrays;
}

RuleId JsonRules::stringRule() {
  if (strings)
    return *strings;
  strings = builder.addRule("string");
  BuilderState loop = builder.addState(), again = builder.addState();
  builder.literal(builder.start(*strings), "\"", loop);
  anyCharacter(loop, again);
  builder.epsilon(again, loop);
  builder.literal(loop, "\"", builder.end(*strings));
  return *strings;
}

void JsonRules::string(BuilderState from, uint32_t min, uint32_t max,
                       BuilderState to) {
  auto [known, fresh] = countedStrings.try_emplace({min, max}, 0);
  if (fresh) {
    RuleId rule = builder.addCountedRule("string", min, max);
    BuilderState loop = builder.addState(), behind = builder.addCountingState();
    builder.literal(builder.start(rule), "\"", loop);
    anyCharacter(loop, behind);
    builder.epsilon(behind, loop);
    builder.literal(loop, "\"", builder.end(rule));
    known->second = rule;
  }
  builder.call(from, known->second, to);
}

void JsonRules::anyCharacter(BuilderState from, BuilderState to) {
  builder.characters(from, unescaped(), to);
  BuilderState escape = builder.addState();
  builder.literal(from, "\\", escape);
  escapes(escape, to);
}

/// Adds what may follow a backslash. Surrogates come in pairs.
void JsonRules::escapes(BuilderState from, BuilderState to) {
  for (char letter : std::string_view("\"\\/bfnrt"))
    builder.literal(from, std::string_view(&letter, 1), to);
  auto hex = [&](BuilderState at, std::string_view ranges) {
    BuilderState next = builder.addState();
    for (size_t i = 0; i < ranges.size(); i += 2)
      builder.bytes(at, static_cast<uint8_t>(ranges[i]),
                    static_cast<uint8_t>(ranges[i + 1]), next);
    return next;
  };
  constexpr std::string_view any = "09afAF";
  BuilderState unit = builder.addState();
  builder.literal(from, "u", unit);
  BuilderState plain = hex(unit, "09acefACEF");
  builder.epsilon(hex(hex(hex(plain, any), any), any), to);
  BuilderState d = hex(unit, "ddDD");
  builder.epsilon(hex(hex(hex(d, "07"), any), any), to);
  BuilderState high = hex(hex(hex(d, "89abAB"), any), any);
  BuilderState second = builder.addState();
  builder.literal(high, "\\u", second);
  BuilderState low = hex(hex(second, "ddDD"), "cfCF");
  builder.epsilon(hex(hex(low, any), any), to);
}

void JsonRules::digits(BuilderState from, uint32_t min, uint32_t max,
                       BuilderState to) {
  for (uint32_t i = 0; i < max; ++i) {
    if (i >= min)
      builder.epsilon(from, to);
    BuilderState next = builder.addState();
    builder.bytes(from, '0', '9', next);
    from = next;
  }
  builder.epsilon(from, to);
}

/// Adds an integer that is not negative.
void JsonRules::whole(BuilderState from, BuilderState to) {
  BuilderState first = builder.addState();
  builder.literal(from, "0", to);
  builder.bytes(from, '1', '9', first);
  digits(first, 0, maxWholeDigits - 1, to);
}

RuleId JsonRules::integerRule() {
  if (integers)
    return *integers;
  integers = builder.addRule("integer");
  BuilderState from = builder.start(*integers), minus = builder.addState();
  builder.literal(from, "-", minus);
  builder.epsilon(from, minus);
  whole(minus, builder.end(*integers));
  return *integers;
}

RuleId JsonRules::numberRule() {
  constexpr uint32_t exponentDigits = 2; // a double never overflows
  if (numbers)
    return *numbers;
  numbers = builder.addRule("number");
  BuilderState point = builder.addState(), behindPoint = builder.addState();
  BuilderState fraction = builder.addState(), to = builder.end(*numbers);
  BuilderState from = builder.start(*numbers), minus = builder.addState();
  builder.literal(from, "-", minus);
  builder.epsilon(from, minus);
  whole(minus, point);
  builder.literal(point, ".", behindPoint);
  digits(behindPoint, 1, maxFractionDigits, fraction);
  builder.epsilon(point, fraction);
  builder.epsilon(fraction, to);
  BuilderState exponent = builder.addState(), sign = builder.addState();
  for (std::string_view e : {"e", "E"})
    builder.literal(fraction, e, exponent);
  for (std::string_view plusOrMinus : {"+", "-", ""})
    builder.literal(exponent, plusOrMinus, sign);
  digits(sign, 1, exponentDigits, to);
  return *numbers;
}

/// Puts `texts` between two states. `read` puts a set of characters there. In a
/// counted rule, the characters can be counted.
template <typename Read>
void JsonRules::automaton(BuilderState from, const TextAutomaton &texts,
                          BuilderState to, bool counts, Read read) {
  if (texts.empty())
    return;
  std::vector<BuilderState> states(texts.states().size());
  for (BuilderState &state : states)
    state = builder.addState();
  // The state after a character that leads to a state of `texts`.
  std::vector<BuilderState> behind = states;
  if (counts)
    for (size_t i = 0; i < states.size(); ++i) {
      behind[i] = builder.addCountingState();
      builder.epsilon(behind[i], states[i]);
    }
  builder.epsilon(from, states[0]);
  for (size_t i = 0; i < states.size() && !builder.full(); ++i) {
    const TextAutomaton::State &state = texts.states()[i];
    std::map<uint32_t, std::vector<CodePointSet::Range>> byTarget;
    for (TextAutomaton::Edge edge : state.edges)
      byTarget[edge.target].push_back({edge.low, edge.high});
    for (auto &[target, ranges] : byTarget)
      read(states[i], CodePointSet(std::move(ranges)), behind[target]);
    if (state.accepting)
      builder.epsilon(states[i], to);
  }
}

void JsonRules::quoted(BuilderState from, const SizedTexts &strings,
                       BuilderState to) {
  if (strings.bounded()) {
    RuleId rule = builder.addCountedRule("string", strings.min, strings.max);
    quotedTexts(builder.start(rule), strings.texts, builder.end(rule),
                /*counts=*/true);
    builder.call(from, rule, to);
  } else {
    quotedTexts(from, strings.texts, to, /*counts=*/false);
  }
}

void JsonRules::quotedTexts(BuilderState from, const TextAutomaton &texts,
                            BuilderState to, bool counts) {
  BuilderState open = builder.addState(), close = builder.addState();
  builder.literal(from, "\"", open);
  automaton(open, texts, close, counts,
            [&](BuilderState at, const CodePointSet &set, BuilderState next) {
              encoded(at, set, next);
            });
  builder.literal(close, "\"", to);
}

void JsonRules::plain(BuilderState from, const TextAutomaton &texts,
                      BuilderState to) {
  automaton(from, texts, to, /*counts=*/false,
            [&](BuilderState at, const CodePointSet &set, BuilderState next) {
              builder.characters(at, set, next);
            });
}

/// Adds one of the characters as a string spells it.
void JsonRules::encoded(BuilderState from, const CodePointSet &set,
                        BuilderState to) {
  builder.characters(from, set.intersection(unescaped()), to);
  uint32_t controls = 0;
  for (uint32_t control = 0; control < 0x20; ++control)
    controls |= uint32_t(set.contains(control)) << control;
  bool quote = set.contains('"'), backslash = set.contains('\\');
  if (!quote && !backslash && controls == 0)
    return;
  BuilderState escape = builder.addState();
  builder.literal(from, "\\", escape);
  if (quote)
    builder.literal(escape, "\"", to);
  if (backslash)
    builder.literal(escape, "\\", to);
  escapedControls(escape, controls, to);
}

/// Adds, after a backslash, the control characters that `controls` has bits
/// for.
void JsonRules::escapedControls(BuilderState from, uint32_t controls,
                                BuilderState to) {
  for (ShortEscape escape : controlEscapes)
    if (controls >> escape.character & 1) {
      controls &= ~(uint32_t(1) << escape.character);
      builder.literal(from, std::string_view(&escape.letter, 1), to);
    }
  if (controls == 0)
    return;
  BuilderState high = builder.addState();
  builder.literal(from, "u00", high);
  for (uint32_t digit : {0u, 1u}) {
    uint32_t lows = controls >> (digit * 16) & 0xFFFF;
    if (lows == 0)
      continue;
    BuilderState low = builder.addState();
    builder.literal(high, digit ? "1" : "0", low);
    for (uint32_t i = 0; i < 16; ++i)
      if (lows >> i & 1) {
        builder.literal(low, std::string_view("0123456789abcdef").substr(i, 1),
                        to);
        if (i >= 10)
          builder.literal(low, std::string_view("ABCDEF").substr(i - 10, 1),
                          to);
      }
  }
}

void JsonRules::quoted(BuilderState from, std::string_view text,
                       BuilderState to) {
  BuilderState at = builder.addState();
  builder.literal(from, "\"", at);
  for (size_t i = 0; i < text.size();) {
    uint32_t character = text::nextCodePoint(text, i);
    BuilderState next = builder.addState();
    encoded(at, CodePointSet({{character, character}}), next);
    at = next;
  }
  builder.literal(at, "\"", to);
}

void JsonRules::constant(BuilderState from, const ordered_json &value,
                         BuilderState to) {
  if (const auto *text = value.get_ptr<const std::string *>())
    return quoted(from, *text, to);
  if (!value.is_structured())
    return builder.literal(from, value.dump(), to);
  bool isObject = value.is_object();
  BuilderState at = mark(from, isObject ? '{' : '[');
  bool first = true;
  for (const auto &item : value.items()) {
    if (!first)
      at = mark(at, ',');
    first = false;
    if (isObject) {
      BuilderState named = builder.addState();
      quoted(at, item.key(), named);
      at = mark(space(named), ':');
    }
    BuilderState valued = builder.addState();
    constant(at, item.value(), valued);
    at = space(valued);
  }
  builder.literal(at, isObject ? "}" : "]", to);
}
