//===- SchemaOverlap.cpp - schemas that exclude each other ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaOverlap.h"

#include "runtime/grammar/schema/SchemaValues.h"

#include <algorithm>
#include <set>
#include <unordered_set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// Returns whether one of the values may match `other`.
Expected<bool> someMatches(const std::vector<const ordered_json *> &values,
                           const Constraints &other, WorkMeter &meter) {
  Expected<ValueTest> test = ValueTest::create(other, meter);
  if (!test)
    return test.status();
  for (const ordered_json *value : values) {
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
    if (test->matches(*value) != Answer::No)
      return true;
  }
  return false;
}

/// Returns whether `other` requires a member that cannot be written.
Expected<bool> requiresMore(const std::vector<MemberSchema> &members,
                            const Constraints &other, WorkMeter &meter) {
  std::unordered_set<std::string_view> declared;
  std::vector<const MemberSchema *> others;
  for (const MemberSchema &member : members)
    if (member.declared)
      declared.insert(member.name);
    else
      others.push_back(&member);
  auto mayHave = [&](const std::string &name) {
    return declared.contains(name) ||
           std::any_of(others.begin(), others.end(),
                       [&](const MemberSchema *member) {
                         return !member->names || member->names->contains(name);
                       });
  };
  for (const std::string &name : other.requiredNames(meter)) {
    SLUICE_RETURN_IF_ERROR(
        spendOnSchema(meter, (1 + others.size()) * (1 + name.size())));
    if (!mayHave(name))
      return true;
  }
  return false;
}

/// Returns the types that a schema allows, without what a format excludes.
uint8_t typesWithoutFormats(const Constraints &constraints) {
  bool mayBeMore = constraints.values && constraints.hasFormat;
  return mayBeMore ? uint8_t(AllTypes) : typesThatMatch(constraints);
}

/// Returns whether no string satisfies the patterns and lengths of both.
Expected<bool> stringsKeepApart(const Constraints &a, const Constraints &b,
                                WorkMeter &meter) {
  Expected<SizedTexts> left = a.strings(), right = b.strings();
  if (!left || !right)
    return left ? right.status() : left.status();
  if (left->max < right->min || right->max < left->min)
    return true;
  auto both = TextAutomaton::intersection(left->texts, right->texts, meter);
  if (!both)
    return a.place().refuse("strings that match two schemas: ",
                            both.status().message());
  return both->empty();
}

/// Returns whether no number is within the bounds of both.
Expected<bool> numbersKeepApart(const Constraints &a, const Constraints &b,
                                WorkMeter &meter) {
  NumberRange range = a.numbers;
  const NumberRange &other = b.numbers;
  // `integer` is also set for a schema without numbers, which matches all of
  // them.
  range.integer = false;
  range.min.insert(range.min.end(), other.min.begin(), other.min.end());
  range.max.insert(range.max.end(), other.max.begin(), other.max.end());
  Expected<NumberAutomata> both = numberAutomata(range, meter);
  if (!both)
    return a.place().refuse("numbers that match two schemas: ",
                            both.status().message());
  return both->positive.empty() && both->negative.empty();
}

/// Returns the names of members that one of the two requires.
std::vector<std::string>
requiredByEither(const Constraints &a, const Constraints &b, WorkMeter &meter) {
  std::set<std::string> names;
  for (const Constraints *constraints : {&a, &b})
    for (std::string &name : constraints->requiredNames(meter))
      names.insert(std::move(name));
  return {names.begin(), names.end()};
}

} // namespace

/// Returns whether the comparison holds between every choice of `a` and every
/// choice of `b`; false if that is not certain.
Expected<bool> SchemaOverlap::compareLeaves(const Conjunction &a,
                                            const Conjunction &b, size_t depth,
                                            Comparison comparison) {
  if (depth > maxNestedOverlap)
    return false;
  Expected<ExpandedSchema> left = reader.expand(a), right = reader.expand(b);
  if (!left || !right)
    return left ? right.status() : left.status();
  if (left->never || right->never)
    return true;
  if (!left->choices.empty() || !right->choices.empty()) {
    bool splitLeft = !left->choices.empty();
    auto ways = reader.alternatives(splitLeft ? *left : *right);
    if (!ways)
      return ways.status();
    for (const Conjunction &way : *ways) {
      Expected<bool> holds = splitLeft
                                 ? compareLeaves(way, b, depth + 1, comparison)
                                 : compareLeaves(a, way, depth + 1, comparison);
      if (!holds || !*holds)
        return holds;
    }
    return true;
  }
  if (left->constraints.empty() || right->constraints.empty())
    return false;
  Expected<Constraints> one = readConstraints(left->constraints, meter);
  Expected<Constraints> other = readConstraints(right->constraints, meter);
  if (!one || !other)
    return one ? other.status() : one.status();
  return (this->*comparison)(*one, *other, depth);
}

