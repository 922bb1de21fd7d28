//===- WeightStore.cpp - a program's weights, ready for its kernels -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightStore.h"

#include "runtime/device/cpu/CorePlan.h"
#include "runtime/program/Progress.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

using namespace sluice;

namespace {

/// Reads the pages of a packed file now, with a progress line, rather than one
/// by one in the first step.
Status populate(std::span<const uint8_t> bytes, const PackingOptions &options) {
#ifdef MADV_POPULATE_READ
  constexpr size_t stretch = size_t(64) << 20;
  Progress progress("loading weights", bytes.size());
  for (size_t at = 0; at < bytes.size(); at += stretch) {
    if (options.cancelled && options.cancelled())
      return failure("interrupted");
    size_t count = std::min(stretch, bytes.size() - at);
    // Advice only: an older kernel reads the pages when they are first used.
    if (::madvise(const_cast<uint8_t *>(bytes.data()) + at, count,
                  MADV_POPULATE_READ) != 0)
      break;
    progress.update(at + count);
  }
#endif
  return {};
}

} // namespace

std::string sluice::packedCachePath(const ExecutableDescriptor &executable,
                                    int64_t program, const std::string &path) {
  auto isForCpu = [](const ProgramDescriptor &each) {
    return each.target == ProgramTarget::Cpu;
  };
  if (std::ranges::count_if(executable.programs, isForCpu) == 1)
    return path + ".weights";
  return path + "." + executable.programs[size_t(program)].name + ".weights";
}

/// Fills a store from one of the places.
class WeightStore::Loader {
public:
  Loader(const ExecutableDescriptor &executable, int64_t index,
         const WeightLoadOptions &options, WeightStore &store)
      : executable(executable), index(index),
        program(executable.programs[size_t(index)]), options(options),
        store(store),
        path(packedCachePath(executable, index, options.search.executable)) {}

  Status load();

private:
  Status loadEmbedded();
  Status loadFromFiles();
  Status loadRandom();
  bool loadCached(std::string &reason);
  bool isOthersFile() const;
  bool bindFile(const std::string &file, std::string &reason);
  Status keep(AtomicFile file);
  Status packToFile(bool &fileFailed);
  Status packToMemory();
  Status bind(const PackedLayout &layout, const uint8_t *base);

  void note(const std::string &line) const {
    if (options.note)
      options.note(line);
  }
  PackedKey key() const {
    return {program.cpu, program.packingHash(executable.files)};
  }

  const ExecutableDescriptor &executable;
  int64_t index;
  const ProgramDescriptor &program;
  const WeightLoadOptions &options;
  WeightStore &store;
  std::string path; // of the cache
};

Expected<WeightStore> WeightStore::load(const ExecutableDescriptor &executable,
                                        int64_t program,
                                        const WeightLoadOptions &options) {
  WeightStore store;
  if (Status s = Loader(executable, program, options, store).load(); !s.ok())
    return s;
  return store;
}

Status WeightStore::Loader::load() {
  if (options.randomSeed)
    return loadRandom();
  if (executable.embedded)
    return loadEmbedded();
  Expected<ModelFiles> files =
      ModelFiles::open(executable.files, program, options.search);
  if (!files)
    return files.status();
  store.files = files.take();
  return loadFromFiles();
}

Status WeightStore::Loader::loadFromFiles() {
  std::string reason;
  if (loadCached(reason)) {
    store.source = Origin::Cached;
    return populate(store.packedFile->bytes(), options.packing);
  }
  if (isOthersFile()) {
    note(path +
         ": is no cache of packed weights and stays as it is; the packed "
         "weights stay in memory and the next start packs them again");
    return packToMemory();
  }
  if (!reason.empty())
    note(path + ": " + reason + "; packing the weights again");

  bool fileFailed = false;
  Status status = packToFile(fileFailed);
  if (!status.ok() && fileFailed) {
    note(status.message() + "; the packed weights stay in memory and the next "
                            "start packs them again");
    return packToMemory();
  }
  return status;
}

Status WeightStore::Loader::loadRandom() {
  Expected<RandomWeights> reserved = RandomWeights::reserve(program);
  if (!reserved)
    return reserved.status();
  store.files = ModelFiles::random(reserved.take());
  const PackingOptions &packing = options.packing;
  cpu::ThreadPool pool(packing.threads > 0 ? packing.threads
                                           : cpu::defaultThreadCount());
  if (Status s = store.files->randomWeights()->fill(
          program, *options.randomSeed, pool, packing.cancelled);
      !s.ok())
    return s;
  return packToMemory();
}

Status WeightStore::Loader::loadEmbedded() {
  const std::string &file = options.search.executable;
  Expected<MappedFile> mapped = MappedFile::open(file);
  if (!mapped)
    return mapped.status();
  std::optional<std::span<const uint8_t>> bytes =
      findEmbeddedPackedFile(mapped->bytes(), index);
  if (!bytes)
    return failure(file, ": the embedded weights are missing; was the file "
                         "stripped or cut short?");
  Expected<PackedLayout> layout =
      readPackedHeader(*bytes, key(), program.weights.size());
  if (!layout)
    return failure(file, ": embedded weights: ", layout.status().message());
  store.source = Origin::Embedded;
  store.packedFile = mapped.take();
  if (Status s = populate(*bytes, options.packing); !s.ok())
    return s;
  return bind(*layout, bytes->data()).withContext(file);
}

