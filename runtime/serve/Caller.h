//===- Caller.h - who a request is from -----------------------------------===//
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

/// Whom requests are counted for: those that have an API key by their key, the
/// others by their address. Never 0.
using TenantId = uint64_t;

/// What a key is entitled to, and everybody where there are no keys.
struct KeyTerms {
  double weight = 1;      ///< of its share, compared with other tenants
  int64_t maxRunning = 0; ///< requests that run at once; 0: as many as fit
  /// Of its requests: they order these, and nobody else's.
  int32_t minPriority = -1000, maxPriority = 1000;
};

/// Who a request is from.
struct Caller {
  TenantId tenant = 0;
  bool hasKey = false; ///< the tenant is a key
  KeyTerms terms = {};

  /// Whether one may end, or know of, what the other has begun. Without keys
  /// everybody may do everything.
  bool mayTouch(const Caller &other) const {
    return !hasKey || (other.hasKey && tenant == other.tenant);
  }
  /// What an id that the caller has chosen is known by: others can choose the
  /// same.
  std::string ownId(const std::string &id) const {
    return hasKey ? std::to_string(tenant) + ' ' + id : id;
  }
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_CALLER_H
