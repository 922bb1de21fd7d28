//===- NumberAutomaton.cpp - automata for ranges of numbers ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/NumberAutomaton.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using State = TextAutomaton::State;

/// Returns the unsigned decimal numbers of at most that many digits, with a
/// point only if digits follow it.
Expected<TextAutomaton> syntax(uint32_t wholeDigits, uint32_t fractionDigits,
                               WorkMeter &meter) {
  ExpressionTree tree;
  auto digit = [&](char low) {
    return tree.characters(CodePointSet({{static_cast<uint32_t>(low), '9'}}));
  };
  ExpressionId whole =
      tree.choice({tree.literal(U"0"),
                   tree.sequence({digit('1'), tree.repeat(digit('0'), 0,
                                                          wholeDigits - 1)})});
  if (fractionDigits == 0)
    return TextAutomaton::fromExpression(tree, whole, meter);
  ExpressionId fraction = tree.sequence(
      {tree.literal(U"."), tree.repeat(digit('0'), 1, fractionDigits)});
  return TextAutomaton::fromExpression(
      tree, tree.sequence({whole, tree.repeat(fraction, 0, 1)}), meter);
}

/// Makes the automaton of the numbers that compare with `bound`, which is not
/// negative, in one of the wanted ways. A number with more digits before the
/// point is larger. Among numbers of as many digits, the first different digit
/// decides, also after the point.
class Comparison {
public:
  Comparison(const Decimal &bound, bool less, bool equal, bool greater)
      : bound(bound), wanted{less, equal, greater} {}

  TextAutomaton make(WorkMeter &meter) {
    states.resize(fractionAt(bound.fraction.size()) + 1);
    for (size_t digits = 0; digits <= bound.whole.size(); ++digits)
      for (Order order : {Less, Equal, Greater})
        addWhole(digits, order);
    addEdge(moreDigits, '.', decided + Greater);
    for (char digit = '0'; digit <= '9'; ++digit) {
      addEdge(moreDigits, digit, moreDigits);
      addEdge(decided + Less, digit, decided + Less);
      addEdge(decided + Greater, digit, decided + Greater);
    }
    accept(moreDigits, Greater);
    accept(decided + Less, Less);
    accept(decided + Greater, Greater);
    for (size_t digits = 0; digits <= bound.fraction.size(); ++digits)
      addFraction(digits);
    return TextAutomaton(std::move(states), meter);
  }

private:
  enum Order : uint32_t { Less, Equal, Greater };

  // The states, from the start: how many digits have been read, and how they
  // compare; more digits than the bound has; after the point, the comparison is
  // decided; after the point, so many digits are equal.
  static uint32_t wholeAt(size_t digits, Order order) {
    return static_cast<uint32_t>(digits * 3 + (order + 2) % 3);
  }
  uint32_t fractionAt(size_t digits) const {
    return static_cast<uint32_t>(decided + 3 + digits);
  }

  static Order compare(char digit, char other) {
    return digit < other ? Less : digit == other ? Equal : Greater;
  }
  void addEdge(uint32_t from, char character, uint32_t to) {
    auto c = static_cast<uint32_t>(character);
    states[from].edges.push_back({c, c, to});
  }
  void accept(uint32_t state, Order order) {
    states[state].accepting = wanted[order];
  }

  void addWhole(size_t digits, Order order) {
    uint32_t state = wholeAt(digits, order);
    Order soFar = digits < bound.whole.size() ? Less : order;
    if (digits > 0) {
      addEdge(state, '.',
              soFar == Equal ? fractionAt(0) : decided + uint32_t(soFar));
      accept(state, soFar == Equal && !bound.fraction.empty() ? Less : soFar);
    }
    for (char digit = '0'; digit <= '9'; ++digit) {
      uint32_t next = moreDigits;
      if (digits < bound.whole.size())
        next = wholeAt(digits + 1, order == Equal
                                       ? compare(digit, bound.whole[digits])
                                       : order);
      addEdge(state, digit, next);
    }
  }

  void addFraction(size_t digits) {
    uint32_t state = fractionAt(digits);
    bool all = digits == bound.fraction.size();
    accept(state, all ? Equal : Less); // the bound's last digit is not zero
    for (char digit = '0'; digit <= '9'; ++digit) {
      Order order = compare(digit, all ? '0' : bound.fraction[digits]);
      addEdge(state, digit,
              order != Equal ? decided + uint32_t(order)
              : all          ? state
                             : fractionAt(digits + 1));
    }
  }

  const Decimal &bound;
  bool wanted[3];
  std::vector<State> states;
  const uint32_t moreDigits =
      static_cast<uint32_t>((bound.whole.size() + 1) * 3);
  const uint32_t decided = moreDigits + 1; // and the next two, by Order
};

