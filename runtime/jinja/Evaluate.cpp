//===- Evaluate.cpp - renders a compiled template: expressions ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/InterpreterGuards.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"
#include "runtime/jinja/TemplateInterpreter.h"

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

Value TemplateInterpreter::evaluate(const Expression &expression,
                                    const VariableScope &scope) {
  DepthGuard guard(*this, expression.at);
  runtime.at = expression.at;
  runtime.step();
  return std::visit(
      [&](const auto &node) { return evaluate(node, expression.at, scope); },
      expression.node);
}

Value TemplateInterpreter::evaluate(const ExpressionPtr &expression,
                                    const VariableScope &scope) {
  return expression ? evaluate(*expression, scope) : Value();
}

std::vector<Value>
TemplateInterpreter::evaluateAll(const std::vector<ExpressionPtr> &expressions,
                                 const VariableScope &scope) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr &expression : expressions)
    values.push_back(evaluate(expression, scope));
  return values;
}

Value TemplateInterpreter::evaluate(const Constant &node, Position,
                                    const VariableScope &) {
  return node.value;
}

Value TemplateInterpreter::evaluate(const Variable &node, Position,
                                    const VariableScope &scope) {
  if (const Value *value = scope.find(runtime, node.name))
    return *value;
  return Value::undefined("'" + source.names[node.name] + "' is undefined");
}

Value TemplateInterpreter::evaluate(const Attribute &node, Position at,
                                    const VariableScope &scope) {
  Value object = evaluate(*node.object, scope);
  runtime.at = at;
  return attributeOf(runtime, object, node.name);
}

Value TemplateInterpreter::evaluate(const Item &node, Position at,
                                    const VariableScope &scope) {
  Value object = evaluate(*node.object, scope);
  Value key = evaluate(*node.key, scope);
  runtime.at = at;
  return itemOf(runtime, object, key);
}

Value TemplateInterpreter::evaluate(const Slice &node, Position at,
                                    const VariableScope &scope) {
  Value object = evaluate(*node.object, scope);
  Value start = evaluate(node.start, scope);
  Value stop = evaluate(node.stop, scope);
  Value step = evaluate(node.step, scope);
  runtime.at = at;
  return sliceOf(runtime, object, start, stop, step);
}

Value TemplateInterpreter::evaluate(const Unary &node, Position at,
                                    const VariableScope &scope) {
  Value operand = evaluate(*node.operand, scope);
  runtime.at = at;
  switch (node.op) {
  case Unary::Operator::Negate:
    return negate(runtime, operand);
  case Unary::Operator::Affirm:
    return affirm(runtime, operand);
  case Unary::Operator::Not:
    break;
  }
  return Value::boolean(!operand.isTrue());
}

Value TemplateInterpreter::evaluate(const Binary &node, Position at,
                                    const VariableScope &scope) {
  Value left = evaluate(*node.left, scope);
  Value right = evaluate(*node.right, scope);
  runtime.at = at;
  return node.op(runtime, left, right);
}

Value TemplateInterpreter::evaluate(const Logical &node, Position,
                                    const VariableScope &scope) {
  Value left = evaluate(*node.left, scope);
  return left.isTrue() == node.isAnd ? evaluate(*node.right, scope) : left;
}

bool TemplateInterpreter::compare(ComparisonChain::Operator op,
                                  const Value &left, const Value &right) {
  switch (op) {
  case ComparisonChain::Operator::Equal:
    return isEqual(runtime, left, right);
  case ComparisonChain::Operator::Unequal:
    return !isEqual(runtime, left, right);
  case ComparisonChain::Operator::Less:
    return isLess(runtime, left, right);
  case ComparisonChain::Operator::LessOrEqual:
    return isLessOrEqual(runtime, left, right);
  case ComparisonChain::Operator::Greater:
    return isLess(runtime, right, left);
  case ComparisonChain::Operator::GreaterOrEqual:
    return isLessOrEqual(runtime, right, left);
  case ComparisonChain::Operator::In:
    return contains(runtime, right, left);
  case ComparisonChain::Operator::NotIn:
    break;
  }
  return !contains(runtime, right, left);
}

