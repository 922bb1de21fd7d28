//===- Fiber.cpp - switching stacks on x86-64 -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/emulator/Fiber.h"

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_FIBER_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define SLUICE_FIBER_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

using namespace sluice::cuda::emulator;

// Saves the registers that a called function must preserve on the current
// stack, stores its pointer in *save, and continues where the stack at `load`
// was left.
extern "C" void sluice_switch_stack(void **save, void *load);
asm(R"(
.text
.type sluice_switch_stack,@function
sluice_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sluice_switch_stack, .-sluice_switch_stack

# Where a new fiber begins: r12 is its argument, r13 its function.
.type sluice_begin_fiber,@function
sluice_begin_fiber:
  movq %r12, %rdi
  callq *%r13
  ud2
.size sluice_begin_fiber, .-sluice_begin_fiber
)");
extern "C" void sluice_begin_fiber();

Fiber::Fiber() : stack(new uint8_t[stackBytes]) {
#ifdef SLUICE_FIBER_TSAN
  ownThread = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef SLUICE_FIBER_ASAN
  __asan_unpoison_memory_region(stack.get(), stackBytes);
#endif
#ifdef SLUICE_FIBER_TSAN
  __tsan_destroy_fiber(ownThread);
#endif
}

void Fiber::enter(Fiber *fiber) {
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &fiber->callerStack,
                                  &fiber->callerStackBytes);
#endif
  // The fiber remains for the next start, since sanitizers take long to begin
  // and end one.
  for (;;) {
    fiber->body(fiber->argument);
    fiber->suspend();
  }
}

void Fiber::switchIn() {
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_start_switch_fiber(&callerFake, stack.get(), stackBytes);
#endif
#ifdef SLUICE_FIBER_TSAN
  callerThread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(ownThread, 0);
#endif
  sluice_switch_stack(&callerPointer, ownPointer);
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(callerFake, nullptr, nullptr);
#endif
}

void Fiber::start(void (*newBody)(void *), void *newArgument) {
  body = newBody;
  argument = newArgument;
  if (begun)
    return switchIn();
  begun = true;
  // Prepares the stack as sluice_switch_stack leaves one, such that the stack
  // pointer is a multiple of 16 where sluice_begin_fiber calls.
  auto top =
      reinterpret_cast<uintptr_t>(stack.get() + stackBytes) & ~uintptr_t{15};
  auto *words = reinterpret_cast<void **>(top) - 9;
  words[0] = nullptr;                                 // r15
  words[1] = nullptr;                                 // r14
  words[2] = reinterpret_cast<void *>(&Fiber::enter); // r13
  words[3] = this;                                    // r12
  words[4] = nullptr;                                 // rbx
  words[5] = nullptr;                                 // rbp
  words[6] = reinterpret_cast<void *>(&sluice_begin_fiber);
  ownPointer = words;
  switchIn();
}

void Fiber::resume() { switchIn(); }

void Fiber::suspend() {
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_start_switch_fiber(&ownFake, callerStack, callerStackBytes);
#endif
#ifdef SLUICE_FIBER_TSAN
  __tsan_switch_to_fiber(callerThread, 0);
#endif
  sluice_switch_stack(&ownPointer, callerPointer);
#ifdef SLUICE_FIBER_ASAN
  __sanitizer_finish_switch_fiber(ownFake, &callerStack, &callerStackBytes);
#endif
}
