//===- SchemaMembers.cpp - the members that an object may have ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the members that an object may have by the schemas that hold for it,
// and the schemas of each member. There may be thousands of members, so they
// are looked up in an index.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Pattern.h"
#include "runtime/grammar/schema/SchemaReader.h"

#include <algorithm>
#include <unordered_map>

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
  /// The node of `properties`, whose members are the schemas.
  std::optional<SchemaNode> properties;
  std::unordered_map<std::string_view, const ordered_json *> declared;
  std::optional<SchemaNode> additional;
};

Expected<std::vector<ObjectSchema>> readObjects(const Constraints &constraints,
                                                WorkMeter &meter) {
  std::vector<ObjectSchema> objects;
  for (const SchemaNode &node : constraints.nodes) {
    ObjectSchema &object = objects.emplace_back();
    object.node = node;
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, node.value->size()));
    if (node.find("properties")) {
      object.properties = node.member("properties");
      const auto &members =
          object.properties->value->get_ref<const ordered_json::object_t &>();
      SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, members.size()));
      for (const auto &[name, value] : members)
        object.declared.emplace(name, &value);
    }
    if (node.find("additionalProperties"))
      object.additional = node.member("additionalProperties");
    if (!node.find("patternProperties"))
      continue;
    SchemaNode patterns = node.member("patternProperties");
    for (const auto &item : patterns.value->items()) {
      SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
      Expected<TextAutomaton> names = compilePattern(item.key(), meter);
      if (!names)
        return patterns.refuse("the pattern '", item.key(),
                               "': ", names.status().message());
      object.patterns.push_back(
          {names.take(), patterns.member(item.key(), item.value())});
    }
  }
  return objects;
}

/// Returns the declared names in their order, then names that are only
/// required.
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
    if (object.properties)
      for (const auto &item : object.properties->value->items())
        add(item.key());
  for (const std::string &name : required)
    add(name);
  return names;
}

/// Returns the schemas that hold for the value of the member `name`.
Expected<Conjunction> memberSchema(const std::vector<ObjectSchema> &objects,
                                   const std::string &name, WorkMeter &meter) {
  Conjunction value;
  for (const ObjectSchema &object : objects) {
    // The name is looked up, and read by each pattern.
    SLUICE_RETURN_IF_ERROR(
        spendOnSchema(meter, (1 + object.patterns.size()) * (1 + name.size())));
    auto found = object.declared.find(name);
    bool declared = found != object.declared.end();
    if (declared)
      value.push_back({object.properties->member(name, *found->second), false});
    for (const ObjectSchema::NamePattern &pattern : object.patterns)
      if (pattern.names.contains(name)) {
        value.push_back({pattern.value, false});
        declared = true;
      }
    if (!declared && object.additional)
      value.push_back({*object.additional, false});
  }
  return value;
}

/// A set of names, and the patterns that match all of them; the other patterns
/// match none.
struct NameRegion {
  TextAutomaton names;
  std::vector<std::vector<const SchemaNode *>> matched; ///< [object]
};

Expected<std::vector<NameRegion>>
splitByPatterns(TextAutomaton names, const std::vector<ObjectSchema> &objects,
                WorkMeter &meter) {
  std::vector<NameRegion> regions{
      {std::move(names),
       std::vector<std::vector<const SchemaNode *>>(objects.size())}};
  for (size_t i = 0; i < objects.size(); ++i)
    for (const ObjectSchema::NamePattern &pattern : objects[i].patterns) {
      constexpr size_t max = 64;
      std::vector<NameRegion> next;
      for (NameRegion &region : regions) {
        SLUICE_RETURN_IF_ERROR(spendOnSchema(meter));
        auto in =
            TextAutomaton::intersection(region.names, pattern.names, meter);
        auto out =
            TextAutomaton::difference(region.names, pattern.names, meter);
        if (!in || !out)
          return pattern.value.refuse((in ? out : in).status().message());
        if (!in->empty()) {
          next.push_back({in.take(), region.matched});
          next.back().matched[i].push_back(&pattern.value);
        }
        if (!out->empty())
          next.push_back({out.take(), std::move(region.matched)});
      }
      if (next.size() > max)
        return pattern.value.refuse("more than ", max,
                                    " ways in which the patterns can match");
      regions = std::move(next);
    }
  return regions;
}

/// Returns the members that may be written besides the declared ones. There are
/// none if additionalProperties is left out and other keywords declare members.
Expected<std::vector<MemberSchema>>
otherMembers(const std::vector<ObjectSchema> &objects,
             const std::vector<std::string> &declared,
             const SizedTexts &allowed, bool anyName, WorkMeter &meter) {
  bool open = false, declares = false, patterns = false;
  for (const ObjectSchema &object : objects) {
    open |= object.additional.has_value();
    patterns |= !object.patterns.empty();
    declares |= object.properties || !object.patterns.empty();
  }
  std::vector<MemberSchema> others;
  if (!open && declares && !patterns)
    return others;
  Expected<TextAutomaton> names = TextAutomaton::of(declared, meter);
  if (names)
    names = TextAutomaton::difference(allowed.texts, *names, meter);
  if (!names)
    return objects[0].node.refuse("names of further properties: ",
                                  names.status().message());
  auto regions = splitByPatterns(names.take(), objects, meter);
  if (!regions)
    return regions.status();
  for (NameRegion &region : *regions) {
    MemberSchema &other = others.emplace_back();
    bool matched = false;
    for (size_t i = 0; i < objects.size(); ++i) {
      for (const SchemaNode *value : region.matched[i])
        other.value.push_back({*value, false});
      matched |= !region.matched[i].empty();
      if (region.matched[i].empty() && objects[i].additional)
        other.value.push_back({*objects[i].additional, false});
    }
    if (!anyName || patterns || !declared.empty())
      other.names =
          SizedTexts{std::move(region.names), allowed.min, allowed.max};
    if (!open && declares && !matched)
      others.pop_back();
  }
  return others;
}

} // namespace

