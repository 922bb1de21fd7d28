//===- Arithmetic.cpp - Python's arithmetic and comparisons ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Operators.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>
#include <cmath>
#include <compare>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

/// Fails because an operator does not accept its operands.
[[noreturn]] static void refuse(Runtime &runtime, std::string_view op,
                                const Value &left, const Value &right) {
  for (const Value *operand : {&left, &right})
    if (operand->is(Kind::Undefined))
      runtime.fail(operand->why());
  runtime.fail("'", op, "' does not take ", left.typeName(), " and ",
               right.typeName());
}

Value jinja::checkedInteger(Runtime &runtime, Integer value) {
  if (value > maxInteger || value < -maxInteger)
    runtime.fail("an integer needs more than 64 bits");
  return Value::integer(value);
}

Integer jinja::toInteger(Runtime &runtime, const Value &value,
                         std::string_view what) {
  if (value.is(Kind::Undefined))
    runtime.fail(value.why());
  if (!value.isInteger())
    runtime.fail(what, " must be an integer, not ", value.typeName());
  return value.integer();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Value addStrings(Runtime &runtime, const Value &left,
                        const Value &right) {
  if (left.is(Kind::Markup) == right.is(Kind::Markup))
    return runtime.stringLike(left, left.text() + right.text());
  bool leftSafe = left.is(Kind::Markup);
  std::string text = leftSafe ? left.text() + escapeHtml(right.text())
                              : escapeHtml(left.text()) + right.text();
  return runtime.stringLike(leftSafe ? left : right, std::move(text));
}

Value jinja::add(Runtime &runtime, const Value &left, const Value &right) {
  if (left.isString() && right.isString())
    return addStrings(runtime, left, right);
  if (left.isInteger() && right.isInteger())
    return checkedInteger(runtime, left.integer() + right.integer());
  if (left.isNumber() && right.isNumber())
    return Value::real(left.number() + right.number());
  if (left.is(Kind::List) && right.is(Kind::List) &&
      left.list()->form == right.list()->form &&
      (left.list()->form == List::Form::List ||
       left.list()->form == List::Form::Tuple)) {
    std::vector<Value> items = left.list()->items;
    const std::vector<Value> &more = right.list()->items;
    items.insert(items.end(), more.begin(), more.end());
    return runtime.list(std::move(items), left.list()->form);
  }
  refuse(runtime, "+", left, right);
}

Value jinja::subtract(Runtime &runtime, const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger())
    return checkedInteger(runtime, left.integer() - right.integer());
  if (left.isNumber() && right.isNumber())
    return Value::real(left.number() - right.number());
  refuse(runtime, "-", left, right);
}

/// `sequence * count`.
static Value repeat(Runtime &runtime, const Value &sequence, Integer count) {
  count = count < 0 ? 0 : count;
  size_t size = sequence.isString()
                    ? sequence.text().size()
                    : sequence.list()->items.size() * sizeof(Value);
  if (size > 0 && count > Integer(runtime.limits.valueBytes / size))
    runtime.fail("a value repeated ", static_cast<uint64_t>(count),
                 " times is too large");
  runtime.charge(size * static_cast<size_t>(size == 0 ? 0 : count));
  if (sequence.isString()) {
    std::string text;
    for (Integer i = 0; size > 0 && i < count; ++i)
      text += sequence.text();
    return runtime.stringLike(sequence, std::move(text));
  }
  std::vector<Value> items;
  const std::vector<Value> &once = sequence.list()->items;
  for (Integer i = 0; size > 0 && i < count; ++i)
    items.insert(items.end(), once.begin(), once.end());
  return runtime.list(std::move(items), sequence.list()->form);
}

static bool canRepeat(const Value &value) {
  return value.isString() ||
         (value.is(Kind::List) && (value.list()->form == List::Form::List ||
                                   value.list()->form == List::Form::Tuple));
}

