//===- PrefixScopes.h - isolation of shared prompt prefixes ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which requests may share cached prefixes. A client can observe
// sharing: its answer comes faster and reports `cached_tokens`. So a client
// that shares a cache with others could find out, guess by guess, what they
// have asked. By default, requests share only with requests that have the same
// API key and the same `cache_salt` (as in vLLM); the server can be told that
// all keys belong to one tenant.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H
#define SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H

#include "runtime/serve/Caller.h"

#include <array>
#include <string_view>

namespace sluice::serve {

/// Immutable, and therefore thread-safe.
class PrefixScopes {
public:
  /// With `sharesAmongKeys`, all keys count as one tenant.
  explicit PrefixScopes(bool sharesAmongKeys);

  /// Returns the RequestSpec::prefixScope, equal for requests that may share.
  uint64_t of(const Caller &caller, std::string_view salt) const;

private:
  bool sharesAmongKeys;
  /// Random, so that callers cannot search for salts that give equal numbers.
  std::array<unsigned char, 32> secret;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_PREFIXSCOPES_H
