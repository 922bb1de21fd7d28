//===- Ast.h - a template as a tree ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_AST_H
#define SLUICE_RUNTIME_TEXT_JINJA_AST_H

#include "runtime/text/jinja/Builtins.h"

#include <optional>

namespace sluice::text::jinja {

/// A variable's name, as its index in Template::names.
using Symbol = uint32_t;

/// The most variables of a template; published ones have up to some sixty.
/// They are looked for one by one.
inline constexpr size_t maxNames = 500;

/// How deep expressions may nest; a + b + c is two deep.
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

/// object[start:stop:step]; bounds can be null.
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

/// `and` and `or`, which give one of their operands.
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

/// chosen if condition else otherwise; `otherwise` can be null.
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

/// A filter, test or method with its subject, arguments[0]; those that were
/// not given are null.
struct BuiltinCall {
  const Builtin *builtin;
  const Method *method; ///< if it is one, else null
  std::vector<ExpressionPtr> arguments;
};

/// map, select, reject, selectattr and rejectattr: what becomes of each item.
struct Select {
  enum class Result : uint8_t { Mapped, Selected, Rejected };
  Result result;
  ExpressionPtr items;
  ExpressionPtr attribute;              ///< of the item; null: the item itself
  ExpressionPtr fallback;               ///< for an attribute that is undefined
  const Builtin *builtin;               ///< the filter or test; null: none
  std::vector<ExpressionPtr> arguments; ///< its own, behind the subject
};

/// What stands in a call's parentheses.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

/// A call of a macro or a global function.
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};

/// What cannot be evaluated, such as a filter that nobody knows. An error where
/// it is reached and nowhere else, as in Jinja2: templates have branches for
/// conversations that never come.
struct Unsupported {
  std::string why;
};

struct Expression {
  Position at;
  uint32_t depth; ///< 1 + that of the deepest operand
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

/// What is assigned to: a name, a namespace's attribute, or a tuple of them.
struct Target {
  struct Name {
    Position at;
    Symbol name;
    std::string attribute; ///< empty: the name itself
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
  ExpressionPtr filter; ///< or null
  Body body;
  Body otherwise;
  /// The body is one `if` without `else`, whose condition asks for nothing that
  /// is the loop's and changes nothing: once it is false it stays false, and
  /// the iterations that are left would do nothing. Templates look for the last
  /// message of a kind so, from every message.
  bool endsWhenFalse = false;
};

struct Break {};
struct Continue {};

struct Set {
  Target target;
  ExpressionPtr value;
  /// It is {% set x = x ~ more %} or {% set space.x = space.x ~ more %}, as
  /// templates write that put a text together from many messages.
  bool appends = false;
};

struct SetBlock {
  Target target;
  Body body;
};

struct Parameter {
  Symbol name;
  ExpressionPtr otherwise; ///< or null
};

/// A macro, or the body of a call block.
struct MacroDefinition {
  Symbol name;
  std::vector<Parameter> parameters;
  Body body;
  bool usesCaller = false;
};

/// Sets the macro's name.
struct Macro {
  std::unique_ptr<MacroDefinition> definition;
};

/// {% call(parameters) macro() %}: the body is the macro's `caller`.
struct CallBlock {
  std::unique_ptr<MacroDefinition> caller;
  ExpressionPtr call;
};

/// {% filter upper %}: `filtered` finds the body's text in `captured`.
struct FilterBlock {
  Symbol captured;
  ExpressionPtr filtered;
  Body body;
};

/// {% generation %}: a scope; its marks are of use in training only.
struct GenerationBlock {
  Body body;
};

struct Statement {
  Position at;
  std::variant<RawText, Output, If, For, Break, Continue, Set, SetBlock, Macro,
               CallBlock, FilterBlock, GenerationBlock>
      node;
};

/// A compiled template. Immutable, so that threads can share it.
struct Template {
  /// What fails where it is reached: an Unsupported, or a call of a function
  /// that nothing sets.
  struct Refusal {
    Position at;
    std::string why;
  };

  Body body;
  std::vector<std::string> names; ///< of the variables, by Symbol
  std::vector<Refusal> refusals;  ///< in the order of the text
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_AST_H
