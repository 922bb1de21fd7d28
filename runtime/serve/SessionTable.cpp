//===- SessionTable.cpp - the requests that are under way -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/SessionTable.h"

#include "runtime/pipeline/Clock.h"

using namespace sluice;
using namespace sluice::serve;

bool SessionTable::add(const std::vector<std::string> &ids,
                       const std::shared_ptr<Session> &session) {
  std::lock_guard lock(mutex);
  for (const std::string &id : ids)
    if (byId.contains(id))
      return false;
  sessions.insert(session);
  for (const std::string &id : ids)
    byId.emplace(id, session);
  return true;
}

void SessionTable::release(const std::vector<std::string> &ids,
                           const Session &session) {
  // Destroyed without the lock.
  std::vector<std::shared_ptr<Session>> dropped;
  std::lock_guard lock(mutex);
  for (const std::string &id : ids) {
    auto found = byId.find(id);
    if (found == byId.end() || found->second.get() != &session)
      continue;
    dropped.push_back(std::move(found->second));
    byId.erase(found);
  }
}

void SessionTable::remove(const std::vector<std::string> &ids,
                          const std::shared_ptr<Session> &session) {
  release(ids, *session);
  std::lock_guard lock(mutex);
  sessions.erase(session);
  if (sessions.empty())
    emptied.notify_all();
}

std::shared_ptr<Session> SessionTable::find(const std::string &id) const {
  std::lock_guard lock(mutex);
  auto found = byId.find(id);
  return found == byId.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Session>> SessionTable::all() const {
  std::lock_guard lock(mutex);
  return {sessions.begin(), sessions.end()};
}

bool SessionTable::waitEmpty(Time until) {
  std::unique_lock lock(mutex);
  return emptied.wait_until(lock, pipeline::toTimePoint(until),
                            [this] { return sessions.empty(); });
}
