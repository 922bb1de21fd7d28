//===- SchemaExclusive.cpp - oneOf: one schema and no other ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaExclusive.h"

#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/schema/SchemaValues.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::grammar;

Status ExclusiveWriter::Sibling::refuse() const {
  return list.refuse("a value may match both ", written, " and ", index,
                     ", and 'oneOf' allows only one; use 'anyOf', or a "
                     "required property with different constants");
}

Status ExclusiveWriter::emit(const ExpandedSchema &schema, BuilderState from,
                             BuilderState to) {
  return emitChoicesApart(schema, {}, 0, from, to);
}

/// Emits each way to choose, without what matches a sibling or, if only one
/// choice may match, what matches another choice.
Status ExclusiveWriter::emitChoicesApart(const ExpandedSchema &written,
                                         const std::vector<Sibling> &siblings,
                                         size_t depth, BuilderState from,
                                         BuilderState to) {
  const ExpandedSchema::Choice &choice = written.choices[0];
  bool exclusive = std::any_of(written.choices.begin(), written.choices.end(),
                               [](const auto &each) { return each.exclusive; });
  if (exclusive && written.choices.size() > 1)
    return choice.list.refuse("'oneOf' beside another 'oneOf' or 'anyOf' for "
                              "the same value is not supported");
  Expected<std::vector<Conjunction>> ways = reader.alternatives(written);
  if (!ways)
    return ways.status();
  for (size_t i = 0; i < ways->size(); ++i) {
    std::vector<Sibling> others = siblings;
    for (size_t j = 0; exclusive && j < ways->size(); ++j)
      if (i != j)
        others.push_back(
            {choice.list, i, j, conjunctionOf(choice.list.item(j))});
    SLUICE_RETURN_IF_ERROR(
        emitApart((*ways)[i], std::move(others), depth, from, to));
  }
  return {};
}

/// Reads the constraints of a schema without choices. A schema without
/// constraints matches all values, and has the sibling's place in messages.
Expected<Constraints> ExclusiveWriter::readLeaf(const ExpandedSchema &leaf,
                                                const Sibling &sibling) {
  static const ordered_json any = ordered_json::object();
  if (leaf.constraints.empty())
    return readConstraints({{&any, sibling.list.pointer}}, meter);
  return readConstraints(leaf.constraints, meter);
}

/// Emits what is written for `written` and matches none of the siblings.
Status ExclusiveWriter::emitApart(const Conjunction &written,
                                  std::vector<Sibling> siblings, size_t depth,
                                  BuilderState from, BuilderState to) {
  std::vector<Sibling> near;
  for (Sibling &sibling : siblings) {
    Expected<bool> apart = overlap.excludes(written, sibling.schema, 0);
    if (!apart)
      return apart.status();
    if (!*apart)
      near.push_back(std::move(sibling));
  }
  if (near.empty())
    return writer.emit(written, from, to);
  if (depth > maxNestedOverlap)
    return near[0].refuse();
  Expected<ExpandedSchema> expanded = reader.expand(written);
  if (!expanded)
    return expanded.status();
  if (expanded->never)
    return {};
  if (!expanded->choices.empty())
    return emitChoicesApart(*expanded, near, depth + 1, from, to);
  std::vector<LeafSibling> leaves;
  for (const Sibling &sibling : near)
    SLUICE_RETURN_IF_ERROR(splitSibling(sibling, sibling.schema, 0, leaves));
  Expected<Constraints> constraints = readLeaf(*expanded, near[0]);
  if (!constraints)
    return constraints.status();
  return emitTypesApart(written, *constraints, leaves, from, to);
}

/// Returns whether a value may match two schemas of the same oneOf.
Expected<bool> ExclusiveWriter::mayMatchTwice(const ExpandedSchema &schema) {
  for (const ExpandedSchema::Choice &choice : schema.choices) {
    if (!choice.exclusive)
      continue;
    Expected<std::vector<Conjunction>> ways = reader.alternatives(
        {.constraints = schema.constraints, .choices = {choice}});
    if (!ways)
      return ways.status();
    for (size_t i = 0; i < ways->size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        Expected<bool> apart = overlap.keepApart((*ways)[i], (*ways)[j], 0);
        if (!apart || !*apart)
          return apart ? Expected<bool>(true) : apart;
      }
  }
  return false;
}

