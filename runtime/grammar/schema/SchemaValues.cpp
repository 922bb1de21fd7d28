//===- SchemaValues.cpp - decides whether a value matches a schema --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaValues.h"

#include <algorithm>
#include <type_traits>
#include <utility>

using namespace sluice;
using namespace sluice::grammar;

/// Returns whether the two are equal, without rounding the integer.
template <typename Integer> static bool isSame(Integer integer, double number) {
  constexpr double end = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
  return number == static_cast<double>(integer) && number < end &&
         static_cast<Integer>(number) == integer;
}

static bool isSame(const ordered_json &integer, double number) {
  return integer.is_number_unsigned() ? isSame(integer.get<uint64_t>(), number)
                                      : isSame(integer.get<int64_t>(), number);
}

/// Compares exactly; == of ordered_json converts one of two kinds of numbers to
/// the other.
static bool isSameNumber(const ordered_json &a, const ordered_json &b) {
  if (a.type() == b.type())
    return a == b;
  if (a.is_number_float())
    return isSame(b, a.get<double>());
  if (b.is_number_float())
    return isSame(a, b.get<double>());
  return a.is_number_unsigned()
             ? std::cmp_equal(a.get<uint64_t>(), b.get<int64_t>())
             : std::cmp_equal(a.get<int64_t>(), b.get<uint64_t>());
}

static size_t bytesOfText(const ordered_json &value) {
  const auto *text = value.get_ptr<const std::string *>();
  return text ? text->size() : 0;
}

bool sluice::grammar::sameValue(const ordered_json &a, const ordered_json &b,
                                WorkMeter &meter) {
  if (!meter.charge(1 + std::min(bytesOfText(a), bytesOfText(b))))
    return false;
  auto same = [&meter](const ordered_json &one, const ordered_json &other) {
    return sameValue(one, other, meter);
  };
  if (a.is_object() && b.is_object())
    return a.size() == b.size() &&
           std::all_of(
               a.items().begin(), a.items().end(), [&](const auto &member) {
                 if (!meter.charge(b.size()))
                   return false; // it is searched linearly
                 auto other = b.find(member.key());
                 return other != b.end() && same(member.value(), *other);
               });
  if (a.is_array() && b.is_array())
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  if (a.is_number() && b.is_number())
    return isSameNumber(a, b);
  return a == b;
}

uint8_t sluice::grammar::typesThatMatch(const Constraints &constraints) {
  if (!constraints.values)
    return constraints.typed ? constraints.types : uint8_t(AllTypes);
  return constraints.valueTypes;
}

uint8_t sluice::grammar::typesThatAreWritten(const Constraints &constraints) {
  return constraints.values ? typesThatMatch(constraints) : constraints.types;
}

Expected<ValueTest> ValueTest::create(const Constraints &constraints,
                                      WorkMeter &meter) {
  ValueTest test(constraints, meter);
  Expected<SizedTexts> strings = constraints.strings();
  if (!strings)
    return strings.status();
  test.strings = strings.take();
  if (constraints.numbers.bounded()) {
    Expected<NumberAutomata> numbers =
        numberAutomata(constraints.numbers, meter);
    if (!numbers)
      return constraints.place().refuse(numbers.status().message());
    test.numbers = numbers.take();
  }
  return test;
}

Answer ValueTest::matchesString(const std::string &text) const {
  if (!meter->charge(text.size()))
    return Answer::Unknown;
  if (strings.contains(text))
    return Answer::Yes;
  return constraints->hasFormat ? Answer::Unknown : Answer::No;
}

Answer ValueTest::matchesNumber(const ordered_json &value) const {
  if (!numbers)
    return Answer::Yes;
  Expected<Decimal> number = Decimal::parse(value.dump());
  if (!number || number->whole.size() > maxWholeDigits ||
      number->fraction.size() > maxFractionDigits)
    return Answer::Unknown;
  if (numbers->contains(*number))
    return Answer::Yes;
  return constraints->hasFormat ? Answer::Unknown : Answer::No;
}

Answer ValueTest::matches(const ordered_json &value) const {
  Answer otherwise = constraints->hasFormat ? Answer::Unknown : Answer::No;
  if (constraints->values)
    return std::any_of(constraints->values->begin(), constraints->values->end(),
                       [&](const auto *each) {
                         return sameValue(*each, value, *meter);
                       })
               ? Answer::Yes
               : otherwise;
  uint8_t type = typeOf(value);
  if (!(typesThatMatch(*constraints) & type))
    return Answer::No;
  if (type == StringType)
    return matchesString(value.get_ref<const std::string &>());
  if (type & NumberTypes)
    return matchesNumber(value);
  return constraints->spokenOf & type ? Answer::Unknown : Answer::Yes;
}
