//===- FuzzStageGroup.cpp - fuzzes what a stage's members hear -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteSource.h"

#include "runtime/pipeline/StageGroup.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::fuzz;
using namespace sluice::pipeline;

namespace {

/// A member that hears from the first one what the input says, as many bytes as
/// it asks for.
class ScriptedGroup final : public comm::GroupCommunicator {
public:
  explicit ScriptedGroup(ByteSource script) : script(script) {}
  int64_t member() const override { return 1; }
  int64_t members() const override { return 2; }

  Status swap(std::span<const std::span<const uint8_t>>,
              std::span<const std::span<uint8_t>> in) override {
    std::span<const uint8_t> said = script.take(in[0].size());
    if (said.size() < in[0].size())
      return failure("the first of the group says nothing");
    std::copy(said.begin(), said.end(), in[0].begin());
    return {};
  }

private:
  ByteSource script;
};

} // namespace

/// Whatever the first member says of its steps, another one refuses it in one
/// line, or hears frames and marks of requests that there are.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int64_t requests = 4;
  constexpr int calls = 6;
  ByteSource input({data, size});
  ByteSource choices(input.take(calls));
  ScriptedGroup communicator(input);
  comm::Collectives members(communicator);
  const EpochBoard rankBoard(requests);
  comm::BufferPool buffers;
  StageGroup group(members, rankBoard, buffers);
  std::vector<comm::Bytes> frames;
  for (int call = 0; call < calls; ++call) {
    Status heard;
    switch (choices.between(0, 2)) {
    case 0:
      if (Expected<bool> more = group.hearStep(frames); !more)
        heard = more.status();
      else
        group.takeMarks();
      break;
    case 1:
      heard = group.checkpoint();
      break;
    default:
      heard = group.agree([] {});
    }
    if (heard.message().find('\n') != std::string::npos)
      std::abort();
  }
  return 0;
}
