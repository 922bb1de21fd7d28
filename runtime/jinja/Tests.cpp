//===- Tests.cpp - tests, which follow 'is' -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Builtins.h"
#include "runtime/jinja/Operators.h"

#include <algorithm>
#include <iterator>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;
using Subject = std::span<const Value>;

template <Kind... kinds> static Value isKind(Runtime &, Subject arguments) {
  return Value::boolean((arguments[0].is(kinds) || ...));
}

template <bool wanted> static Value isBoolean(Runtime &, Subject arguments) {
  return Value::boolean(arguments[0].is(Kind::Bool) &&
                        arguments[0].boolean() == wanted);
}

static Value isDefined(Runtime &, Subject arguments) {
  return Value::boolean(!arguments[0].is(Kind::Undefined));
}

/// Returns whether a value has a length and can be indexed, which in Jinja2
/// includes Undefined.
static Value isSequence(Runtime &, Subject arguments) {
  const Value &value = arguments[0];
  return Value::boolean(
      value.isString() || value.is(Kind::Dict) || value.is(Kind::Undefined) ||
      (value.is(Kind::List) && value.list()->form != List::Form::View));
}

static Value isDivisible(Runtime &runtime, Subject arguments) {
  Value remainder = modulo(runtime, arguments[0], arguments[1]);
  return Value::boolean(!remainder.isTrue());
}

template <int rest>
static Value hasParity(Runtime &runtime, Subject arguments) {
  Value remainder = modulo(runtime, arguments[0], Value::integer(2));
  return Value::boolean(isEqual(runtime, remainder, Value::integer(rest)));
}

static Value isEqualTo(Runtime &runtime, Subject arguments) {
  return Value::boolean(isEqual(runtime, arguments[0], arguments[1]));
}

static Value isUnequalTo(Runtime &runtime, Subject arguments) {
  return Value::boolean(!isEqual(runtime, arguments[0], arguments[1]));
}

static Value isLessThan(Runtime &runtime, Subject arguments) {
  return Value::boolean(isLess(runtime, arguments[0], arguments[1]));
}

static Value isAtMost(Runtime &runtime, Subject arguments) {
  return Value::boolean(isLessOrEqual(runtime, arguments[0], arguments[1]));
}

static Value isGreaterThan(Runtime &runtime, Subject arguments) {
  return Value::boolean(isLess(runtime, arguments[1], arguments[0]));
}

static Value isAtLeast(Runtime &runtime, Subject arguments) {
  return Value::boolean(isLessOrEqual(runtime, arguments[1], arguments[0]));
}

static Value isIn(Runtime &runtime, Subject arguments) {
  return Value::boolean(contains(runtime, arguments[1], arguments[0]));
}

static constexpr Builtin tests[] = {
    {"defined", isDefined},
    {"undefined", isKind<Kind::Undefined>},
    {"none", isKind<Kind::None>},
    {"boolean", isKind<Kind::Bool>},
    {"true", isBoolean<true>},
    {"false", isBoolean<false>},
    {"integer", isKind<Kind::Int>},
    {"float", isKind<Kind::Float>},
    {"number", isKind<Kind::Int, Kind::Float, Kind::Bool>},
    {"string", isKind<Kind::String, Kind::Markup>},
    {"mapping", isKind<Kind::Dict>},
    {"iterable", isKind<Kind::String, Kind::Markup, Kind::List, Kind::Dict,
                        Kind::Iterator, Kind::Loop, Kind::Undefined>},
    {"sequence", isSequence},
    {"odd", hasParity<1>},
    {"even", hasParity<0>},
    {"divisibleby", isDivisible, 1, {"num"}},
    {"eq", isEqualTo, 1, {"b"}},
    {"equalto", isEqualTo, 1, {"b"}},
    {"==", isEqualTo, 1, {"b"}},
    {"ne", isUnequalTo, 1, {"b"}},
    {"!=", isUnequalTo, 1, {"b"}},
    {"lt", isLessThan, 1, {"b"}},
    {"lessthan", isLessThan, 1, {"b"}},
    {"<", isLessThan, 1, {"b"}},
    {"le", isAtMost, 1, {"b"}},
    {"<=", isAtMost, 1, {"b"}},
    {"gt", isGreaterThan, 1, {"b"}},
    {"greaterthan", isGreaterThan, 1, {"b"}},
    {">", isGreaterThan, 1, {"b"}},
    {"ge", isAtLeast, 1, {"b"}},
    {">=", isAtLeast, 1, {"b"}},
    {"in", isIn, 1, {"seq"}},
};

const Builtin *jinja::findTest(std::string_view name) {
  const Builtin *found =
      std::find_if(std::begin(tests), std::end(tests),
                   [&](const Builtin &test) { return test.name == name; });
  return found == std::end(tests) ? nullptr : found;
}
