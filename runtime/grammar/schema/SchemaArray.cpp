//===- SchemaArray.cpp - arrays of a JSON schema --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaArray.h"

#include "runtime/grammar/schema/SchemaValues.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// One of the schemas that hold for an array. Until draft 2019-09, a tuple was
/// written as `items`, and the rest as `additionalItems`.
struct ArraySchema {
  SchemaNode node;
  SchemaNode tuple; ///< its value is null if there is none
  SchemaNode rest;  ///< its value is null if there is none

  size_t tupleSize() const { return tuple.value ? tuple.value->size() : 0; }
};

Expected<ArraySchema> readArray(const SchemaNode &node) {
  ArraySchema out;
  out.node = node;
  bool older = node.find("items") && node.find("items")->is_array();
  out.tuple = node.member(older ? "items" : "prefixItems");
  out.rest = node.member(older ? "additionalItems" : "items");
  if (older && node.find("prefixItems"))
    return node.refuse("'items' is a list beside 'prefixItems'");
  if (!older && node.find("additionalItems") && !node.find("items"))
    return node.refuse("'additionalItems' without 'items' is not supported");
  return out;
}

/// Returns how many items the schemas within `whole` describe; nothing for any
/// number.
std::optional<uint64_t> itemsWithin(const SchemaNode &whole,
                                    const std::vector<ArraySchema> &arrays) {
  uint64_t max = 0;
  for (const ArraySchema &array : arrays)
    if (array.node.isWithin(whole)) {
      if (array.rest.value)
        return std::nullopt;
      max = std::max<uint64_t>(max, array.tupleSize());
    }
  return max;
}

Expected<ItemCount> readItemCount(const Constraints &constraints,
                                  const std::vector<ArraySchema> &arrays) {
  constexpr uint64_t maxItems = 1 << 16;
  ItemCount count;
  bool saysLeast = false;
  for (const SchemaNode &node : constraints.nodes) {
    auto min = readCount(node, "minItems"), max = readCount(node, "maxItems");
    if (!min || !max)
      return min ? max.status() : min.status();
    saysLeast |= min->has_value();
    count.min = std::max(count.min, min->value_or(0));
    if (*max)
      count.max = std::min(count.max.value_or(**max), **max);
    if (!node.closes(unevaluatedItems))
      continue;
    if (auto evaluated = itemsWithin(node, arrays))
      count.max = std::min(count.max.value_or(*evaluated), *evaluated);
  }
  size_t tuple = 0;
  bool hasRest = false;
  for (const ArraySchema &array : arrays) {
    tuple = std::max(tuple, array.tupleSize());
    hasRest |= array.rest.value != nullptr;
  }
  if (tuple > 0 && !hasRest)
    count.max = std::min<uint64_t>(count.max.value_or(tuple), tuple);
  if (tuple > 0 && !saysLeast)
    count.min = std::min<uint64_t>(count.max.value_or(tuple), tuple);
  if (count.min > maxItems || count.max.value_or(0) > maxItems)
    return constraints.place().refuse("more than ", maxItems,
                                      " items in 'minItems' or 'maxItems'");
  return count;
}

/// Returns the schemas that hold for the item at `index`.
Conjunction itemSchema(const std::vector<ArraySchema> &arrays, size_t index) {
  Conjunction value;
  for (const ArraySchema &array : arrays)
    if (index < array.tupleSize())
      value.push_back({array.tuple.item(index), false});
    else if (array.rest.value)
      value.push_back({array.rest, false});
  return value;
}

} // namespace

/// Returns the values that each item can have; the last entry is for all
/// following items. Equal values count as one.
Expected<ArrayWriter::UniqueItems>
ArrayWriter::readUniqueItems(const SchemaNode &place,
                             const std::vector<Conjunction> &items) {
  UniqueItems out;
  auto numberOf = [&](const ordered_json *value) {
    auto same = std::ranges::find_if(out.values, [&](const auto *other) {
      return sameValue(*value, *other, meter);
    });
    auto number = static_cast<size_t>(same - out.values.begin());
    if (same == out.values.end())
      out.values.push_back(value);
    return number;
  };
  for (const Conjunction &item : items) {
    Expected<SchemaReader::Values> values = reader.valuesOf(item);
    if (!values)
      return values.status();
    if (!*values)
      return place.refuse("'uniqueItems' is supported only where the items are "
                          "of a few values, each of which is named");
    std::set<size_t> numbers;
    for (const ordered_json *value : **values) {
      numbers.insert(numberOf(value));
      SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
    }
    out.choices.emplace_back(numbers.begin(), numbers.end());
  }
  return out;
}