Expected<bool> SchemaOverlap::excludes(const Conjunction &written,
                                       const Conjunction &other, size_t depth) {
  return compareLeaves(written, other, depth, &SchemaOverlap::leafExcludes);
}

Expected<bool> SchemaOverlap::leafExcludes(const Constraints &written,
                                           const Constraints &other,
                                           size_t depth) {
  uint8_t common = typesThatAreWritten(written) & typesThatMatch(other);
  if (common == 0)
    return true;
  for (auto [one, two] : {std::pair(&written, &other), {&other, &written}})
    if (one->values) {
      Expected<bool> overlap = someMatches(*one->values, *two, meter);
      if (!overlap || !*overlap)
        return overlap ? Expected<bool>(true) : overlap;
    }
  if (common != ObjectType || written.values || other.values)
    return false;
  return objectExcludes(written, other, depth);
}

Expected<bool> SchemaOverlap::keepApart(const Conjunction &a,
                                        const Conjunction &b, size_t depth) {
  return compareLeaves(a, b, depth, &SchemaOverlap::leavesKeepApart);
}

Expected<bool> SchemaOverlap::leavesKeepApart(const Constraints &a,
                                              const Constraints &b,
                                              size_t depth) {
  constexpr uint8_t simple = NumberTypes | StringType;
  uint8_t common = typesWithoutFormats(a) & typesWithoutFormats(b);
  bool hasFormat = a.hasFormat || b.hasFormat;
  for (auto [one, two] : {std::pair(&a, &b), {&b, &a}})
    if (one->values && !one->hasFormat) {
      Expected<bool> overlap = someMatches(*one->values, *two, meter);
      if (!overlap || !*overlap)
        return overlap ? Expected<bool>(true) : overlap;
    }
  if (common & ~(simple | ObjectType) || (hasFormat && common & simple))
    return false;
  Expected<bool> apart = true;
  if (common & NumberTypes)
    apart = numbersKeepApart(a, b, meter);
  if (apart && *apart && common & StringType)
    apart = stringsKeepApart(a, b, meter);
  if (apart && *apart && common & ObjectType)
    apart = objectsKeepApart(a, b, depth);
  return apart;
}

/// Returns whether a member that one of the two requires separates them.
Expected<bool> SchemaOverlap::objectsKeepApart(const Constraints &a,
                                               const Constraints &b,
                                               size_t depth) {
  std::vector<std::string> names = requiredByEither(a, b, meter);
  auto left = reader.membersOf(a, names), right = reader.membersOf(b, names);
  if (!left || !right)
    return left ? right.status() : left.status();
  for (size_t i = 0; i < names.size(); ++i) {
    Expected<bool> apart = keepApart((*left)[i], (*right)[i], depth + 1);
    if (!apart || *apart)
      return apart;
  }
  return false;
}

Expected<bool> SchemaOverlap::objectExcludes(const Constraints &written,
                                             const Constraints &other,
                                             size_t depth) {
  auto members = reader.readMembers(written);
  if (!members)
    return members.status();
  Expected<bool> more = requiresMore(*members, other, meter);
  if (!more || *more)
    return more;
  std::erase_if(*members,
                [](const MemberSchema &member) { return !member.required; });
  std::vector<std::string> names;
  for (const MemberSchema &member : *members)
    names.push_back(member.name);
  auto values = reader.membersOf(other, names);
  if (!values)
    return values.status();
  for (size_t i = 0; i < names.size(); ++i) {
    Expected<bool> apart =
        excludes((*members)[i].value, (*values)[i], depth + 1);
    if (!apart || *apart)
      return apart;
  }
  return false;
}
