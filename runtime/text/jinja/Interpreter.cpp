//===- Interpreter.cpp - renders a compiled template: statements ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/jinja/Interpreter.h"

#include "runtime/text/jinja/InterpreterGuards.h"
#include "runtime/text/jinja/Loop.h"
#include "runtime/text/jinja/Operators.h"
#include "runtime/text/jinja/Print.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

const Value *Scope::find(Runtime &runtime, Symbol name) const {
  for (const Scope *scope = this; scope; scope = scope->parent) {
    runtime.step(scope->variables.size() / 32);
    for (const auto &[candidate, value] : scope->variables)
      if (candidate == name)
        return &value;
  }
  return nullptr;
}

Value *Scope::findOwn(Symbol name) {
  for (auto &[candidate, value] : variables)
    if (candidate == name)
      return &value;
  return nullptr;
}

void Scope::set(Symbol name, Value value) {
  if (Value *old = findOwn(name))
    *old = std::move(value);
  else
    variables.emplace_back(name, std::move(value));
}

static std::optional<Symbol> symbolOf(const Template &source,
                                      std::string_view name) {
  auto found = std::find(source.names.begin(), source.names.end(), name);
  if (found == source.names.end())
    return std::nullopt;
  return static_cast<Symbol>(found - source.names.begin());
}

Interpreter::Interpreter(const Template &source, Runtime &runtime)
    : source(source), runtime(runtime), loopName(symbolOf(source, "loop")),
      callerName(symbolOf(source, "caller")) {}

std::string Interpreter::run(const Variables &variables) {
  Scope scope(nullptr);
  for (const Function &function : globalFunctions())
    if (auto name = symbolOf(source, function.name))
      scope.set(*name, Value::function(&function));
  for (const auto &[name, value] : variables)
    if (auto symbol = symbolOf(source, name))
      scope.set(*symbol, value);
  Capture text(*this);
  execute(source.body, scope);
  return text.take();
}

void Interpreter::write(std::string_view text) {
  if (text.size() > runtime.limits.outputBytes - out->size())
    runtime.fail("the text is longer than ", runtime.limits.outputBytes,
                 " bytes");
  runtime.charge(text.size());
  *out += text;
}

