//===- Ast.h - the syntax tree of a template ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_AST_H
#define SLUICE_RUNTIME_JINJA_AST_H

#include "runtime/jinja/Builtins.h"

#include <optional>

namespace sluice::text::jinja {

/// A variable's name, as its index in Template::names.
using Symbol = uint32_t;

/// The most variables that a template may have. Published templates have up to
/// about sixty. They are searched linearly.
inline constexpr size_t maxNames = 500;

/// The deepest nesting of expressions; a + b + c has depth two.
inline constexpr uint32_t maxExpressionDepth = 200;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Constant {
  Value value;
};

struct Variable {
  Symbol name;
};

/// object.name
struct Attribute {
  ExpressionPtr object;
  std::string name;
};

/// object[key]
struct Item {
  ExpressionPtr object;
  ExpressionPtr key;
};

/// object[start:stop:step]; bounds may be null.
struct Slice {
  ExpressionPtr object;
  ExpressionPtr start;
  ExpressionPtr stop;
  ExpressionPtr step;
};

struct Unary {
  enum class Operator : uint8_t { Negate, Affirm, Not };
  Operator op;
  ExpressionPtr operand;
};

struct Binary {
  using Operator = Value (*)(Runtime &, const Value &, const Value &);
  Operator op;
  ExpressionPtr left;
  ExpressionPtr right;
};

/// `and` and `or`, which evaluate to one of their operands.
struct Logical {
  bool isAnd;
  ExpressionPtr left;
  ExpressionPtr right;
};

/// first < second <= third ...
struct ComparisonChain {
  enum class Operator : uint8_t {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn
  };
  ExpressionPtr first;
  std::vector<std::pair<Operator, ExpressionPtr>> rest;
};

/// left ~ right ~ ...
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};

/// chosen if condition else otherwise; `otherwise` may be null.
struct Conditional {
  ExpressionPtr condition;
  ExpressionPtr chosen;
  ExpressionPtr otherwise;
};

struct ListLiteral {
  List::Form form;
  std::vector<ExpressionPtr> items;
};

struct DictLiteral {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};

/// A call of a filter, test or method. arguments[0] is its subject; arguments
/// that were not given are null.
struct BuiltinCall {
  const Builtin *builtin;
  const Method *method; ///< null if it is no method
  std::vector<ExpressionPtr> arguments;
};

/// map, select, reject, selectattr and rejectattr, which treat each item alike.
struct Select {
  enum class Result : uint8_t { Mapped, Selected, Rejected };
  Result result;
  ExpressionPtr items;
  ExpressionPtr attribute; ///< of the item; null for the item itself
  ExpressionPtr fallback;  ///< replaces an undefined attribute
  const Builtin *builtin;  ///< the filter or test; may be null
  /// Those of `builtin`, without its subject.
  std::vector<ExpressionPtr> arguments;
};

/// The arguments of a call.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

/// A call of a macro or a global function.
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};

/// An expression that cannot be evaluated, such as an unknown filter. As in
/// Jinja2, it is an error only where it is reached: templates have branches for
/// conversations that never come.
struct Unsupported {
  std::string why;
};

struct Expression {
  Position at;
  uint32_t depth; ///< 1 + the depth of the deepest operand
  std::variant<Constant, Variable, Attribute, Item, Slice, Unary, Binary,
               Logical, ComparisonChain, Concatenation, Conditional,
               ListLiteral, DictLiteral, BuiltinCall, Select, Call, Unsupported>
      node;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct Statement;
using Body = std::vector<Statement>;

/// The target of an assignment: a name, a namespace's attribute, or a tuple of
/// them.
struct Target {
  struct Name {
    Position at;
    Symbol name;
    std::string attribute; ///< empty for the name itself
  };
  std::vector<Name> names;
  bool isTuple = false;
};

struct RawText {
  std::string text;
};

struct Output {
  ExpressionPtr value;
};

struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};

struct For {
  Target target;
  ExpressionPtr items;
  ExpressionPtr filter; ///< may be null
  Body body;
  Body otherwise;
  /// The body is one `if` without `else`, whose condition does not depend on
  /// the loop and changes nothing. Once it is false it stays false, so the
  /// remaining iterations would do nothing. Templates look in this way for the
  /// last message of a kind, starting from every message.
  bool endsWhenFalse = false;
};

struct Break {};
struct Continue {};

struct Set {
  Target target;
  ExpressionPtr value;
  /// The statement is {% set x = x ~ more %} or {% set space.x = space.x ~ more
  /// %}. Templates that put a text together from many messages use it.
  bool appends = false;
};

struct SetBlock {
  Target target;
  Body body;
};

struct Parameter {
  Symbol name;
  ExpressionPtr otherwise; ///< may be null
};

/// A macro, or the body of a call block.
struct MacroDefinition {
  Symbol name;
  std::vector<Parameter> parameters;
  Body body;
  bool usesCaller = false;
};

/// Assigns a macro to its name.
struct Macro {
  std::unique_ptr<MacroDefinition> definition;
};

/// {% call(parameters) macro() %}. The macro calls the body as `caller`.
struct CallBlock {
  std::unique_ptr<MacroDefinition> caller;
  ExpressionPtr call;
};

/// {% filter upper %}. `filtered` reads the body's text from `captured`.
struct FilterBlock {
  Symbol captured;
  ExpressionPtr filtered;
  Body body;
};

/// {% generation %}: only a scope, since its marks serve training alone.
struct GenerationBlock {
  Body body;
};

struct Statement {
  Position at;
  std::variant<RawText, Output, If, For, Break, Continue, Set, SetBlock, Macro,
               CallBlock, FilterBlock, GenerationBlock>
      node;
};

/// A compiled template. Immutable, so threads can share it.
struct Template {
  /// An expression that fails where it is reached: an Unsupported, or a call of
  /// a function that nothing defines.
  struct Refusal {
    Position at;
    std::string why;
  };

  Body body;
  std::vector<std::string> names; ///< of the variables, by Symbol
  std::vector<Refusal> refusals;  ///< in the order of the text
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_AST_H
