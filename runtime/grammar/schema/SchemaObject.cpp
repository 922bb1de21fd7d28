//===- SchemaObject.cpp - objects of a JSON schema ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/SchemaObject.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

namespace {

Expected<MemberCount> readCountOf(const Constraints &constraints,
                                  const std::vector<MemberSchema> &members) {
  MemberCount count;
  uint64_t required = 0, declared = 0;
  for (const MemberSchema &member : members) {
    required += member.required;
    declared += member.declared;
  }
  for (const SchemaNode &node : constraints.nodes) {
    auto min = readCount(node, "minProperties");
    auto max = readCount(node, "maxProperties");
    if (!min || !max)
      return min ? max.status() : min.status();
    count.min = std::max(count.min, min->value_or(0));
    if (*max)
      count.max = std::min(count.max.value_or(**max), **max);
  }
  // Bounds that always hold need no counting.
  if (count.min <= required)
    count.min = 0;
  if (count.max && *count.max >= declared && declared == members.size())
    count.max.reset();
  bool others = declared < members.size();
  constexpr uint64_t maxPlaces = 1 << 16;
  uint64_t limit = count.max ? *count.max : std::max<uint64_t>(1, count.min);
  if (limit > maxPlaces || (limit + 1) * (declared + 1) > maxPlaces)
    return constraints.place().refuse(
        "'minProperties' and 'maxProperties' this large are not supported");
  if (others && count.min > declared + 1 &&
      count.min <= count.max.value_or(count.min))
    return constraints.place().refuse(
        "'minProperties' is ", count.min, ", and the schema names ", declared,
        " properties: more than one beside them cannot be kept apart");
  count.limit = static_cast<size_t>(limit);
  return count;
}

} // namespace

Status ObjectWriter::emit(const Constraints &constraints, BuilderState from,
                          BuilderState to) {
  auto members = target.reader.readMembers(constraints);
  if (!members)
    return members.status();
  auto count = readCountOf(constraints, *members);
  if (!count)
    return count.status();
  BuilderState close = builder.addState();
  builder.literal(close, "}", to);
  return emitMembers(*members, *count, json.mark(from, '{'), close);
}

Status ObjectWriter::emitMembers(const std::vector<MemberSchema> &members,
                                 const MemberCount &count, BuilderState from,
                                 BuilderState to) {
  // at[count] is the place after that many members.
  std::vector<BuilderState> at(count.limit + 1);
  for (BuilderState &place : at)
    place = builder.addState();
  builder.epsilon(from, at[0]);
  for (const MemberSchema &member : members) {
    // A declared member is followed by the next one; other members repeat.
    std::vector<BuilderState> behind = at;
    if (member.declared)
      for (size_t i = 0; i < at.size(); ++i) {
        behind[i] = builder.addState();
        if (!member.required)
          builder.epsilon(at[i], behind[i]);
      }
    // Places that lead to the same count share the member between them.
    std::map<size_t, BuilderState> entries;
    // Undeclared members may repeat the same name, so all of them together
    // count as one towards the minimum.
    size_t first = member.declared ? 0 : count.minDeclared();
    for (size_t i = first; i < at.size(); ++i)
      if (std::optional<size_t> next = count.next(i)) {
        auto [entry, fresh] = entries.try_emplace(*next, 0);
        if (fresh)
          entry->second = builder.addState();
        builder.epsilon(i == 0 ? at[i] : json.mark(at[i], ','), entry->second);
      }
    for (auto [next, entry] : entries)
      SLUICE_RETURN_IF_ERROR(
          emitMember(member, entries.size() > 1, entry, behind[next]));
    at = std::move(behind);
  }
  for (size_t i = 0; i < at.size(); ++i)
    if (i >= count.min)
      builder.epsilon(at[i], to);
  return target.budget.spend();
}

Status ObjectWriter::emitMember(const MemberSchema &member, bool shared,
                                BuilderState from, BuilderState to) {
  BuilderState named = builder.addState(), valued = builder.addState();
  if (member.declared)
    json.quoted(from, member.name, named);
  else if (member.names)
    json.quoted(from, *member.names, named);
  else
    json.string(from, named);
  builder.epsilon(json.space(valued), to);
  BuilderState value = json.mark(json.space(named), ':');
  return shared ? writer.emitShared(member.value, value, valued)
                : writer.emit(member.value, value, valued);
}
