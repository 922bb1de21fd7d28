//===- ScriptedCommunicator.h - a rank among peers that say anything -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_FUZZ_SCRIPTEDCOMMUNICATOR_H
#define SLUICE_FUZZ_SCRIPTEDCOMMUNICATOR_H

#include "ByteSource.h"

#include "runtime/comm/Communicator.h"

namespace sluice::fuzz {

/// One rank's end of a job whose other ranks say what the input says: each
/// message of the group lane is a byte with its length (255: two more bytes
/// have it) and that many bytes, whoever is asked. Behind the last one nothing
/// comes. What is sent is thrown away.
class ScriptedCommunicator final : public comm::Communicator {
public:
  ScriptedCommunicator(int64_t rank, int64_t size, ByteSource script)
      : self(rank), ranks(size), script(script) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }

  Status send(int64_t, comm::Lane, comm::Bytes, int64_t) override { return {}; }

  Status receive(int64_t source, comm::Bytes &bytes, comm::Deadline) override {
    bytes.clear();
    if (script.empty())
      return failure("rank ", source, " says nothing");
    size_t length = script.byte();
    if (length == 255) {
      length = script.byte();
      length |= size_t{script.byte()} << 8;
    }
    std::span<const uint8_t> said = script.take(length);
    bytes.assign(said.begin(), said.end());
    return {};
  }

  // What those who meet on the group lane do not use.
  void start(Receiver) override {}
  void detach() override {}
  void roomChanged() override {}
  void stopReceiving() override {}
  Status finish(std::chrono::milliseconds) override { return {}; }
  void abort(const Status &) override {}
  std::vector<comm::Traffic> traffic() const override { return {}; }
  comm::BufferPool &buffers() override { return pool; }

private:
  int64_t self, ranks;
  ByteSource script;
  comm::BufferPool pool;
};

} // namespace sluice::fuzz

#endif // SLUICE_FUZZ_SCRIPTEDCOMMUNICATOR_H