Value jinja::multiply(Runtime &runtime, const Value &left, const Value &right) {
  if (left.isInteger() && right.isInteger()) {
    Integer a = left.integer();
    Integer b = right.integer();
    Integer size = b < 0 ? -b : b;
    if (size != 0 && (a > maxInteger / size || a < -maxInteger / size))
      runtime.fail("an integer needs more than 64 bits");
    return Value::integer(a * b);
  }
  if (left.isNumber() && right.isNumber())
    return Value::real(left.number() * right.number());
  if (canRepeat(left) && right.isInteger())
    return repeat(runtime, left, right.integer());
  if (left.isInteger() && canRepeat(right))
    return repeat(runtime, right, left.integer());
  refuse(runtime, "*", left, right);
}

/// Fails if the operands cannot be divided.
static void checkDivision(Runtime &runtime, std::string_view op,
                          const Value &left, const Value &right) {
  if (!left.isNumber() || !right.isNumber())
    refuse(runtime, op, left, right);
  if (right.isInteger() ? right.integer() == 0 : right.number() == 0)
    runtime.fail("division by zero");
}

Value jinja::divide(Runtime &runtime, const Value &left, const Value &right) {
  checkDivision(runtime, "/", left, right);
  return Value::real(left.number() / right.number());
}

Value jinja::modulo(Runtime &runtime, const Value &left, const Value &right) {
  if (left.isString())
    runtime.fail("formatting strings with '%' is not supported");
  checkDivision(runtime, "%", left, right);
  // The remainder has the sign of the divisor.
  if (left.isInteger() && right.isInteger()) {
    Integer remainder = left.integer() % right.integer();
    if (remainder != 0 && (remainder < 0) != (right.integer() < 0))
      remainder += right.integer();
    return Value::integer(remainder);
  }
  double remainder = std::fmod(left.number(), right.number());
  if (remainder != 0 && (remainder < 0) != (right.number() < 0))
    remainder += right.number();
  else if (remainder == 0)
    remainder = std::copysign(0.0, right.number());
  return Value::real(remainder);
}

Value jinja::floorDivide(Runtime &runtime, const Value &left,
                         const Value &right) {
  checkDivision(runtime, "//", left, right);
  Value remainder = modulo(runtime, left, right);
  if (remainder.is(Kind::Int))
    return Value::integer((left.integer() - remainder.integer()) /
                          right.integer());
  // The quotient is exact but for rounding, which taking the nearest whole
  // number undoes.
  double quotient = (left.number() - remainder.number()) / right.number();
  if (quotient == 0)
    return Value::real(std::copysign(0.0, left.number() / right.number()));
  double floored = std::floor(quotient);
  return Value::real(quotient - floored > 0.5 ? floored + 1 : floored);
}

Value jinja::negate(Runtime &runtime, const Value &operand) {
  if (operand.isInteger())
    return Value::integer(-operand.integer());
  if (operand.is(Kind::Float))
    return Value::real(-operand.number());
  if (operand.is(Kind::Undefined))
    runtime.fail(operand.why());
  runtime.fail("'-' does not take ", operand.typeName());
}

