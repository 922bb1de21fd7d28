//===- CallParser.cpp - parses a template: calls --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Parser.h"

#include <algorithm>
#include <utility>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Lexeme::Kind;

/// Returns the depth of the deepest of `operands`; null operands count as 0.
static uint32_t deepestOf(const std::vector<ExpressionPtr> &operands) {
  uint32_t depth = 0;
  for (const ExpressionPtr &operand : operands)
    depth = std::max(depth, operand ? operand->depth : 0);
  return depth;
}

CallArguments Parser::parseArguments() {
  CallArguments made;
  expectOperator("(");
  bool first = true;
  while (!skipOperator(")")) {
    if (!std::exchange(first, false))
      expectOperator(",");
    if (skipOperator(")"))
      break;
    Position at = current().at;
    if (isOperator("*") || isOperator("**")) {
      std::string stars = take().text;
      parseExpression();
      made.positional.push_back(unsupported(
          at, "'" + stars + "' before an argument is not supported"));
    } else if (current().kind == Kind::Name &&
               following().kind == Kind::Operator && following().text == "=") {
      std::string name = take().text;
      take();
      made.named.emplace_back(std::move(name), parseExpression());
    } else {
      if (!made.named.empty())
        failAt(at, "an argument by place is behind one by name");
      made.positional.push_back(parseExpression());
    }
  }
  return made;
}

/// Returns the arguments in the order of the parameters, null for those that
/// are not given.
std::vector<ExpressionPtr> Parser::bindArguments(Position at,
                                                 const Builtin &builtin,
                                                 std::string_view what,
                                                 CallArguments arguments) {
  auto refuse = [&](const auto &...parts) {
    failAt<UnsupportedError>(at, what, " '", builtin.name, "' ", parts...);
  };
  size_t count = builtin.parameterCount();
  if (arguments.positional.size() > count)
    refuse("does not take ", arguments.positional.size(), " arguments");
  std::vector<ExpressionPtr> bound = std::move(arguments.positional);
  bound.resize(count);
  for (auto &[name, value] : arguments.named) {
    const auto *end = builtin.parameters.begin() + count;
    const auto *found = std::find(builtin.parameters.begin(), end, name);
    if (found == end)
      refuse("has no argument '", name, "' here");
    ExpressionPtr &place =
        bound[static_cast<size_t>(found - builtin.parameters.begin())];
    if (place)
      refuse("has two arguments '", name, "'");
    place = std::move(value);
  }
  for (size_t i = 0; i < builtin.required; ++i)
    if (!bound[i])
      refuse("needs the argument '", builtin.parameters[i], "'");
  return bound;
}

ExpressionPtr Parser::makeCall(Position at, const Builtin &builtin,
                               const Method *method, std::string_view what,
                               ExpressionPtr subject, CallArguments arguments) {
  return orUnsupported([&] {
    std::vector<ExpressionPtr> all =
        bindArguments(at, builtin, what, std::move(arguments));
    all.insert(all.begin(), std::move(subject));
    uint32_t depth = deepestOf(all);
    return make(at, BuiltinCall{&builtin, method, std::move(all)}, depth);
  });
}

/// Parses a call of a method, a macro or a function.
ExpressionPtr Parser::parseCall(ExpressionPtr callee) {
  Position at = callee->at;
  CallArguments arguments = parseArguments();
  if (auto *attribute = std::get_if<Attribute>(&callee->node)) {
    const Method *method = findMethod(attribute->name);
    if (!method || !method->builtin.run)
      return unsupported(at,
                         "method '" + attribute->name + "' is not supported");
    return makeCall(at, method->builtin, method, "method",
                    std::move(attribute->object), std::move(arguments));
  }
  if (const auto *variable = std::get_if<Variable>(&callee->node)) {
    const std::string &name = tree.names[variable->name];
    auto known = globalFunctions();
    if (std::none_of(known.begin(), known.end(),
                     [&](const BuiltinFunction &function) {
                       return function.name == name;
                     }) &&
        name != "caller")
      unknownFunctions.push_back({at, variable->name});
  }
  uint32_t depth = std::max(callee->depth, deepestOf(arguments.positional));
  for (const auto &[name, value] : arguments.named)
    depth = std::max(depth, value->depth);
  return make(at, Call{std::move(callee), std::move(arguments)}, depth);
}

