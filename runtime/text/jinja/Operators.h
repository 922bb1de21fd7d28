//===- Operators.h - Python's operators on values -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// All of them fail, at the place that the runtime is at, where Python raises.
// A string that is Markup makes `+` escape the other operand; the filter
// `safe` is the only source of such strings, as nothing else is escaped.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_OPERATORS_H
#define SLUICE_RUNTIME_TEXT_JINJA_OPERATORS_H

#include "runtime/text/jinja/Runtime.h"

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

/// The items that a loop over `value` visits. Takes all that an iterator still
/// has.
std::shared_ptr<const List> itemsOf(Runtime &runtime, const Value &value);

/// `object.name`: an attribute, else an item; Undefined where there is none.
Value attributeOf(Runtime &runtime, const Value &object, std::string_view name);
/// `object[key]`: an item, else an attribute; Undefined where there is none.
Value itemOf(Runtime &runtime, const Value &object, const Value &key);
/// The item at a path as filters take it, "function.name" or an index.
/// Undefined items on the way become `fallback`, where it has a value.
Value itemAtPath(Runtime &runtime, const Value &object, const Value &path,
                 const Value &fallback = {});

/// `object[start:stop:step]`; bounds are Missing or none where left out.
Value sliceOf(Runtime &runtime, const Value &object, const Value &start,
              const Value &stop, const Value &step);

/// The integer that Python would take `value` for; fails for others, with
/// `what` it is.
Integer toInteger(Runtime &runtime, const Value &value, std::string_view what);

/// `value` as one of the integers there are.
Value checkedInteger(Runtime &runtime, Integer value);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_OPERATORS_H
