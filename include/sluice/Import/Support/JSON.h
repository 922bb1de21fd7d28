//===- JSON.h - parsing JSON from outside ---------------------------------===//
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

/// Parses one JSON document. Errors say where (line and column): malformed
/// text, text that is not UTF-8, numbers out of range, a key twice in an
/// object, nesting deeper than 64. Throws nothing. Strings are valid UTF-8.
Expected<nlohmann::json> parseJSON(std::string_view text);

/// The same for a whole file of at most `limit` bytes; errors begin with
/// `path`.
Expected<nlohmann::json> readJSONFile(const std::string &path,
                                      uint64_t limit = uint64_t(1) << 30);

} // namespace sluice

#endif // SLUICE_IMPORT_SUPPORT_JSON_H
