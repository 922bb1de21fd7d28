//===- LoopValue.h - the variable `loop` ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_LOOPVALUE_H
#define SLUICE_RUNTIME_JINJA_LOOPVALUE_H

#include "runtime/jinja/Builtins.h"
#include "runtime/jinja/Runtime.h"

#include <deque>
#include <functional>

namespace sluice::text::jinja {

/// The items of a loop: those of a list, or those of a range, which are made
/// one by one. So loops that look back from each message and end early make few
/// items.
class LoopItems {
public:
  LoopItems() = default;
  explicit LoopItems(std::shared_ptr<const List> list)
      : list(std::move(list)) {}
  explicit LoopItems(const RangeItems &range) : range(range) {}

  size_t size() const { return list ? list->items.size() : range.size; }
  /// Requires i < size().
  Value at(size_t i) const {
    return list ? list->items[i]
                : Value::integer(range.start +
                                 static_cast<Integer>(i) * range.step);
  }

private:
  std::shared_ptr<const List> list; ///< null for `range`
  RangeItems range;
};

/// The state of a loop. The loop's filter is called for an item only when the
/// loop reaches it, or looks ahead for `loop.last` and the like, since the
/// filter may depend on what the body has done.
class LoopValue {
public:
  using Filter = std::function<bool(const Value &item)>;

  /// An empty filter accepts all items.
  LoopValue(LoopItems items, Filter accepts)
      : items(std::move(items)), accepts(std::move(accepts)) {}

  /// Goes to the next item; returns false at the end.
  bool advance();
  const Value &current() const { return item; }

  /// Releases the items and the filter. A value that still holds the loop can
  /// read its counters.
  void finish();

  /// Returns `loop.name`; Missing if there is no such attribute.
  Value attribute(Runtime &runtime, std::string_view name);
  static bool hasAttribute(std::string_view name);

private:
  /// Finds accepted items until `count` are ahead, or none is left.
  void lookAhead(size_t count);
  size_t length();

  LoopItems items;
  Filter accepts;
  size_t nextItem = 0;
  std::deque<Value> ahead; ///< accepted, not yet visited
  size_t visited = 0;
  Value item;
  Value previous = Value::undefined("there is no previous item");
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_LOOPVALUE_H
