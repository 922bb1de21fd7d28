//===- Caller.h - the tenant that a request belongs to --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_CALLER_H
#define SLUICE_RUNTIME_SERVE_CALLER_H

#include <cstdint>
#include <string>

namespace sluice::serve {

/// Identifies the tenant that a request is counted for: its API key if it has
/// one, otherwise the network of its address. Never 0.
using TenantId = uint64_t;

/// The limits and rights of an API key. Without keys, the defaults hold for
/// all.
struct KeyTerms {
  double weight = 1;      ///< share of the tenant, relative to other tenants
  int64_t maxRunning = 0; ///< requests that run at once; 0: as many as fit
  /// Range of the priorities that its requests may ask for. A priority orders
  /// the tenant's own requests only.
  int32_t minPriority = -1000, maxPriority = 1000;
};

/// The sender of a request.
struct Caller {
  TenantId tenant = 0;
  bool hasKey = false; ///< `tenant` is a key, not an address
  KeyTerms terms = {};

  /// Returns whether this caller may see and abort a request of `other`.
  /// Without keys, every caller may.
  bool mayTouch(const Caller &other) const {
    return !hasKey || (other.hasKey && tenant == other.tenant);
  }
  /// Returns the name under which the server keeps an id that this caller
  /// chose. The name includes the key, because callers with other keys can
  /// choose the same id.
  std::string ownId(const std::string &id) const {
    return hasKey ? std::to_string(tenant) + ' ' + id : id;
  }
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_CALLER_H
