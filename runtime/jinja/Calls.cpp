//===- Calls.cpp - renders a compiled template: calls ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/InterpreterGuards.h"
#include "runtime/jinja/TemplateInterpreter.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Value::Kind;

ArgumentValues
TemplateInterpreter::evaluateArguments(const CallArguments &arguments,
                                       const VariableScope &scope) {
  ArgumentValues made;
  made.positional = evaluateAll(arguments.positional, scope);
  for (const auto &[name, value] : arguments.named)
    made.named.emplace_back(name, evaluate(*value, scope));
  return made;
}

/// Calls a macro or a function. `caller` is the body of a call block that makes
/// this call, else Missing.
Value TemplateInterpreter::call(const Call &node, Position at,
                                const VariableScope &scope,
                                const Value &caller) {
  Value callee = evaluate(*node.callee, scope);
  ArgumentValues arguments = evaluateArguments(node.arguments, scope);
  runtime.at = at;
  if (callee.is(Kind::Callable))
    return callMacro(callee.callable(), std::move(arguments), caller);
  if (callee.is(Kind::Function) && caller.is(Kind::Missing))
    return callee.function().run(runtime, arguments);
  if (callee.is(Kind::Undefined))
    runtime.fail(callee.why());
  runtime.fail("a ", callee.typeName(), " cannot be called",
               caller.is(Kind::Missing) ? "" : " with a block");
}

/// Sets the parameters in the macro's scope, from left to right, since a
/// default can refer to parameters before it.
void TemplateInterpreter::bindParameters(const MacroDefinition &definition,
                                         ArgumentValues arguments,
                                         VariableScope &scope) {
  const std::vector<Parameter> &parameters = definition.parameters;
  const std::string &name = source.names[definition.name];
  if (arguments.positional.size() > parameters.size())
    runtime.fail("macro '", name, "' does not take ",
                 arguments.positional.size(), " arguments");
  std::vector<Value> given = std::move(arguments.positional);
  given.resize(parameters.size());
  for (auto &[key, value] : arguments.named) {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Parameter &parameter) {
                                return source.names[parameter.name] == key;
                              });
    if (found == parameters.end())
      runtime.fail("macro '", name, "' has no argument '", key, "'");
    Value &place = given[static_cast<size_t>(found - parameters.begin())];
    if (!place.is(Kind::Missing))
      runtime.fail("macro '", name, "' has two arguments '", key, "'");
    place = std::move(value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (given[i].is(Kind::Missing))
      given[i] = parameters[i].otherwise
                     ? evaluate(*parameters[i].otherwise, scope)
                     : Value::undefined("parameter '" +
                                        source.names[parameters[i].name] +
                                        "' was not provided");
    scope.set(parameters[i].name, std::move(given[i]));
  }
}

Value TemplateInterpreter::callMacro(const Callable &callable,
                                     ArgumentValues arguments,
                                     const Value &caller) {
  const MacroDefinition &definition = *callable.definition;
  if (!callable.isAlive)
    runtime.fail("caller() is called after the end of its block");
  if (!definition.usesCaller && !caller.is(Kind::Missing))
    runtime.fail("macro '", source.names[definition.name],
                 "' does not use caller()");
  Position at = runtime.at;
  DepthGuard guard(*this, at);
  VariableScope scope(callable.scope);
  if (definition.usesCaller)
    scope.set(*callerName, caller.is(Kind::Missing)
                               ? Value::undefined("there is no call block")
                               : caller);
  bindParameters(definition, std::move(arguments), scope);
  Capture text(*this);
  execute(definition.body, scope);
  runtime.at = at;
  return runtime.string(text.take());
}
