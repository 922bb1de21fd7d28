//===- ToolCallScanner.h - reads one call of a tool as it comes -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_TOOLCALLSCANNER_H
#define SLUICE_RUNTIME_OPENAI_TOOLCALLSCANNER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::openai {

/// Reads {"name": "f", "arguments": {...}} byte by byte, members in any order;
/// `parameters` is `arguments` too, others are passed over. Arguments come out
/// as they are written, as soon as the name is known. It finds out where the
/// object ends, and checks no more of the JSON than that takes: a model's
/// mistakes are the client's to see. Thread-compatible.
class ToolCallScanner {
public:
  /// For a call as an object.
  ToolCallScanner() = default;
  /// For the arguments alone, of a function whose name is known.
  explicit ToolCallScanner(std::string name);

  enum class Result : uint8_t {
    More, ///< the byte was taken
    Done, ///< it was the last
    Bad   ///< it cannot be in a call
  };
  /// After Done or Bad it takes nothing more.
  Result take(char c);

  /// The function's; empty: not known yet.
  const std::string &name() const { return function; }
  /// A member has come that no call has.
  bool hasForeignMember() const { return foreign; }
  /// What has come of the arguments since the last call, once the name is
  /// known.
  std::string takeArguments();

private:
  enum class State : uint8_t {
    Start,      ///< before the `{`
    Key,        ///< before a key, or the `}`
    InKey,      ///< within its string
    Colon,      ///< before the `:`
    Value,      ///< before a value
    InValue,    ///< within one
    AfterValue, ///< before `,` or `}`
  };
  enum class Member : uint8_t { Other, Name, Arguments };

  Result inString(char c);
  Result startValue(char c);
  Result inValue(char c);
  Result endValue();
  Result afterValue(char c);
  Result end();
  void keep(char c);

  State state = State::Start;
  Member member = Member::Other;
  bool argumentsOnly = false;
  bool inText = false;  ///< within a string of a value, or of a key
  bool escaped = false; ///< behind a backslash
  bool isText = false;  ///< the value is a string
  bool hasArguments = false;
  bool foreign = false;
  uint32_t depth = 0; ///< objects and arrays that are open within a value
  std::string key;    ///< as written
  std::string value;  ///< of `name`, or of arguments that are a string
  std::string function;
  std::string arguments; ///< that have not been taken
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLCALLSCANNER_H
