//===- Operators.h - Python's operators on values -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Python's operators on values. All of them fail where Python raises, with the
// runtime's current position. A string that is Markup makes `+` escape the
// other operand; only the filter `safe` makes such strings, since nothing else
// is escaped.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_OPERATORS_H
#define SLUICE_RUNTIME_JINJA_OPERATORS_H

#include "runtime/jinja/Runtime.h"

#include <optional>

namespace sluice::text::jinja {

Value add(Runtime &runtime, const Value &left, const Value &right);
Value subtract(Runtime &runtime, const Value &left, const Value &right);
Value multiply(Runtime &runtime, const Value &left, const Value &right);
Value divide(Runtime &runtime, const Value &left, const Value &right);
Value floorDivide(Runtime &runtime, const Value &left, const Value &right);
Value modulo(Runtime &runtime, const Value &left, const Value &right);
Value negate(Runtime &runtime, const Value &operand);
/// The unary +.
Value affirm(Runtime &runtime, const Value &operand);

bool isEqual(Runtime &runtime, const Value &left, const Value &right);
bool isLess(Runtime &runtime, const Value &left, const Value &right);
bool isLessOrEqual(Runtime &runtime, const Value &left, const Value &right);
/// `needle in haystack`.
bool contains(Runtime &runtime, const Value &haystack, const Value &needle);

/// len(value).
size_t lengthOf(Runtime &runtime, const Value &value);

/// Returns the items that a loop over `value` visits. It takes all items that
/// an iterator has left.
std::shared_ptr<const List> itemsOf(Runtime &runtime, const Value &value);

/// `object.name`: an attribute, else an item; Undefined if there is neither.
Value attributeOf(Runtime &runtime, const Value &object, std::string_view name);
/// `object[key]`: an item, else an attribute; Undefined if there is neither.
Value itemOf(Runtime &runtime, const Value &object, const Value &key);
/// Returns the item at a path as filters accept it, "function.name" or an
/// index. Undefined items on the way become `fallback`, if it has a value.
Value itemAtPath(Runtime &runtime, const Value &object, const Value &path,
                 const Value &fallback = {});

/// `object[start:stop:step]`; a bound that was left out is Missing or none.
Value sliceOf(Runtime &runtime, const Value &object, const Value &start,
              const Value &stop, const Value &step);

/// Converts `value` to an integer as Python would. Fails for other values,
/// which the error calls `what`.
Integer toInteger(Runtime &runtime, const Value &value, std::string_view what);

/// Returns `value` as a Value; fails outside +-maxInteger.
Value checkedInteger(Runtime &runtime, Integer value);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_OPERATORS_H
