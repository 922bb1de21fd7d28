//===- TokenList.h - parsing of token ids from users ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_TOKENLIST_H
#define SLUICE_RUNTIME_APP_TOKENLIST_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::app {

/// Parses any number of ids, separated by commas, blanks or newlines: "5,6,7".
/// An error names the word that is not a token id, and its place: "word 3 'x7'
/// is not a token id".
Expected<std::vector<int32_t>> parseTokenList(std::string_view text);

/// Parses a logit bias, `ID+VALUE`, `ID-VALUE` or `ID=VALUE`; the value may be
/// `inf`, so that `12-inf` forbids a token.
Expected<std::pair<int32_t, double>> parseLogitBias(std::string_view text);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_TOKENLIST_H
