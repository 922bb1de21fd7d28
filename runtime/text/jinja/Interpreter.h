//===- Interpreter.h - renders a compiled template ------------------------===//
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

#ifndef SLUICE_RUNTIME_TEXT_JINJA_INTERPRETER_H
#define SLUICE_RUNTIME_TEXT_JINJA_INTERPRETER_H

#include "runtime/text/jinja/Ast.h"
#include "runtime/text/jinja/Loop.h"
#include "runtime/text/jinja/Runtime.h"

#include <deque>

namespace sluice::text::jinja {

/// The variables of a block. Lives on the stack of who executes the block.
class Scope {
public:
  explicit Scope(const Scope *parent) : parent(parent) {}

  /// Here or further out; nullptr where nothing has the name.
  const Value *find(Runtime &runtime, Symbol name) const;
  /// Here alone.
  Value *findOwn(Symbol name);
  void set(Symbol name, Value value);

private:
  const Scope *parent;
  std::vector<std::pair<Symbol, Value>> variables;
};

/// A macro, or a call block's body, as a value. Owned by the Interpreter.
struct Callable {
  const MacroDefinition *definition;
  const Scope *scope;  ///< where it is defined
  bool isAlive = true; ///< a call block's body cannot be called after its end
};

/// Renders one template once.
class Interpreter {
public:
  using Variables = std::vector<std::pair<std::string, Value>>;

  Interpreter(const Template &source, Runtime &runtime);

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
  Flow execute(const Body &body, Scope &scope);
  Flow execute(const Text &node, Scope &scope);
  Flow execute(const Output &node, Scope &scope);
  Flow execute(const If &node, Scope &scope);
  Flow execute(const For &node, Scope &scope);
  Flow execute(const Break &node, Scope &scope);
  Flow execute(const Continue &node, Scope &scope);
  Flow execute(const Set &node, Scope &scope);
  Flow execute(const SetBlock &node, Scope &scope);
  Flow execute(const Macro &node, Scope &scope);
  Flow execute(const CallBlock &node, Scope &scope);
  Flow execute(const FilterBlock &node, Scope &scope);
  Flow execute(const Generation &node, Scope &scope);

  void write(std::string_view text);
  /// What `body` writes, in a scope inside of `scope`.
  Value capture(const Body &body, const Scope &scope);
  /// What a loop goes through. `items`: its expression.
  LoopItems loopItems(const Expression &items, const Scope &scope);
  /// One iteration. Nothing: those that are left would do nothing.
  std::optional<Flow> iterate(const For &node, Scope &inner);
  /// Runs a statement that appends. The text stays where it is if nobody else
  /// holds it, so that many of them take a time in proportion to what they add.
  void append(const Set &node, Scope &scope);
  /// Where the value is that the place would be assigned to; null: nowhere yet.
  Value *findAssigned(const Target::Name &place, Scope &scope);
  void assign(const Target &target, const Value &value, Scope &scope);
  void assign(const Target::Name &place, Value value, Scope &scope);

  // Calls (Calls.cpp).
  Value call(const Call &node, Position at, const Scope &scope,
             const Value &caller);
  Arguments evaluateArguments(const CallArguments &arguments,
                              const Scope &scope);
  Value callMacro(const Callable &callable, Arguments arguments,
                  const Value &caller);
  void bindParameters(const MacroDefinition &definition, Arguments arguments,
                      Scope &scope);

  // Expressions (Evaluate.cpp).
  Value evaluate(const Expression &expression, const Scope &scope);
  /// Missing for null.
  Value evaluate(const ExpressionPtr &expression, const Scope &scope);
  Value evaluate(const Constant &node, Position at, const Scope &scope);
  Value evaluate(const Variable &node, Position at, const Scope &scope);
  Value evaluate(const Attribute &node, Position at, const Scope &scope);
  Value evaluate(const Item &node, Position at, const Scope &scope);
  Value evaluate(const Slice &node, Position at, const Scope &scope);
  Value evaluate(const Unary &node, Position at, const Scope &scope);
  Value evaluate(const Binary &node, Position at, const Scope &scope);
  Value evaluate(const Logical &node, Position at, const Scope &scope);
  Value evaluate(const Comparison &node, Position at, const Scope &scope);
  Value evaluate(const Concatenation &node, Position at, const Scope &scope);
  Value evaluate(const Conditional &node, Position at, const Scope &scope);
  Value evaluate(const ListLiteral &node, Position at, const Scope &scope);
  Value evaluate(const DictLiteral &node, Position at, const Scope &scope);
  Value evaluate(const BuiltinCall &node, Position at, const Scope &scope);
  Value evaluate(const Select &node, Position at, const Scope &scope);
  Value evaluate(const Call &node, Position at, const Scope &scope);
  Value evaluate(const Unsupported &node, Position at, const Scope &scope);
  /// The texts of expressions, joined.
  std::string textOf(std::span<const ExpressionPtr> parts, Position at,
                     const Scope &scope);
  bool compare(Comparison::Operator op, const Value &left, const Value &right);
  std::vector<Value> evaluateAll(const std::vector<ExpressionPtr> &expressions,
                                 const Scope &scope);

  const Template &source;
  Runtime &runtime;
  std::optional<Symbol> loopName;   ///< of `loop`, if the template reads it
  std::optional<Symbol> callerName; ///< of `caller`
  std::string *out = nullptr;       ///< where write() writes
  uint32_t depth = 0;
  std::deque<Callable> callables;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_INTERPRETER_H
