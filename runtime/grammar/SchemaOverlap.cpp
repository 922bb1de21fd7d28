//===- SchemaOverlap.cpp - schemas that keep apart ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether what is written for one schema can match another: for oneOf, whose
// value must match one of the schemas and no other.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/SchemaCompiler.h"
#include "runtime/grammar/SchemaValues.h"

#include <unordered_set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// Whether one of the values may match `other`.
Expected<bool> someMatches(const std::vector<const ordered_json *> &values,
                           const Constraints &other, const Deadline &deadline) {
  Expected<ValueTest> test = ValueTest::create(other);
  if (!test)
    return test.status();
  for (const ordered_json *value : values) {
    if (Status late = checkTime(deadline); !late.ok())
      return late;
    if (test->matches(*value) != Answer::No)
      return true;
  }
  return false;
}

/// Whether `other` requires a member that cannot be written.
Expected<bool> requiresMore(const std::vector<MemberSchema> &members,
                            const Constraints &other,
                            const Deadline &deadline) {
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
  for (const SchemaNode &node : other.nodes)
    if (const ordered_json *required = node.find("required"))
      for (const ordered_json &name : *required) {
        if (Status late = checkTime(deadline); !late.ok())
          return late;
        if (const auto *text = name.get_ptr<const std::string *>();
            text && !mayHave(*text))
          return true;
      }
  return false;
}

} // namespace

/// Whether nothing that is written for `written` can match `other`; false where
/// that is not certain.
Expected<bool> SchemaCompiler::excludes(const Conjunction &written,
                                        const Conjunction &other,
                                        size_t depth) {
  if (depth > maxNestedOverlap)
    return false;
  Expected<ExpandedSchema> a = expand(written), b = expand(other);
  if (!a || !b)
    return a ? b.status() : a.status();
  if (a->never || b->never)
    return true;
  if (!a->choices.empty() || !b->choices.empty()) {
    // Each alternative of the one must keep away from the other.
    bool splitWritten = !a->choices.empty();
    auto ways = alternatives(splitWritten ? *a : *b);
    if (!ways)
      return ways.status();
    for (const Conjunction &way : *ways) {
      Expected<bool> apart = splitWritten ? excludes(way, other, depth + 1)
                                          : excludes(written, way, depth + 1);
      if (!apart || !*apart)
        return apart;
    }
    return true;
  }
  if (a->constraints.empty() || b->constraints.empty())
    return false;
  Expected<Constraints> left = readConstraints(a->constraints, deadline);
  Expected<Constraints> right = readConstraints(b->constraints, deadline);
  if (!left || !right)
    return left ? right.status() : left.status();
  uint8_t common = typesThatAreWritten(*left) & typesThatMatch(*right);
  if (common == 0)
    return true;
  for (auto [one, two] : {std::pair(&*left, &*right), {&*right, &*left}})
    if (one->values) {
      Expected<bool> overlap = someMatches(*one->values, *two, deadline);
      if (!overlap || !*overlap)
        return overlap ? Expected<bool>(true) : overlap;
    }
  if (common != ObjectType || left->values || right->values)
    return false;
  return objectExcludes(*left, *right, depth);
}

Expected<bool> SchemaCompiler::objectExcludes(const Constraints &written,
                                              const Constraints &other,
                                              size_t depth) {
  auto members = readMembers(written);
  if (!members)
    return members.status();
  Expected<bool> more = requiresMore(*members, other, deadline);
  if (!more || *more)
    return more;
  std::erase_if(*members,
                [](const MemberSchema &member) { return !member.required; });
  std::vector<std::string> names;
  for (const MemberSchema &member : *members)
    names.push_back(member.name);
  auto values = membersOf(other, names);
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