/// Splits a sibling into leaves, so that a value matches the sibling if and
/// only if it matches one of them. Refuses a sibling if a value might match two
/// schemas of a oneOf inside it, and so not match that oneOf.
Status ExclusiveWriter::splitSibling(const Sibling &sibling,
                                     const Conjunction &part, size_t depth,
                                     std::vector<LeafSibling> &leaves) {
  if (depth > maxNestedOverlap)
    return sibling.refuse();
  Expected<ExpandedSchema> expanded = reader.expand(part);
  if (!expanded)
    return expanded.status();
  if (expanded->never)
    return {};
  if (!expanded->choices.empty()) {
    Expected<bool> twice = mayMatchTwice(*expanded);
    if (!twice)
      return twice.status();
    if (*twice)
      return sibling.refuse();
    Expected<std::vector<Conjunction>> ways = reader.alternatives(*expanded);
    if (!ways)
      return ways.status();
    for (const Conjunction &way : *ways)
      SLUICE_RETURN_IF_ERROR(splitSibling(sibling, way, depth + 1, leaves));
    return {};
  }
  Expected<Constraints> constraints = readLeaf(*expanded, sibling);
  if (!constraints)
    return constraints.status();
  leaves.push_back({&sibling, constraints.take()});
  return {};
}

Status ExclusiveWriter::emitTypesApart(const Conjunction &written,
                                       const Constraints &constraints,
                                       const std::vector<LeafSibling> &siblings,
                                       BuilderState from, BuilderState to) {
  static const ordered_json simple[] = {nullptr, false, true};
  if (constraints.values)
    return emitValuesApart(*constraints.values, siblings, from, to);
  std::vector<const ordered_json *> values;
  for (const ordered_json &value : simple)
    if (typeOf(value) & constraints.types)
      values.push_back(&value);
  Status status = emitValuesApart(values, siblings, from, to);
  if (status.ok() && constraints.types & NumberTypes)
    status = emitNumbersApart(constraints, siblings, from, to);
  if (status.ok() && constraints.types & StringType)
    status = emitStringsApart(constraints, siblings, from, to);
  if (status.ok() && constraints.types & ObjectType)
    status = emitObjectsApart(written, constraints, siblings, from, to);
  if (!status.ok() || !(constraints.types & ArrayType))
    return status;
  for (const LeafSibling &sibling : siblings)
    if (typesThatMatch(sibling.constraints) & ArrayType) {
      if (sibling.constraints.values ||
          sibling.constraints.spokenOf & ArrayType)
        return sibling.of->refuse();
      return {}; // it matches every array
    }
  return writer.emitArray(constraints, from, to);
}

Status ExclusiveWriter::emitValuesApart(
    const std::vector<const ordered_json *> &values,
    const std::vector<LeafSibling> &siblings, BuilderState from,
    BuilderState to) {
  std::vector<ValueTest> tests;
  for (const LeafSibling &sibling : siblings) {
    Expected<ValueTest> test = ValueTest::create(sibling.constraints, meter);
    if (!test)
      return test.status();
    tests.push_back(test.take());
  }
  for (const ordered_json *value : values) {
    bool matches = false;
    for (size_t i = 0; i < tests.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
      Answer answer = tests[i].matches(*value);
      if (answer == Answer::Unknown)
        return siblings[i].of->refuse();
      matches |= answer == Answer::Yes;
    }
    if (!matches)
      json.constant(from, *value, to);
  }
  return target.budget.spend();
}

//===----------------------------------------------------------------------===//
// Numbers and strings: the difference of their automata
//===----------------------------------------------------------------------===//

/// Returns the ranges of the numbers that match; nothing if not all spellings
/// of these numbers are known.
static std::optional<std::vector<NumberRange>>
rangesOf(const Constraints &constraints) {
  std::vector<NumberRange> ranges;
  if (!constraints.values) {
    if (!(typesThatMatch(constraints) & NumberTypes))
      return ranges;
    // A multiple can be written with zeros that its automaton does not have.
    if (!constraints.numbers.multiplesOf.empty() || constraints.hasFormat)
      return std::nullopt;
    ranges.push_back(constraints.numbers);
    ranges[0].integer = !(typesThatMatch(constraints) & FractionType);
    return ranges;
  }
  for (const ordered_json *value : *constraints.values)
    if (typeOf(*value) & NumberTypes) {
      Expected<Decimal> number = Decimal::parse(value->dump());
      if (!number)
        return std::nullopt;
      NumberRange &range = ranges.emplace_back();
      range.min.push_back({*number});
      range.max.push_back({*number});
    }
  return ranges;
}

