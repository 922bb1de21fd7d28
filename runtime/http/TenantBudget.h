//===- TenantBudget.h - a budget of bytes, shared fairly by tenants -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A budget of bytes in which each tenant may hold as many bytes as are still
// free. So a single tenant may hold half of the budget. The next one finds half
// of the rest free, so the n-th greedy tenant gets at least a 2^n-th of the
// budget. Once earlier tenants have given back their excess, n tenants hold an
// (n+1)-th each.
//
// That rule is the dynamic threshold of A. Choudhury, E. Hahne, "Dynamic queue
// length thresholds for shared-memory packet switches", IEEE/ACM Transactions
// on Networking 6(2), 1998, with a factor of 1.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_TENANTBUDGET_H
#define SLUICE_RUNTIME_HTTP_TENANTBUDGET_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace sluice::http::server {

/// The bytes that all accounts of a budget hold together.
struct BudgetTotal {
  explicit BudgetTotal(int64_t limit) : limit(limit) {}
  const int64_t limit;
  std::atomic<int64_t> held = 0;
};

/// The bytes that one tenant holds. Thread-safe. The sums are exact; relaxed
/// order suffices, because they publish nothing else. If several threads add at
/// once, each sees its own bytes counted.
class BudgetAccount {
public:
  explicit BudgetAccount(std::shared_ptr<BudgetTotal> total)
      : total(std::move(total)) {}

  /// Adds `bytes`, which may be negative. Returns false if the tenant now holds
  /// more than it may.
  bool add(int64_t bytes);
  /// Returns whether the tenant may hold so many bytes more. A tenant that
  /// holds none may always.
  bool hasRoom(int64_t bytes) const;
  /// Returns whether the tenant holds more than it may.
  bool isOver() const;
  /// Returns whether all tenants together exceed the budget.
  bool isTotalOver() const;

private:
  const std::shared_ptr<BudgetTotal> total;
  std::atomic<int64_t> held = 0;
};

/// Finds the accounts of tenants. Not thread-safe; the accounts may outlive it.
class TenantBudget {
public:
  explicit TenantBudget(int64_t bytes)
      : total(std::make_shared<BudgetTotal>(bytes)) {}

  /// Returns the account of a tenant, the same one as long as it is referenced.
  std::shared_ptr<BudgetAccount> accountOf(uint64_t tenant);

private:
  void sweep();

  const std::shared_ptr<BudgetTotal> total;
  std::unordered_map<uint64_t, std::weak_ptr<BudgetAccount>> accounts;
  size_t sweepAt = 64; ///< size of `accounts` at which unused ones are removed
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_TENANTBUDGET_H
