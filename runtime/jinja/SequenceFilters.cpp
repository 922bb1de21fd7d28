//===- SequenceFilters.cpp - filters of sequences -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Filters.h"
#include "runtime/jinja/MergeSort.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

std::vector<Value> jinja::pairsOf(Runtime &runtime, const Dict &dict) {
  std::vector<Value> pairs;
  for (const auto &[key, value] : dict.entries)
    pairs.push_back(runtime.list({key, value}, List::Form::Tuple));
  return pairs;
}

std::string jinja::replaceCounted(Runtime &runtime, std::string_view text,
                                  std::string_view pattern,
                                  std::string_view content, int64_t limit) {
  runtime.stepSearch(text, pattern);
  size_t count = countOccurrences(text, pattern, limit);
  // This cannot overflow: the limits on values keep both numbers below 2^30.
  runtime.charge(count * content.size());
  return replaceText(text, pattern, content, limit);
}

/// Returns the dict; fails if `value` is none.
static const Dict &dictSubject(Runtime &runtime, const Value &value,
                               std::string_view filter) {
  if (!value.is(Kind::Dict))
    runtime.fail("filter '", filter, "' takes a dict, not ", value.typeName());
  return *value.dict();
}

Value jinja::itemsFilter(Runtime &runtime, FilterArguments arguments) {
  if (arguments[0].is(Kind::Undefined))
    return runtime.iterator({});
  return runtime.iterator(
      pairsOf(runtime, dictSubject(runtime, arguments[0], "items")));
}

Value jinja::listFilter(Runtime &runtime, FilterArguments arguments) {
  auto items = itemsOf(runtime, arguments[0]);
  runtime.step(items->items.size() / 8);
  return runtime.list(items->items);
}

Value jinja::firstFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  if (value.is(Kind::Iterator)) {
    Iterator &iterator = value.iterator();
    if (iterator.next < iterator.items->items.size())
      return iterator.items->items[iterator.next++];
  } else if (auto items = itemsOf(runtime, value); !items->items.empty()) {
    return items->items.front();
  }
  return Value::undefined("there is no first item: the sequence is empty");
}

Value jinja::lastFilter(Runtime &runtime, FilterArguments arguments) {
  if (arguments[0].is(Kind::Iterator))
    runtime.fail("a generator has no last item; make a list of it");
  auto items = itemsOf(runtime, arguments[0]);
  if (items->items.empty())
    return Value::undefined("there is no last item: the sequence is empty");
  return items->items.back();
}

Value jinja::reverseFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &value = arguments[0];
  if (value.isString())
    return sliceOf(runtime, value, {}, {}, Value::integer(-1));
  std::vector<Value> items = itemsOf(runtime, value)->items;
  std::reverse(items.begin(), items.end());
  return runtime.iterator(std::move(items));
}

Value jinja::joinFilter(Runtime &runtime, FilterArguments arguments) {
  auto items = itemsOf(runtime, arguments[0]);
  std::string separator = toText(runtime, arguments[1]);
  bool byAttribute =
      !arguments[2].is(Kind::Missing) && !arguments[2].is(Kind::None);
  std::string out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    runtime.step();
    const Value &item = items->items[i];
    std::string text = toText(
        runtime, byAttribute ? itemAtPath(runtime, item, arguments[2]) : item);
    runtime.charge(text.size() + separator.size());
    if (i > 0)
      out += separator;
    out += text;
  }
  return runtime.string(std::move(out));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// How a filter compares items: by an attribute, with or without case.
struct SortKey {
  const Value &caseSensitive;
  const Value &attribute;
};

/// An item with the key by which it is compared.
struct Keyed {
  Value key;
  Value item;
};

} // namespace

/// Returns the value to compare by, in lower case if case does not matter.
static Value foldCase(Runtime &runtime, const Value &value,
                      const Value &caseSensitive) {
  bool sensitive = !caseSensitive.is(Kind::Missing) && caseSensitive.isTrue();
  if (sensitive || !value.isString())
    return value;
  return runtime.string(lowerCase(value.text()));
}

