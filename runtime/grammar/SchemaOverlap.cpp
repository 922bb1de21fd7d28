//===- SchemaOverlap.cpp - schemas that keep apart ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneOf: a value must match one of the schemas, and no other. A grammar cannot
// look at a value twice, so that oneOf becomes a choice like anyOf's, and what
// has to be shown is that nothing that is written for one of the schemas
// matches another. Where that cannot be shown, the schema is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/SchemaCompiler.h"

#include <unordered_set>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// Members within members that are looked into.
constexpr size_t mostNested = 4;

/// Types that a schema lets through. Where it names none, only what is written
/// is narrowed to the types that its keywords are about.
uint8_t typesThatMatch(const Constraints &constraints) {
  if (!constraints.values)
    return constraints.typed ? constraints.types : uint8_t(AllTypes);
  uint8_t types = 0;
  for (const ordered_json *value : *constraints.values)
    types |= typeOf(*value);
  return types;
}

uint8_t typesThatAreWritten(const Constraints &constraints) {
  return constraints.values ? typesThatMatch(constraints) : constraints.types;
}

Expected<bool> haveCommonValue(const Constraints &a, const Constraints &b,
                               const Deadline &deadline) {
  for (const ordered_json *value : *a.values) {
    if (Status late = checkTime(deadline); !late.ok())
      return late;
    for (const ordered_json *other : *b.values)
      if (*value == *other)
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

Status SchemaCompiler::checkExclusive(const ExpandedSchema &schema) {
  const SchemaNode &list = schema.choices[0].list;
  if (schema.choices.size() > 1)
    return list.refuse("'oneOf' beside another 'oneOf' or 'anyOf' for the same "
                       "value is not supported");
  size_t count = list.value->size();
  for (size_t i = 0; i < count; ++i) {
    Conjunction written;
    for (const SchemaNode &node : schema.constraints)
      written.push_back({node, true});
    written.push_back({list.item(i).asPartOf(list), false});
    for (size_t j = 0; j < count; ++j) {
      if (i == j)
        continue;
      Expected<bool> apart = excludes(written, conjunctionOf(list.item(j)), 0);
      if (!apart)
        return apart.status();
      if (!*apart)
        return list.refuse("a value may match both ", i, " and ", j,
                           ", and 'oneOf' allows only one; use 'anyOf', or a "
                           "required property with different constants");
    }
  }
  return {};
}

/// Whether nothing that is written for `written` can match `other`; false where
/// that is not certain.
Expected<bool> SchemaCompiler::excludes(const Conjunction &written,
                                        const Conjunction &other,
                                        size_t depth) {
  if (depth > mostNested)
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
  if (left->values && right->values) {
    Expected<bool> overlap = haveCommonValue(*left, *right, deadline);
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
