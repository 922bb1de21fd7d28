//===- RegexSyntax.cpp - translates Oniguruma's patterns to PCRE2 ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two engines agree on most of what tokenizers use, but not on the classes
// \s, \w, \h and \v, on nested sets, on a few quantifiers, or on what follows
// `(?` and `(*`. This translator goes through the pattern once, rewrites what
// has an exact counterpart and refuses the rest, so that no pattern silently
// matches something else.
//
//===----------------------------------------------------------------------===//

#include "runtime/text/RegexSyntax.h"

#include <cctype>

using namespace sluice;

namespace {

// White_Space, written so that the common characters are tested by a bitmap. It
// ends with a property, after which a hyphen is a plain hyphen.
constexpr std::string_view spaceItems = R"(\t-\r\x20\x{85}\x{A0}\p{Z})";
constexpr std::string_view wordItems = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
// Outside sets, Oniguruma also counts Latin-1's superscripts and fractions.
constexpr std::string_view lonelyWordItems =
    R"(\xB2\xB3\xB9\xBC-\xBE\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view hexItems = "0-9a-fA-F";

class Translator {
public:
  explicit Translator(std::string_view pattern) : in(pattern) {}

  Expected<std::string> run() {
    while (at < in.size()) {
      Status status = translateOne();
      if (!status.ok())
        return status;
    }
    return std::move(out);
  }

private:
  Status translateOne() {
    char c = in[at];
    if (c == '\\')
      return translateEscape(/*inSet=*/false);
    if (c == '[')
      return translateSet();
    if (c == '(')
      return translateGroup();
    if (c == '{')
      return translateInterval();
    out += c;
    ++at;
    return {};
  }

  Status refuse(std::string_view what) const {
    return failure("pattern '", in, "' at character ", at, ": ", what,
                   " is not supported");
  }

  char peek(size_t ahead) const {
    return at + ahead < in.size() ? in[at + ahead] : '\0';
  }

  Status translateEscape(bool inSet) {
    if (at + 1 >= in.size())
      return refuse("a backslash at the end");
    char c = in[at + 1];
    switch (c) {
    case 's':
      return className(spaceItems, inSet);
    case 'w':
      return className(inSet ? wordItems : lonelyWordItems, inSet);
    case 'h':
      return className(hexItems, inSet);
    case 'S':
      return inSet ? put(R"(\P{White_Space})") : negated(spaceItems);
    case 'W':
      return inSet ? refuse("\\W inside a set") : negated(lonelyWordItems);
    case 'd':
      return put(R"(\p{Nd})");
    case 'D':
      return put(R"(\P{Nd})");
    case 'v':
      return put(R"(\x0B)");
    case 'r':
    case 'n':
    case 't':
    case 'f':
    case 'a':
    case 'e':
      return put(in.substr(at, 2));
    case 'A':
    case 'z':
    case 'G':
      return inSet ? refuse("an anchor inside a set") : put(in.substr(at, 2));
    case 'p':
    case 'P':
      return translateProperty();
    case 'x':
    case 'u':
      return translateCodePoint(c == 'u');
    default:
      break;
    }
    if (std::isalnum(static_cast<unsigned char>(c)))
      return refuse(std::string("the escape \\") + c);
    // A backslash before any other character, of any length, means that
    // character.
    return put(in.substr(at, 2));
  }

  /// Appends `text`, and skips the two characters of the escape.
  Status put(std::string_view text) {
    out += text;
    at += 2;
    return {};
  }

  Status className(std::string_view items, bool inSet) {
    if (!inSet)
      out += '[';
    out += items;
    if (!inSet)
      out += ']';
    at += 2;
    return {};
  }

  Status negated(std::string_view items) {
    out += "[^";
    out += items;
    out += ']';
    at += 2;
    return {};
  }

  Status translateProperty() {
    size_t close = in.find('}', at);
    if (peek(2) != '{' || close == std::string_view::npos)
      return refuse("a property without braces");
    std::string_view name = in.substr(at + 3, close - at - 3);
    bool plain = !name.empty();
    for (char c : name)
      plain &= std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               (c == '^' && &c == name.data());
    if (!plain)
      return refuse("the property '" + std::string(name) + "'");
    // Names of one or two letters are categories. Most other names are scripts;
    // without `sc:`, PCRE2 would also match characters that only have the
    // script as an extension. The rest are properties with the same name in
    // both engines.
    bool negative = name.starts_with('^');
    if (negative)
      name.remove_prefix(1);
    bool script = name.size() > 2 && name != "Alphabetic" &&
                  name != "White_Space" && name != "Any";
    out += std::string("\\") + in[at + 1] + '{' + (negative ? "^" : "") +
           (script ? "sc:" : "") + std::string(name) + '}';
    at = close + 1;
    return {};
  }

