//===- Guarded.h - conversion of exceptions to errors ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts exceptions to errors. The body of each thread, including main(),
// must be guarded: the project throws no exceptions, but containers throw if
// memory runs out, and an exception that leaves a thread ends the process
// without a message.
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

/// Calls `body`, which returns a Status or an Expected<T>, and converts an
/// exception to an error.
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
