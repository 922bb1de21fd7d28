//===- ConstraintTest.cpp - the required form of an answer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/openai/Constraint.h"
#include "TestApiModel.h"

using namespace sluice;
using namespace sluice::openai;
using namespace sluice::openai::test;

using Kind = GrammarSource::Kind;

namespace {

/// Returns "KIND TEXT", or the error.
std::string read(const char *body, const RequestLimits &limits = {}) {
  GrammarBudget budget(limits);
  ApiExpected<GrammarSource> source =
      readConstraint(ordered_json::parse(body), limits, budget);
  if (!source)
    return refusal(source);
  const char *names[] = {"none", "object", "schema", "gbnf"};
  return std::string(names[static_cast<int>(source->kind)]) + " " +
         source->text();
}

TEST(ConstraintTest, ReadsResponseFormat) {
  EXPECT_EQ(read("{}"), "none ");
  EXPECT_EQ(read(R"({"response_format": {"type": "text"}})"), "none ");
  EXPECT_EQ(read(R"({"response_format": {"type": "json_object"}})"), "object ");
  // A shortened example of OpenAI's guide; members keep their order.
  EXPECT_EQ(read(R"({"response_format": {"type": "json_schema", "json_schema":
                  {"name": "math", "strict": true, "schema":
                  {"type": "object", "properties": {"b": {"type": "string"},
                   "a": {"type": "number"}}, "required": ["b", "a"],
                   "additionalProperties": false}}}})"),
            R"(schema {"type":"object","properties":{"b":{"type":"string"},)"
            R"("a":{"type":"number"}},"required":["b","a"],)"
            R"("additionalProperties":false})");
  EXPECT_EQ(read(R"({"response_format": {"type": "json_object", "schema":
                  {"type": "integer"}}})"),
            R"(schema {"type":"integer"})");
}

TEST(ConstraintTest, ReadsOtherServersFields) {
  EXPECT_EQ(read(R"({"grammar": "root ::= \"a\""})"), "gbnf root ::= \"a\"");
  EXPECT_EQ(read(R"({"grammar": ""})"), "none ");
  EXPECT_EQ(read(R"({"guided_grammar": "root ::= \"a\""})"),
            "gbnf root ::= \"a\"");
  EXPECT_EQ(read(R"({"json_schema": {"type": "null"}})"),
            R"(schema {"type":"null"})");
  EXPECT_EQ(read(R"({"guided_json": "{\"type\": \"null\"}"})"),
            R"(schema {"type":"null"})");
  EXPECT_EQ(read(R"({"guided_json": true})"), "schema true");
  EXPECT_EQ(read(R"({"guided_json_object": true})"), "object ");
  EXPECT_EQ(read(R"({"guided_json_object": false})"), "none ");
  EXPECT_EQ(read(R"({"guided_choice": ["a \"b\"", "c\\d", "é\n"]})"),
            "gbnf root ::= \"a \\\"b\\\"\" | \"c\\\\d\" | \"é\n\"");
  EXPECT_EQ(read(R"({"structured_outputs": {"choice": ["x"]}})"),
            "gbnf root ::= \"x\"");
  EXPECT_EQ(read(R"({"structured_outputs": {"json": {"type": "null"}}})"),
            R"(schema {"type":"null"})");
  EXPECT_EQ(read(R"({"structured_outputs": {"json_object": true}})"),
            "object ");
  EXPECT_EQ(read(R"({"structured_outputs": {"grammar": "root ::= \"a\""}})"),
            "gbnf root ::= \"a\"");
}

TEST(ConstraintTest, RefusesWhatIsNotWhole) {
  EXPECT_EQ(read(R"({"response_format": "json"})"),
            "response_format: 'response_format' is a string, not an object");
  EXPECT_EQ(read(R"({"response_format": {}})"),
            "response_format.type: 'response_format.type' is missing");
  EXPECT_EQ(read(R"({"response_format": {"type": "xml"}})"),
            "response_format.type: 'response_format.type' is 'xml', not text, "
            "json_object or json_schema");
  EXPECT_EQ(read(R"({"response_format": {"type": "json_schema"}})"),
            "response_format.json_schema: 'response_format.json_schema' is "
            "missing");
  EXPECT_EQ(read(R"({"response_format": {"type": "json_schema",
                   "json_schema": {"name": "x"}}})"),
            "response_format.json_schema.schema: "
            "'response_format.json_schema.schema' is missing");
  EXPECT_EQ(read(R"({"guided_json": 3})"),
            "guided_json: 'guided_json' is an integer, not a JSON schema");
  EXPECT_EQ(read(R"({"guided_json": "{"})"),
            "guided_json: 'guided_json' is not JSON: byte 2 is wrong");
  EXPECT_EQ(read(R"({"guided_json": "\"\\\"a\\\"\""})"),
            "guided_json: 'guided_json' is not a JSON schema");
  EXPECT_EQ(read(R"({"guided_choice": []})"),
            "guided_choice: 'guided_choice' is empty");
  EXPECT_EQ(
      read(R"({"guided_choice": ["a", 1]})"),
      "guided_choice: 'guided_choice' has an integer in it, not a string");
  EXPECT_EQ(read(R"({"structured_outputs": {"regex": "a+"}})"),
            "structured_outputs.regex: 'structured_outputs.regex' is not "
            "supported");
}

