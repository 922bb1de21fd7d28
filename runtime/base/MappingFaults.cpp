//===- MappingFaults.cpp - error messages for failing mappings ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/MappingFaults.h"

#include "runtime/base/Status.h"

#include <atomic>
#include <cerrno> // program_invocation_short_name
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace sluice;

namespace {

/// One mapped file. The handler may read the list at any time, so a mapping is
/// never freed: when it is forgotten, its length becomes 0 and it is reused.
struct Mapping {
  std::atomic<const uint8_t *> base = nullptr;
  /// Written last: its release store publishes the other members.
  std::atomic<size_t> length = 0;
  std::string path, shown; // real path; path as shown
  Mapping *next = nullptr;

  bool contains(const uint8_t *address) const {
    size_t bytes = length.load(std::memory_order_acquire);
    const uint8_t *first = base.load(std::memory_order_relaxed);
    return address >= first && size_t(address - first) < bytes;
  }
};
static_assert(std::atomic<const uint8_t *>::is_always_lock_free &&
              std::atomic<size_t>::is_always_lock_free);

std::mutex changing; // for changing the list, which is read without it
std::atomic<Mapping *> mappings = nullptr;
struct sigaction previous = {};

// Up to onBusError(), only functions that a signal handler may call.

const Mapping *find(const uint8_t *address) {
  for (const Mapping *each = mappings.load(std::memory_order_acquire); each;
       each = each->next)
    if (each->contains(address))
      return each;
  return nullptr;
}

void say(std::string_view text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Returns why the bytes at `address` cannot be read.
std::string_view reasonOf(const Mapping &mapping, const siginfo_t &info) {
  if (info.si_code == BUS_MCEERR_AR || info.si_code == BUS_MCEERR_AO)
    return "this machine's memory has failed where it is mapped";
  struct stat now = {};
  if (::stat(mapping.path.c_str(), &now) == 0 &&
      size_t(now.st_size) < mapping.length.load(std::memory_order_relaxed))
    return "has been cut short while it was in use";
  return "can no longer be read: the disk has failed, or the file was cut "
         "short";
}

[[noreturn]] void end(const Mapping &mapping, const siginfo_t &info) {
  // If another thread is here already, its line is enough.
  static std::atomic_flag ending;
  while (ending.test_and_set())
    ::pause();
  say(program_invocation_short_name);
  say(": error: ");
  say(mapping.shown);
  say(": ");
  say(reasonOf(mapping, info));
  say("\n");
  ::_exit(1);
}

void passOn(int number, siginfo_t *info, void *context) {
  if (previous.sa_flags & SA_SIGINFO)
    return previous.sa_sigaction(number, info, context);
  const bool isSent = info->si_code <= 0; // by a process
  if (previous.sa_handler == SIG_IGN && isSent)
    return;
  if (previous.sa_handler != SIG_IGN && previous.sa_handler != SIG_DFL)
    return previous.sa_handler(number);
  // Takes effect when the handler returns.
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void onBusError(int number, siginfo_t *info, void *context) {
  if (info->si_code > 0)
    if (const Mapping *mapping =
            find(static_cast<const uint8_t *>(info->si_addr)))
      end(*mapping, *info);
  passOn(number, info, context);
}

void installHandler() {
  ::sigaction(SIGBUS, nullptr, &previous);
  struct sigaction ours = {};
  ours.sa_sigaction = onBusError;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  ::sigaction(SIGBUS, &ours, nullptr);
}

/// Returns a forgotten mapping, or a new one. Called with `changing` locked.
Mapping &takeMapping() {
  for (Mapping *each = mappings; each; each = each->next)
    if (each->length == 0)
      return *each;
  auto *made = new Mapping;
  made->next = mappings;
  mappings.store(made, std::memory_order_release);
  return *made;
}

} // namespace

void sluice::noteMapping(const uint8_t *base, size_t length,
                         const std::string &path) {
  static std::once_flag installed;
  std::call_once(installed, installHandler);
  std::lock_guard lock(changing);
  Mapping &mapping = takeMapping();
  mapping.path = path;
  // A Status replaces control characters.
  mapping.shown = Status::error(path).message();
  mapping.base.store(base, std::memory_order_relaxed);
  mapping.length.store(length, std::memory_order_release);
}

void sluice::forgetMapping(const uint8_t *base) {
  std::lock_guard lock(changing);
  for (Mapping *each = mappings; each; each = each->next)
    if (each->base == base && each->length != 0)
      each->length = 0;
}