/// Parses a filter of `value`; its name is the next token.
ExpressionPtr Parser::parseFilter(ExpressionPtr value) {
  Lexeme token = current();
  std::string name = takeName("a filter's name");
  CallArguments arguments;
  if (isOperator("("))
    arguments = parseArguments();
  for (std::string_view select :
       {"map", "select", "reject", "selectattr", "rejectattr"})
    if (name == select)
      return orUnsupported([&] {
        return makeSelect(token, std::move(value), std::move(arguments));
      });
  const Builtin *filter = findFilter(name);
  if (!filter)
    return unsupported(token.at, "filter '" + name + "' is not supported");
  return makeCall(token.at, *filter, nullptr, "filter", std::move(value),
                  std::move(arguments));
}

/// Parses a test of `value`, after its `is`.
ExpressionPtr Parser::parseTest(ExpressionPtr value) {
  bool negated = skipName("not");
  Position at = current().at;
  std::string name = takeName("a test's name");
  CallArguments arguments;
  bool hasOperand =
      current().kind == Kind::String || current().kind == Kind::Integer ||
      current().kind == Kind::Float || isOperator("[") || isOperator("{") ||
      (current().kind == Kind::Name && !isName("else") && !isName("or") &&
       !isName("and"));
  if (isName("is"))
    failAt(current().at, "a test of a test needs parentheses");
  if (isOperator("("))
    arguments = parseArguments();
  else if (hasOperand)
    arguments.positional.push_back(parsePostfix(parsePrimary()));
  const Builtin *test = findTest(name);
  if (!test)
    return unsupported(at, "test '" + name + "' is not supported");
  ExpressionPtr made = makeCall(at, *test, nullptr, "test", std::move(value),
                                std::move(arguments));
  uint32_t depth = made->depth;
  if (negated)
    made = make(at, Unary{Unary::Operator::Not, std::move(made)}, depth);
  return made;
}

/// Returns the text of a constant; nothing for other expressions.
static std::optional<std::string> constantText(const ExpressionPtr &value) {
  const auto *constant = std::get_if<Constant>(&value->node);
  if (!constant || !constant->value.isString())
    return std::nullopt;
  return constant->value.text();
}

/// Makes map, select, reject, selectattr or rejectattr. Their first arguments,
/// an attribute and the name of a filter or test, are taken from `arguments`.
ExpressionPtr Parser::makeSelect(const Lexeme &name, ExpressionPtr items,
                                 CallArguments arguments) {
  auto &positional = arguments.positional;
  bool isMap = name.text == "map";
  Select made{isMap                             ? Select::Result::Mapped
              : name.text.starts_with("select") ? Select::Result::Selected
                                                : Select::Result::Rejected,
              std::move(items),
              nullptr,
              nullptr,
              nullptr,
              {}};
  auto takeFirst = [&] {
    ExpressionPtr first = std::move(positional.front());
    positional.erase(positional.begin());
    return first;
  };
  if (isMap && positional.empty()) {
    for (auto &[key, value] : arguments.named) {
      ExpressionPtr &place =
          key == "attribute" ? made.attribute : made.fallback;
      if ((key != "attribute" && key != "default") || place)
        failAt<UnsupportedError>(name.at, "filter 'map' has no argument '", key,
                                 "' here");
      place = std::move(value);
    }
    arguments.named.clear();
  } else if (name.text.ends_with("attr") && !positional.empty()) {
    made.attribute = takeFirst();
  }
  if (!positional.empty()) {
    std::string_view what = isMap ? "filter" : "test";
    Position at = positional.front()->at;
    std::optional<std::string> inner = constantText(takeFirst());
    if (!inner)
      failAt<UnsupportedError>(at, "the name of a ", what,
                               " must be a string here");
    made.builtin = isMap ? findFilter(*inner) : findTest(*inner);
    if (!made.builtin)
      failAt<UnsupportedError>(at, what, " '", *inner,
                               "' is not supported here");
    made.arguments =
        bindArguments(at, *made.builtin, what, std::move(arguments));
  } else if (!arguments.named.empty() ||
             (!made.attribute && (isMap || name.text.ends_with("attr")))) {
    failAt<UnsupportedError>(name.at, "filter '", name.text,
                             "' needs an attribute or a ",
                             isMap ? "filter" : "test");
  }
  uint32_t depth = std::max(made.items->depth, deepestOf(made.arguments));
  for (const ExpressionPtr *part : {&made.attribute, &made.fallback})
    depth = std::max(depth, *part ? (*part)->depth : 0);
  return make(name.at, std::move(made), depth);
}
