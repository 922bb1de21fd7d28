//===- Lexer.cpp - splits a template into tokens --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/Lexer.h"

#include "runtime/jinja/PythonText.h"
#include "runtime/jinja/StringLiteral.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

using namespace sluice::text;
using namespace sluice::text::jinja;

using Kind = Lexeme::Kind;

std::string jinja::normalizeTemplate(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r')
      out += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n')
      out += '\n';
  }
  if (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isNameCharacter(char c) {
  return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

namespace {

class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) {}

  std::vector<Lexeme> run();

private:
  void add(Kind kind, size_t at, std::string text = "");
  bool startsWith(std::string_view text) const {
    return source.substr(pos).starts_with(text);
  }
  void skipSpace();

  void addData(std::string_view text, size_t tag);
  void skipComment(size_t tag);
  void readTag(bool block);
  bool readTagEnd(bool block);
  void readToken();
  void readNumber();
  void readString();
  void readOperator();
  void balance(char c);

  std::string_view source;
  size_t pos = 0;
  // The last tag ended with its line, or there was no tag.
  bool lineStarting = true;
  // The closing brackets of those that are open in this tag.
  std::string closers;
  std::vector<Lexeme> tokens;
};

void Lexer::add(Kind kind, size_t at, std::string text) {
  tokens.push_back({kind, {static_cast<uint32_t>(at)}, std::move(text)});
}

void Lexer::skipSpace() {
  std::string_view rest = source.substr(pos);
  pos += rest.size() - stripSpace(rest, {true, false}).size();
}

/// Adds the text before the tag at `tag`, without the parts that the tag
/// strips.
void Lexer::addData(std::string_view text, size_t tag) {
  size_t start = pos;
  char sign = tag + 2 < source.size() ? source[tag + 2] : '\0';
  if (sign == '-') {
    text = stripSpace(text, {false, true});
  } else if (sign != '+' && source[tag + 1] != '{') {
    size_t line = text.rfind('\n') + 1; // 0 if there is none
    if ((line > 0 || lineStarting) && stripSpace(text.substr(line)).empty())
      text = text.substr(0, line);
  }
  if (!text.empty())
    add(Kind::Data, start, std::string(text));
}

/// Skips the comment that starts at `tag`.
void Lexer::skipComment(size_t tag) {
  size_t start = pos;
  size_t end = source.find("#}", start);
  if (end == std::string_view::npos)
    failAt({static_cast<uint32_t>(tag)}, "the comment is not closed");
  char sign = end > start ? source[end - 1] : '\0';
  pos = end + 2;
  if (sign == '-')
    skipSpace();
  else if (sign != '+' && startsWith("\n"))
    ++pos;
  lineStarting = source[pos - 1] == '\n';
}

/// Reads the end of a tag, if it is next. While a dict is open, closing braces
/// belong to the dict.
bool Lexer::readTagEnd(bool block) {
  std::string_view end = block ? "%}" : "}}";
  if (!closers.empty())
    return false;
  size_t at = pos;
  bool strips = startsWith("-") && source.substr(pos + 1).starts_with(end);
  bool keeps =
      block && startsWith("+") && source.substr(pos + 1).starts_with(end);
  if (!strips && !keeps && !startsWith(end))
    return false;
  pos += end.size() + (strips || keeps ? 1 : 0);
  if (strips)
    skipSpace();
  else if (block && !keeps && startsWith("\n"))
    ++pos;
  lineStarting = source[pos - 1] == '\n';
  add(block ? Kind::BlockEnd : Kind::VariableEnd, at);
  return true;
}

void Lexer::readNumber() {
  size_t start = pos;
  // Skips digits with single underscores between them.
  auto skipDigits = [&](size_t at) {
    while (at < source.size() &&
           (isDigit(source[at]) ||
            (source[at] == '_' && at > 0 && isDigit(source[at - 1]) &&
             at + 1 < source.size() && isDigit(source[at + 1]))))
      ++at;
    return at;
  };
  auto digitAt = [&](size_t at) {
    return at < source.size() && isDigit(source[at]);
  };
  size_t end = skipDigits(pos);
  bool isFloat = false;
  // In a.0.1 the numbers are two indices.
  if (start == 0 || source[start - 1] != '.') {
    if (end < source.size() && source[end] == '.' && digitAt(end + 1)) {
      isFloat = true;
      end = skipDigits(end + 1);
    }
    if (end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
      size_t power = end + 1;
      if (power < source.size() &&
          (source[power] == '+' || source[power] == '-'))
        ++power;
      if (digitAt(power)) {
        isFloat = true;
        end = skipDigits(power);
      }
    }
  }
  std::string text(source.substr(start, end - start));
  std::erase(text, '_');
  if (!isFloat && text[0] == '0' &&
      text.find_first_not_of('0') != std::string::npos)
    failAt({static_cast<uint32_t>(start)}, "a number starts with 0");
  if (end < source.size() && isNameCharacter(source[end]))
    failAt({static_cast<uint32_t>(start)}, "'",
           source.substr(start, end + 1 - start), "' is not a number");
  pos = end;
  add(isFloat ? Kind::Float : Kind::Integer, start, std::move(text));
}

void Lexer::readString() {
  size_t start = pos;
  char quote = source[pos];
  size_t end = start + 1;
  while (end < source.size() && source[end] != quote)
    end += source[end] == '\\' ? 2 : 1;
  if (end >= source.size())
    failAt({static_cast<uint32_t>(start)}, "the string is not closed");
  pos = end + 1;
  add(Kind::String, start,
      unescapeLiteral(source.substr(start + 1, end - start - 1),
                      {static_cast<uint32_t>(start + 1)}));
}

/// Keeps track of open brackets.
void Lexer::balance(char c) {
  if (c == '(' || c == '[' || c == '{') {
    closers += c == '(' ? ')' : c == '[' ? ']' : '}';
  } else if (c == ')' || c == ']' || c == '}') {
    if (closers.empty() || closers.back() != c)
      failAt({static_cast<uint32_t>(pos)}, "unexpected '", c, "'");
    closers.pop_back();
  }
}

void Lexer::readOperator() {
  static constexpr std::string_view twoCharacters[] = {
      "//", "**", "==", "!=", ">=", "<="};
  static constexpr std::string_view oneCharacter = "+-*/%~[](){}<>=.:|,;";
  size_t length = 0;
  if (std::any_of(std::begin(twoCharacters), std::end(twoCharacters),
                  [&](std::string_view op) { return startsWith(op); }))
    length = 2;
  else if (oneCharacter.find(source[pos]) != std::string_view::npos)
    length = 1;
  else
    failAt({static_cast<uint32_t>(pos)}, "unexpected character '",
           source.substr(pos, characterLength(source[pos])), "'");
  if (length == 1)
    balance(source[pos]);
  add(Kind::Operator, pos, std::string(source.substr(pos, length)));
  pos += length;
}

void Lexer::readToken() {
  char c = source[pos];
  if (isDigit(c)) {
    readNumber();
  } else if (isNameCharacter(c)) {
    size_t start = pos;
    while (pos < source.size() && isNameCharacter(source[pos]))
      ++pos;
    add(Kind::Name, start, std::string(source.substr(start, pos - start)));
  } else if (c == '\'' || c == '"') {
    readString();
  } else {
    readOperator();
  }
}

/// Reads a tag, from after its begin to after its end.
void Lexer::readTag(bool block) {
  closers.clear();
  size_t first = tokens.size();
  while (true) {
    skipSpace();
    // If the tag is not closed, the parser says which tag it is.
    if (pos == source.size() || readTagEnd(block))
      return;
    readToken();
    // The content of a raw block is no tokens.
    if (block && tokens.size() == first + 1 && tokens.back().text == "raw")
      failAt(tokens.back().at, "statement 'raw' is not supported");
  }
}

std::vector<Lexeme> Lexer::run() {
  while (pos < source.size()) {
    size_t tag = pos;
    while (tag < source.size() &&
           !(source[tag] == '{' && tag + 1 < source.size() &&
             (source[tag + 1] == '{' || source[tag + 1] == '%' ||
              source[tag + 1] == '#')))
      ++tag;
    if (tag == source.size()) {
      add(Kind::Data, pos, std::string(source.substr(pos)));
      break;
    }
    addData(source.substr(pos, tag - pos), tag);
    char type = source[tag + 1];
    pos = tag + 2;
    if (pos < source.size() && (source[pos] == '-' || source[pos] == '+'))
      ++pos;
    if (type == '#') {
      skipComment(tag);
      continue;
    }
    add(type == '%' ? Kind::BlockBegin : Kind::VariableBegin, tag);
    readTag(type == '%');
  }
  add(Kind::End, source.size());
  return std::move(tokens);
}

} // namespace

std::vector<Lexeme> jinja::tokenize(std::string_view source) {
  return Lexer(source).run();
}