TEST(ConstraintTest, RefusesWhatDoesNotCompile) {
  std::string refused = read(R"({"grammar": "root ::= other"})");
  EXPECT_TRUE(refused.starts_with("grammar: 'grammar': grammar, line 1"))
      << refused;
  refused = read(R"({"response_format": {"type": "json_schema", "json_schema":
      {"schema": {"properties": {"a": {"not": {}}}}}}})");
  EXPECT_TRUE(refused.starts_with("response_format.json_schema.schema: "))
      << refused;
  EXPECT_NE(refused.find("/properties/a"), std::string::npos) << refused;
}

/// Longer texts do not fit a frame.
TEST(ConstraintTest, RefusesWhatIsTooLong) {
  const std::string letters(GrammarSource::maxBytes, 'x');
  const std::string schema = R"({"type":"boolean","description":")" + letters;
  EXPECT_EQ(read((R"({"response_format": {"type": "json_schema",
                  "json_schema": {"schema": )" +
                  schema + "\"}}}}")
                     .c_str()),
            "response_format.json_schema.schema: "
            "'response_format.json_schema.schema' takes 1048611 bytes, more "
            "than 1048576");
  EXPECT_EQ(read((R"({"guided_json": )" + schema + "\"}}").c_str()),
            "guided_json: 'guided_json' takes 1048611 bytes, more than "
            "1048576");
  std::string comment = R"({"grammar": "root ::= \"a\" # )" + letters + "\"}";
  EXPECT_NE(read(comment.c_str()).find("bytes"), std::string::npos);
}

TEST(ConstraintTest, RefusesWhatTakesTooLong) {
  RequestLimits limits;
  limits.grammarWork.time = std::chrono::milliseconds(0);
  EXPECT_EQ(read(R"({"json_schema": {"const": "takes too long"}})", limits),
            "json_schema: 'json_schema': JSON schema: it takes more than 0 s");
  EXPECT_EQ(read(R"({"grammar": "root ::= \"takes too long\""})", limits),
            "grammar: 'grammar': grammar: it takes more than 0 s");
}

TEST(ConstraintTest, RefusesWhatIsNotKept) {
  EXPECT_EQ(read(R"({"structured_outputs": {"json": {"type": "null"},
                   "disable_any_whitespace": true}})"),
            "structured_outputs.disable_any_whitespace: "
            "'structured_outputs.disable_any_whitespace' is not supported");
  EXPECT_EQ(read(R"({"structured_outputs": {"json": {"type": "null"},
                   "disable_any_whitespace": false}})"),
            R"(schema {"type":"null"})");
  EXPECT_EQ(read(R"({"response_format": {"type": "json_schema", "json_schema":
                   {"schema": {"type": "null"}, "strict": "yes"}}})"),
            "response_format.json_schema.strict: "
            "'response_format.json_schema.strict' is a string, not a boolean");
}

TEST(ConstraintTest, TakesOneOnly) {
  EXPECT_EQ(read(R"({"response_format": {"type": "json_object"},
                   "grammar": "root ::= \"a\""})"),
            "grammar: 'grammar' and 'response_format.type' cannot both be "
            "given");
  EXPECT_EQ(read(R"({"structured_outputs": {"json_object": true,
                   "choice": ["a"]}})"),
            "structured_outputs.choice: 'structured_outputs.choice' and "
            "'structured_outputs.json_object' cannot both be given");
  // A second constraint is not even compiled.
  EXPECT_EQ(read(R"({"grammar": "root ::= \"a\"", "json_schema": {"not": {}},
                   "guided_grammar": "root ::= nothing"})"),
            "json_schema: 'json_schema' and 'grammar' cannot both be given");
  EXPECT_EQ(read(R"({"guided_json": true,
                   "guided_grammar": "root ::= nothing"})"),
            "guided_grammar: 'guided_grammar' and 'guided_json' cannot both be "
            "given");
}

} // namespace
