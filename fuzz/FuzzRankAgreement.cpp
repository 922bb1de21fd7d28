//===- FuzzRankAgreement.cpp - fuzzes what ranks say as they meet ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScriptedCommunicator.h"

#include "runtime/engine/RankAgreement.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::engine;
using namespace sluice::fuzz;

static void expectOneLine(const std::string &text) {
  if (text.find('\n') != std::string::npos)
    std::abort();
}

static void expectOneLine(const Status &status) {
  expectOneLine(status.message());
}

/// Whatever the others say as they meet, a rank refuses it in one line or goes
/// on with what it says. The first byte chooses the rank: the head, or one that
/// joins it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int64_t ranks = 3;
  ByteSource input({data, size});
  int64_t rank = input.between(0, ranks - 1);
  ScriptedCommunicator comm(rank, ranks, input);
  const RankTerms own = {{"plan", "0123456789abcdef"}, {"cache type", "f32"}};

  Expected<bool> gpus =
      agreeOnGpus(comm, {/*gpu=*/true, "no driver"},
                  [](const std::string &note) { expectOneLine(note); });
  if (!gpus) {
    expectOneLine(gpus.status());
    return 0;
  }
  if (Status compared = compareTerms(comm, own); !compared.ok()) {
    expectOneLine(compared);
    return 0;
  }
  Expected<RankTerms> decided = decideAtHead(
      comm, own, [&](std::span<const RankTerms> all) -> Expected<RankTerms> {
        if (std::ssize(all) != ranks)
          std::abort();
        return all.back();
      });
  if (!decided)
    expectOneLine(decided.status());
  return 0;
}
