//===- ToolCallScanner.h - an incremental scanner of one tool call --------===//
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

/// Scans {"name": "f", "arguments": {...}} byte by byte, with members in any
/// order. `parameters` counts as `arguments`, and other members are skipped.
/// Arguments are returned as they are written, as soon as the name is known.
/// The scanner finds the end of the object and checks the JSON only as far as
/// this requires: clients get to see a model's mistakes. Not thread-safe.
class ToolCallScanner {
public:
  /// Scans a call that is an object.
  ToolCallScanner() = default;
  /// Scans the arguments of a function whose name is known.
  explicit ToolCallScanner(std::string name);

  enum class Result : uint8_t {
    More, ///< the byte was taken
    Done, ///< the byte was the last one
    Bad   ///< the byte cannot be in a call
  };
  /// Takes the next byte. Must not be called after Done or Bad.
  Result take(char c);

  /// Returns the function's name; empty if it is not known yet.
  const std::string &name() const { return function; }
  /// Returns whether the object has a member that no call has.
  bool hasForeignMember() const { return foreign; }
  /// Returns the part of the arguments that came since the last call, once the
  /// name is known.
  std::string takeArguments();

private:
  enum class State : uint8_t {
    Start,      ///< before the `{`
    Key,        ///< before a key, or the `}`
    InKey,      ///< within the string of a key
    Colon,      ///< before the `:`
    Value,      ///< before a value
    InValue,    ///< within a value
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
  bool inText = false;  ///< within the string of a value or key
  bool escaped = false; ///< after a backslash
  bool isText = false;  ///< the value is a string
  bool hasArguments = false;
  bool foreign = false;
  uint32_t depth = 0; ///< objects and arrays that are open in a value
  std::string key;    ///< as written
  std::string value;  ///< the name, or arguments that are a string
  std::string function;
  std::string arguments; ///< arguments that were not returned yet
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLCALLSCANNER_H
