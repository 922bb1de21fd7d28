//===- TemplateInterpreter.cpp - renders a compiled template: statements --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/TemplateInterpreter.h"

#include "runtime/jinja/InterpreterGuards.h"
#include "runtime/jinja/LoopValue.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Print.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

const Value *VariableScope::find(Runtime &runtime, Symbol name) const {
  for (const VariableScope *scope = this; scope; scope = scope->parent) {
    runtime.step(scope->variables.size() / 32);
    for (const auto &[candidate, value] : scope->variables)
      if (candidate == name)
        return &value;
  }
  return nullptr;
}

Value *VariableScope::findOwn(Symbol name) {
  for (auto &[candidate, value] : variables)
    if (candidate == name)
      return &value;
  return nullptr;
}

void VariableScope::set(Symbol name, Value value) {
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

TemplateInterpreter::TemplateInterpreter(const Template &source,
                                         Runtime &runtime)
    : source(source), runtime(runtime), loopName(symbolOf(source, "loop")),
      callerName(symbolOf(source, "caller")) {}

std::string TemplateInterpreter::run(const Variables &variables) {
  VariableScope scope(nullptr);
  for (const BuiltinFunction &function : globalFunctions())
    if (auto name = symbolOf(source, function.name))
      scope.set(*name, Value::function(&function));
  for (const auto &[name, value] : variables)
    if (auto symbol = symbolOf(source, name))
      scope.set(*symbol, value);
  Capture text(*this);
  execute(source.body, scope);
  return text.take();
}

void TemplateInterpreter::write(std::string_view text) {
  if (text.size() > runtime.limits.outputBytes - out->size())
    runtime.fail("the text is longer than ", runtime.limits.outputBytes,
                 " bytes");
  runtime.charge(text.size());
  *out += text;
}

Value TemplateInterpreter::capture(const Body &body,
                                   const VariableScope &scope) {
  VariableScope inner(&scope);
  Capture text(*this);
  execute(body, inner);
  return runtime.string(text.take());
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

void TemplateInterpreter::assign(const Target::Name &place, Value value,
                                 VariableScope &scope) {
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

void TemplateInterpreter::assign(const Target &target, const Value &value,
                                 VariableScope &scope) {
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

TemplateInterpreter::Flow TemplateInterpreter::execute(const Body &body,
                                                       VariableScope &scope) {
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

TemplateInterpreter::Flow TemplateInterpreter::execute(const RawText &node,
                                                       VariableScope &) {
  write(node.text);
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const Output &node,
                                                       VariableScope &scope) {
  Value value = evaluate(*node.value, scope);
  runtime.at = node.value->at;
  if (value.isString())
    write(value.text());
  else
    write(toText(runtime, value));
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const If &node,
                                                       VariableScope &scope) {
  for (const auto &[condition, body] : node.branches)
    if (evaluate(*condition, scope).isTrue())
      return execute(body, scope);
  return execute(node.otherwise, scope);
}

LoopItems TemplateInterpreter::loopItems(const Expression &items,
                                         const VariableScope &scope) {
  const auto *node = std::get_if<Call>(&items.node);
  if (node && std::holds_alternative<Variable>(node->callee->node)) {
    Value callee = evaluate(*node->callee, scope);
    if (callee.is(Kind::Function) && isRange(callee.function())) {
      ArgumentValues arguments = evaluateArguments(node->arguments, scope);
      runtime.at = items.at;
      return LoopItems(rangeItems(runtime, arguments));
    }
  }
  Value sequence = evaluate(items, scope);
  runtime.at = items.at;
  return LoopItems(itemsOf(runtime, sequence));
}

std::optional<TemplateInterpreter::Flow>
TemplateInterpreter::iterate(const For &node, VariableScope &inner) {
  if (!node.endsWhenFalse)
    return execute(node.body, inner);
  const auto &[condition, body] =
      std::get<If>(node.body[0].node).branches.front();
  if (!evaluate(*condition, inner).isTrue())
    return std::nullopt;
  return execute(body, inner);
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const For &node,
                                                       VariableScope &scope) {
  LoopItems items = loopItems(*node.items, scope);
  LoopValue::Filter filter;
  if (node.filter)
    filter = [&](const Value &item) {
      VariableScope inner(&scope);
      assign(node.target, item, inner);
      return evaluate(*node.filter, inner).isTrue();
    };
  auto loop = std::make_shared<LoopValue>(std::move(items), std::move(filter));
  // As in Jinja2, iterations that `break` or `continue` ends do not count for
  // `else`.
  bool completed = false;
  Flow flow = Flow::Next;
  while (flow != Flow::Break && loop->advance()) {
    runtime.step();
    VariableScope inner(&scope);
    if (loopName)
      inner.set(*loopName, Value::loop(loop));
    assign(node.target, loop->current(), inner);
    std::optional<Flow> next = iterate(node, inner);
    flow = next.value_or(Flow::Break);
    completed |= flow == Flow::Next || !next;
  }
  loop->finish();
  if (!completed) {
    VariableScope inner(&scope);
    return execute(node.otherwise, inner);
  }
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const Break &,
                                                       VariableScope &) {
  return Flow::Break;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const Continue &,
                                                       VariableScope &) {
  return Flow::Continue;
}

Value *TemplateInterpreter::findAssigned(const Target::Name &place,
                                         VariableScope &scope) {
  if (place.attribute.empty())
    return scope.findOwn(place.name);
  const Value *space = scope.find(runtime, place.name);
  if (!space || !space->is(Kind::Namespace))
    return nullptr;
  runtime.step(space->space().attributes.size() / 8);
  return space->space().find(place.attribute);
}

void TemplateInterpreter::append(const Set &node, VariableScope &scope) {
  const Target::Name &place = node.target.names[0];
  const auto &parts = std::get<Concatenation>(node.value->node).parts;
  Value before = evaluate(*parts[0], scope);
  std::string more = textOf(std::span(parts).subspan(1), node.value->at, scope);
  runtime.at = node.value->at;
  Value *held = findAssigned(place, scope);
  // A macro that a part calls can have assigned another text to the variable.
  if (held && before.is(Kind::String) && held->isSame(before)) {
    if (before.text().size() + more.size() > maxTextBytes)
      runtime.fail("a text is longer than ", maxTextBytes, " bytes");
    before = Value(); // so that it no longer shares the text
    if (held->append(more))
      return;
    before = *held;
  }
  std::string text = toText(runtime, before);
  runtime.charge(text.size());
  assign(place, runtime.string(std::move(text += more)), scope);
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const Set &node,
                                                       VariableScope &scope) {
  if (node.appends) {
    append(node, scope);
    return Flow::Next;
  }
  assign(node.target, evaluate(*node.value, scope), scope);
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const SetBlock &node,
                                                       VariableScope &scope) {
  assign(node.target, capture(node.body, scope), scope);
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const Macro &node,
                                                       VariableScope &scope) {
  // Macros are defined in the outermost scope, which lives until the end.
  runtime.charge(sizeof(Callable));
  Callable *callable =
      &callables.emplace_back(Callable{node.definition.get(), &scope});
  scope.set(node.definition->name, Value::callable(callable));
  return Flow::Next;
}

TemplateInterpreter::Flow TemplateInterpreter::execute(const CallBlock &node,
                                                       VariableScope &scope) {
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

TemplateInterpreter::Flow TemplateInterpreter::execute(const FilterBlock &node,
                                                       VariableScope &scope) {
  VariableScope inner(&scope);
  inner.set(node.captured, capture(node.body, scope));
  Value text = evaluate(*node.filtered, inner);
  runtime.at = node.filtered->at;
  write(toText(runtime, text));
  return Flow::Next;
}

TemplateInterpreter::Flow
TemplateInterpreter::execute(const GenerationBlock &node,
                             VariableScope &scope) {
  VariableScope inner(&scope);
  return execute(node.body, inner);
}
