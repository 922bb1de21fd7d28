//===- SchemaObject.cpp - objects of a JSON schema ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects. Their members are written in order, so that an object is a chain:
// after each declared member the count of those written so far, as far as it
// matters, and from each place the ways to go on.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/SchemaCompiler.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

namespace {

/// One of the schemas that hold for an object.
struct ObjectSchema {
  SchemaNode node;
  struct NamePattern {
    TextAutomaton names;
    SchemaNode value;
  };
  std::vector<NamePattern> patterns;

  bool declares(const std::string &name) const {
    const ordered_json *properties = node.find("properties");
    return properties && properties->contains(name);
  }
};

Expected<std::vector<ObjectSchema>>
readObjects(const Constraints &constraints) {
  std::vector<ObjectSchema> objects;
  for (const SchemaNode &node : constraints.nodes) {
    ObjectSchema &object = objects.emplace_back();
    object.node = node;
    for (std::string_view key : {"properties", "patternProperties"})
      if (const ordered_json *value = node.find(key))
        if (!value->is_object())
          return node.refuse("'", key, "' is not an object");
    if (!node.find("patternProperties"))
      continue;
    SchemaNode patterns = node.member("patternProperties");
    for (const auto &item : patterns.value->items()) {
      Expected<TextAutomaton> names = compilePattern(item.key());
      if (!names)
        return patterns.refuse("the pattern '", item.key(),
                               "': ", names.status().message());
      object.patterns.push_back({names.take(), patterns.member(item.key())});
    }
  }
  return objects;
}

/// Names that must be there, each once.
Expected<std::vector<std::string>>
readRequired(const std::vector<ObjectSchema> &objects) {
  std::vector<std::string> required;
  std::set<std::string> seen;
  for (const ObjectSchema &object : objects)
    if (const ordered_json *list = object.node.find("required")) {
      if (!list->is_array())
        return object.node.refuse("'required' is not a list of names");
      for (const ordered_json &name : *list) {
        const auto *text = name.get_ptr<const std::string *>();
        if (!text)
          return object.node.refuse("'required' is not a list of names");
        if (seen.insert(*text).second)
          required.push_back(*text);
      }
    }
  return required;
}

/// Declared names in their order, then those that are only required.
std::vector<std::string>
namesInOrder(const std::vector<ObjectSchema> &objects,
             const std::vector<std::string> &required) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  auto add = [&](const std::string &name) {
    if (seen.insert(name).second)
      names.push_back(name);
  };
  for (const ObjectSchema &object : objects)
    if (const ordered_json *properties = object.node.find("properties"))
      for (const auto &item : properties->items())
        add(item.key());
  for (const std::string &name : required)
    add(name);
  return names;
}

/// What holds for the value of the member `name`.
Conjunction memberSchema(const std::vector<ObjectSchema> &objects,
                         const std::string &name) {
  Conjunction value;
  for (const ObjectSchema &object : objects) {
    bool declared = object.declares(name);
    if (declared)
      value.push_back({object.node.member("properties").member(name), false});
    for (const ObjectSchema::NamePattern &pattern : object.patterns)
      if (pattern.names.contains(name)) {
        value.push_back({pattern.value, false});
        declared = true;
      }
    if (!declared && object.node.find("additionalProperties"))
      value.push_back({object.node.member("additionalProperties"), false});
  }
  return value;
}

/// Splits sets of names by whether a pattern matches.
struct NameRegion {
  TextAutomaton names;
  std::vector<std::vector<const SchemaNode *>> matched; ///< [object]
};

Expected<std::vector<NameRegion>>
splitByPatterns(TextAutomaton names, const std::vector<ObjectSchema> &objects) {
  std::vector<NameRegion> regions{
      {std::move(names),
       std::vector<std::vector<const SchemaNode *>>(objects.size())}};
  for (size_t i = 0; i < objects.size(); ++i)
    for (const ObjectSchema::NamePattern &pattern : objects[i].patterns) {
      constexpr size_t most = 64;
      std::vector<NameRegion> next;
      for (NameRegion &region : regions) {
        auto in = TextAutomaton::intersection(region.names, pattern.names);
        auto out = TextAutomaton::difference(region.names, pattern.names);
        if (!in || !out)
          return pattern.value.refuse((in ? out : in).status().message());
        if (!in->empty()) {
          next.push_back({in.take(), region.matched});
          next.back().matched[i].push_back(&pattern.value);
        }
        if (!out->empty())
          next.push_back({out.take(), std::move(region.matched)});
      }
      if (next.size() > most)
        return pattern.value.refuse("more than ", most,
                                    " ways in which the patterns can match");
      regions = std::move(next);
    }
  return regions;
}

