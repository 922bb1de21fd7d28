//===- Guarded.h - exceptions as errors -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where exceptions end: in the body of each thread, main() included. The
// project throws none, but containers report a lack of memory by one, and one
// that leaves a thread ends the process without a word.
//
//   if (Status s = guarded([&] { return step(); }); !s.ok())
//     fail(s);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_GUARDED_H
#define SLUICE_RUNTIME_BASE_GUARDED_H

#include "runtime/base/Status.h"

#include <exception>
#include <new>

namespace sluice {

/// Calls `body`, which returns a Status or an Expected<T>; an exception becomes
/// an error.
template <typename Fn> auto guarded(Fn &&body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status::outOfMemory();
  } catch (const std::exception &thrown) {
    return Status::error(thrown.what()).withContext("unexpected");
  }
}

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_GUARDED_H
