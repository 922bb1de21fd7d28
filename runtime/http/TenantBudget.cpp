//===- TenantBudget.cpp - a budget of bytes, shared fairly by tenants -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/TenantBudget.h"

#include <algorithm>

using namespace sluice::http::server;

static constexpr auto relaxed = std::memory_order_relaxed;

bool BudgetAccount::add(int64_t bytes) {
  held.fetch_add(bytes, relaxed);
  total->held.fetch_add(bytes, relaxed);
  return !isOver();
}

bool BudgetAccount::hasRoom(int64_t bytes) const {
  const int64_t own = held.load(relaxed);
  return own == 0 ||
         own + bytes <= total->limit - total->held.load(relaxed) - bytes;
}

bool BudgetAccount::isOver() const {
  return held.load(relaxed) > total->limit - total->held.load(relaxed);
}

bool BudgetAccount::isTotalOver() const {
  return total->held.load(relaxed) > total->limit;
}

std::shared_ptr<BudgetAccount> TenantBudget::accountOf(uint64_t tenant) {
  if (accounts.size() >= sweepAt)
    sweep();
  std::weak_ptr<BudgetAccount> &known = accounts[tenant];
  std::shared_ptr<BudgetAccount> account = known.lock();
  if (!account)
    known = account = std::make_shared<BudgetAccount>(total);
  return account;
}

/// Removes accounts without references, which are empty.
void TenantBudget::sweep() {
  std::erase_if(accounts,
                [](const auto &account) { return account.second.expired(); });
  sweepAt = std::max(sweepAt, 2 * accounts.size());
}
