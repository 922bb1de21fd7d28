//===- JSON.h - parser of untrusted JSON ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_IMPORT_SUPPORT_JSON_H
#define SLUICE_IMPORT_SUPPORT_JSON_H

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sluice {

/// Parses one JSON document. Fails on malformed text, text that is not UTF-8,
/// numbers out of range, an object with the same key twice, and nesting deeper
/// than 64; the error gives line and column. Does not throw. Strings of the
/// result are valid UTF-8.
Expected<nlohmann::json> parseJSON(std::string_view text);

/// Parses a file of at most `limit` bytes like parseJSON(). Errors begin with
/// `path`.
Expected<nlohmann::json> readJSONFile(const std::string &path,
                                      uint64_t limit = uint64_t(1) << 30);

} // namespace sluice

#endif // SLUICE_IMPORT_SUPPORT_JSON_H