/// Returns the multiples of a step that has `scale` digits after the point, and
/// is `units` without the point. The states keep the remainder of the digits
/// read.
Expected<TextAutomaton> multiples(uint32_t units, uint32_t scale,
                                  WorkMeter &meter) {
  // Returns the state of a row and a remainder.
  auto at = [&](uint32_t digits, uint32_t rest) {
    return digits * units + rest;
  };
  // There are `scale` + 2 rows: before the point, then 0 to `scale` digits
  // after it.
  constexpr size_t digits = 10;
  size_t count = size_t{scale + 2} * units;
  HeldBytes held(meter);
  if (!meter.charge(count * digits) ||
      !held.add(count * (sizeof(State) + digits * sizeof(TextAutomaton::Edge))))
    return meter.status();
  std::vector<State> states(count);
  for (uint32_t row = 0; row < scale + 2; ++row)
    for (uint32_t rest = 0; rest < units; ++rest) {
      State &state = states[at(row, rest)];
      uint32_t behind = row == 0 ? 0 : row - 1;
      uint64_t whole = rest;
      for (uint32_t i = behind; i < scale; ++i)
        whole = whole * 10 % units;
      state.accepting = whole == 0;
      if (row == 0)
        state.edges.push_back({'.', '.', at(1, rest)});
      if (row == scale + 1) {
        state.edges.push_back({'0', '0', at(row, rest)});
        continue;
      }
      for (uint32_t digit = 0; digit < digits; ++digit)
        state.edges.push_back(
            {'0' + digit, '0' + digit,
             at(row == 0 ? 0 : row + 1, (rest * 10 + digit) % units)});
    }
  return TextAutomaton(std::move(states), meter);
}

using Bounds = std::vector<NumberRange::Bound>;

/// Returns the unsigned numbers between the bounds, none of which is negative.
Expected<TextAutomaton> magnitudes(const NumberRange &range, const Bounds &min,
                                   const Bounds &max, WorkMeter &meter) {
  size_t digits = maxWholeDigits;
  for (const Bounds *bounds : {&min, &max})
    for (const NumberRange::Bound &bound : *bounds)
      digits = std::max(digits, bound.value.whole.size());
  Expected<TextAutomaton> all =
      syntax(static_cast<uint32_t>(digits),
             range.integer ? 0 : maxFractionDigits, meter);
  auto restrict = [&](const Expected<TextAutomaton> &to) {
    if (all)
      all = to ? TextAutomaton::intersection(*all, *to, meter) : to;
  };
  for (const NumberRange::Bound &bound : min)
    restrict(
        Comparison(bound.value, false, !bound.exclusive, true).make(meter));
  for (const NumberRange::Bound &bound : max)
    restrict(
        Comparison(bound.value, true, !bound.exclusive, false).make(meter));
  for (const Decimal &step : range.multiplesOf) {
    constexpr size_t maxDigits = 4;
    std::string units = step.whole + step.fraction;
    units.erase(0, units.find_first_not_of('0'));
    if (units.size() > maxDigits)
      return failure("multiples of a number of more than ", maxDigits,
                     " digits are not supported");
    restrict(multiples(static_cast<uint32_t>(std::stoul(units)),
                       static_cast<uint32_t>(step.fraction.size()), meter));
  }
  return all;
}

NumberRange::Bound negated(NumberRange::Bound bound) {
  bound.value.negative = false;
  return bound;
}

} // namespace

Expected<Decimal> Decimal::parse(std::string_view text) {
  constexpr int64_t maxDigits = 40;
  Decimal number;
  if (text.starts_with('-')) {
    number.negative = true;
    text.remove_prefix(1);
  }
  std::string digits;
  int64_t point = -1, exponent = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at)
    if (text[at] == '.')
      point = static_cast<int64_t>(digits.size());
    else
      digits += text[at];
  if (point < 0)
    point = static_cast<int64_t>(digits.size());
  if (at < text.size()) {
    bool down = text[++at] == '-';
    at += text[at] == '-' || text[at] == '+';
    for (; at < text.size(); ++at)
      exponent = std::min<int64_t>(exponent * 10 + (text[at] - '0'), 1 << 20);
    if (down)
      exponent = -exponent;
  }
  size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, zeros);
  point += exponent - static_cast<int64_t>(zeros);
  digits.erase(digits.find_last_not_of('0') + 1);
  auto size = static_cast<int64_t>(digits.size());
  if (size == 0)
    return Decimal{};
  if (point > maxDigits || size - point > maxDigits)
    return failure("a number of more than ", maxDigits,
                   " digits before or behind the point");
  if (point > size)
    digits.append(static_cast<size_t>(point - size), '0');
  if (point < 0)
    digits.insert(0, static_cast<size_t>(-point), '0');
  auto split = static_cast<size_t>(std::max<int64_t>(point, 0));
  if (split > 0)
    number.whole = digits.substr(0, split);
  number.fraction = digits.substr(split);
  return number;
}

bool NumberAutomata::contains(const Decimal &number) const {
  std::string text = number.whole;
  if (!number.fraction.empty())
    text += "." + number.fraction;
  return (number.negative ? negative : positive).contains(text);
}

Expected<NumberAutomata>
sluice::grammar::numberAutomata(const NumberRange &range, WorkMeter &meter) {
  // For a number below zero, its magnitude is compared with the exchanged
  // bounds.
  Bounds positiveMin, positiveMax, negativeMin, negativeMax;
  bool positive = true, negative = true;
  for (const NumberRange::Bound &bound : range.min)
    if (bound.value.negative) {
      negativeMax.push_back(negated(bound));
    } else {
      positiveMin.push_back(bound);
      negative = false;
    }
  for (const NumberRange::Bound &bound : range.max)
    if (bound.value.negative) {
      negativeMin.push_back(negated(bound));
      positive = false;
    } else {
      positiveMax.push_back(bound);
    }
  negativeMin.push_back({.value = Decimal{}, .exclusive = true});
  NumberAutomata automata;
  if (positive) {
    auto made = magnitudes(range, positiveMin, positiveMax, meter);
    if (!made)
      return made.status();
    automata.positive = made.take();
  }
  if (negative) {
    auto made = magnitudes(range, negativeMin, negativeMax, meter);
    if (!made)
      return made.status();
    automata.negative = made.take();
  }
  return automata;
}