/// What is written beside the declared members: where additionalProperties is
/// left out and other keywords declare members, nothing else.
Expected<std::vector<MemberSchema>>
otherMembers(const std::vector<ObjectSchema> &objects,
             const std::vector<std::string> &declared,
             const TextAutomaton &allowed, bool anyName) {
  bool open = false, declares = false, patterns = false;
  for (const ObjectSchema &object : objects) {
    open |= object.node.find("additionalProperties") != nullptr;
    patterns |= !object.patterns.empty();
    declares |= object.node.find("properties") || !object.patterns.empty();
  }
  std::vector<MemberSchema> others;
  if (!open && declares && !patterns)
    return others;
  Expected<TextAutomaton> names = TextAutomaton::of(declared);
  if (names)
    names = TextAutomaton::difference(allowed, *names);
  if (!names)
    return objects[0].node.refuse("names of further properties: ",
                                  names.status().message());
  auto regions = splitByPatterns(names.take(), objects);
  if (!regions)
    return regions.status();
  for (NameRegion &region : *regions) {
    MemberSchema &other = others.emplace_back();
    bool matched = false;
    for (size_t i = 0; i < objects.size(); ++i) {
      for (const SchemaNode *value : region.matched[i])
        other.value.push_back({*value, false});
      matched |= !region.matched[i].empty();
      if (region.matched[i].empty() &&
          objects[i].node.find("additionalProperties"))
        other.value.push_back(
            {objects[i].node.member("additionalProperties"), false});
    }
    if (!anyName || patterns || !declared.empty())
      other.names = std::move(region.names);
    if (!open && declares && !matched)
      others.pop_back();
  }
  return others;
}

Expected<MemberCount> readCountOf(const Constraints &constraints,
                                  const std::vector<MemberSchema> &members) {
  MemberCount count;
  uint64_t required = 0, declared = 0;
  for (const MemberSchema &member : members) {
    required += member.required;
    declared += member.declared;
  }
  for (const SchemaNode &node : constraints.nodes) {
    auto least = readCount(node, "minProperties");
    auto most = readCount(node, "maxProperties");
    if (!least || !most)
      return least ? most.status() : least.status();
    count.least = std::max(count.least, least->value_or(0));
    if (*most)
      count.most = std::min(count.most.value_or(**most), **most);
  }
  // Bounds that hold by themselves need no counting.
  if (count.least <= required)
    count.least = 0;
  if (count.most && *count.most >= declared && declared == members.size())
    count.most.reset();
  bool others = declared < members.size();
  constexpr uint64_t mostPlaces = 1 << 16;
  uint64_t limit =
      count.most ? *count.most : std::max<uint64_t>(1, count.least);
  if (limit > mostPlaces || (limit + 1) * (declared + 1) > mostPlaces)
    return constraints.place().refuse(
        "'minProperties' and 'maxProperties' this large are not supported");
  if (others && count.least > declared + 1 &&
      count.least <= count.most.value_or(count.least))
    return constraints.place().refuse(
        "'minProperties' is ", count.least, ", and the schema names ", declared,
        " properties: more than one beside them cannot be kept apart");
  count.limit = static_cast<size_t>(limit);
  return count;
}

} // namespace

/// The names that propertyNames allows.
Expected<TextAutomaton>
SchemaCompiler::nameAutomaton(const Constraints &constraints) {
  TextAutomaton names = TextAutomaton::all();
  for (const SchemaNode &node : constraints.nodes) {
    if (!node.find("propertyNames"))
      continue;
    SchemaNode member = node.member("propertyNames");
    Expected<ExpandedSchema> expanded = expand(conjunctionOf(member));
    if (!expanded)
      return expanded.status();
    if (expanded->never)
      return TextAutomaton();
    if (!expanded->choices.empty())
      return member.refuse("'anyOf' and 'oneOf' are not supported for names");
    if (expanded->constraints.empty())
      continue;
    auto read = readConstraints(expanded->constraints);
    if (!read)
      return read.status();
    if (!(read->types & StringType))
      return TextAutomaton();
    Expected<TextAutomaton> allowed = read->strings();
    if (read->values) {
      std::vector<std::string> listed;
      for (const ordered_json *value : *read->values)
        if (const auto *name = value->get_ptr<const std::string *>())
          listed.push_back(*name);
      allowed = TextAutomaton::of(listed);
    }
    if (allowed)
      allowed = TextAutomaton::intersection(names, *allowed);
    if (!allowed)
      return member.refuse(allowed.status().message());
    names = allowed.take();
  }
  return names;
}

