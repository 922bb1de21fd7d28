//===- SchemaArray.cpp - arrays of a JSON schema --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays and tuples: a chain of places, at each so many items written, with a
// loop at its end where the number of items has no bound.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/SchemaCompiler.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// One of the schemas that hold for an array. Up to draft 2019-09 a tuple was
/// written as `items`, and the rest as `additionalItems`.
struct ArraySchema {
  SchemaNode node;
  SchemaNode tuple; ///< its value is null where there is none
  SchemaNode rest;  ///< likewise

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

/// How many items there are.
struct ItemCount {
  uint64_t least = 0;
  std::optional<uint64_t> most;
};

/// How many items the schemas within `whole` describe; nothing: any number.
std::optional<uint64_t> itemsWithin(const SchemaNode &whole,
                                    const std::vector<ArraySchema> &arrays) {
  uint64_t most = 0;
  for (const ArraySchema &array : arrays)
    if (array.node.isWithin(whole)) {
      if (array.rest.value)
        return std::nullopt;
      most = std::max<uint64_t>(most, array.tupleSize());
    }
  return most;
}

Expected<ItemCount> readItemCount(const Constraints &constraints,
                                  const std::vector<ArraySchema> &arrays) {
  constexpr uint64_t mostItems = 1 << 16;
  ItemCount count;
  bool saysLeast = false;
  for (const SchemaNode &node : constraints.nodes) {
    auto least = readCount(node, "minItems"),
         most = readCount(node, "maxItems");
    if (!least || !most)
      return least ? most.status() : least.status();
    saysLeast |= least->has_value();
    count.least = std::max(count.least, least->value_or(0));
    if (*most)
      count.most = std::min(count.most.value_or(**most), **most);
    if (!node.closes(unevaluatedItems))
      continue;
    if (auto evaluated = itemsWithin(node, arrays))
      count.most = std::min(count.most.value_or(*evaluated), *evaluated);
  }
  size_t tuple = 0;
  bool hasRest = false;
  for (const ArraySchema &array : arrays) {
    tuple = std::max(tuple, array.tupleSize());
    hasRest |= array.rest.value != nullptr;
  }
  if (tuple > 0 && !hasRest)
    count.most = std::min<uint64_t>(count.most.value_or(tuple), tuple);
  if (tuple > 0 && !saysLeast)
    count.least = std::min<uint64_t>(count.most.value_or(tuple), tuple);
  if (count.least > mostItems || count.most.value_or(0) > mostItems)
    return constraints.place().refuse("more than ", mostItems,
                                      " items in 'minItems' or 'maxItems'");
  return count;
}

/// What holds for the item at `index`.
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

Status SchemaCompiler::emitArray(const Constraints &constraints,
                                 BuilderState from, BuilderState to) {
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
  // Without a bound the last place, behind the tuple and what there must be,
  // is the one that items come back to.
  size_t last = count->most ? static_cast<size_t>(*count->most)
                            : std::max<size_t>(tuple + 1, count->least);
  std::vector<BuilderState> at(last + 1);
  for (BuilderState &place : at)
    place = builder.addState();
  builder.epsilon(json.mark(from, '['), at[0]);
  for (size_t i = 0; i < last && !builder.full(); ++i) {
    BuilderState entry = builder.addState(), valued = builder.addState();
    builder.epsilon(i == 0 ? at[0] : json.mark(at[i], ','), entry);
    if (i + 1 == last && !count->most)
      builder.epsilon(json.mark(at[last], ','), entry);
    builder.epsilon(json.space(valued), at[i + 1]);
    Conjunction value = itemSchema(arrays, i);
    bool shared = i >= tuple && last > tuple + 1;
    if (Status status = shared ? emitShared(value, entry, valued)
                               : emit(value, entry, valued);
        !status.ok())
      return status;
  }
  BuilderState close = builder.addState();
  builder.literal(close, "]", to);
  for (size_t i = count->least; i <= last; ++i)
    builder.epsilon(at[i], close);
  return checkWork();
}
