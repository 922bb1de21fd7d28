//===- SessionTable.h - the requests that are under way -------------------===//
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

/// The sessions from their arrival until nothing of them is left, and the ids
/// that they can be asked for by until they are answered. Owns them.
/// Thread-safe; takes no other lock while it holds its own.
class SessionTable {
public:
  /// False: one of the ids is in use. Without memory it throws, and nothing is
  /// added.
  bool add(const std::vector<std::string> &ids,
           const std::shared_ptr<Session> &session);
  /// The ids are free from now on: whoever has the answer may use one again.
  /// Does nothing to an id that another session has meanwhile.
  void release(const std::vector<std::string> &ids, const Session &session);
  /// With its ids.
  void remove(const std::vector<std::string> &ids,
              const std::shared_ptr<Session> &session);

  /// Null: there is none.
  std::shared_ptr<Session> find(const std::string &id) const;
  std::vector<std::shared_ptr<Session>> all() const;
  /// Waits until there are no sessions, until `until` at the latest. Whether
  /// there are none.
  bool waitEmpty(Time until);

private:
  mutable std::mutex mutex;
  std::condition_variable emptied;
  std::unordered_set<std::shared_ptr<Session>> sessions;
  std::unordered_map<std::string, std::shared_ptr<Session>> byId;
};

} // namespace sluice::serve

#endif // SLUICE_RUNTIME_SERVE_SESSIONTABLE_H
