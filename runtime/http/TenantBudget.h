//===- TenantBudget.h - bytes that tenants share fairly -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// So many bytes for all, of which each tenant may hold as many as are left
// free. A single one may have half of them. Whoever comes next finds half of
// what is free then, so the n-th greedy one at least a 2^n-th of all; once the
// earlier ones have given back what they have too much, n tenants have an
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

/// What all accounts of a budget hold together.
struct BudgetTotal {
  explicit BudgetTotal(int64_t limit) : limit(limit) {}
  const int64_t limit;
  std::atomic<int64_t> held = 0;
};

/// What one tenant holds. Thread-safe. The sums are exact, and nothing else is
/// published by them: relaxed order is enough. Of several threads that add at
/// once, each sees its own bytes counted.
class BudgetAccount {
public:
  explicit BudgetAccount(std::shared_ptr<BudgetTotal> total)
      : total(std::move(total)) {}

  /// Takes so many bytes, or gives them back where they are negative. False:
  /// the tenant holds more than it may now.
  bool add(int64_t bytes);
  /// Whether the tenant holds more than it may.
  bool isOver() const;
  /// Whether all tenants together do.
  bool isTotalOver() const;

private:
  const std::shared_ptr<BudgetTotal> total;
  std::atomic<int64_t> held = 0;
};

/// Finds the accounts. Not thread-safe; may go before its accounts do.
class TenantBudget {
public:
  explicit TenantBudget(int64_t bytes)
      : total(std::make_shared<BudgetTotal>(bytes)) {}

  /// Of that tenant, the same one as long as somebody holds it.
  std::shared_ptr<BudgetAccount> accountOf(uint64_t tenant);

private:
  void sweep();

  const std::shared_ptr<BudgetTotal> total;
  std::unordered_map<uint64_t, std::weak_ptr<BudgetAccount>> accounts;
  size_t sweepAt = 64; ///< accounts, of which many may be no more
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_TENANTBUDGET_H
