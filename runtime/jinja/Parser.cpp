//===- Parser.cpp - parses a template: statements -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Parser.h"

#include "runtime/jinja/ParserDepth.h"
#include "runtime/jinja/Shapes.h"

#include <algorithm>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Lexeme::Kind;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Lexeme Parser::take() {
  return current().kind == Kind::End ? current() : tokens[next++];
}

bool Parser::isOperator(std::string_view text) const {
  return current().kind == Kind::Operator && current().text == text;
}

bool Parser::isName(std::string_view text) const {
  return current().kind == Kind::Name && current().text == text;
}

bool Parser::skipOperator(std::string_view text) {
  bool found = isOperator(text);
  next += found ? 1 : 0;
  return found;
}

bool Parser::skipName(std::string_view text) {
  bool found = isName(text);
  next += found ? 1 : 0;
  return found;
}

void Parser::refuseToken(std::string_view expected) const {
  const Lexeme &token = current();
  switch (token.kind) {
  case Kind::Name:
  case Kind::Integer:
  case Kind::Float:
  case Kind::Operator:
    failAt(token.at, "expected ", expected, " instead of '", token.text, "'");
  case Kind::String:
    failAt(token.at, "expected ", expected, " instead of a string");
  default:
    failAt(token.at, "expected ", expected, " before the end of the ",
           token.kind == Kind::End ? "template" : "tag");
  }
}

void Parser::expectOperator(std::string_view text) {
  if (!skipOperator(text))
    refuseToken("'" + std::string(text) + "'");
}

void Parser::expectName(std::string_view text) {
  if (!skipName(text))
    refuseToken("'" + std::string(text) + "'");
}

void Parser::expect(Lexeme::Kind kind, std::string_view what) {
  if (current().kind != kind)
    refuseToken(what);
  take();
}

std::string Parser::takeName(std::string_view what) {
  if (current().kind != Kind::Name)
    refuseToken(what);
  return take().text;
}

Symbol Parser::symbol(std::string_view name) {
  auto found = std::find(tree.names.begin(), tree.names.end(), name);
  if (found == tree.names.end()) {
    if (tree.names.size() == maxNames)
      failAt(current().at, "more than ", maxNames, " names of variables");
    found = tree.names.emplace(found, name);
  }
  return static_cast<Symbol>(found - tree.names.begin());
}

