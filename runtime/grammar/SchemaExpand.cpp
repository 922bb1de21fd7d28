//===- SchemaExpand.cpp - references and combinations of schemas ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows references, splits allOf, and finds the choices of anyOf and oneOf.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/SchemaCompiler.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

Expected<ExpandedSchema> SchemaCompiler::expand(const Conjunction &schema) {
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
Status SchemaCompiler::expandNode(const SchemaNode &given,
                                  ExpandedSchema &out) {
  constexpr size_t keywordsLookedFor = 8;
  const SchemaNode node = given.asPartOf(given);
  SLUICE_RETURN_IF_ERROR(checkWork());
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
    Expected<SchemaNode> target = resolveReference(root, node, meter);
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
SchemaCompiler::alternatives(const ExpandedSchema &schema) {
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
