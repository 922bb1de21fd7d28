//===- SchemaWriter.cpp - writes schemas as rules of a grammar ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaWriter.h"

#include "runtime/grammar/schema/SchemaArray.h"
#include "runtime/grammar/schema/SchemaExclusive.h"
#include "runtime/grammar/schema/SchemaObject.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

Status SchemaWriter::emit(const Conjunction &schema, BuilderState from,
                          BuilderState to) {
  Expected<ExpandedSchema> expanded = target.reader.expand(schema);
  if (!expanded)
    return expanded.status();
  return expanded->followed ? emitRule(*expanded, from, to)
                            : emitExpanded(*expanded, from, to);
}

Status SchemaWriter::emitShared(const Conjunction &schema, BuilderState from,
                                BuilderState to) {
  Expected<ExpandedSchema> expanded = target.reader.expand(schema);
  if (!expanded)
    return expanded.status();
  return emitRule(*expanded, from, to);
}

/// Returns about how many bytes a schema takes that waits to be written.
static size_t bytesOf(const ExpandedSchema &schema) {
  size_t bytes = sizeof(schema);
  auto add = [&bytes](const SchemaNode &node) { bytes += node.bytes(); };
  for (const SchemaNode &node : schema.constraints)
    add(node);
  for (const ExpandedSchema::Choice &choice : schema.choices)
    add(choice.list);
  return bytes;
}

Status SchemaWriter::emitRule(const ExpandedSchema &schema, BuilderState from,
                              BuilderState to) {
  constexpr size_t keyComparisons = 8; // about, in a search among the rules
  if (schema.never)
    return {};
  if (schema.constraints.empty() && schema.choices.empty())
    return emitExpanded(schema, from, to);
  RuleKey key;
  auto add = [&key](const SchemaNode &node) {
    key.push_back(node.value);
    key.insert(key.end(), node.within.begin(), node.within.end());
    key.push_back(nullptr);
  };
  for (const SchemaNode &node : schema.constraints)
    add(node);
  key.push_back(nullptr);
  for (const ExpandedSchema::Choice &choice : schema.choices)
    add(choice.list);
  SLUICE_RETURN_IF_ERROR(
      spendOnSchema(target.meter, keyComparisons * key.size()));
  auto [known, fresh] = rules.try_emplace(std::move(key), 0);
  if (fresh) {
    if (!held.add(bytesOf(schema)))
      return spendOnSchema(target.meter);
    known->second = builder.addRule(schema.constraints.empty()
                                        ? schema.choices[0].list.pointer
                                        : schema.constraints[0].pointer);
    pending.push_back({known->second, schema});
  }
  builder.call(from, known->second, to);
  return {};
}

Status SchemaWriter::emitExpanded(const ExpandedSchema &schema,
                                  BuilderState from, BuilderState to) {
  if (schema.never)
    return {};
  if (!schema.choices.empty())
    return emitChoices(schema, from, to);
  if (schema.constraints.empty()) {
    json.value(from, to);
    return {};
  }
  Expected<Constraints> constraints =
      readConstraints(schema.constraints, target.meter);
  if (!constraints)
    return constraints.status();
  return emitConstraints(*constraints, from, to);
}

Status SchemaWriter::emitChoices(const ExpandedSchema &schema,
                                 BuilderState from, BuilderState to) {
  if (std::any_of(schema.choices.begin(), schema.choices.end(),
                  [](const auto &choice) { return choice.exclusive; }))
    return ExclusiveWriter(target, *this, made).emit(schema, from, to);
  Expected<std::vector<Conjunction>> ways = target.reader.alternatives(schema);
  if (!ways)
    return ways.status();
  for (const Conjunction &way : *ways)
    SLUICE_RETURN_IF_ERROR(emit(way, from, to));
  return {};
}

Status SchemaWriter::emitConstraints(const Constraints &constraints,
                                     BuilderState from, BuilderState to) {
  if (constraints.values) {
    for (const ordered_json *value : *constraints.values)
      json.constant(from, *value, to);
    return target.budget.spend();
  }
  uint8_t types = constraints.types;
  if (types & NullType)
    builder.literal(from, "null", to);
  if (types & BooleanType) {
    builder.literal(from, "true", to);
    builder.literal(from, "false", to);
  }
  using Emit =
      Status (SchemaWriter::*)(const Constraints &, BuilderState, BuilderState);
  struct Typed {
    uint8_t bits;
    Emit emit;
  };
  for (Typed typed : {Typed{NumberTypes, &SchemaWriter::emitNumber},
                      Typed{StringType, &SchemaWriter::emitString},
                      Typed{ArrayType, &SchemaWriter::emitArray},
                      Typed{ObjectType, &SchemaWriter::emitObject}})
    if (types & typed.bits)
      SLUICE_RETURN_IF_ERROR((this->*typed.emit)(constraints, from, to));
  return target.budget.spend();
}

Status SchemaWriter::emitNumber(const Constraints &constraints,
                                BuilderState from, BuilderState to) {
  if (!constraints.numbers.bounded()) {
    if (constraints.numbers.integer)
      json.integer(from, to);
    else
      json.number(from, to);
    return {};
  }
  Expected<NumberAutomata> numbers =
      numberAutomata(constraints.numbers, target.meter);
  if (!numbers)
    return constraints.place().refuse("the bounds of the number: ",
                                      numbers.status().message());
  emitAutomata(*numbers, from, to);
  return {};
}

void SchemaWriter::emitAutomata(const NumberAutomata &numbers,
                                BuilderState from, BuilderState to) {
  json.plain(from, numbers.positive, to);
  BuilderState minus = builder.addState();
  builder.literal(from, "-", minus);
  json.plain(minus, numbers.negative, to);
}

Status SchemaWriter::emitString(const Constraints &constraints,
                                BuilderState from, BuilderState to) {
  Expected<SizedTexts> strings = constraints.strings();
  if (!strings)
    return strings.status();
  if (constraints.patterns)
    json.quoted(from, *strings, to);
  else if (strings->bounded())
    json.string(from, strings->min, strings->max, to);
  else
    json.string(from, to);
  return {};
}

Status SchemaWriter::emitArray(const Constraints &constraints,
                               BuilderState from, BuilderState to) {
  return ArrayWriter(target, *this).emit(constraints, from, to);
}

Status SchemaWriter::emitObject(const Constraints &constraints,
                                BuilderState from, BuilderState to) {
  return ObjectWriter(target, *this).emit(constraints, from, to);
}

Status SchemaWriter::finish() {
  while (!pending.empty()) {
    PendingRule next = std::move(pending.back());
    pending.pop_back();
    SLUICE_RETURN_IF_ERROR(emitExpanded(next.schema, builder.start(next.rule),
                                        builder.end(next.rule)));
  }
  return {};
}