Symbol Parser::takeAssigned() {
  Position at = current().at;
  std::string name = takeName("a name");
  for (std::string_view constant :
       {"true", "false", "none", "True", "False", "None"})
    if (name == constant)
      failAt(at, "'", name, "' cannot be assigned to");
  Symbol target = symbol(name);
  assigned.insert(target);
  return target;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Parses statements up to one of `ends`, whose name is not taken, or to the
/// end of the template.
Body Parser::parseBody(std::initializer_list<std::string_view> ends) {
  DepthGuard guard(*this);
  Body body;
  while (current().kind != Kind::End) {
    Position at = current().at;
    if (current().kind == Kind::Data) {
      body.push_back({at, RawText{take().text}});
    } else if (current().kind == Kind::VariableBegin) {
      take();
      body.push_back({at, Output{parseTuple(true)}});
      expect(Kind::VariableEnd, "'}}'");
    } else {
      expect(Kind::BlockBegin, "a tag");
      if (std::any_of(ends.begin(), ends.end(),
                      [&](std::string_view end) { return isName(end); }))
        return body;
      body.push_back(parseStatement());
      expect(Kind::BlockEnd, "'%}'");
    }
  }
  return body;
}

/// Parses the body of the block `name` that was opened at `start`: from after
/// its first tag to one of `ends`.
Body Parser::parseBlock(Position start, std::string_view name,
                        std::initializer_list<std::string_view> ends) {
  skipOperator(":");
  expect(Kind::BlockEnd, "'%}'");
  Body body = parseBody(ends);
  if (current().kind == Kind::End)
    failAt(start, "'", name, "' is not closed");
  return body;
}

/// Parses the whole body of a block that captures its output or has a scope of
/// its own.
Body Parser::parseScope(Position start, std::string_view name,
                        std::string_view end) {
  uint32_t outerLoops = std::exchange(loopDepth, 0);
  ++scopeDepth;
  Body body = parseBlock(start, name, {end});
  --scopeDepth;
  loopDepth = outerLoops;
  expectName(end);
  return body;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Statement Parser::parseStatement() {
  Position at = current().at;
  std::string name = takeName("a statement");
  if (name == "if")
    return parseIf(at);
  if (name == "for")
    return parseFor(at);
  if (name == "set")
    return parseSet(at);
  if (name == "macro")
    return parseMacro(at);
  if (name == "call")
    return parseCallBlock(at);
  if (name == "filter")
    return parseFilterBlock(at);
  if (name == "break" || name == "continue")
    return parseLoopControl(at, name == "break");
  if (name == "generation")
    return {at, GenerationBlock{parseScope(at, name, "endgeneration")}};
  if (name == "include" || name == "extends" || name == "import" ||
      name == "from")
    return parseOtherFile(at, name);
  if (name.starts_with("end") || name == "else" || name == "elif")
    failAt(at, "unexpected '", name, "'");
  failAt(at, "statement '", name, "' is not supported");
}

Statement Parser::parseIf(Position at) {
  If made;
  while (true) {
    ExpressionPtr condition = parseTuple(false);
    Body body = parseBlock(at, "if", {"elif", "else", "endif"});
    made.branches.emplace_back(std::move(condition), std::move(body));
    if (skipName("elif"))
      continue;
    if (skipName("else"))
      made.otherwise = parseBlock(at, "if", {"endif"});
    expectName("endif");
    return {at, std::move(made)};
  }
}

Statement Parser::parseFor(Position at) {
  For made;
  made.target = parseTarget(false);
  expectName("in");
  made.items = parseTuple(false);
  if (skipName("if"))
    made.filter = parseExpression();
  if (isName("recursive"))
    made.items = unsupported(take().at, "recursive loops are not supported");
  ++loopDepth;
  ++scopeDepth;
  made.body = parseBlock(at, "for", {"else", "endfor"});
  --loopDepth;
  if (skipName("else"))
    made.otherwise = parseBlock(at, "for", {"endfor"});
  --scopeDepth;
  expectName("endfor");
  made.endsWhenFalse = endsWhenFalse(made, tree.names);
  return {at, std::move(made)};
}

/// Parses the target before a loop's `in` or before `=`.
Target Parser::parseTarget(bool ofSet) {
  Target target;
  do {
    if (target.isTuple && (isName("in") || isOperator("=")))
      break;
    Target::Name place;
    place.at = current().at;
    if (ofSet && following().kind == Kind::Operator &&
        following().text == ".") {
      place.name = symbol(takeName("a name"));
      expectOperator(".");
      place.attribute = takeName("an attribute's name");
    } else {
      place.name = takeAssigned();
    }
    target.names.push_back(std::move(place));
    target.isTuple |= isOperator(",");
  } while (skipOperator(","));
  return target;
}

Statement Parser::parseSet(Position at) {
  Target target = parseTarget(true);
  if (skipOperator("=")) {
    Set made{std::move(target), parseTuple(true)};
    made.appends = appends(made);
    return {at, std::move(made)};
  }
  if (isOperator("|"))
    failAt(current().at, "filters of a set block are not supported");
  return {at, SetBlock{std::move(target), parseScope(at, "set", "endset")}};
}

/// Parses the parameters of a macro or a call block, in parentheses.
std::vector<Parameter> Parser::parseParameters() {
  std::vector<Parameter> parameters;
  expectOperator("(");
  while (!skipOperator(")")) {
    if (!parameters.empty())
      expectOperator(",");
    Position at = current().at;
    Parameter &parameter = parameters.emplace_back();
    parameter.name = takeAssigned();
    if (skipOperator("="))
      parameter.otherwise = parseExpression();
    else if (parameters.size() > 1 && parameters.end()[-2].otherwise)
      failAt(at, "a parameter without a default is behind one with");
  }
  return parameters;
}

Statement Parser::parseMacro(Position at) {
  if (scopeDepth > 0)
    failAt(at, "a macro inside of a block other than 'if' is not supported");
  auto definition = std::make_unique<MacroDefinition>();
  definition->name = takeAssigned();
  callerUsed = false;
  definition->parameters = parseParameters();
  definition->body = parseScope(at, "macro", "endmacro");
  definition->usesCaller = callerUsed;
  return {at, Macro{std::move(definition)}};
}

Statement Parser::parseCallBlock(Position at) {
  auto caller = std::make_unique<MacroDefinition>();
  caller->name = symbol("caller");
  if (isOperator("("))
    caller->parameters = parseParameters();
  Position callAt = current().at;
  ExpressionPtr call = parseExpression();
  if (!std::holds_alternative<Call>(call->node))
    failAt(callAt, "'call' needs a call of a macro");
  bool outerUse = std::exchange(callerUsed, false);
  caller->body = parseScope(at, "call", "endcall");
  caller->usesCaller = callerUsed;
  callerUsed |= outerUse;
  return {at, CallBlock{std::move(caller), std::move(call)}};
}

Statement Parser::parseFilterBlock(Position at) {
  FilterBlock made;
  made.captured = symbol("<captured>"); // a name that no template can have
  made.filtered = parseFilter(make(at, Variable{made.captured}));
  while (skipOperator("|"))
    made.filtered = parseFilter(std::move(made.filtered));
  made.body = parseScope(at, "filter", "endfilter");
  return {at, std::move(made)};
}

Statement Parser::parseLoopControl(Position at, bool isBreak) {
  if (loopDepth == 0)
    failAt(at, isBreak ? "'break'" : "'continue'", " outside of a loop");
  if (isBreak)
    return {at, Break{}};
  return {at, Continue{}};
}

/// Parses a tag that needs another template.
Statement Parser::parseOtherFile(Position at, const std::string &name) {
  while (current().kind != Kind::BlockEnd && current().kind != Kind::End)
    take();
  return {at,
          Output{unsupported(at, "statement '" + name + "' is not supported")}};
}

/// Adds the calls of functions that nothing sets, and sorts the refusals.
void Parser::collectRefusals() {
  for (const UnknownFunction &unknown : unknownFunctions)
    if (!assigned.contains(unknown.name))
      tree.refusals.push_back(
          {unknown.at,
           "function '" + tree.names[unknown.name] + "' is not supported"});
  std::ranges::sort(tree.refusals, {},
                    [](const auto &refusal) { return refusal.at.offset; });
}

Template Parser::run() {
  tree.body = parseBody({});
  collectRefusals();
  return std::move(tree);
}
