//===- TemplateInterpreter.h - renders a compiled template ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Walks the tree. A variable is looked up when it is read, in the scope of the
// innermost block and outwards. Jinja2 resolves scopes when it compiles, which
// shows in one place: a loop or macro that reads a name before the template
// around it sets that name finds it undefined there, and the caller's variable
// here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEINTERPRETER_H
#define SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEINTERPRETER_H

#include "runtime/text/jinja/Ast.h"
#include "runtime/text/jinja/LoopValue.h"
#include "runtime/text/jinja/Runtime.h"

#include <deque>

namespace sluice::text::jinja {

/// The variables of a block. Lives on the stack of who executes the block.
class VariableScope {
public:
  explicit VariableScope(const VariableScope *parent) : parent(parent) {}

  /// Here or further out; nullptr where nothing has the name.
  const Value *find(Runtime &runtime, Symbol name) const;
  /// Here alone.
  Value *findOwn(Symbol name);
  void set(Symbol name, Value value);

private:
  const VariableScope *parent;
  std::vector<std::pair<Symbol, Value>> variables;
};

/// A macro, or a call block's body, as a value. Owned by the Interpreter.
struct Callable {
  const MacroDefinition *definition;
  const VariableScope *scope; ///< where it is defined
  bool isAlive = true; ///< a call block's body cannot be called after its end
};

/// Renders one template once.
class TemplateInterpreter {
public:
  using Variables = std::vector<std::pair<std::string, Value>>;

  TemplateInterpreter(const Template &source, Runtime &runtime);

  /// The text that the template writes, where it knows `variables` and the
  /// global functions. Throws TemplateError.
  std::string run(const Variables &variables);

private:
  enum class Flow : uint8_t { Next, Break, Continue };

  /// Counts how deep the interpreter is, at `at`; fails at the limit.
  class DepthGuard;
  /// Catches what is written while it lives.
  class Capture;

  // Statements (Interpreter.cpp).
  Flow execute(const Body &body, VariableScope &scope);
  Flow execute(const RawText &node, VariableScope &scope);
  Flow execute(const Output &node, VariableScope &scope);
  Flow execute(const If &node, VariableScope &scope);
  Flow execute(const For &node, VariableScope &scope);
  Flow execute(const Break &node, VariableScope &scope);
  Flow execute(const Continue &node, VariableScope &scope);
  Flow execute(const Set &node, VariableScope &scope);
  Flow execute(const SetBlock &node, VariableScope &scope);
  Flow execute(const Macro &node, VariableScope &scope);
  Flow execute(const CallBlock &node, VariableScope &scope);
  Flow execute(const FilterBlock &node, VariableScope &scope);
  Flow execute(const GenerationBlock &node, VariableScope &scope);

  void write(std::string_view text);
  /// What `body` writes, in a scope inside of `scope`.
  Value capture(const Body &body, const VariableScope &scope);
  /// What a loop goes through. `items`: its expression.
  LoopItems loopItems(const Expression &items, const VariableScope &scope);
  /// One iteration. Nothing: those that are left would do nothing.
  std::optional<Flow> iterate(const For &node, VariableScope &inner);
  /// Runs a statement that appends. The text stays where it is if nobody else
  /// holds it, so that many of them take a time in proportion to what they add.
  void append(const Set &node, VariableScope &scope);
  /// Where the value is that the place would be assigned to; null: nowhere yet.
  Value *findAssigned(const Target::Name &place, VariableScope &scope);
  void assign(const Target &target, const Value &value, VariableScope &scope);
  void assign(const Target::Name &place, Value value, VariableScope &scope);

  // Calls (Calls.cpp).
  Value call(const Call &node, Position at, const VariableScope &scope,
             const Value &caller);
  ArgumentValues evaluateArguments(const CallArguments &arguments,
                                   const VariableScope &scope);
  Value callMacro(const Callable &callable, ArgumentValues arguments,
                  const Value &caller);
  void bindParameters(const MacroDefinition &definition,
                      ArgumentValues arguments, VariableScope &scope);

  // Expressions (Evaluate.cpp).
  Value evaluate(const Expression &expression, const VariableScope &scope);
  /// Missing for null.
  Value evaluate(const ExpressionPtr &expression, const VariableScope &scope);
  Value evaluate(const Constant &node, Position at, const VariableScope &scope);
  Value evaluate(const Variable &node, Position at, const VariableScope &scope);
  Value evaluate(const Attribute &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const Item &node, Position at, const VariableScope &scope);
  Value evaluate(const Slice &node, Position at, const VariableScope &scope);
  Value evaluate(const Unary &node, Position at, const VariableScope &scope);
  Value evaluate(const Binary &node, Position at, const VariableScope &scope);
  Value evaluate(const Logical &node, Position at, const VariableScope &scope);
  Value evaluate(const ComparisonChain &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const Concatenation &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const Conditional &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const ListLiteral &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const DictLiteral &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const BuiltinCall &node, Position at,
                 const VariableScope &scope);
  Value evaluate(const Select &node, Position at, const VariableScope &scope);
  Value evaluate(const Call &node, Position at, const VariableScope &scope);
  Value evaluate(const Unsupported &node, Position at,
                 const VariableScope &scope);
  /// The texts of expressions, joined.
  std::string textOf(std::span<const ExpressionPtr> parts, Position at,
                     const VariableScope &scope);
  bool compare(ComparisonChain::Operator op, const Value &left,
               const Value &right);
  std::vector<Value> evaluateAll(const std::vector<ExpressionPtr> &expressions,
                                 const VariableScope &scope);

  const Template &source;
  Runtime &runtime;
  std::optional<Symbol> loopName;   ///< of `loop`, if the template reads it
  std::optional<Symbol> callerName; ///< of `caller`
  std::string *out = nullptr;       ///< where write() writes
  uint32_t depth = 0;
  std::deque<Callable> callables;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_TEMPLATEINTERPRETER_H
