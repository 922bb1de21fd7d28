//===- Constraint.cpp - the required form of an answer --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Constraint.h"

#include "runtime/grammar/GrammarCache.h"
#include "runtime/openai/JsonBody.h"

using namespace sluice;
using namespace sluice::openai;

using Kind = GrammarSource::Kind;

ApiStatus GrammarBudget::take(const std::string &text,
                              const std::string &path) {
  const bool alone = bytes == 0;
  bytes += text.size();
  if (bytes <= max)
    return std::nullopt;
  return invalidField(path, "'" + path + "' takes " + std::to_string(bytes) +
                                " bytes" +
                                (alone ? "" : " with the schemas before it") +
                                ", more than " + std::to_string(max));
}

ApiStatus openai::checkSchema(const std::string &text, const std::string &path,
                              GrammarBudget &budget) {
  if (ApiStatus tooLong = budget.take(text, path))
    return tooLong;
  auto compiled = grammar::GrammarCache::ofProcess().fromJsonSchema(
      text, budget.work(), budget.scope);
  if (compiled)
    return std::nullopt;
  return invalidField(path, "'" + path + "': " + compiled.status().message());
}

namespace {

/// Reads the only constraint that a request may have.
class ConstraintReader {
public:
  ConstraintReader(const RequestLimits &limits, GrammarBudget &budget)
      : limits(limits), budget(budget) {}

  GrammarSource source;
  ApiStatus error;

  void readResponseFormat(FieldReader &fields);
  void readGrammar(FieldReader &fields, std::string_view name);
  void readSchema(FieldReader &fields, std::string_view name);
  void readChoice(FieldReader &fields, std::string_view name);
  void readJsonObject(FieldReader &fields, std::string_view name);
  void readStructuredOutputs(FieldReader &fields);

private:
  bool claim(const std::string &path);
  void setSchema(const ordered_json &value, const std::string &path);
  void setGrammar(std::string text, const std::string &path);
  void keep(const FieldReader &fields) {
    if (!error)
      error = fields.status();
  }

