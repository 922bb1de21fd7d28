//===- ToolCallParser.h - calls of tools in a model's text ----------------===//
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

/// Takes the text of an answer in pieces, however they are cut, and tells text
/// from calls of tools. A body may be an object, an array of them, or a name
/// and arguments, whatever the syntax says: it begins with `{`, `[` or neither.
///
/// What begins as a call and turns out to be none is text, from its marker on,
/// unless its name has been reported already. White space around calls is not
/// text. Thread-compatible. `use` outlives it.
class ToolCallParser {
public:
  /// `idSeed`: ids of calls are made of it.
  ToolCallParser(const ToolUse &use, uint64_t idSeed);

  ChoicePiece push(std::string_view text);
  /// No more text comes: what was held back.
  ChoicePiece finish();

  int64_t calls() const { return reported; }
  /// The one call that there may be is complete: text is passed over.
  bool isComplete() const { return state == State::Complete; }

private:
  enum class State : uint8_t {
    Text,      ///< where markers are looked for
    BodyStart, ///< behind a marker
    Name,      ///< of a call that is a name and arguments
    Call,      ///< in the scanner
    Between,   ///< calls of an array
    Behind,    ///< a bare call: another may follow
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
  std::string held;    ///< text that may turn out to be a marker, or space
  std::string raw;     ///< of a call whose name has not been reported, from its
                       ///< marker on
  std::string name;    ///< while it is read
  bool isBare = false; ///< a call without a marker
  bool isArray = false;
  bool nameReported = false; ///< of this call
  bool bodyReported = false; ///< the name of a call of this body has been
  bool skipSpace = false;    ///< what comes next stands behind a call
  bool atStart = true;       ///< nothing but space has come
  int64_t reported = 0;      ///< calls whose names have been
};

} // namespace sluice::openai

#endif // SLUICE_RUNTIME_OPENAI_TOOLCALLPARSER_H