Value Interpreter::capture(const Body &body, const Scope &scope) {
  Scope inner(&scope);
  Capture text(*this);
  execute(body, inner);
  return runtime.string(text.take());
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

void Interpreter::assign(const Target::Name &place, Value value, Scope &scope) {
  if (place.attribute.empty()) {
    scope.set(place.name, std::move(value));
    return;
  }
  runtime.at = place.at;
  const Value *space = scope.find(runtime, place.name);
  if (!space || !space->is(Kind::Namespace))
    runtime.fail("'", source.names[place.name], "' is not a namespace");
  runtime.charge(place.attribute.size() + sizeof(Value));
  runtime.step(space->space().attributes.size() / 8);
  space->space().set(place.attribute, std::move(value));
}

void Interpreter::assign(const Target &target, const Value &value,
                         Scope &scope) {
  if (!target.isTuple) {
    assign(target.names[0], value, scope);
    return;
  }
  runtime.at = target.names[0].at;
  auto items = itemsOf(runtime, value);
  if (items->items.size() != target.names.size())
    runtime.fail(items->items.size(), " values for ", target.names.size(),
                 " names");
  for (size_t i = 0; i < target.names.size(); ++i)
    assign(target.names[i], items->items[i], scope);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Interpreter::Flow Interpreter::execute(const Body &body, Scope &scope) {
  for (const Statement &statement : body) {
    DepthGuard guard(*this, statement.at);
    runtime.at = statement.at;
    runtime.step();
    Flow flow = std::visit(
        [&](const auto &node) { return execute(node, scope); }, statement.node);
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Text &node, Scope &) {
  write(node.text);
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Output &node, Scope &scope) {
  Value value = evaluate(*node.value, scope);
  runtime.at = node.value->at;
  if (value.isString())
    write(value.text());
  else
    write(toText(runtime, value));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const If &node, Scope &scope) {
  for (const auto &[condition, body] : node.branches)
    if (evaluate(*condition, scope).isTrue())
      return execute(body, scope);
  return execute(node.otherwise, scope);
}

LoopItems Interpreter::loopItems(const Expression &items, const Scope &scope) {
  const auto *node = std::get_if<Call>(&items.node);
  if (node && std::holds_alternative<Variable>(node->callee->node)) {
    Value callee = evaluate(*node->callee, scope);
    if (callee.is(Kind::Function) && isRange(callee.function())) {
      Arguments arguments = evaluateArguments(node->arguments, scope);
      runtime.at = items.at;
      return LoopItems(rangeItems(runtime, arguments));
    }
  }
  Value sequence = evaluate(items, scope);
  runtime.at = items.at;
  return LoopItems(itemsOf(runtime, sequence));
}

std::optional<Interpreter::Flow> Interpreter::iterate(const For &node,
                                                      Scope &inner) {
  if (!node.endsWhenFalse)
    return execute(node.body, inner);
  const auto &[condition, body] =
      std::get<If>(node.body[0].node).branches.front();
  if (!evaluate(*condition, inner).isTrue())
    return std::nullopt;
  return execute(body, inner);
}

Interpreter::Flow Interpreter::execute(const For &node, Scope &scope) {
  LoopItems items = loopItems(*node.items, scope);
  Loop::Filter filter;
  if (node.filter)
    filter = [&](const Value &item) {
      Scope inner(&scope);
      assign(node.target, item, inner);
      return evaluate(*node.filter, inner).isTrue();
    };
  auto loop = std::make_shared<Loop>(std::move(items), std::move(filter));
  // In Jinja2 an iteration that `break` or `continue` ends does not count for
  // `else`.
  bool completed = false;
  Flow flow = Flow::Next;
  while (flow != Flow::Break && loop->advance()) {
    runtime.step();
    Scope inner(&scope);
    if (loopName)
      inner.set(*loopName, Value::loop(loop));
    assign(node.target, loop->current(), inner);
    std::optional<Flow> next = iterate(node, inner);
    flow = next.value_or(Flow::Break);
    completed |= flow == Flow::Next || !next;
  }
  loop->finish();
  if (!completed) {
    Scope inner(&scope);
    return execute(node.otherwise, inner);
  }
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Break &, Scope &) {
  return Flow::Break;
}

Interpreter::Flow Interpreter::execute(const Continue &, Scope &) {
  return Flow::Continue;
}

Value *Interpreter::findAssigned(const Target::Name &place, Scope &scope) {
  if (place.attribute.empty())
    return scope.findOwn(place.name);
  const Value *space = scope.find(runtime, place.name);
  if (!space || !space->is(Kind::Namespace))
    return nullptr;
  runtime.step(space->space().attributes.size() / 8);
  return space->space().find(place.attribute);
}

void Interpreter::append(const Set &node, Scope &scope) {
  const Target::Name &place = node.target.names[0];
  const auto &parts = std::get<Concatenation>(node.value->node).parts;
  Value before = evaluate(*parts[0], scope);
  std::string more = textOf(std::span(parts).subspan(1), node.value->at, scope);
  runtime.at = node.value->at;
  Value *held = findAssigned(place, scope);
  // A macro that one of the parts calls can have assigned another text to it.
  if (held && before.is(Kind::String) && held->isSame(before)) {
    if (before.text().size() + more.size() > maxTextBytes)
      runtime.fail("a text is longer than ", maxTextBytes, " bytes");
    before = Value(); // so that it shares the text no longer
    if (held->append(more))
      return;
    before = *held;
  }
  std::string text = toText(runtime, before);
  runtime.charge(text.size());
  assign(place, runtime.string(std::move(text += more)), scope);
}

Interpreter::Flow Interpreter::execute(const Set &node, Scope &scope) {
  if (node.appends) {
    append(node, scope);
    return Flow::Next;
  }
  assign(node.target, evaluate(*node.value, scope), scope);
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const SetBlock &node, Scope &scope) {
  assign(node.target, capture(node.body, scope), scope);
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Macro &node, Scope &scope) {
  // Macros are defined in the outermost scope, which lives to the end.
  runtime.charge(sizeof(Callable));
  Callable *callable =
      &callables.emplace_back(Callable{node.definition.get(), &scope});
  scope.set(node.definition->name, Value::callable(callable));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const CallBlock &node, Scope &scope) {
  runtime.charge(sizeof(Callable));
  Callable *caller =
      &callables.emplace_back(Callable{node.caller.get(), &scope});
  Value text = call(std::get<Call>(node.call->node), node.call->at, scope,
                    Value::callable(caller));
  caller->isAlive = false;
  runtime.at = node.call->at;
  write(toText(runtime, text));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const FilterBlock &node, Scope &scope) {
  Scope inner(&scope);
  inner.set(node.captured, capture(node.body, scope));
  Value text = evaluate(*node.filtered, inner);
  runtime.at = node.filtered->at;
  write(toText(runtime, text));
  return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Generation &node, Scope &scope) {
  Scope inner(&scope);
  return execute(node.body, inner);
}
