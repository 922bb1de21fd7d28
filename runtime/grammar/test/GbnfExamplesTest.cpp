//===- GbnfExamplesTest.cpp - grammars like llama.cpp's examples ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grammars like llama.cpp's examples, with the constructs that these use: JSON,
// arithmetic, lists, chess, a subset of C, and Japanese.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/test/TestGrammars.h"

using namespace sluice;
using namespace sluice::grammar;

namespace {

TEST(GbnfExamplesTest, Json) {
  Grammar grammar = gbnf(R"gbnf(
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
    member ("," ws member)*
  )? "}" ws
member ::= string ":" ws value

array ::= "[" ws ( value ("," ws value)* )? "]" ws

string ::= "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws

# space is written behind what it follows
ws ::= | " " | "\n" [ \t]{0,20}
)gbnf");
  EXPECT_TRUE(
      matches(grammar, R"({"a": [1, -2.5e+3, "x\n\u00e9", {}], "b":null})"));
  EXPECT_TRUE(matches(grammar, "{\n  \"a\": true\n}\n"));
  EXPECT_FALSE(matches(grammar, "[1]"));
  EXPECT_FALSE(matches(grammar, R"({"a": 01})"));
  EXPECT_FALSE(matches(grammar, R"({"a" 1})"));
  EXPECT_FALSE(matches(grammar, R"({"a": "\x"})"));
  EXPECT_EQ(match(grammar, R"({"a": [1, )"), Match::Prefix);
}

TEST(GbnfExamplesTest, Arithmetic) {
  Grammar grammar = gbnf(R"gbnf(
root ::= (sum "=" ws atom "\n")+
sum ::= atom ([-+*/] atom)*
atom ::= name | digits | "(" ws sum ")" ws
name ::= [a-z] [a-z0-9_]* ws
digits ::= [0-9]+ ws
ws ::= [ \t\n]*
)gbnf");
  EXPECT_TRUE(matches(grammar, "1+2=3\n"));
  EXPECT_TRUE(matches(grammar, "(a *( b_1 -2)) /4= x\n1 =1\n"));
  EXPECT_FALSE(matches(grammar, "1+=2\n"));
  EXPECT_FALSE(matches(grammar, "(1=1\n"));
}

TEST(GbnfExamplesTest, Lists) {
  Grammar grammar = gbnf(R"gbnf(
root ::= line+
# no kind of line break in a line
line ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n"
)gbnf");
  EXPECT_TRUE(matches(grammar, "- one\n- zwölf …\n"));
  EXPECT_FALSE(matches(grammar, "- one"));
  EXPECT_FALSE(matches(grammar, "- \n"));
  EXPECT_FALSE(matches(grammar, "- a\u2028b\n"));
}

TEST(GbnfExamplesTest, Chess) {
  Grammar grammar = gbnf(R"gbnf(
# the first pair of moves, and at least one more
root ::= (
    "1. " move " " move "\n"
    ([1-9] [0-9]? ". " move " " move "\n")+
)
move ::= (piece | pawn | castling) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castling ::= "O-O" "-O"?
)gbnf");
  EXPECT_TRUE(matches(grammar, "1. e4 e5\n2. Nf3 Nc6\n12. exd8=Q+ O-O-O#\n"));
  EXPECT_FALSE(matches(grammar, "1. e4 e5\n"));
  EXPECT_FALSE(matches(grammar, "1. e4 e5\n2. Ni3 Nc6\n"));
}

TEST(GbnfExamplesTest, C) {
  Grammar grammar = gbnf(R"gbnf(
root ::= (function)*
function ::= type name "(" parameter? ")" "{" statement* "}"
type ::= "int" ws | "float" ws | "char" ws
name ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= type name
statement ::=
  ( type name ws "=" ws sum ";" ) |
  ( name ws "=" ws sum ";" ) |
  ( name ws "(" arguments? ")" ";" ) |
  ( "return" ws sum ";" ) |
  ( "while" "(" condition ")" "{" statement* "}" ) |
  ( "if" "(" condition ")" "{" statement* "}" ("else" "{" statement* "}")? ) |
  ( "//" [^\n]* "\n" ) |
  ( "/*" ( [^*] | ("*" [^/]) )* "*/" )
condition ::= sum ("<=" | "<" | "==" | "!=" | ">=" | ">") sum
sum ::= product (("+" | "-") product)*
product ::= factor(("*" | "/") factor)*
factor ::= name | [0-9]+ | "-" factor | name "(" arguments? ")" | "(" ws sum ws ")"
arguments ::= sum ("," ws sum)*
ws ::= ([ \t\n]+)
)gbnf");
  EXPECT_TRUE(matches(grammar, "int main(){return 0+f(-x, y)*2;}"));
  EXPECT_TRUE(matches(grammar,
                      "int f(int n){if(n<2){return n;}else{/* * */f (n);}"
                      "while(n>=0){n = n-1;}// end\n}"));
  EXPECT_TRUE(matches(grammar, "int f(){int integer = 1;returned = 2;}"));
  EXPECT_FALSE(matches(grammar, "int f(){return 0;"));
  EXPECT_FALSE(matches(grammar, "int f(){return (1;}"));
}

TEST(GbnfExamplesTest, Japanese) {
  Grammar grammar = gbnf(R"gbnf(
root ::= letter+ ([ \t\n] letter+)*
letter ::= hiragana | katakana | mark | ideograph
hiragana ::= [ぁ-ゟ]
katakana ::= [ァ-ヿ]
mark ::= [、-〾]
ideograph ::= [一-鿿]
)gbnf");
  EXPECT_TRUE(matches(grammar, "日本語 テキスト、です。"));
  EXPECT_FALSE(matches(grammar, "abc"));
  EXPECT_FALSE(matches(grammar, "日本語 "));
}

} // namespace
