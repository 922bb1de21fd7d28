//===- ExpressionParser.cpp - parses a template: operators ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/LoopValue.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/ParserDepth.h"
#include "runtime/jinja/PythonText.h"

#include <algorithm>
#include <charconv>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Lexeme::Kind;

/// Returns the depth of the deepest operand; null operands count as 0.
template <typename... Operands>
static uint32_t deepest(const Operands &...operands) {
  return std::max({(operands ? operands->depth : uint32_t(0))...});
}

/// Parses an expression, or a tuple without parentheses. Without
/// `withConditional`, as in loops and conditions, an `if` is left to the
/// statement.
ExpressionPtr Parser::parseTuple(bool withConditional, bool inParentheses) {
  Position at = current().at;
  auto atEnd = [&] {
    return current().kind == Kind::VariableEnd ||
           current().kind == Kind::BlockEnd || isOperator(")");
  };
  ListLiteral tuple{List::Form::Tuple, {}};
  uint32_t depth = 0;
  bool isTuple = inParentheses && atEnd();
  while (!atEnd()) {
    tuple.items.push_back(withConditional ? parseExpression() : parseOr());
    depth = std::max(depth, tuple.items.back()->depth);
    if (!skipOperator(","))
      break;
    isTuple = true;
  }
  if (isTuple)
    return make(at, std::move(tuple), depth);
  if (tuple.items.empty())
    refuseToken("an expression");
  return std::move(tuple.items[0]);
}

ExpressionPtr Parser::parseExpression() {
  DepthGuard guard(*this);
  ExpressionPtr chosen = parseOr();
  while (isName("if")) {
    Position at = take().at;
    ExpressionPtr condition = parseOr();
    ExpressionPtr otherwise;
    if (skipName("else"))
      otherwise = parseExpression();
    uint32_t depth = deepest(chosen, condition, otherwise);
    chosen = make(at,
                  Conditional{std::move(condition), std::move(chosen),
                              std::move(otherwise)},
                  depth);
  }
  return chosen;
}

