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
/// others by their address.
using TenantId = uint64_t;

/// Who a request is from.
struct Caller {
  TenantId tenant = 0;
  bool hasKey = false; ///< `tenant` is the number of a key

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
