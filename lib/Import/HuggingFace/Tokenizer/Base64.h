//===- Base64.h - a base64 decoder ----------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_BASE64_H
#define SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_BASE64_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::hf {

/// Returns the bytes that `text` encodes in base64 with padding, or nothing if
/// it is malformed.
inline std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0)
    return std::nullopt;
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0, count = 0;
  for (char c : text) {
    size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count));
    }
  }
  return bytes;
}

} // namespace sluice::hf

#endif // SLUICE_LIB_IMPORT_HUGGINGFACE_TOKENIZER_BASE64_H