ExpressionPtr Parser::parseOr() {
  ExpressionPtr left = parseAnd();
  while (isName("or")) {
    Position at = take().at;
    ExpressionPtr right = parseAnd();
    uint32_t depth = deepest(left, right);
    left = make(at, Logical{false, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr Parser::parseAnd() {
  ExpressionPtr left = parseNot();
  while (isName("and")) {
    Position at = take().at;
    ExpressionPtr right = parseNot();
    uint32_t depth = deepest(left, right);
    left = make(at, Logical{true, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPtr Parser::parseNot() {
  DepthGuard guard(*this);
  if (!isName("not"))
    return parseComparison();
  Position at = take().at;
  ExpressionPtr operand = parseNot();
  uint32_t depth = operand->depth;
  return make(at, Unary{Unary::Operator::Not, std::move(operand)}, depth);
}

ExpressionPtr Parser::parseComparison() {
  using Operator = ComparisonChain::Operator;
  static constexpr std::pair<std::string_view, Operator> operators[] = {
      {"==", Operator::Equal},  {"!=", Operator::Unequal},
      {"<", Operator::Less},    {"<=", Operator::LessOrEqual},
      {">", Operator::Greater}, {">=", Operator::GreaterOrEqual},
  };
  ComparisonChain made;
  made.first = parseSum();
  uint32_t depth = made.first->depth;
  Position at = current().at;
  while (true) {
    const auto *found = std::find_if(
        std::begin(operators), std::end(operators),
        [&](const auto &entry) { return isOperator(entry.first); });
    Operator op = Operator::In;
    if (found != std::end(operators))
      op = found->second;
    else if (isName("not") && following().kind == Kind::Name &&
             following().text == "in")
      op = Operator::NotIn;
    else if (!isName("in"))
      break;
    next += op == Operator::NotIn ? 2 : 1;
    made.rest.emplace_back(op, parseSum());
    depth = std::max(depth, made.rest.back().second->depth);
  }
  if (made.rest.empty())
    return std::move(made.first);
  return make(at, std::move(made), depth);
}

ExpressionPtr Parser::parseSum() {
  ExpressionPtr left = parseConcatenation();
  while (isOperator("+") || isOperator("-")) {
    Lexeme op = take();
    ExpressionPtr right = parseConcatenation();
    uint32_t depth = deepest(left, right);
    left = make(op.at,
                Binary{op.text == "+" ? add : subtract, std::move(left),
                       std::move(right)},
                depth);
  }
  return left;
}

ExpressionPtr Parser::parseConcatenation() {
  Position at = current().at;
  Concatenation made;
  uint32_t depth = 0;
  do {
    made.parts.push_back(parseProduct());
    depth = std::max(depth, made.parts.back()->depth);
  } while (skipOperator("~"));
  if (made.parts.size() == 1)
    return std::move(made.parts[0]);
  return make(at, std::move(made), depth);
}

ExpressionPtr Parser::parseProduct() {
  static constexpr std::pair<std::string_view, Binary::Operator> operators[] = {
      {"*", multiply}, {"/", divide}, {"//", floorDivide}, {"%", modulo}};
  ExpressionPtr left = parseUnary(true);
  while (true) {
    const auto *found = std::find_if(
        std::begin(operators), std::end(operators),
        [&](const auto &entry) { return isOperator(entry.first); });
    if (isOperator("**")) {
      Position at = take().at;
      parseUnary(true);
      left = unsupported(at, "operator '**' is not supported");
      continue;
    }
    if (found == std::end(operators))
      return left;
    Position at = take().at;
    const auto *constant = std::get_if<Constant>(&left->node);
    bool formats =
        found->second == modulo && constant && constant->value.isString();
    ExpressionPtr right = parseUnary(true);
    if (formats) {
      left = unsupported(at, "formatting strings with '%' is not supported");
      continue;
    }
    uint32_t depth = deepest(left, right);
    left = make(at, Binary{found->second, std::move(left), std::move(right)},
                depth);
  }
}

ExpressionPtr Parser::parseUnary(bool withFilters) {
  DepthGuard guard(*this);
  ExpressionPtr value;
  if (isOperator("-") || isOperator("+")) {
    Lexeme op = take();
    ExpressionPtr operand = parseUnary(false);
    uint32_t depth = operand->depth;
    value = make(op.at,
                 Unary{op.text == "-" ? Unary::Operator::Negate
                                      : Unary::Operator::Affirm,
                       std::move(operand)},
                 depth);
  } else {
    value = parsePrimary();
  }
  value = parsePostfix(std::move(value));
  return withFilters ? parseFilters(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parsePrimary() {
  Position at = current().at;
  switch (current().kind) {
  case Kind::Name:
    return parseVariable();
  case Kind::Integer:
  case Kind::Float:
    return parseNumber();
  case Kind::String: {
    std::string text;
    while (current().kind == Kind::String)
      text += take().text;
    return make(at, Constant{Value::string(std::move(text))});
  }
  default:
    break;
  }
  if (skipOperator("(")) {
    ExpressionPtr value = parseTuple(true, true);
    expectOperator(")");
    return value;
  }
  if (isOperator("["))
    return parseList();
  if (isOperator("{"))
    return parseDict();
  refuseToken("an expression");
}

ExpressionPtr Parser::parseNumber() {
  Lexeme token = take();
  if (token.kind == Kind::Float)
    return make(token.at, Constant{Value::real(*parsePythonFloat(token.text))});
  std::optional<Integer> value = parsePythonInteger(token.text);
  if (!value)
    failAt(token.at, "the integer needs more than 64 bits");
  return make(token.at, Constant{Value::integer(*value)});
}

ExpressionPtr Parser::parseVariable() {
  Lexeme token = take();
  const std::string &name = token.text;
  if (name == "true" || name == "True" || name == "false" || name == "False")
    return make(token.at,
                Constant{Value::boolean(name[0] == 't' || name[0] == 'T')});
  if (name == "none" || name == "None")
    return make(token.at, Constant{Value::none()});
  if (name == "caller")
    callerUsed = true;
  Symbol variable = symbol(name);
  if ((name == "varargs" || name == "kwargs") && !assigned.contains(variable))
    return unsupported(token.at, "variable '" + name + "' is not supported");
  return make(token.at, Variable{variable});
}

ExpressionPtr Parser::parseList() {
  Position at = take().at;
  ListLiteral made{List::Form::List, {}};
  uint32_t depth = 0;
  while (!skipOperator("]")) {
    if (!made.items.empty())
      expectOperator(",");
    if (skipOperator("]"))
      break;
    made.items.push_back(parseExpression());
    depth = std::max(depth, made.items.back()->depth);
  }
  return make(at, std::move(made), depth);
}

ExpressionPtr Parser::parseDict() {
  Position at = take().at;
  DictLiteral made;
  uint32_t depth = 0;
  while (!skipOperator("}")) {
    if (!made.entries.empty())
      expectOperator(",");
    if (skipOperator("}"))
      break;
    ExpressionPtr key = parseExpression();
    expectOperator(":");
    ExpressionPtr value = parseExpression();
    depth = std::max({depth, key->depth, value->depth});
    made.entries.emplace_back(std::move(key), std::move(value));
  }
  return make(at, std::move(made), depth);
}

ExpressionPtr Parser::parsePostfix(ExpressionPtr object) {
  while (true) {
    if (isOperator("."))
      object = parseAttribute(std::move(object));
    else if (isOperator("["))
      object = parseSubscript(std::move(object));
    else if (isOperator("("))
      object = parseCall(std::move(object));
    else
      return object;
  }
}

ExpressionPtr Parser::parseAttribute(ExpressionPtr object) {
  take();
  uint32_t depth = object->depth;
  Position at = current().at;
  if (current().kind == Kind::Integer) {
    ExpressionPtr index = parseNumber();
    return make(at, Item{std::move(object), std::move(index)}, depth);
  }
  std::string name = takeName("an attribute's name");
  const auto *variable = std::get_if<Variable>(&object->node);
  if (variable && tree.names[variable->name] == "loop" &&
      !LoopValue::hasAttribute(name))
    return unsupported(at, "'loop." + name + "' is not supported");
  return make(at, Attribute{std::move(object), std::move(name)}, depth);
}

ExpressionPtr Parser::parseSubscript(ExpressionPtr object) {
  Position at = take().at;
  auto atBoundsEnd = [&] { return isOperator(":") || isOperator("]"); };
  ExpressionPtr bounds[3];
  size_t count = 0;
  if (!atBoundsEnd())
    bounds[0] = parseExpression();
  while (count < 2 && skipOperator(":")) {
    ++count;
    if (!atBoundsEnd())
      bounds[count] = parseExpression();
  }
  expectOperator("]");
  uint32_t depth = deepest(object, bounds[0], bounds[1], bounds[2]);
  if (count > 0)
    return make(at,
                Slice{std::move(object), std::move(bounds[0]),
                      std::move(bounds[1]), std::move(bounds[2])},
                depth);
  if (!bounds[0])
    failAt(at, "an index is missing");
  return make(at, Item{std::move(object), std::move(bounds[0])}, depth);
}

ExpressionPtr Parser::parseFilters(ExpressionPtr value) {
  while (true) {
    if (skipOperator("|"))
      value = parseFilter(std::move(value));
    else if (skipName("is"))
      value = parseTest(std::move(value));
    else if (isOperator("("))
      value = parseCall(std::move(value));
    else
      return value;
  }
}