/// Removes all spellings of a range's numbers. An integer may also have a point
/// with zeros after it.
static Status subtract(NumberAutomata &from, NumberRange range,
                       WorkMeter &meter) {
  bool integer = std::exchange(range.integer, false);
  Expected<NumberAutomata> numbers = numberAutomata(range, meter);
  if (!numbers)
    return numbers.status();
  for (auto part : {&NumberAutomata::positive, &NumberAutomata::negative}) {
    Expected<TextAutomaton> texts = std::move((*numbers).*part);
    if (integer) {
      Expected<TextAutomaton> whole = compilePattern("^[0-9]+(\\.0*)?$", meter);
      if (!whole)
        return whole.status();
      texts = TextAutomaton::intersection(*texts, *whole, meter);
    }
    if (texts)
      texts = TextAutomaton::difference(from.*part, *texts, meter);
    if (!texts)
      return texts.status();
    from.*part = texts.take();
  }
  return {};
}

Status
ExclusiveWriter::emitNumbersApart(const Constraints &constraints,
                                  const std::vector<LeafSibling> &siblings,
                                  BuilderState from, BuilderState to) {
  std::vector<NumberRange> others;
  for (const LeafSibling &sibling : siblings) {
    auto ranges = rangesOf(sibling.constraints);
    if (!ranges)
      return sibling.of->refuse();
    others.insert(others.end(), ranges->begin(), ranges->end());
  }
  if (others.empty())
    return writer.emitNumber(constraints, from, to);
  Expected<NumberAutomata> numbers = numberAutomata(constraints.numbers, meter);
  Status status = numbers.status();
  for (size_t i = 0; status.ok() && i < others.size(); ++i) {
    status = subtract(*numbers, others[i], meter);
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
  }
  if (!status.ok())
    return constraints.place().refuse("the bounds of the number: ",
                                      status.message());
  writer.emitAutomata(*numbers, from, to);
  return {};
}

/// Returns what is in `set` but not in `other`, which is up to three sets: by
/// the texts, or by their lengths.
static Expected<std::vector<SizedTexts>>
without(const SizedTexts &set, const SizedTexts &other, WorkMeter &meter) {
  auto only = TextAutomaton::difference(set.texts, other.texts, meter);
  auto both = TextAutomaton::intersection(set.texts, other.texts, meter);
  if (!only || !both)
    return only ? both.status() : only.status();
  std::vector<SizedTexts> remaining;
  if (!both->empty() && set.min < other.min)
    remaining.push_back({*both, set.min, std::min(set.max, other.min - 1)});
  if (!both->empty() && set.max > other.max)
    remaining.push_back({*both, std::max(set.min, other.max + 1), set.max});
  if (!only->empty())
    remaining.push_back({only.take(), set.min, set.max});
  return remaining;
}

/// Returns the strings that match; a format may allow more.
static Expected<SizedTexts> stringsThatMatch(const Constraints &constraints,
                                             WorkMeter &meter) {
  if (!constraints.values)
    return constraints.strings();
  std::vector<std::string> listed;
  for (const ordered_json *value : *constraints.values)
    if (const auto *text = value->get_ptr<const std::string *>())
      listed.push_back(*text);
  Expected<TextAutomaton> texts = TextAutomaton::of(listed, meter);
  if (!texts)
    return constraints.place().refuse(texts.status().message());
  return SizedTexts{.texts = texts.take()};
}

/// Returns the parts of the sets that are not in `other`, whose strings match
/// the sibling. Each set can become three. Refuses the sibling if there are too
/// many sets, or if their automata together have more edges than one may have.
Expected<std::vector<SizedTexts>>
ExclusiveWriter::stringsApart(const std::vector<SizedTexts> &sets,
                              const SizedTexts &other, const Sibling &sibling) {
  constexpr size_t maxSets = 64;
  std::vector<SizedTexts> remaining;
  size_t edges = 0;
  for (const SizedTexts &set : sets) {
    Expected<std::vector<SizedTexts>> parts = without(set, other, meter);
    if (!parts)
      return sibling.list.refuse("the strings that match no other schema: ",
                                 parts.status().message());
    for (SizedTexts &part : *parts) {
      for (const TextAutomaton::State &state : part.texts.states())
        edges += state.edges.size();
      remaining.push_back(std::move(part));
    }
    if (remaining.size() > maxSets || edges > maxTextEdges)
      return sibling.refuse();
  }
  return remaining;
}

