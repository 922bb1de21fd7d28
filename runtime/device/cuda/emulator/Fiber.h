//===- Fiber.h - a stack of its own to switch to and from -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ucontext saves the signal mask with a system call at each switch, and a block
// of threads switches thousands of times; so the switch is a dozen instructions
// of x86-64 here. AddressSanitizer and ThreadSanitizer are told of it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::cuda::emulator {

/// One stack and what runs on it. start() and resume() run it until it calls
/// suspend() or its body returns; then it can be started again. All calls come
/// from one thread. A fiber that is suspended inside its body may be destroyed,
/// not started: a body owns nothing that must be released.
class Fiber {
public:
  static constexpr size_t stackBytes = size_t{256} << 10;

  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Runs body(argument) until it suspends or returns.
  void start(void (*body)(void *), void *argument);
  /// Goes on behind the suspend() that it stopped in.
  void resume();
  /// From the fiber's own body: back to who started or resumed it.
  void suspend();

private:
  static void enter(Fiber *fiber);
  void switchIn();

  std::unique_ptr<uint8_t[]> stack;
  void *ownPointer = nullptr;    ///< stack pointer of the suspended fiber
  void *callerPointer = nullptr; ///< and of who resumed it
  void (*body)(void *) = nullptr;
  void *argument = nullptr;
  bool begun = false;
  // What the sanitizers need to know of both stacks.
  [[maybe_unused]] void *ownFake = nullptr;
  [[maybe_unused]] void *callerFake = nullptr;
  [[maybe_unused]] const void *callerStack = nullptr;
  [[maybe_unused]] size_t callerStackBytes = 0;
  [[maybe_unused]] void *ownThread = nullptr;
  [[maybe_unused]] void *callerThread = nullptr;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_FIBER_H