/// Each item adds a new value, so the set of written values also gives the
/// number of items.
Status ArrayWriter::emitUniqueItems(const SchemaNode &place,
                                    const UniqueItems &items,
                                    const ItemCount &count, BuilderState from,
                                    BuilderState to) {
  using Written = std::vector<size_t>; // indices of values, ascending
  std::map<Written, BuilderState> places;
  std::vector<Written> pending;
  auto placeOf = [&](Written written) {
    auto [at, fresh] = places.try_emplace(std::move(written), 0);
    if (fresh) {
      at->second = builder.addState();
      pending.push_back(at->first);
    }
    return at->second;
  };
  builder.epsilon(from, placeOf({}));
  for (size_t i = 0; i < pending.size(); ++i) {
    if (places.size() > maxUniquePlaces)
      return place.refuse("'uniqueItems' with more than ", maxUniquePlaces,
                          " sets of values that can have been written");
    SLUICE_RETURN_IF_ERROR(target.budget.spend());
    const Written written = pending[i];
    BuilderState at = places.at(written);
    if (written.size() >= count.min)
      builder.epsilon(at, to);
    if (count.max && written.size() >= *count.max)
      continue;
    BuilderState entry = written.empty() ? at : json.mark(at, ',');
    size_t item = std::min(written.size(), items.choices.size() - 1);
    for (size_t number : items.choices[item]) {
      Written more = written;
      auto behind = std::ranges::lower_bound(more, number);
      if (behind != more.end() && *behind == number)
        continue;
      more.insert(behind, number);
      BuilderState valued = builder.addState();
      json.constant(entry, *items.values[number], valued);
      builder.epsilon(json.space(valued), placeOf(std::move(more)));
    }
  }
  return {};
}

Status ArrayWriter::emit(const Constraints &constraints, BuilderState from,
                         BuilderState to) {
  std::vector<ArraySchema> arrays;
  size_t tuple = 0;
  for (const SchemaNode &node : constraints.nodes) {
    Expected<ArraySchema> array = readArray(node);
    if (!array)
      return array.status();
    tuple = std::max(tuple, array->tupleSize());
    arrays.push_back(array.take());
  }
  Expected<ItemCount> count = readItemCount(constraints, arrays);
  if (!count)
    return count.status();
  BuilderState open = json.mark(from, '['), close = builder.addState();
  builder.literal(close, "]", to);
  bool unique =
      std::ranges::any_of(constraints.nodes, &SchemaNode::wantsUniqueItems);
  if (unique && count->max.value_or(2) > 1) {
    std::vector<Conjunction> items;
    for (size_t i = 0; i <= tuple; ++i)
      if (!count->max || i < *count->max)
        items.push_back(itemSchema(arrays, i));
    Expected<UniqueItems> read = readUniqueItems(constraints.place(), items);
    if (!read)
      return read.status();
    return emitUniqueItems(constraints.place(), *read, *count, open, close);
  }
  // Without a bound, the last place, after the tuple and the required items, is
  // the one to which further items return.
  size_t last = count->max ? static_cast<size_t>(*count->max)
                           : std::max<size_t>(tuple + 1, count->min);
  std::vector<BuilderState> at(last + 1);
  for (BuilderState &place : at)
    place = builder.addState();
  builder.epsilon(open, at[0]);
  for (size_t i = 0; i < last && !builder.full(); ++i) {
    BuilderState entry = builder.addState(), valued = builder.addState();
    builder.epsilon(i == 0 ? at[0] : json.mark(at[i], ','), entry);
    if (i + 1 == last && !count->max)
      builder.epsilon(json.mark(at[last], ','), entry);
    builder.epsilon(json.space(valued), at[i + 1]);
    Conjunction value = itemSchema(arrays, i);
    bool shared = i >= tuple && last > tuple + 1;
    SLUICE_RETURN_IF_ERROR(shared ? writer.emitShared(value, entry, valued)
                                  : writer.emit(value, entry, valued));
  }
  for (size_t i = count->min; i <= last; ++i)
    builder.epsilon(at[i], close);
  return target.budget.spend();
}
