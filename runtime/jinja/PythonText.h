//===- PythonText.h - Python's operations on strings ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the methods of Python's strings on UTF-8. Texts are valid UTF-8;
// counts and indices are in code points. Case mappings are Unicode's simple
// ones, which map one character to one, except for two: U+00DF becomes "SS" (in
// title case "Ss"), and U+0130 in lower case becomes i and U+0307.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_PYTHONTEXT_H
#define SLUICE_RUNTIME_JINJA_PYTHONTEXT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text::jinja {

/// str.isspace() of one character: White_Space and U+001C to U+001F.
bool isPythonSpace(uint32_t codePoint);

size_t codePointCount(std::string_view text);

/// Returns the offsets of the characters of `text` and, last, its length.
std::vector<size_t> characterOffsets(std::string_view text);

/// The ends at which strip() works.
struct Ends {
  bool left = true;
  bool right = true;
};
/// strip() of white space.
std::string_view stripSpace(std::string_view text, Ends ends = {});
/// strip(characters).
std::string_view stripCharacters(std::string_view text,
                                 std::string_view characters, Ends ends = {});

/// split(): the pieces between white space. Makes at most `maxSplits` splits,
/// from the left or the right; negative means no limit.
std::vector<std::string_view> splitSpace(std::string_view text,
                                         int64_t maxSplits, bool fromRight);
/// split(separator); `separator` is not empty.
std::vector<std::string_view> splitAt(std::string_view text,
                                      std::string_view separator,
                                      int64_t maxSplits, bool fromRight);
/// splitlines(), at everything that Python counts as the end of a line.
std::vector<std::string_view> splitLines(std::string_view text);

/// Returns how often replaceText() would replace, so that its cost can be
/// counted first.
size_t countOccurrences(std::string_view text, std::string_view pattern,
                        int64_t limit);
/// replace(pattern, content, limit); a negative limit means none. An empty
/// pattern matches before each character and at the end.
std::string replaceText(std::string_view text, std::string_view pattern,
                        std::string_view content, int64_t limit);

std::string upperCase(std::string_view text);
std::string lowerCase(std::string_view text);
/// Returns `text` with its first character in title case and the others in
/// lower case.
std::string capitalize(std::string_view text);
/// title(): capitalizes every run of letters.
std::string titleCase(std::string_view text);
/// Jinja's filter `title`: capitalizes every run between spaces, brackets and
/// hyphens.
std::string titleWords(std::string_view text);

/// Returns `text` with & < > ' and " spelled as in HTML.
std::string escapeHtml(std::string_view text);

/// Return int(text) or float(text); nothing where Python would raise.
std::optional<__int128> parsePythonInteger(std::string_view text);
std::optional<double> parsePythonFloat(std::string_view text);

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_JINJA_PYTHONTEXT_H