  Status translateCodePoint(bool fourDigits) {
    size_t begin = at + 2, end = begin;
    bool braces = !fourDigits && peek(2) == '{';
    if (braces)
      ++begin, ++end;
    size_t max = fourDigits ? 4 : braces ? 6 : 2;
    while (end < in.size() && end - begin < max &&
           std::isxdigit(static_cast<unsigned char>(in[end])))
      ++end;
    bool complete = end > begin && (!fourDigits || end - begin == 4) &&
                    (!braces || (end < in.size() && in[end] == '}'));
    std::string digits(in.substr(begin, end - begin));
    // Below 0x80, a byte is a character. For \xHH from 0x80 to 0xFF, Oniguruma
    // means a raw byte of the encoding.
    bool rawByte =
        !braces && !fourDigits && digits.size() == 2 && digits[0] >= '8';
    if (!complete || rawByte)
      return refuse("this code point");
    out += "\\x{" + digits + "}";
    at = end + (braces ? 1 : 0);
    return {};
  }

  Status translateGroup() {
    if (peek(1) == '*')
      return refuse("(*");
    if (peek(1) != '?') {
      out += '(';
      ++at;
      return {};
    }
    // At the start of the pattern, an option reaches to its end in both
    // engines. Elsewhere they do not agree on how far it reaches.
    if (at == 0 && in.starts_with("(?i)")) {
      out += "(?i)";
      at += 4;
      return {};
    }
    for (std::string_view open :
         {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"}) {
      if (in.substr(at).starts_with(open)) {
        out += open;
        at += open.size();
        return {};
      }
    }
    return refuse("the group '" + std::string(in.substr(at, 4)) + "'");
  }

  /// {n}, {n,}, {n,m} or {,m}. Both engines read any other braces as text.
  Status translateInterval() {
    size_t i = at + 1;
    auto digits = [&] {
      size_t begin = i;
      while (i < in.size() && std::isdigit(static_cast<unsigned char>(in[i])))
        ++i;
      return in.substr(begin, i - begin);
    };
    std::string_view low = digits();
    bool comma = i < in.size() && in[i] == ',';
    if (comma)
      ++i;
    std::string_view high = comma ? digits() : "";
    if (i >= in.size() || in[i] != '}' || (low.empty() && high.empty())) {
      out += "\\{";
      ++at;
      return {};
    }
    char next = i + 1 < in.size() ? in[i + 1] : '\0';
    if (next == '+' || (next == '?' && !comma))
      return refuse("a quantifier behind an interval");
    out += '{';
    out += low.empty() ? "0" : low;
    if (comma)
      out += ',';
    out += high;
    out += '}';
    at = i + 1;
    return {};
  }

  /// Translates a set. Sets inside it are joined with it, which is their
  /// meaning in Oniguruma if they are not negated.
  Status translateSet() {
    out += '[';
    ++at;
    if (peek(0) == '^') {
      out += '^';
      ++at;
    }
    size_t depth = 1;
    Item last = Item::None;
    while (at < in.size()) {
      char c = in[at];
      if (c == ']') {
        if (last == Item::None)
          return refuse("an empty set");
        ++at;
        if (--depth == 0) {
          out += ']';
          return {};
        }
        continue;
      }
      Status status = translateItem(last, depth);
      if (!status.ok())
        return status;
    }
    return refuse("a set without its end");
  }

  /// The kind of item before a place in a set.
  enum class Item { None, Character, Class, Hyphen };

  /// Returns whether an escape means a class rather than a character.
  static bool isClass(char c) {
    return std::string_view("sSwWdDhpP").find(c) != std::string_view::npos;
  }

  Status translateItem(Item &last, size_t &depth) {
    char c = in[at];
    if (c == '[') {
      if (peek(1) == ':' || peek(1) == '^' || peek(1) == ']' ||
          last == Item::Hyphen)
        return refuse("a set inside a set");
      ++depth;
      ++at;
      return {};
    }
    if (c == '&' && peek(1) == '&')
      return refuse("the intersection of sets");
    if (c == '\\') {
      bool isSet = at + 1 < in.size() && isClass(in[at + 1]);
      if (isSet && last == Item::Hyphen)
        return refuse("a class behind a hyphen");
      last = isSet ? Item::Class : Item::Character;
      return translateEscape(/*inSet=*/true);
    }
    // After a class, a hyphen makes no range.
    if (c == '-' && last == Item::Class) {
      out += "\\-";
      last = Item::Character;
    } else {
      out += c;
      last = c == '-' && last != Item::None ? Item::Hyphen : Item::Character;
    }
    ++at;
    return {};
  }

  std::string_view in;
  std::string out;
  size_t at = 0;
};

} // namespace

Expected<std::string>
sluice::text::translateOniguruma(std::string_view pattern) {
  return Translator(pattern).run();
}
