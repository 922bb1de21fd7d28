//===- RequestLog.cpp - a log with a line for each request ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/RequestLog.h"

#include <algorithm>
#include <climits>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

using namespace sluice::serve;

void RequestLog::add(const std::string &line) {
  if (!enabled())
    return;
  std::lock_guard lock(mutex);
  if (waiting.size() + line.size() >= maxBytes) {
    ++leftOut;
    return;
  }
  waiting += line;
  waiting += '\n';
}

/// Writes a part of the text and returns its size; 0 if it would have to wait
/// or there is no reader.
static size_t writeSome(int file, std::string_view text) {
  pollfd ready = {file, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0 || !(ready.revents & POLLOUT))
    return 0;
  // A pipe that is ready takes this much without waiting.
  ssize_t count =
      ::write(file, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
  return static_cast<size_t>(std::max<ssize_t>(count, 0));
}

void RequestLog::flush() {
  if (!enabled())
    return;
  if (writing.empty()) {
    std::lock_guard lock(mutex);
    writing.swap(waiting);
    if (uint64_t lost = std::exchange(leftOut, 0))
      writing += "(" + std::to_string(lost) +
                 " lines left out: they could not be written in time)\n";
  }
  size_t done = 0;
  while (done < writing.size()) {
    size_t count = writeSome(file, std::string_view(writing).substr(done));
    if (count == 0)
      break;
    done += count;
  }
  writing.erase(0, done);
}
