//===- WeightVerifier.cpp - the detection of damaged weights --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightVerifier.h"

#include "runtime/base/ByteDigest.h"
#include "runtime/base/Insist.h"
#include "runtime/base/ThreadPriority.h"
#include "runtime/program/Progress.h"
#include "runtime/program/WeightDigests.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

using namespace sluice;
using namespace std::chrono_literals;

void sluice::addKnownBytes(const MappedModelFiles &files,
                           const WeightDescriptor &weight,
                           std::vector<KnownBytes> &known) {
  if (files.isRandom())
    return;
  auto add = [&](int64_t file, const uint8_t *data, uint64_t bytes,
                 const std::optional<uint64_t> &digest) {
    if (digest)
      known.push_back({weight.name,
                       KnownBytes::Source::ModelFile,
                       files.path(file),
                       {data, bytes},
                       *digest});
  };
  add(weight.file, files.data(weight), weight.bytes, weight.digest);
  if (const std::optional<ScalesDescriptor> &scales = weight.scales)
    add(scales->file, files.data(*scales), scales->bytes(), scales->digest);
}

std::vector<KnownBytes> sluice::knownBytesOf(const MappedModelFiles &files,
                                             const ProgramDescriptor &program) {
  std::vector<KnownBytes> known;
  for (const WeightDescriptor &weight : program.weights)
    addKnownBytes(files, weight, known);
  std::set<const uint8_t *> seen;
  std::erase_if(known, [&](const KnownBytes &each) {
    return !seen.insert(each.bytes.data()).second;
  });
  return known;
}

Expected<const KnownBytes *>
sluice::findDamage(std::span<const KnownBytes> known,
                   const PackingOptions &options) {
  uint64_t total = 0, done = 0;
  for (const KnownBytes &each : known)
    total += each.bytes.size();
  Progress progress("verifying weights", total);
  cpu::ThreadPool pool(options.threadCount());
  for (const KnownBytes &each : known) {
    SLUICE_RETURN_IF_ERROR(options.checkCancelled());
    if (digestOf(each.bytes, pool) != each.digest)
      return &each;
    progress.update(done += each.bytes.size());
  }
  return nullptr;
}

/// Removes a damaged cache if possible. Returns what was done and what is left
/// to do.
static std::string dropCache(const MappedFile &cache) {
  if (!cache.isInPlace())
    return "another file is in its place by now, or none";
  if (::unlink(cache.path().c_str()) != 0)
    return "remove the file: the next start then packs the weights again";
  return "the file has been removed, and the next start packs the weights "
         "again";
}

Status sluice::reportDamage(const KnownBytes &damaged) {
  const std::string place = damaged.file + ": weight '" + damaged.weight + "' ";
  switch (damaged.source) {
  case KnownBytes::Source::Cache:
    return failure(place, "is damaged; ", dropCache(*damaged.cache));
  case KnownBytes::Source::Executable:
    return failure(place, "is damaged; copy or compile the program again");
  case KnownBytes::Source::ModelFile:
    return failure(place, "has changed since the program was compiled from it; "
                          "restore the file, or compile it again");
  case KnownBytes::Source::Memory:
    break;
  }
  return failure("weight '", damaged.weight,
                 "' has changed in this process's memory, which may be faulty");
}

/// Keeps the thread at its pace: read() sleeps when the thread is ahead of it.
/// Time that the thread lost because the processors were busy is not made up.
class WeightVerifier::Pacer {
public:
  explicit Pacer(const std::stop_token &stop) : stop(stop) {}

  void setRate(uint64_t newRate) { bytesPerSecond = newRate; }

  /// Returns false if the thread must end.
  bool read(uint64_t count) {
    bytes += count;
    auto due = start + std::chrono::nanoseconds(
                           int64_t(double(bytes) / double(bytesPerSecond) *
                                   double(std::nano::den)));
    Clock::time_point now = Clock::now();
    if (due - now >= shortestSleep) {
      std::unique_lock lock(mutex);
      sleeping.wait_until(lock, stop, due, [] { return false; });
      now = Clock::now();
    }
    if (now >= due) {
      start = now;
      bytes = 0;
    }
    return !stop.stop_requested();
  }

private:
  using Clock = std::chrono::steady_clock;
  /// Long enough to let a processor rest.
  static constexpr auto shortestSleep = 50ms;

  const std::stop_token &stop;
  uint64_t bytesPerSecond = 0;
  Clock::time_point start = Clock::now();
  uint64_t bytes = 0; // since then
  std::mutex mutex;
  std::condition_variable_any sleeping;
};

WeightVerifier::WeightVerifier(std::vector<KnownBytes> knownBytes,
                               const VerifierPace &pace,
                               std::function<void(const Status &)> damaged)
    : known(std::move(knownBytes)), pace(pace), damaged(std::move(damaged)) {
  if (!known.empty())
    thread = std::jthread([this](const std::stop_token &stop) { run(stop); });
}

WeightVerifier::~WeightVerifier() = default;

void WeightVerifier::run(const std::stop_token &stop) {
  runWhenIdle();
  Pacer pacer(stop);
  for (std::optional<uint64_t> rate = pace.first; rate; rate = pace.later) {
    pacer.setRate(*rate);
    for (const KnownBytes &each : known)
      if (!verify(each, pacer))
        return;
    ++passes;
  }
}

/// Returns false if the thread must end.
bool WeightVerifier::verify(const KnownBytes &each, Pacer &pacer) {
  std::vector<uint64_t> blocks;
  insist([&] { blocks.reserve(each.bytes.size() / digestBlockBytes + 1); });
  for (size_t at = 0; at < each.bytes.size(); at += digestBlockBytes) {
    std::span<const uint8_t> block = each.bytes.subspan(
        at, std::min<size_t>(digestBlockBytes, each.bytes.size() - at));
    blocks.push_back(digestBlock(block));
    bytes += block.size();
    if (!pacer.read(block.size()))
      return false;
  }
  if (digestOfBlocks(blocks) == each.digest)
    return true;
  damaged(reportDamage(each));
  return false;
}
