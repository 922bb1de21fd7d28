//===- TestGroup.h - a group of emulated GPUs, without NCCL ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTGROUP_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTGROUP_H

#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/device/cuda/emulator/EmulatedStream.h"

#include <condition_variable>
#include <cstring>
#include <map>

namespace sluice::cuda {

/// Holds the bytes that members have sent and not yet received.
class TestExchange {
public:
  explicit TestExchange(int32_t members) : members(members) {}

  const int32_t members;

private:
  friend class TestGroup;
  using Bytes = std::vector<uint8_t>;
  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false;
  /// Keys are (from, to).
  std::map<std::pair<int32_t, int32_t>, std::vector<Bytes>> given;
};

/// One member's end of the group. An exchange in which another member does not
/// take part ends when a member gives up.
class TestGroup final : public DeviceGroup {
public:
  TestGroup(TestExchange &common, int32_t member,
            std::chrono::nanoseconds patience = std::chrono::hours(1))
      : common(common), self(member), limit(patience) {}

  int32_t member() const override { return self; }
  int32_t members() const override { return common.members; }
  std::chrono::nanoseconds patience() const override { return limit; }

  Status exchange(std::span<const Piece> out, std::span<const Piece> in,
                  Stream stream) override {
    reinterpret_cast<emulator::EmulatedStream *>(stream)->addOwned(
        [this, gives = std::vector(out.begin(), out.end()),
         gets = std::vector(in.begin(), in.end())] {
          give(gives);
          get(gets);
          return Status();
        });
    return {};
  }
  Status check() override {
    std::lock_guard lock(common.mutex);
    return reason;
  }
  void giveUp(const Status &given) override {
    std::lock_guard lock(common.mutex);
    if (reason.ok())
      reason = given;
    common.isOver = true;
    common.changed.notify_all();
  }

private:
  void give(const std::vector<Piece> &pieces) {
    std::lock_guard lock(common.mutex);
    for (int32_t other = 0; other < members(); ++other) {
      const Piece &piece = pieces[size_t(other)];
      auto *from = reinterpret_cast<const uint8_t *>(piece.address);
      if (other != self && piece.bytes > 0)
        common.given[{self, other}].emplace_back(from, from + piece.bytes);
    }
    common.changed.notify_all();
  }
  void get(const std::vector<Piece> &pieces) {
    std::unique_lock lock(common.mutex);
    for (int32_t other = 0; other < members(); ++other) {
      const Piece &piece = pieces[size_t(other)];
      if (other == self || piece.bytes == 0)
        continue;
      auto &waiting = common.given[{other, self}];
      common.changed.wait(lock,
                          [&] { return common.isOver || !waiting.empty(); });
      if (common.isOver)
        return;
      if (waiting.front().size() != piece.bytes)
        std::abort(); // The members' graphs differ.
      std::memcpy(reinterpret_cast<void *>(piece.address),
                  waiting.front().data(), piece.bytes);
      waiting.erase(waiting.begin());
    }
  }

  TestExchange &common;
  int32_t self;
  std::chrono::nanoseconds limit;
  Status reason;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTGROUP_H
