//===- TemplateInterpreter.h - renders a compiled template ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Renders a template by walking its tree. A variable is looked up when it is
// read, from the scope of the innermost block outwards. Jinja2 resolves scopes
// when it compiles, which differs in one case: if a loop or macro reads a name
// before the template around it sets that name, Jinja2 finds it undefined, and
// this interpreter finds the caller's variable.
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_TEMPLATEINTERPRETER_H
#define SLUICE_RUNTIME_JINJA_TEMPLATEINTERPRETER_H

#include "runtime/jinja/Ast.h"
#include "runtime/jinja/LoopValue.h"
#include "runtime/jinja/Runtime.h"

#include <deque>

namespace sluice::text::jinja {

/// The variables of a block. Lives on the stack while the block is executed.
class VariableScope {
public:
  explicit VariableScope(const VariableScope *parent) : parent(parent) {}

  /// Finds a variable here or in an outer scope; null if there is none.
  const Value *find(Runtime &runtime, Symbol name) const;
  /// Finds a variable in this scope only.
  Value *findOwn(Symbol name);
  void set(Symbol name, Value value);

private:
  const VariableScope *parent;
  std::vector<std::pair<Symbol, Value>> variables;
};

/// A macro, or a call block's body, as a value. Owned by TemplateInterpreter.
struct Callable {
  const MacroDefinition *definition;
  const VariableScope *scope; ///< the scope in which it is defined
  /// False after a call block has ended: its body cannot be called any more.
  bool isAlive = true;
};

/// Renders one template once.
class TemplateInterpreter {
public:
  using Variables = std::vector<std::pair<std::string, Value>>;

  TemplateInterpreter(const Template &source, Runtime &runtime);

  /// Returns the text that the template writes with `variables` and the global
  /// functions. Throws TemplateError.
  std::string run(const Variables &variables);

private:
  enum class Flow : uint8_t { Next, Break, Continue };

  /// Counts how deep the interpreter's recursion is; fails at `at` when it
  /// exceeds the limit.
  class DepthGuard;
  /// Captures what is written during its lifetime.
  class Capture;

  // Statements (TemplateInterpreter.cpp).
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
  /// Returns what `body` writes, in a scope inside `scope`.
  Value capture(const Body &body, const VariableScope &scope);
  /// Returns the items of a loop over the expression `items`.
  LoopItems loopItems(const Expression &items, const VariableScope &scope);
  /// Runs one iteration; returns nothing if the remaining iterations would do
  /// nothing.
  std::optional<Flow> iterate(const For &node, VariableScope &inner);
  /// Runs a statement that appends (Set::appends). The text is extended in
  /// place if no other value shares it, so many such statements take a time
  /// proportional to what they add.
  void append(const Set &node, VariableScope &scope);
  /// Returns the value that an assignment to `place` would replace; null if
  /// there is none yet.
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
  /// Returns Missing for null.
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
  /// Returns the texts of the expressions, joined.
  std::string textOf(std::span<const ExpressionPtr> parts, Position at,
                     const VariableScope &scope);
  bool compare(ComparisonChain::Operator op, const Value &left,
               const Value &right);
  std::vector<Value> evaluateAll(const std::vector<ExpressionPtr> &expressions,
                                 const VariableScope &scope);

  const Template &source;
  Runtime &runtime;
  std::optional<Symbol> loopName;   ///< of `loop`, if the template reads it
  std::optional<Symbol> callerName; ///< of `caller`, if the template reads it
  std::string *out = nullptr;       ///< what write() appends to
  uint32_t depth = 0;
  std::deque<Callable> callables;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_TEMPLATEINTERPRETER_H