  const RequestLimits &limits;
  GrammarBudget &budget;
  std::string first; ///< the path of the constraint; empty: none yet
};

/// Returns whether the constraint at `path` is the first, and so is to be
/// compiled; a second one is an error.
bool ConstraintReader::claim(const std::string &path) {
  if (!error && !first.empty())
    error = invalidField(path, "'" + path + "' and '" + first +
                                   "' cannot both be given");
  if (error)
    return false;
  first = path;
  return true;
}

void ConstraintReader::setSchema(const ordered_json &value,
                                 const std::string &path) {
  if (error)
    return;
  if (value.is_string()) {
    ApiExpected<text::JsonTree> parsed =
        parseJson(value.get_ref<const std::string &>(), limits, path);
    if (!parsed)
      error = parsed.error();
    else if (parsed->root().is_string())
      error = invalidField(path, "'" + path + "' is not a JSON schema");
    else
      setSchema(parsed->root(), path);
    return;
  }
  if (!value.is_object() && !value.is_boolean()) {
    error =
        invalidField(path, "'" + path + "' is " + std::string(typeName(value)) +
                               ", not a JSON schema");
    return;
  }
  if (!claim(path))
    return;
  std::string text = dumpJson(value);
  error = checkSchema(text, path, budget);
  source = {Kind::JsonSchema, std::move(text)};
}

void ConstraintReader::setGrammar(std::string text, const std::string &path) {
  if (!claim(path))
    return;
  if ((error = budget.take(text, path)))
    return;
  auto compiled = grammar::GrammarCache::ofProcess().fromGbnf(
      text, budget.work(), budget.scope);
  if (!compiled)
    error =
        invalidField(path, "'" + path + "': " + compiled.status().message());
  source = {Kind::Gbnf, std::move(text)};
}

void ConstraintReader::readGrammar(FieldReader &fields, std::string_view name) {
  std::string text;
  fields.text(name, text);
  keep(fields);
  if (!text.empty())
    setGrammar(std::move(text), fields.pathOf(name));
}

void ConstraintReader::readSchema(FieldReader &fields, std::string_view name) {
  if (const ordered_json *value = fields.find(name))
    setSchema(*value, fields.pathOf(name));
}

void ConstraintReader::readJsonObject(FieldReader &fields,
                                      std::string_view name) {
  bool wanted = false;
  fields.flag(name, wanted);
  keep(fields);
  if (wanted && claim(fields.pathOf(name)))
    source = {Kind::JsonObject, ""};
}

/// Reads a list of texts; the grammar has them as its alternatives.
void ConstraintReader::readChoice(FieldReader &fields, std::string_view name) {
  const ordered_json *choices = fields.array(name);
  if (choices && choices->empty())
    fields.fail(name, "is empty");
  keep(fields);
  if (!choices || error)
    return;
  std::string text = "root ::= ";
  for (const ordered_json &choice : *choices) {
    if (!choice.is_string())
      return fields.fail(name, "has ", typeName(choice),
                         " in it, not a string"),
             keep(fields);
    text += text.ends_with(' ') ? "\"" : " | \"";
    for (char c : choice.get_ref<const std::string &>()) {
      if (c == '"' || c == '\\')
        text += '\\';
      text += c;
    }
    text += '"';
  }
  setGrammar(std::move(text), fields.pathOf(name));
}

void ConstraintReader::readStructuredOutputs(FieldReader &fields) {
  const ordered_json *outputs = fields.members("structured_outputs");
  keep(fields);
  if (!outputs)
    return;
  FieldReader inner(*outputs, fields.pathOf("structured_outputs"));
  for (std::string_view name :
       {"regex", "structural_tag", "whitespace_pattern"})
    if (inner.find(name))
      inner.fail(name, "is not supported");
  bool isCompact = false;
  inner.flag("disable_any_whitespace", isCompact);
  if (isCompact)
    inner.fail("disable_any_whitespace", "is not supported");
  keep(inner);
  readSchema(inner, "json");
  readJsonObject(inner, "json_object");
  readGrammar(inner, "grammar");
  readChoice(inner, "choice");
}

void ConstraintReader::readResponseFormat(FieldReader &fields) {
  const ordered_json *format = fields.members("response_format");
  keep(fields);
  if (!format)
    return;
  FieldReader inner(*format, fields.pathOf("response_format"));
  std::string type;
  inner.text("type", type);
  if (inner.ok() && type.empty())
    inner.fail("type", "is missing");
  if (type == "json_object") {
    if (const ordered_json *schema = inner.find("schema"))
      setSchema(*schema, inner.pathOf("schema"));
    else if (claim(inner.pathOf("type")))
      source = {Kind::JsonObject, ""};
  } else if (type == "json_schema") {
    const ordered_json *described = inner.members("json_schema");
    if (!described && inner.ok())
      inner.fail("json_schema", "is missing");
    keep(inner);
    if (!described)
      return;
    FieldReader schema(*described, inner.pathOf("json_schema"));
    bool strict = false; // ignored, since the schema is always kept to
    schema.flag("strict", strict);
    if (!schema.find("schema"))
      schema.fail("schema", "is missing");
    keep(schema);
    readSchema(schema, "schema");
  } else if (type != "text" && inner.ok()) {
    inner.fail("type", "is '", type.substr(0, 40),
               "', not text, json_object or json_schema");
  }
  keep(inner);
}

} // namespace

ApiExpected<GrammarSource> openai::readConstraint(const ordered_json &body,
                                                  const RequestLimits &limits,
                                                  GrammarBudget &budget) {
  FieldReader fields(body);
  ConstraintReader reader(limits, budget);
  reader.readResponseFormat(fields);
  reader.readGrammar(fields, "grammar");
  reader.readSchema(fields, "json_schema");
  reader.readStructuredOutputs(fields);
  reader.readSchema(fields, "guided_json");
  reader.readJsonObject(fields, "guided_json_object");
  reader.readGrammar(fields, "guided_grammar");
  reader.readChoice(fields, "guided_choice");
  if (reader.error)
    return *reader.error;
  // Any JSON object is a grammar without anything of a user.
  if (reader.source.kind != Kind::JsonObject)
    reader.source.scope = budget.scope;
  return std::move(reader.source);
}