Value TemplateInterpreter::evaluate(const ComparisonChain &node, Position at,
                                    const VariableScope &scope) {
  Value left = evaluate(*node.first, scope);
  for (const auto &[op, operand] : node.rest) {
    Value right = evaluate(*operand, scope);
    runtime.at = at;
    if (!compare(op, left, right))
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

std::string TemplateInterpreter::textOf(std::span<const ExpressionPtr> parts,
                                        Position at,
                                        const VariableScope &scope) {
  std::string text;
  for (const ExpressionPtr &part : parts) {
    Value value = evaluate(*part, scope);
    runtime.at = at;
    std::string more = toText(runtime, value);
    runtime.charge(more.size());
    text += more;
  }
  return text;
}

Value TemplateInterpreter::evaluate(const Concatenation &node, Position at,
                                    const VariableScope &scope) {
  return runtime.string(textOf(node.parts, at, scope));
}

Value TemplateInterpreter::evaluate(const Conditional &node, Position,
                                    const VariableScope &scope) {
  if (evaluate(*node.condition, scope).isTrue())
    return evaluate(*node.chosen, scope);
  if (node.otherwise)
    return evaluate(*node.otherwise, scope);
  return Value::undefined("an 'if' without 'else' has no value here");
}

Value TemplateInterpreter::evaluate(const ListLiteral &node, Position at,
                                    const VariableScope &scope) {
  std::vector<Value> items = evaluateAll(node.items, scope);
  runtime.at = at;
  return runtime.list(std::move(items), node.form);
}

Value TemplateInterpreter::evaluate(const DictLiteral &node, Position at,
                                    const VariableScope &scope) {
  Dict dict;
  for (const auto &[key, value] : node.entries) {
    Value name = evaluate(*key, scope);
    runtime.at = key->at;
    if (!name.isString() && !name.isNumber() && !name.is(Kind::None))
      runtime.fail("a ", name.typeName(), " cannot be a key of a dict");
    runtime.step(1 + dict.entries.size() / 8);
    dict.set(name, evaluate(*value, scope));
  }
  runtime.at = at;
  return runtime.dict(std::move(dict));
}

Value TemplateInterpreter::evaluate(const BuiltinCall &node, Position at,
                                    const VariableScope &scope) {
  std::vector<Value> arguments = evaluateAll(node.arguments, scope);
  runtime.at = at;
  const Value &subject = arguments[0];
  if (node.method && !node.method->isOf(subject)) {
    if (subject.is(Kind::Undefined))
      runtime.fail(subject.why());
    runtime.fail("a ", subject.typeName(), " has no method '",
                 node.builtin->name, "'");
  }
  return node.builtin->call(runtime, arguments);
}

Value TemplateInterpreter::evaluate(const Select &node, Position at,
                                    const VariableScope &scope) {
  Value sequence = evaluate(*node.items, scope);
  Value attribute = evaluate(node.attribute, scope);
  Value fallback = evaluate(node.fallback, scope);
  if (fallback.is(Kind::None))
    fallback = {};
  std::vector<Value> arguments = evaluateAll(node.arguments, scope);
  arguments.insert(arguments.begin(), Value());
  runtime.at = at;
  if (!sequence.isTrue()) // Jinja2 tests this before it visits the items
    return runtime.iterator({});
  auto items = itemsOf(runtime, sequence);
  runtime.charge(items->items.size() * sizeof(Value));
  std::vector<Value> out;
  for (const Value &item : items->items) {
    runtime.step();
    Value value =
        node.attribute ? itemAtPath(runtime, item, attribute, fallback) : item;
    if (node.builtin) {
      arguments[0] = std::move(value);
      value = node.builtin->call(runtime, arguments);
    }
    if (node.result == Select::Result::Mapped)
      out.push_back(std::move(value));
    else if (value.isTrue() == (node.result == Select::Result::Selected))
      out.push_back(item);
  }
  return runtime.iterator(std::move(out));
}

Value TemplateInterpreter::evaluate(const Call &node, Position at,
                                    const VariableScope &scope) {
  return call(node, at, scope, Value());
}

Value TemplateInterpreter::evaluate(const Unsupported &node, Position at,
                                    const VariableScope &) {
  runtime.at = at;
  runtime.fail(node.why);
}
