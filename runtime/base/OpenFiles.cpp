//===- OpenFiles.cpp - the limit of open files ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OpenFiles.h"

#include <algorithm>
#include <limits>
#include <sys/resource.h>

int64_t sluice::raiseOpenFileLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 0;
  rlimit raised = {limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max &&
      ::setrlimit(RLIMIT_NOFILE, &raised) == 0)
    limit = raised;
  constexpr rlim_t max = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(limit.rlim_cur, max));
}
