//===- Fiber.h - a switchable stack ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ucontext saves the signal mask by a system call at each switch, and a block
// of threads switches thousands of times. So the switch is a dozen x86-64
// instructions here. AddressSanitizer and ThreadSanitizer are notified of it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::cuda::emulator {

/// One stack and the function that runs on it. start() and resume() run the
/// function until it calls suspend() or returns; after it has returned, the
/// fiber can be started again. All calls come from one thread. A fiber that is
/// suspended in its body may be destroyed but not started, so a body must own
/// nothing that has to be released.
class Fiber {
public:
  static constexpr size_t stackBytes = size_t{256} << 10;

  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Runs body(argument) until it suspends or returns.
  void start(void (*body)(void *), void *argument);
  /// Continues after the suspend() in which the body stopped.
  void resume();
  /// Called from the body: returns to the caller of start() or resume().
  void suspend();

private:
  static void enter(Fiber *fiber);
  void switchIn();

  std::unique_ptr<uint8_t[]> stack;
  void *ownPointer = nullptr; ///< stack pointer of the suspended fiber
  /// Stack pointer of the caller of start() or resume().
  void *callerPointer = nullptr;
  void (*body)(void *) = nullptr;
  void *argument = nullptr;
  bool begun = false;
  // What the sanitizers need to know about both stacks.
  [[maybe_unused]] void *ownFake = nullptr;
  [[maybe_unused]] void *callerFake = nullptr;
  [[maybe_unused]] const void *callerStack = nullptr;
  [[maybe_unused]] size_t callerStackBytes = 0;
  [[maybe_unused]] void *ownThread = nullptr;
  [[maybe_unused]] void *callerThread = nullptr;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H
