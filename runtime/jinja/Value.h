//===- Value.h - values of a template's expressions -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of Python that chat templates use. All but namespaces and
// iterators are immutable, and copies share their content, also across the
// threads that render one template, whose constants are values. (A string that
// no other value shares can grow.)
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_VALUE_H
#define SLUICE_RUNTIME_JINJA_VALUE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::text::jinja {

/// The type of integers. Python's have no limit; these are limited to 64 bits
/// and a sign, which is the range of the JSON reader.
using Integer = __int128;
inline constexpr Integer maxInteger = UINT64_MAX;

/// The deepest nesting of lists and dicts. Code that walks a value recurses as
/// deep.
inline constexpr uint32_t maxValueDepth = 100;

/// The longest text. Splitting a text, for example into its characters, takes
/// several times its memory before that is counted.
inline constexpr size_t maxTextBytes = size_t(16) << 20;

struct List;
struct Dict;
struct Iterator;
struct Namespace;
class LoopValue;
struct Callable;
struct BuiltinFunction;

class Value {
public:
  /// The kinds, in the order of the variant below.
  enum class Kind : uint8_t {
    Missing,   ///< no value: an argument that was not given
    Undefined, ///< Jinja's: prints as nothing, fails in most other uses
    None,
    Bool,
    Int,
    Float,
    String,
    Markup, ///< a string that went through `safe`; see Operators.h
    List,   ///< also tuples, ranges and views
    Dict,
    Iterator,
    Namespace,
    Loop,
    Callable, ///< a macro of the template, or a call block's body
    Function, ///< a global function
    Method    ///< of a string, list or dict; known only by its name
  };

  Value() = default;

  /// `why` is the error's text when the value is used: "'x' is undefined".
  static Value undefined(std::string why);
  static Value none() { return Value(std::monostate()); }
  static Value boolean(bool value) { return Value(value); }
  /// `value` must be within +-maxInteger.
  static Value integer(Integer value) { return Value(value); }
  static Value real(double value) { return Value(value); }
  /// `text` must be valid UTF-8.
  static Value string(std::string text);
  static Value markup(std::string text);
  static Value list(std::shared_ptr<const List> list) {
    return Value(std::move(list));
  }
  static Value dict(std::shared_ptr<const Dict> dict) {
    return Value(std::move(dict));
  }
  static Value iterator(std::shared_ptr<const List> items);
  static Value space(Namespace *space) { return Value(space); }
  static Value loop(std::shared_ptr<LoopValue> loop) {
    return Value(std::move(loop));
  }
  static Value callable(Callable *callable) { return Value(callable); }
  static Value function(const BuiltinFunction *function) {
    return Value(function);
  }
  static Value method(std::string_view name) { return Value(MethodName{name}); }

  Kind kind() const { return static_cast<Kind>(data.index()); }
  bool is(Kind other) const { return kind() == other; }
  bool isString() const { return is(Kind::String) || is(Kind::Markup); }
  /// Booleans count as integers, as in Python.
  bool isInteger() const { return is(Kind::Int) || is(Kind::Bool); }
  bool isNumber() const { return isInteger() || is(Kind::Float); }

  /// Return the content. The value must be of the kind that the method names.
  const std::string &why() const {
    return *std::get<UndefinedReason>(data).why;
  }
  bool boolean() const { return std::get<bool>(data); }
  Integer integer() const {
    return is(Kind::Bool) ? Integer(boolean()) : std::get<Integer>(data);
  }
  double number() const {
    return is(Kind::Float) ? std::get<double>(data) : double(integer());
  }
  const std::string &text() const {
    return is(Kind::Markup) ? *std::get<MarkupText>(data).text
                            : *std::get<RawText>(data);
  }
  const std::shared_ptr<const List> &list() const {
    return std::get<std::shared_ptr<const List>>(data);
  }
  const std::shared_ptr<const Dict> &dict() const {
    return std::get<std::shared_ptr<const Dict>>(data);
  }
  Iterator &iterator() const {
    return *std::get<std::shared_ptr<Iterator>>(data);
  }
  Namespace &space() const { return *std::get<Namespace *>(data); }
  LoopValue &loop() const {
    return *std::get<std::shared_ptr<LoopValue>>(data);
  }
  Callable &callable() const { return *std::get<Callable *>(data); }
  const BuiltinFunction &function() const {
    return *std::get<const BuiltinFunction *>(data);
  }

  /// Returns whether both are the same string object, not only of equal text.
  bool isSame(const Value &other) const {
    const RawText *own = std::get_if<RawText>(&data);
    const RawText *others = std::get_if<RawText>(&other.data);
    return own && others && *own == *others;
  }
  /// Appends to a string (not Markup) that no other value shares. Otherwise
  /// does nothing and returns false.
  bool append(std::string_view more);

  /// Returns Python's name of the type, for messages; "undefined" for
  /// Undefined.
  std::string_view typeName() const;

  /// Returns the truth value, as `if` uses it.
  bool isTrue() const;

private:
  using RawText = std::shared_ptr<const std::string>;
  struct UndefinedReason {
    RawText why;
  };
  struct MarkupText {
    RawText text;
  };
  struct MethodName {
    std::string_view name;
  };
  struct NoValue {};
  using Data =
      std::variant<NoValue, UndefinedReason, std::monostate, bool, Integer,
                   double, RawText, MarkupText, std::shared_ptr<const List>,
                   std::shared_ptr<const Dict>, std::shared_ptr<Iterator>,
                   Namespace *, std::shared_ptr<LoopValue>, Callable *,
                   const BuiltinFunction *, MethodName>;

  template <typename T>
  explicit Value(T value) : data(std::in_place_type<T>, std::move(value)) {}

  Data data;
};

struct List {
  /// Lists and tuples are never equal. Ranges and views cannot be printed, and
  /// views (of dicts) cannot be indexed.
  enum class Form : uint8_t { List, Tuple, Range, View };
  std::vector<Value> items;
  Form form = Form::List;
  uint32_t depth = 1; ///< 1 + the depth of its deepest item
};

/// A dict in the order in which its keys were first inserted. Keys are strings,
/// numbers, booleans or none. A search takes time proportional to its size.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  uint32_t depth = 1; ///< 1 + the depth of its deepest value

  /// Returns the value of a key, or null.
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  void set(const Value &key, Value value);
};

/// The result of Jinja2's generators, whose items can be read only once.
struct Iterator {
  std::shared_ptr<const List> items;
  size_t next = 0;
};

/// The only mutable object. Owned by the Runtime, so that namespaces that hold
/// each other are freed too.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;

  const Value *find(std::string_view name) const;
  Value *find(std::string_view name);
  void set(std::string_view name, Value value);
};

/// Return 1 + the depth of the deepest value.
uint32_t depthAbove(const std::vector<Value> &values);
uint32_t depthAbove(const Dict &dict);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_VALUE_H
