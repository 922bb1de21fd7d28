//===- PrefixScopes.h - who shares the prefixes of prompts ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests whose prompts begin alike share that prefix in the cache, which
// can be seen: the answer is faster, and says `cached_tokens`. So whoever
// shares with others can find out, guess by guess, what they have asked.
// Requests share with those of their own API key alone, unless the server has
// one tenant; and of these with those that have the same `cache_salt` (as in
// vLLM).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H
#define SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H

#include "runtime/serve/Caller.h"

#include <array>
#include <string_view>

namespace sluice::serve {

/// Immutable once made; then thread-safe.
class PrefixScopes {
public:
  /// `sharesAmongKeys`: all keys are one tenant's.
  explicit PrefixScopes(bool sharesAmongKeys);

  /// For RequestSpec::prefixScope: the same number for those who share.
  uint64_t of(const Caller &caller, std::string_view salt) const;

private:
  bool sharesAmongKeys;
  /// Unknown to callers, who could find salts with equal numbers by it.
  std::array<unsigned char, 32> secret;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H
