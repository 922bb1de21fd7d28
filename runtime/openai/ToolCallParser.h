//===- ToolCallParser.h - an incremental parser of tool calls -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_OPENAI_TOOLCALLPARSER_H
#define SLUICE_RUNTIME_OPENAI_TOOLCALLPARSER_H

#include "runtime/openai/ChoiceText.h"
#include "runtime/openai/ToolCallScanner.h"

namespace sluice::openai {

/// Separates the text of an answer from tool calls. The answer comes in pieces
/// of any size. Whatever the syntax says, the body of a call may be an object,
/// an array of objects, or a name and arguments: it begins with `{`, with `[`,
/// or with neither.
///
/// If text that begins like a call turns out not to be one, it becomes text,
/// from its marker on, unless its name was reported already. White space around
/// calls is dropped. Not thread-safe. `use` must outlive the parser.
class ToolCallParser {
public:
  /// The ids of calls are made from `idSeed`.
  ToolCallParser(const ToolUse &use, uint64_t idSeed);

  ChoicePiece push(std::string_view text);
  /// Returns what was held back, when no more text comes.
  ChoicePiece finish();

  int64_t calls() const { return reported; }
  /// Returns whether the only permitted call is complete; further text is
  /// ignored.
  bool isComplete() const { return state == State::Complete; }

private:
  enum class State : uint8_t {
    Text,      ///< searching for markers
    BodyStart, ///< after a marker
    Name,      ///< in the name of a call that is a name and arguments
    Call,      ///< in the scanner
    Between,   ///< between calls of an array
    Behind,    ///< after a bare call; another may follow
    Complete
  };

  void take(char c, ChoicePiece &out);
  void takeText(char c, ChoicePiece &out);
  void takeBodyStart(char c, ChoicePiece &out);
  void takeName(char c, ChoicePiece &out);
  void takeCall(char c, ChoicePiece &out);
  void takeBetween(char c, ChoicePiece &out);
  void takeBehind(char c, ChoicePiece &out);

  void startCall(ToolCallScanner with, char first, ChoicePiece &out);
  void endCall();
  void startBody();
  void giveUp(ChoicePiece &out);
  void giveUp(char c, ChoicePiece &out);
  void release(size_t bytes, ChoicePiece &out);
  void tell(ChoicePiece &out);
  bool isForeign() const;
  std::string newId();

  const ToolUse *use;
  uint64_t idState;
  State state = State::Text;
  ToolCallScanner scanner;
  std::string held; ///< white space, or text that may begin a marker
  /// The text, from its marker on, of a call whose name was not reported yet.
  std::string raw;
  std::string name;    ///< the name so far
  bool isBare = false; ///< the call has no marker
  bool isArray = false;
  bool nameReported = false; ///< the name of this call was reported
  bool bodyReported = false; ///< the name of a call of this body was reported
  bool skipSpace = false;    ///< white space that comes next follows a call
  bool atStart = true;       ///< nothing but white space has come
  int64_t reported = 0;      ///< number of calls whose names were reported
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLCALLPARSER_H