/// Returns the names that propertyNames allows.
Expected<SizedTexts>
SchemaReader::allowedNames(const Constraints &constraints) {
  SizedTexts names{.texts = TextAutomaton::all()};
  for (const SchemaNode &node : constraints.nodes) {
    if (!node.find("propertyNames"))
      continue;
    SchemaNode member = node.member("propertyNames");
    Expected<ExpandedSchema> expanded = expand(conjunctionOf(member));
    if (!expanded)
      return expanded.status();
    if (expanded->never)
      return SizedTexts();
    if (!expanded->choices.empty())
      return member.refuse("'anyOf' and 'oneOf' are not supported for names");
    if (expanded->constraints.empty())
      continue;
    auto read = readConstraints(expanded->constraints, meter);
    if (!read)
      return read.status();
    if (!(read->types & StringType))
      return SizedTexts();
    Expected<SizedTexts> strings = read->strings();
    if (!strings)
      return strings.status();
    Expected<TextAutomaton> allowed = std::move(strings->texts);
    if (read->values) {
      std::vector<std::string> listed;
      for (const ordered_json *value : *read->values)
        if (const auto *name = value->get_ptr<const std::string *>())
          listed.push_back(*name);
      allowed = TextAutomaton::of(listed, meter);
    }
    if (allowed)
      allowed = TextAutomaton::intersection(names.texts, *allowed, meter);
    if (!allowed)
      return member.refuse(allowed.status().message());
    names = {allowed.take(), std::max(names.min, strings->min),
             std::min(names.max, strings->max)};
  }
  return names;
}

/// Removes the names that no schema within `whole` describes.
static Status keepEvaluated(const SchemaNode &whole,
                            const std::vector<ObjectSchema> &objects,
                            WorkMeter &meter, TextAutomaton &names) {
  TextAutomaton others = names;
  auto describe = [&](const Expected<TextAutomaton> &described) -> Status {
    if (!described)
      return described.status();
    auto rest = TextAutomaton::difference(others, *described, meter);
    if (rest)
      others = rest.take();
    return rest.status();
  };
  for (const ObjectSchema &object : objects) {
    if (!object.node.isWithin(whole))
      continue;
    if (object.additional)
      return {};
    std::vector<std::string> declared;
    if (object.properties)
      for (const auto &item : object.properties->value->items())
        declared.push_back(item.key());
    Status status = describe(TextAutomaton::of(declared, meter));
    for (const ObjectSchema::NamePattern &pattern : object.patterns)
      if (status.ok())
        status = describe(pattern.names);
    if (!status.ok())
      return whole.refuse("'", unevaluatedProperties, "': ", status.message());
  }
  auto evaluated = TextAutomaton::difference(names, others, meter);
  if (!evaluated)
    return whole.refuse("'", unevaluatedProperties,
                        "': ", evaluated.status().message());
  names = evaluated.take();
  return {};
}

Expected<std::vector<MemberSchema>>
SchemaReader::readMembers(const Constraints &constraints) {
  auto objects = readObjects(constraints, meter);
  if (!objects)
    return objects.status();
  const std::vector<std::string> required = constraints.requiredNames(meter);
  Expected<SizedTexts> allowed = allowedNames(constraints);
  if (!allowed)
    return allowed.status();
  bool anyName = true;
  for (const SchemaNode &node : constraints.nodes) {
    bool closed = node.closes(unevaluatedProperties);
    if (closed)
      SLUICE_RETURN_IF_ERROR(
          keepEvaluated(node, *objects, meter, allowed->texts));
    anyName &= !closed && !node.find("propertyNames");
  }
  std::set<std::string> needed(required.begin(), required.end());
  std::vector<std::string> names = namesInOrder(*objects, required);
  std::vector<MemberSchema> members;
  for (const std::string &name : names) {
    SLUICE_RETURN_IF_ERROR(spendOnSchema(meter, 1 + name.size()));
    bool isNeeded = needed.contains(name);
    bool isAllowed = anyName || allowed->contains(name);
    if (!isAllowed && !isNeeded)
      continue;
    MemberSchema &member = members.emplace_back();
    member.name = name;
    member.declared = true;
    member.required = isNeeded;
    Expected<Conjunction> value = memberSchema(*objects, name, meter);
    if (!value)
      return value.status();
    member.value = value.take();
    if (!isAllowed) {
      static const ordered_json never = false;
      member.value.push_back({{&never, constraints.place().pointer}, false});
    }
  }
  auto others = otherMembers(*objects, names, *allowed, anyName, meter);
  if (!others)
    return others.status();
  for (MemberSchema &other : *others)
    members.push_back(std::move(other));
  return members;
}

Expected<std::vector<Conjunction>>
SchemaReader::membersOf(const Constraints &constraints,
                        const std::vector<std::string> &names) {
  auto objects = readObjects(constraints, meter);
  if (!objects)
    return objects.status();
  std::vector<Conjunction> members;
  for (const std::string &name : names) {
    Expected<Conjunction> value = memberSchema(*objects, name, meter);
    if (!value)
      return value.status();
    members.push_back(value.take());
  }
  return members;
}
