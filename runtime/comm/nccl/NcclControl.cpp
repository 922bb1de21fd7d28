//===- NcclControl.cpp - messages of the communicators themselves ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclControl.h"

using namespace sluice;
using namespace sluice::comm;

/// The length to which an error's text is truncated.
constexpr size_t wordsBytes = 4096;

Status NcclControl::send(int64_t to, Kind kind, uint64_t first, uint64_t second,
                         std::span<const uint8_t> body) {
  Bytes bytes = base.buffers().take();
  bytes.assign(body.begin(), body.end());
  NcclEnvelope{kind, first, second}.close(bytes);
  return base.send(to, Lane::Control, std::move(bytes));
}

void NcclControl::fail(const Status &status) {
  const Status reason = failure("rank ", shared.self, ": ", status.message());
  {
    NcclShared::Lock lock(shared.mutex);
    if (shared.closed || !shared.broken.ok())
      return;
    shared.found = status;
    shared.endBy = NcclShared::Clock::now() + tellingGrace;
    shared.breakWith(reason);
  }
  const std::string words = reason.message().substr(0, wordsBytes);
  for (int64_t to = 0; to < base.size(); ++to)
    if (to != shared.self)
      (void)send(
          to, Kind::Broken, 0, 0,
          {reinterpret_cast<const uint8_t *>(words.data()), words.size()});
}