Status
ExclusiveWriter::emitStringsApart(const Constraints &constraints,
                                  const std::vector<LeafSibling> &siblings,
                                  BuilderState from, BuilderState to) {
  std::vector<SizedTexts> sets;
  for (const LeafSibling &sibling : siblings) {
    const Constraints &other = sibling.constraints;
    if (!(typesThatMatch(other) & StringType))
      continue;
    if (other.hasFormat)
      return sibling.of->refuse();
    Expected<SizedTexts> strings = stringsThatMatch(other, meter);
    if (!strings)
      return strings.status();
    if (sets.empty()) {
      Expected<SizedTexts> all = constraints.strings();
      if (!all)
        return all.status();
      sets.push_back(all.take());
    }
    auto remaining = stringsApart(sets, *strings, *sibling.of);
    if (!remaining)
      return remaining.status();
    if (remaining->empty())
      return {};
    sets = remaining.take();
  }
  if (sets.empty())
    return writer.emitString(constraints, from, to);
  for (const SizedTexts &set : sets)
    json.quoted(from, set, to);
  return target.budget.spend();
}

//===----------------------------------------------------------------------===//
// Objects: members that one schema requires and the other forbids
//===----------------------------------------------------------------------===//

/// Returns the ways to change an object of `written` so that it does not match
/// `other`.
Expected<std::vector<ExclusiveWriter::MemberChange>>
ExclusiveWriter::waysApart(const Constraints &written,
                           const Constraints &other) {
  auto members = reader.readMembers(written);
  if (!members)
    return members.status();
  std::set<std::string> required;
  std::vector<std::string> optional;
  std::vector<const MemberSchema *> schemas;
  for (const MemberSchema &member : *members) {
    if (member.required)
      required.insert(member.name);
    else if (member.declared) {
      optional.push_back(member.name);
      schemas.push_back(&member);
    }
  }
  std::vector<MemberChange> ways;
  for (const std::string &name : other.requiredNames(meter))
    if (!required.contains(name))
      ways.push_back({.without = {name}, .with = {}});
  auto values = reader.membersOf(other, optional);
  if (!values)
    return values.status();
  for (size_t i = 0; i < optional.size(); ++i) {
    Expected<bool> apart = overlap.excludes(schemas[i]->value, (*values)[i], 1);
    if (!apart)
      return apart.status();
    if (*apart)
      ways.push_back({.without = {}, .with = {optional[i]}});
  }
  return ways;
}

/// Returns the schema with a change to its members.
Conjunction ExclusiveWriter::changed(Conjunction written,
                                     const MemberChange &change) {
  ordered_json &schema = made.emplace_back(ordered_json::object());
  schema["type"] = "object";
  for (const std::string &name : change.without)
    schema["properties"][name] = false;
  for (const std::string &name : change.with)
    schema["required"].push_back(name);
  written.push_back({{&schema, "#"}, false});
  return written;
}

Status
ExclusiveWriter::emitObjectsApart(const Conjunction &written,
                                  const Constraints &constraints,
                                  const std::vector<LeafSibling> &siblings,
                                  BuilderState from, BuilderState to) {
  constexpr size_t maxChanges = 64;
  std::vector<MemberChange> changes(1);
  for (const LeafSibling &sibling : siblings) {
    const Constraints &other = sibling.constraints;
    if (!(typesThatMatch(other) & ObjectType))
      continue;
    if (other.values)
      return sibling.of->refuse();
    if (!(other.spokenOf & ObjectType))
      return {}; // it matches every object
    Expected<bool> apart = overlap.objectExcludes(constraints, other, 0);
    if (!apart)
      return apart.status();
    if (*apart)
      continue;
    auto ways = waysApart(constraints, other);
    if (!ways)
      return ways.status();
    if (ways->empty() || changes.size() * ways->size() > maxChanges)
      return sibling.of->refuse();
    std::vector<MemberChange> next;
    for (const MemberChange &change : changes)
      for (const MemberChange &way : *ways) {
        MemberChange &both = next.emplace_back(change);
        both.without.insert(way.without.begin(), way.without.end());
        both.with.insert(way.with.begin(), way.with.end());
      }
    changes = std::move(next);
  }
  for (const MemberChange &change : changes)
    SLUICE_RETURN_IF_ERROR(writer.emit(changed(written, change), from, to));
  return {};
}
