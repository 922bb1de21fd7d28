//===- LoopValue.h - the variable loop ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_LOOPVALUE_H
#define SLUICE_RUNTIME_TEXT_JINJA_LOOPVALUE_H

#include "runtime/text/jinja/Builtins.h"
#include "runtime/text/jinja/Runtime.h"

#include <deque>
#include <functional>

namespace sluice::text::jinja {

/// What a loop goes through: the items of a list, or those of a range, which
/// are made one by one: loops that look back from each message, and end early,
/// then make few of them.
class LoopItems {
public:
  LoopItems() = default;
  explicit LoopItems(std::shared_ptr<const List> list)
      : list(std::move(list)) {}
  explicit LoopItems(const RangeItems &range) : range(range) {}

  size_t size() const { return list ? list->items.size() : range.size; }
  /// i < size().
  Value at(size_t i) const {
    return list ? list->items[i]
                : Value::integer(range.start +
                                 static_cast<Integer>(i) * range.step);
  }

private:
  std::shared_ptr<const List> list; ///< null: `range`
  RangeItems range;
};

/// A loop's way through its items. The loop's filter is asked about an item
/// when the loop gets there, or looks ahead for `loop.last` and the like: it
/// may depend on what the body has done.
class LoopValue {
public:
  using Filter = std::function<bool(const Value &item)>;

  /// An empty filter accepts all.
  LoopValue(LoopItems items, Filter accepts)
      : items(std::move(items)), accepts(std::move(accepts)) {}

  /// Goes to the next item; false at the end.
  bool advance();
  const Value &current() const { return item; }

  /// Lets go of the items and the filter. Who still holds the loop can ask for
  /// its counters.
  void finish();

  /// `loop.name`; Missing where there is none.
  Value attribute(Runtime &runtime, std::string_view name);
  static bool hasAttribute(std::string_view name);

private:
  /// Has at least `count` accepted items ahead, if there are as many.
  void lookAhead(size_t count);
  size_t length();

  LoopItems items;
  Filter accepts;
  size_t nextItem = 0;
  std::deque<Value> ahead; ///< accepted, not visited
  size_t visited = 0;
  Value item;
  Value previous = Value::undefined("there is no previous item");
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_LOOPVALUE_H