static Value keyOf(Runtime &runtime, const Value &item, const SortKey &by) {
  bool byAttribute =
      !by.attribute.is(Kind::Missing) && !by.attribute.is(Kind::None);
  return foldCase(runtime,
                  byAttribute ? itemAtPath(runtime, item, by.attribute) : item,
                  by.caseSensitive);
}

static std::vector<Keyed> keyedItems(Runtime &runtime, const Value &value,
                                     const SortKey &by) {
  std::vector<Keyed> keyed;
  auto items = itemsOf(runtime, value);
  runtime.charge(items->items.size() * sizeof(Keyed));
  for (const Value &item : items->items)
    keyed.push_back({keyOf(runtime, item, by), item});
  return keyed;
}

static Value sorted(Runtime &runtime, std::vector<Keyed> keyed,
                    const Value &reverse) {
  // Equal items keep their order also in reverse.
  bool descending = !reverse.is(Kind::Missing) && reverse.isTrue();
  mergeSort(keyed, [&](const Keyed &left, const Keyed &right) {
    return descending ? isLess(runtime, right.key, left.key)
                      : isLess(runtime, left.key, right.key);
  });
  std::vector<Value> items;
  for (Keyed &entry : keyed)
    items.push_back(std::move(entry.item));
  return runtime.list(std::move(items));
}

Value jinja::sortFilter(Runtime &runtime, FilterArguments arguments) {
  const Value &attribute = arguments[3];
  if (attribute.isString() && attribute.text().find(',') != std::string::npos)
    runtime.fail("sorting by several attributes is not supported");
  return sorted(runtime,
                keyedItems(runtime, arguments[0], {arguments[2], attribute}),
                arguments[1]);
}

Value jinja::dictsortFilter(Runtime &runtime, FilterArguments arguments) {
  const Dict &dict = dictSubject(runtime, arguments[0], "dictsort");
  size_t place = 0;
  if (!arguments[2].is(Kind::Missing)) {
    std::string by = toText(runtime, arguments[2]);
    if (by != "key" && by != "value")
      runtime.fail("dictsort's by must be 'key' or 'value'");
    place = by == "key" ? 0 : 1;
  }
  std::vector<Keyed> keyed;
  for (Value &pair : pairsOf(runtime, dict)) {
    Value key = foldCase(runtime, pair.list()->items[place], arguments[1]);
    keyed.push_back({std::move(key), std::move(pair)});
  }
  return sorted(runtime, std::move(keyed), arguments[3]);
}

Value jinja::uniqueFilter(Runtime &runtime, FilterArguments arguments) {
  std::vector<Keyed> seen;
  for (Keyed &entry :
       keyedItems(runtime, arguments[0], {arguments[1], arguments[2]})) {
    bool isNew = std::none_of(seen.begin(), seen.end(), [&](const Keyed &old) {
      return isEqual(runtime, old.key, entry.key);
    });
    if (isNew)
      seen.push_back(std::move(entry));
  }
  std::vector<Value> items;
  for (Keyed &entry : seen)
    items.push_back(std::move(entry.item));
  return runtime.iterator(std::move(items));
}

/// Returns the first item that no other item precedes (with `largest`:
/// follows).
static Value extreme(Runtime &runtime, FilterArguments arguments,
                     bool largest) {
  std::vector<Keyed> keyed =
      keyedItems(runtime, arguments[0], {arguments[1], arguments[2]});
  if (keyed.empty())
    return Value::undefined("there is no such item: the sequence is empty");
  Keyed *best = &keyed[0];
  for (Keyed &entry : keyed)
    if (largest ? isLess(runtime, best->key, entry.key)
                : isLess(runtime, entry.key, best->key))
      best = &entry;
  return best->item;
}

Value jinja::minFilter(Runtime &runtime, FilterArguments arguments) {
  return extreme(runtime, arguments, false);
}

Value jinja::maxFilter(Runtime &runtime, FilterArguments arguments) {
  return extreme(runtime, arguments, true);
}