bool WeightStore::Loader::loadCached(std::string &reason) {
  return ::access(path.c_str(), F_OK) == 0 && bindFile(path, reason);
}

/// Whether the cache's path is taken by what may not be a cache: it is not
/// replaced then.
bool WeightStore::Loader::isOthersFile() const {
  if (::access(path.c_str(), F_OK) != 0)
    return false;
  Expected<MappedFile> file = MappedFile::open(path, FileUse::Replaceable);
  return !file || !isPackedFile(file->bytes());
}

/// Maps a packed file and uses it, unless there is a reason against it.
bool WeightStore::Loader::bindFile(const std::string &file,
                                   std::string &reason) {
  Expected<MappedFile> cache = MappedFile::open(file, FileUse::Replaceable);
  if (!cache) {
    reason = "cannot be read";
    return false;
  }
  Expected<PackedLayout> layout =
      readPackedHeader(cache->bytes(), key(), program.weights.size());
  if (!layout) {
    reason = layout.status().message();
    return false;
  }
  Status bound = bind(*layout, cache->bytes().data());
  if (!bound.ok()) {
    reason = bound.message();
    return false;
  }
  store.packedFile = cache.take();
  return true;
}

Status WeightStore::Loader::packToFile(bool &fileFailed) {
  Expected<AtomicFile> out = AtomicFile::create(path);
  if (!out) {
    fileFailed = true;
    return out.status();
  }
  if (Status s = writePackedFile(executable, index, *store.files,
                                 PackedContents::NotInFiles, options.packing,
                                 *out, &fileFailed);
      !s.ok())
    return s;
  // Without the space the disk may yet be found to be full.
  if (Status s = out->hasSpace() ? Status() : out->sync(); !s.ok()) {
    fileFailed = true;
    return s;
  }
  std::string reason;
  if (!bindFile(out->readablePath(), reason)) {
    fileFailed = true;
    return failure(path, ": cannot be read back");
  }
  store.source = Origin::Packed;
  Status kept = keep(out.take());
  fileFailed = !kept.ok();
  return kept;
}

/// Gives the file its name once the disk has it. A disk takes seconds for what
/// the system's memory takes at once, so that a thread waits for it, where one
/// can be had. Error: the disk has refused the file before it was in use.
Status WeightStore::Loader::keep(AtomicFile packed) {
  auto file = std::make_shared<AtomicFile>(std::move(packed));
  auto finish = [file, note = options.note]() -> Status {
    if (Status s = file->sync(); !s.ok())
      return s;
    if (Status s = file->commit(); !s.ok() && note)
      note(s.message() + "; the next start packs the weights again");
    return {};
  };
  auto finishInUse = [file, finish, lost = options.lost] {
    Status s = finish();
    if (s.ok())
      return;
    // The pages that are mapped may be zeros from now on.
    {
      AtomicFile gone = std::move(*file);
    }
    if (!lost)
      std::abort();
    lost(s);
  };
  try {
    store.keeper = std::jthread(finishInUse);
    return {};
  } catch (const std::system_error &) {
    return finish();
  }
}

Status WeightStore::Loader::packToMemory() {
  Expected<PackedLayout> layout =
      planPackedFile(executable.files, program, PackedContents::NotInFiles);
  if (!layout)
    return layout.status();
  Expected<cpu::ZeroedMemory> allocated =
      cpu::ZeroedMemory::allocate(layout->totalBytes, "packed weights");
  if (!allocated)
    return allocated.status();
  store.memory = allocated.take();
  auto *base = reinterpret_cast<uint8_t *>(store.memory.floats());
  if (Status s =
          packIntoMemory(program, *store.files, *layout, options.packing, base);
      !s.ok())
    return s;
  store.source = Origin::InMemory;
  return bind(*layout, base);
}

Status WeightStore::Loader::bind(const PackedLayout &layout,
                                 const uint8_t *base) {
  Expected<PackedLayout> needed = planPackedFile(
      executable.files, program,
      store.files ? PackedContents::NotInFiles : PackedContents::Everything);
  if (!needed)
    return needed.status();
  store.views.clear();
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightDescriptor &weight = program.weights[i];
    const PackedSection &section = layout.sections[i];
    if (section.bytes != needed->sections[i].bytes)
      return failure("was packed by another version");
    const uint8_t *data = base + section.offset;
    switch (weight.use) {
    case WeightUse::Linear:
      store.views.emplace_back(cpu::packedWeight(linearSpec(weight), data));
      break;
    case WeightUse::Rows:
      if (section.bytes == 0)
        data = store.files->data(weight);
      store.views.emplace_back(
          cpu::RowTable{weight.format, data, weight.rows, weight.cols});
      break;
    case WeightUse::Vector:
      store.views.emplace_back(std::span<const float>(
          reinterpret_cast<const float *>(data), size_t(weight.usedCols())));
      break;
    }
  }
  return {};
}
