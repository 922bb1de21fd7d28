//===- SessionTable.h - all sessions and their ids ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SERVE_SESSIONTABLE_H
#define SLUICE_RUNTIME_SERVE_SESSIONTABLE_H

#include "runtime/core/Rows.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::serve {

class Session;

/// Owns the sessions, each from its arrival until all of its requests have
/// ended, and finds them by their ids until they are answered. Thread-safe;
/// takes no other lock while it holds its own.
class SessionTable {
public:
  /// Adds a session. Returns false if one of the ids is in use. If memory runs
  /// out, throws and adds nothing.
  bool add(const std::vector<std::string> &ids,
           const std::shared_ptr<Session> &session);
  /// Frees the ids of a session, so that a client that has its answer may use
  /// them again. Leaves ids alone that another session has taken meanwhile.
  void release(const std::vector<std::string> &ids, const Session &session);
  /// Removes a session and its ids.
  void remove(const std::vector<std::string> &ids,
              const std::shared_ptr<Session> &session);

  /// Returns the session with this id, or null.
  std::shared_ptr<Session> find(const std::string &id) const;
  std::vector<std::shared_ptr<Session>> all() const;
  /// Waits until there are no sessions, until `until` at the latest. Returns
  /// whether there are none.
  bool waitEmpty(Time until);

private:
  mutable std::mutex mutex;
  std::condition_variable emptied;
  std::unordered_set<std::shared_ptr<Session>> sessions;
  std::unordered_map<std::string, std::shared_ptr<Session>> byId;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SESSIONTABLE_H
