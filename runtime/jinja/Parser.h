//===- Parser.h - parses a template ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive descent parser for Jinja2's grammar. Constructs of the grammar
// that are not supported are refused here, by name.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_PARSER_H
#define SLUICE_RUNTIME_JINJA_PARSER_H

#include "runtime/jinja/Ast.h"
#include "runtime/jinja/Lexer.h"

#include <initializer_list>
#include <set>

namespace sluice::text::jinja {

class Parser {
public:
  explicit Parser(std::vector<Lexeme> tokens) : tokens(std::move(tokens)) {}

  /// Parses the template. Throws TemplateError.
  Template run();

private:
  // Tokens.
  const Lexeme &current() const { return tokens[next]; }
  const Lexeme &following() const {
    return tokens[next + 1 < tokens.size() ? next + 1 : next];
  }
  Lexeme take();
  bool isOperator(std::string_view text) const;
  bool isName(std::string_view text) const;
  bool skipOperator(std::string_view text);
  bool skipName(std::string_view text);
  void expectOperator(std::string_view text);
  void expectName(std::string_view text);
  void expect(Lexeme::Kind kind, std::string_view what);
  std::string takeName(std::string_view what);
  [[noreturn]] void refuseToken(std::string_view expected) const;
  Symbol symbol(std::string_view name);

  // Statements (Parser.cpp).
  Body parseBody(std::initializer_list<std::string_view> ends);
  Body parseBlock(Position start, std::string_view name,
                  std::initializer_list<std::string_view> ends);
  Body parseScope(Position start, std::string_view name, std::string_view end);
  Statement parseStatement();
  Statement parseIf(Position at);
  Statement parseFor(Position at);
  Statement parseSet(Position at);
  Statement parseMacro(Position at);
  Statement parseCallBlock(Position at);
  Statement parseFilterBlock(Position at);
  Statement parseLoopControl(Position at, bool isBreak);
  Statement parseOtherFile(Position at, const std::string &name);
  std::vector<Parameter> parseParameters();
  Target parseTarget(bool ofSet);
  Symbol takeAssigned();
  void collectRefusals();

  // Expressions (ExpressionParser.cpp).
  ExpressionPtr parseExpression();
  ExpressionPtr parseTuple(bool withConditional, bool inParentheses = false);
  ExpressionPtr parseOr();
  ExpressionPtr parseAnd();
  ExpressionPtr parseNot();
  ExpressionPtr parseComparison();
  ExpressionPtr parseSum();
  ExpressionPtr parseConcatenation();
  ExpressionPtr parseProduct();
  ExpressionPtr parseUnary(bool withFilters);
  ExpressionPtr parsePrimary();
  ExpressionPtr parseNumber();
  ExpressionPtr parseVariable();
  ExpressionPtr parseList();
  ExpressionPtr parseDict();
  ExpressionPtr parsePostfix(ExpressionPtr object);
  ExpressionPtr parseAttribute(ExpressionPtr object);
  ExpressionPtr parseSubscript(ExpressionPtr object);
  ExpressionPtr parseFilters(ExpressionPtr value);

  /// Limits the depth of the parser's recursion.
  class DepthGuard;

  // Calls (CallParser.cpp).
  ExpressionPtr parseCall(ExpressionPtr callee);
  ExpressionPtr parseFilter(ExpressionPtr value);
  ExpressionPtr parseTest(ExpressionPtr value);
  CallArguments parseArguments();
  ExpressionPtr makeSelect(const Lexeme &name, ExpressionPtr items,
                           CallArguments arguments);
  ExpressionPtr makeCall(Position at, const Builtin &builtin,
                         const Method *method, std::string_view what,
                         ExpressionPtr subject, CallArguments arguments);
  std::vector<ExpressionPtr> bindArguments(Position at, const Builtin &builtin,
                                           std::string_view what,
                                           CallArguments arguments);

  /// Makes an expression whose deepest operand has depth `deepest`.
  template <typename Node>
  ExpressionPtr make(Position at, Node node, uint32_t deepest = 0) {
    if (deepest >= maxExpressionDepth)
      failAt(at, "expressions nest deeper than ", maxExpressionDepth,
             " levels");
    return ExpressionPtr(new Expression{at, deepest + 1, std::move(node)});
  }

  /// Makes an expression that fails where it is reached.
  ExpressionPtr unsupported(Position at, std::string why) {
    tree.refusals.push_back({at, why});
    return make(at, Unsupported{std::move(why)});
  }

  /// Returns the result of `makeCall`; if it throws an UnsupportedError, an
  /// expression that fails where it is reached.
  template <typename MakeCall> ExpressionPtr orUnsupported(MakeCall makeCall) {
    try {
      return makeCall();
    } catch (const UnsupportedError &error) {
      return unsupported(error.at, error.message);
    }
  }

  /// A call of a name that is no global function. The name is undefined unless
  /// the template sets it.
  struct UnknownFunction {
    Position at;
    Symbol name;
  };

  std::vector<Lexeme> tokens;
  size_t next = 0;
  Template tree;
  std::set<Symbol> assigned; ///< by set, for, macro, or as a parameter
  std::vector<UnknownFunction> unknownFunctions;
  uint32_t depth = 0;      ///< of the parser's own recursion
  uint32_t loopDepth = 0;  ///< loops to which break and continue can belong
  uint32_t scopeDepth = 0; ///< bodies in which no macro can be defined
  bool callerUsed = false; ///< in the macro that is being parsed
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_PARSER_H
