//===- SchemaReader.cpp - references and combinations of schemas ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows references, splits allOf, and finds the choices of anyOf and oneOf.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaReader.h"
#include "runtime/grammar/GrammarLimits.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

Expected<ExpandedSchema> SchemaReader::expand(const Conjunction &schema) {
  ExpandedSchema out;
  taken.clear();
  following.clear();
  // Settled parts come first, since their references may occur again in the
  // rest.
  for (const SchemaPart &part : schema)
    if (part.settled && taken.emplace(part.node.value, part.node.within).second)
      out.constraints.push_back(part.node);
  for (const SchemaPart &part : schema)
    if (!part.settled)
      SLUICE_RETURN_IF_ERROR(expandNode(part.node, out));
  return out;
}

/// `given` has the schemas that it is within, except for itself.
Status SchemaReader::expandNode(const SchemaNode &given, ExpandedSchema &out) {
  constexpr size_t keywordsLookedFor = 8;
  const SchemaNode node = given.asPartOf(given);
  SLUICE_RETURN_IF_ERROR(budget.spend());
  SLUICE_RETURN_IF_ERROR(
      spendOnSchema(meter, keywordsLookedFor * node.value->size()));
  if (checked.insert(node.value).second)
    SLUICE_RETURN_IF_ERROR(checkSchema(node));
  if (node.value->is_boolean()) {
    out.never |= *node.value == false;
    return {};
  }
  if (std::find(following.begin(), following.end(), node.value) !=
      following.end())
    return node.refuse("the schema refers to itself without an end");
  if (following.size() >= maxDepth)
    return node.refuse("more than ", maxDepth,
                       " references and 'allOf' lead "
                       "to it");
  if (auto [same, fresh] = taken.emplace(node.value, node.within); !fresh) {
    if (same->second != node.within)
      return node.refuse("it holds twice for a value, and not both times below "
                         "the same 'unevaluatedProperties' or "
                         "'unevaluatedItems', which is not supported");
    return {};
  }
  following.push_back(node.value);
  if (node.find("$ref")) {
    Expected<SchemaNode> target = resolveReference(document, node, meter);
    if (!target)
      return target.status();
    out.followed = true;
    SLUICE_RETURN_IF_ERROR(expandNode(target->asPartOf(node), out));
  }
  if (hasConstraints(node))
    out.constraints.push_back(node);
  for (std::string_view key : {"allOf", "anyOf", "oneOf"}) {
    const ordered_json *list = node.find(key);
    if (!list)
      continue;
    SchemaNode member = node.member(key).asPartOf(node);
    if (key != "allOf") {
      out.choices.push_back({std::move(member), key == "oneOf"});
      continue;
    }
    for (size_t i = 0; i < list->size(); ++i)
      SLUICE_RETURN_IF_ERROR(expandNode(member.item(i).asPartOf(node), out));
  }
  following.pop_back();
  return {};
}

Expected<std::vector<Conjunction>>
SchemaReader::alternatives(const ExpandedSchema &schema) {
  constexpr size_t max = 1024;
  constexpr size_t partCost = 16; // steps to copy one, with its texts
  std::vector<Conjunction> ways(1);
  for (const SchemaNode &node : schema.constraints)
    ways[0].push_back({node, true});
  for (const ExpandedSchema::Choice &choice : schema.choices) {
    size_t count = choice.list.value->size();
    if (ways.size() * count > max)
      return choice.list.refuse("more than ", max,
                                " ways to combine its schemas with others");
    std::vector<Conjunction> next;
    for (const Conjunction &way : ways)
      for (size_t i = 0; i < count; ++i) {
        SLUICE_RETURN_IF_ERROR(
            spendOnSchema(meter, partCost * (way.size() + 1)));
        next.push_back(way);
        next.back().push_back(
            {choice.list.item(i).asPartOf(choice.list), false});
      }
    ways = std::move(next);
  }
  return ways;
}

Expected<SchemaReader::Values> SchemaReader::valuesOf(const Conjunction &schema,
                                                      size_t depth) {
  static const ordered_json booleans[] = {false, true};
  static const ordered_json null;
  constexpr size_t maxNested = 8;
  Expected<ExpandedSchema> expanded = expand(schema);
  if (!expanded)
    return expanded.status();
  std::vector<const ordered_json *> values;
  if (expanded->never)
    return Values(values);
  if (!expanded->choices.empty()) {
    for (const ExpandedSchema::Choice &choice : expanded->choices)
      if (choice.exclusive || depth == maxNested)
        return Values();
    Expected<std::vector<Conjunction>> ways = alternatives(*expanded);
    if (!ways)
      return ways.status();
    for (const Conjunction &way : *ways) {
      Expected<Values> some = valuesOf(way, depth + 1);
      if (!some || !*some)
        return some;
      values.insert(values.end(), (*some)->begin(), (*some)->end());
    }
    return Values(std::move(values));
  }
  if (expanded->constraints.empty())
    return Values();
  auto constraints = readConstraints(expanded->constraints, meter);
  if (!constraints)
    return constraints.status();
  if (constraints->values)
    return constraints->values;
  if (constraints->types & ~(NullType | BooleanType))
    return Values();
  if (constraints->types & NullType)
    values.push_back(&null);
  if (constraints->types & BooleanType)
    for (const ordered_json &value : booleans)
      values.push_back(&value);
  return Values(std::move(values));
}