Value jinja::affirm(Runtime &runtime, const Value &operand) {
  negate(runtime, operand);
  return operand.is(Kind::Bool) ? Value::integer(operand.integer()) : operand;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Compares numbers exactly, since a long double has at least 64 bits of
/// mantissa.
static std::partial_ordering compareNumbers(const Value &left,
                                            const Value &right) {
  auto exact = [](const Value &value) {
    return value.isInteger() ? static_cast<long double>(value.integer())
                             : static_cast<long double>(value.number());
  };
  return exact(left) <=> exact(right);
}

static bool areEqualLists(Runtime &runtime, const List &left,
                          const List &right) {
  if (left.form != right.form || left.items.size() != right.items.size())
    return false;
  for (size_t i = 0; i < left.items.size(); ++i)
    if (!isEqual(runtime, left.items[i], right.items[i]))
      return false;
  return true;
}

static bool areEqualDicts(Runtime &runtime, const Dict &left,
                          const Dict &right) {
  if (left.entries.size() != right.entries.size())
    return false;
  for (const auto &[key, value] : left.entries) {
    runtime.step(right.entries.size());
    const Value *other = right.find(key);
    if (!other || !isEqual(runtime, value, *other))
      return false;
  }
  return true;
}

bool jinja::isEqual(Runtime &runtime, const Value &left, const Value &right) {
  runtime.step();
  if (left.isNumber() && right.isNumber())
    return compareNumbers(left, right) == 0;
  if (left.isString() && right.isString()) {
    runtime.step(std::min(left.text().size(), right.text().size()) / 64);
    return left.text() == right.text();
  }
  if (left.kind() != right.kind())
    return false;
  switch (left.kind()) {
  case Kind::List:
    return areEqualLists(runtime, *left.list(), *right.list());
  case Kind::Dict:
    return areEqualDicts(runtime, *left.dict(), *right.dict());
  case Kind::Namespace:
    return &left.space() == &right.space();
  case Kind::Callable:
    return &left.callable() == &right.callable();
  case Kind::Function:
    return &left.function() == &right.function();
  case Kind::Iterator:
    return &left.iterator() == &right.iterator();
  case Kind::Undefined:
  case Kind::None:
    return true;
  default:
    return false;
  }
}

/// Returns the order of two values. Fails with a message that names `op` if
/// they have none.
static std::partial_ordering compare(Runtime &runtime, std::string_view op,
                                     const Value &left, const Value &right) {
  runtime.step();
  if (left.isNumber() && right.isNumber())
    return compareNumbers(left, right);
  if (left.isString() && right.isString()) {
    // UTF-8 bytes have the same order as code points.
    runtime.step(std::min(left.text().size(), right.text().size()) / 64);
    return left.text() <=> right.text();
  }
  if (left.is(Kind::List) && right.is(Kind::List) &&
      left.list()->form == right.list()->form) {
    const std::vector<Value> &a = left.list()->items;
    const std::vector<Value> &b = right.list()->items;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i)
      if (!isEqual(runtime, a[i], b[i]))
        return compare(runtime, op, a[i], b[i]);
    return a.size() <=> b.size();
  }
  refuse(runtime, op, left, right);
}

bool jinja::isLess(Runtime &runtime, const Value &left, const Value &right) {
  return compare(runtime, "<", left, right) < 0;
}

bool jinja::isLessOrEqual(Runtime &runtime, const Value &left,
                          const Value &right) {
  return compare(runtime, "<=", left, right) <= 0;
}

/// Returns whether `needle` is among the items from index `next`; moves `next`
/// after it.
static bool findItem(Runtime &runtime, const List &list, const Value &needle,
                     size_t &next) {
  while (next < list.items.size())
    if (isEqual(runtime, list.items[next++], needle))
      return true;
  return false;
}

bool jinja::contains(Runtime &runtime, const Value &haystack,
                     const Value &needle) {
  size_t next = 0;
  switch (haystack.kind()) {
  case Kind::String:
  case Kind::Markup:
    if (!needle.isString())
      refuse(runtime, "in", needle, haystack);
    runtime.stepSearch(haystack.text(), needle.text());
    return haystack.text().find(needle.text()) != std::string::npos;
  case Kind::Dict:
    if (needle.is(Kind::List) || needle.is(Kind::Dict))
      runtime.fail("a ", needle.typeName(), " cannot be a key of a dict");
    runtime.step(1 + haystack.dict()->entries.size());
    return haystack.dict()->find(needle) != nullptr;
  case Kind::List:
    return findItem(runtime, *haystack.list(), needle, next);
  case Kind::Iterator:
    return findItem(runtime, *haystack.iterator().items, needle,
                    haystack.iterator().next);
  case Kind::Undefined:
    return false;
  default:
    refuse(runtime, "in", needle, haystack);
  }
}