/// Takes the names away that no schema within `whole` describes.
static Status keepEvaluated(const SchemaNode &whole,
                            const std::vector<ObjectSchema> &objects,
                            TextAutomaton &names) {
  TextAutomaton others = names;
  auto describe = [&](const Expected<TextAutomaton> &described) -> Status {
    if (!described)
      return described.status();
    auto rest = TextAutomaton::difference(others, *described);
    if (rest)
      others = rest.take();
    return rest.status();
  };
  for (const ObjectSchema &object : objects) {
    if (!object.node.isWithin(whole))
      continue;
    if (object.node.find("additionalProperties"))
      return {};
    std::vector<std::string> declared;
    if (const ordered_json *properties = object.node.find("properties"))
      for (const auto &item : properties->items())
        declared.push_back(item.key());
    Status status = describe(TextAutomaton::of(declared));
    for (const ObjectSchema::NamePattern &pattern : object.patterns)
      if (status.ok())
        status = describe(pattern.names);
    if (!status.ok())
      return whole.refuse("'", unevaluatedProperties, "': ", status.message());
  }
  auto evaluated = TextAutomaton::difference(names, others);
  if (!evaluated)
    return whole.refuse("'", unevaluatedProperties,
                        "': ", evaluated.status().message());
  names = evaluated.take();
  return {};
}

/// The declared members in their order, then the others.
Expected<std::vector<MemberSchema>>
SchemaCompiler::readMembers(const Constraints &constraints) {
  auto objects = readObjects(constraints);
  if (!objects)
    return objects.status();
  auto required = readRequired(*objects);
  if (!required)
    return required.status();
  Expected<TextAutomaton> allowed = nameAutomaton(constraints);
  if (!allowed)
    return allowed.status();
  bool anyName = true;
  for (const SchemaNode &node : constraints.nodes) {
    bool closed = node.closes(unevaluatedProperties);
    if (closed)
      if (Status status = keepEvaluated(node, *objects, *allowed); !status.ok())
        return status;
    anyName &= !closed && !node.find("propertyNames");
  }
  std::set<std::string> needed(required->begin(), required->end());
  std::vector<std::string> names = namesInOrder(*objects, *required);
  std::vector<MemberSchema> members;
  for (const std::string &name : names) {
    bool isNeeded = needed.contains(name);
    bool isAllowed = anyName || allowed->contains(name);
    if (!isAllowed && !isNeeded)
      continue;
    MemberSchema &member = members.emplace_back();
    member.name = name;
    member.declared = true;
    member.required = isNeeded;
    member.value = memberSchema(*objects, name);
    if (!isAllowed) {
      static const ordered_json never = false;
      member.value.push_back({{&never, constraints.place().pointer}, false});
    }
  }
  auto others = otherMembers(*objects, names, *allowed, anyName);
  if (!others)
    return others.status();
  for (MemberSchema &other : *others)
    members.push_back(std::move(other));
  return members;
}

Expected<Conjunction> SchemaCompiler::memberOf(const Constraints &constraints,
                                               const std::string &name) {
  auto objects = readObjects(constraints);
  if (!objects)
    return objects.status();
  return memberSchema(*objects, name);
}

Status SchemaCompiler::emitObject(const Constraints &constraints,
                                  BuilderState from, BuilderState to) {
  auto members = readMembers(constraints);
  if (!members)
    return members.status();
  auto count = readCountOf(constraints, *members);
  if (!count)
    return count.status();
  BuilderState close = builder.addState();
  builder.literal(close, "}", to);
  return emitMembers(*members, *count, json.mark(from, '{'), close);
}

Status SchemaCompiler::emitMembers(const std::vector<MemberSchema> &members,
                                   const MemberCount &count, BuilderState from,
                                   BuilderState to) {
  // [count]: the place at which so many members have been written.
  std::vector<BuilderState> at(count.limit + 1);
  for (BuilderState &place : at)
    place = builder.addState();
  builder.epsilon(from, at[0]);
  for (const MemberSchema &member : members) {
    // Behind a declared member comes the next; the others come again and again.
    std::vector<BuilderState> behind = at;
    if (member.declared)
      for (size_t i = 0; i < at.size(); ++i) {
        behind[i] = builder.addState();
        if (!member.required)
          builder.epsilon(at[i], behind[i]);
      }
    // Places that lead to the same count share what is written between.
    std::map<size_t, BuilderState> entries;
    // Members that are not declared may be the same one again and again, so
    // that all of them count as one towards the least number.
    size_t first = member.declared ? 0 : count.leastDeclared();
    for (size_t i = first; i < at.size(); ++i)
      if (std::optional<size_t> next = count.next(i)) {
        auto [entry, fresh] = entries.try_emplace(*next, 0);
        if (fresh)
          entry->second = builder.addState();
        builder.epsilon(i == 0 ? at[i] : json.mark(at[i], ','), entry->second);
      }
    for (auto [next, entry] : entries)
      if (Status status =
              emitMember(member, entries.size() > 1, entry, behind[next]);
          !status.ok())
        return status;
    at = std::move(behind);
  }
  for (size_t i = 0; i < at.size(); ++i)
    if (i >= count.least)
      builder.epsilon(at[i], to);
  return checkWork();
}

Status SchemaCompiler::emitMember(const MemberSchema &member, bool shared,
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
  return shared ? emitShared(member.value, value, valued)
                : emit(member.value, value, valued);
}
