//===- SessionTable.cpp - all sessions and their ids ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/SessionTable.h"

#include "runtime/base/Guarded.h"
#include "runtime/pipeline/Clock.h"

using namespace sluice;
using namespace sluice::serve;

bool SessionTable::add(const std::vector<std::string> &ids,
                       const std::shared_ptr<Session> &session) {
  {
    std::lock_guard lock(mutex);
    for (const std::string &id : ids)
      if (byId.contains(id))
        return false;
    sessions.insert(session);
    if (guarded([&] {
          for (const std::string &id : ids)
            byId.emplace(id, session);
          return Status();
        }).ok())
      return true;
  }
  remove(ids, session);
  throw std::bad_alloc();
}

void SessionTable::release(const std::vector<std::string> &ids,
                           const Session &session) {
  for (const std::string &id : ids) {
    decltype(byId)::node_type dropped; // destroyed without the lock
    std::lock_guard lock(mutex);
    auto found = byId.find(id);
    if (found != byId.end() && found->second.get() == &session)
      dropped = byId.extract(found);
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
