//===- PackedWeightStore.cpp - the weights that a CPU's program uses ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PackedWeightStore.h"

#include "runtime/program/Progress.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

using namespace sluice;

namespace {

/// Reads all pages of a packed file now, with a progress line. Otherwise the
/// first step would read them one by one.
Status populate(std::span<const uint8_t> bytes, const PackingOptions &options) {
#ifdef MADV_POPULATE_READ
  constexpr size_t stretch = size_t(64) << 20;
  Progress progress("loading weights", bytes.size());
  for (size_t at = 0; at < bytes.size(); at += stretch) {
    SLUICE_RETURN_IF_ERROR(options.checkCancelled());
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

/// Returns a weight in its kernels' form; its packed bytes begin at `data`.
cpu::CpuWeight viewOf(const WeightDescriptor &weight, const uint8_t *data) {
  switch (weight.use) {
  case WeightUse::Linear:
    return cpu::packedWeight(linearSpec(weight), data);
  case WeightUse::Rows:
    return cpu::EmbeddingTable{weight.format, data, weight.rows, weight.cols};
  case WeightUse::Vector:
    break;
  }
  return std::span<const float>(reinterpret_cast<const float *>(data),
                                size_t(weight.usedCols()));
}

/// Returns which other user could have written a file, as text for use after
/// the file's name. Returns nullopt if only root and this process's user could.
std::optional<std::string> findOtherWriter(const struct stat &file) {
  if (file.st_uid != 0 && file.st_uid != ::geteuid())
    return "belongs to another user, number " + std::to_string(file.st_uid);
  if (file.st_mode & (S_IWGRP | S_IWOTH))
    return "may be written by other users (chmod go-w helps)";
  return std::nullopt;
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

/// Fills a store from one of the four places.
class PackedWeightStore::Loader {
public:
  Loader(const ExecutableDescriptor &executable, int64_t index,
         const WeightLoadOptions &options, PackedWeightStore &store)
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
  Expected<bool> isIntact(std::string &reason);
  bool isOthersFile() const;
  bool bindFile(const std::string &file, std::string &reason);
  Status keep(AtomicFile file);
  Status packToFile(bool &fileFailed);
  Status packToMemory();
  Status packToMemory(const std::string &reason);
  Status bind(const PackedFileLayout &layout, const uint8_t *base,
              KnownBytes packed);

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
  PackedWeightStore &store;
  std::string path; // of the cache
};

Expected<PackedWeightStore>
PackedWeightStore::load(const ExecutableDescriptor &executable, int64_t program,
                        const WeightLoadOptions &options) {
  PackedWeightStore store;
  SLUICE_RETURN_IF_ERROR(Loader(executable, program, options, store).load());
  return store;
}

Status PackedWeightStore::Loader::load() {
  if (options.randomSeed)
    return loadRandom();
  if (executable.embedded)
    return loadEmbedded();
  Expected<MappedModelFiles> files =
      MappedModelFiles::open(executable.files, program, options.search);
  if (!files)
    return files.status();
  store.files = files.take();
  return loadFromFiles();
}

Status PackedWeightStore::Loader::loadFromFiles() {
  std::string reason;
  if (loadCached(reason)) {
    if (std::optional<std::string> other =
            findOtherWriter(store.packedFile->info()))
      return packToMemory(*other + ", so it is not used");
    store.source = Origin::Cached;
    SLUICE_RETURN_IF_ERROR(
        populate(store.packedFile->bytes(), options.packing));
    Expected<bool> intact = isIntact(reason);
    if (!intact || *intact)
      return intact.status();
  } else if (isOthersFile()) {
    return packToMemory("is no cache of packed weights and stays as it is");
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

/// With options.verifyFirst, checks whether all bytes with a known digest are
/// intact. Returns false, with a reason, if the cache is damaged. Errors: other
/// bytes are damaged; cancellation.
Expected<bool> PackedWeightStore::Loader::isIntact(std::string &reason) {
  if (!options.verifyFirst)
    return true;
  Expected<const KnownBytes *> damaged =
      findDamage(store.known, options.packing);
  if (!damaged)
    return damaged.status();
  if (!*damaged)
    return true;
  if ((*damaged)->source != KnownBytes::Source::Cache)
    return reportDamage(**damaged);
  reason = "weight '" + (*damaged)->weight + "' is damaged";
  return false;
}

Status PackedWeightStore::Loader::loadRandom() {
  Expected<RandomWeights> reserved = RandomWeights::reserve(program);
  if (!reserved)
    return reserved.status();
  store.files = MappedModelFiles::random(reserved.take());
  const PackingOptions &packing = options.packing;
  cpu::ThreadPool pool(packing.threadCount());
  SLUICE_RETURN_IF_ERROR(store.files->randomWeights()->fill(
      program, *options.randomSeed, pool, packing.cancelled));
  return packToMemory();
}

Status PackedWeightStore::Loader::loadEmbedded() {
  const std::string &file = options.search.executable;
  Expected<MappedFile> mapped = MappedFile::open(file);
  if (!mapped)
    return mapped.status();
  std::optional<std::span<const uint8_t>> bytes =
      findEmbeddedPackedFile(mapped->bytes(), index);
  if (!bytes)
    return failure(file, ": the embedded weights are missing; was the file "
                         "stripped or cut short?");
  Expected<PackedFileLayout> layout =
      readPackedHeader(*bytes, key(), program.weights.size());
  if (!layout)
    return failure(file, ": embedded weights: ", layout.status().message());
  store.source = Origin::Embedded;
  if (Status s = bind(*layout, bytes->data(),
                      {.source = KnownBytes::Source::Executable, .file = file});
      !s.ok())
    return s.withContext(file);
  store.packedFile = std::make_shared<const MappedFile>(mapped.take());
  SLUICE_RETURN_IF_ERROR(populate(*bytes, options.packing));
  std::string none; // there is no cache here
  return isIntact(none).status();
}

bool PackedWeightStore::Loader::loadCached(std::string &reason) {
  return ::access(path.c_str(), F_OK) == 0 && bindFile(path, reason);
}

/// Returns whether the cache's path has a file that may not be a cache. Such a
/// file is not replaced.
bool PackedWeightStore::Loader::isOthersFile() const {
  if (::access(path.c_str(), F_OK) != 0)
    return false;
  Expected<MappedFile> file = MappedFile::open(path, FileUse::Replaceable);
  return !file || !isPackedFile(file->bytes());
}

/// Maps a packed file, which has the cache's path or will have it, and uses it.
/// Returns false, with a reason, if it cannot be used.
bool PackedWeightStore::Loader::bindFile(const std::string &file,
                                         std::string &reason) {
  Expected<MappedFile> opened =
      MappedFile::open(file, FileUse::Replaceable, path);
  if (!opened) {
    reason = "cannot be read";
    return false;
  }
  auto cache = std::make_shared<const MappedFile>(opened.take());
  Expected<PackedFileLayout> layout =
      readPackedHeader(cache->bytes(), key(), program.weights.size());
  if (!layout) {
    reason = layout.status().message();
    return false;
  }
  Status bound =
      bind(*layout, cache->bytes().data(),
           {.source = KnownBytes::Source::Cache, .file = path, .cache = cache});
  if (!bound.ok()) {
    reason = bound.message();
    return false;
  }
  store.packedFile = std::move(cache);
  return true;
}

Status PackedWeightStore::Loader::packToFile(bool &fileFailed) {
  Expected<AtomicFile> out = AtomicFile::create(path, 0644);
  if (!out) {
    fileFailed = true;
    return out.status();
  }
  SLUICE_RETURN_IF_ERROR(writePackedFile(executable, index, *store.files,
                                         PackedContents::NotInFiles,
                                         options.packing, *out, &fileFailed));
  // If the space is not allocated, the disk may still turn out to be full.
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

/// Gives the file its name once it is on the disk. The disk takes seconds for
/// data that the page cache takes at once, so another thread waits for it, if
/// one can be started. Error: the disk refused the file before it was in use.
Status PackedWeightStore::Loader::keep(AtomicFile packed) {
  auto file = std::make_shared<AtomicFile>(std::move(packed));
  auto finish = [file, note = options.note]() -> Status {
    SLUICE_RETURN_IF_ERROR(file->sync());
    if (Status s = file->commit(); !s.ok() && note)
      note(s.message() + "; the next start packs the weights again");
    return {};
  };
  auto finishInUse = [file, finish, lost = options.lost] {
    Status s = finish();
    if (s.ok())
      return;
    // From now on the mapped pages may be zeros.
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

/// Packs to memory, because of a `reason` neither to use nor to replace the
/// cache.
Status PackedWeightStore::Loader::packToMemory(const std::string &reason) {
  note(path + ": " + reason +
       "; the packed weights stay in memory and the next start packs them "
       "again");
  return packToMemory();
}

Status PackedWeightStore::Loader::packToMemory() {
  store.packedFile.reset(); // a packed file that is not used
  Expected<PackedFileLayout> layout =
      planPackedFile(executable.files, program, PackedContents::NotInFiles);
  if (!layout)
    return layout.status();
  Expected<cpu::ZeroedMemory> allocated =
      cpu::ZeroedMemory::allocate(layout->totalBytes, "packed weights");
  if (!allocated)
    return allocated.status();
  store.memory = allocated.take();
  auto *base = reinterpret_cast<uint8_t *>(store.memory.floats());
  SLUICE_RETURN_IF_ERROR(
      packIntoMemory(program, *store.files, *layout, options.packing, base));
  store.source = Origin::InMemory;
  return bind(*layout, base, {.source = KnownBytes::Source::Memory});
}

/// `packed` has the members that are the same for all sections.
Status PackedWeightStore::Loader::bind(const PackedFileLayout &layout,
                                       const uint8_t *base, KnownBytes packed) {
  Expected<PackedFileLayout> needed = planPackedFile(
      executable.files, program,
      store.files ? PackedContents::NotInFiles : PackedContents::Everything);
  if (!needed)
    return needed.status();
  store.views.clear();
  store.known.clear();
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightDescriptor &weight = program.weights[i];
    const PackedSection &section = layout.sections[i];
    if (section.bytes != needed->sections[i].bytes)
      return failure("was packed by another version");
    const uint8_t *data = base + section.offset;
    if (section.bytes > 0) {
      packed.weight = weight.name;
      packed.bytes = {data, section.bytes};
      packed.digest = section.digest;
      store.known.push_back(packed);
    } else {
      addKnownBytes(*store.files, weight, store.known);
      data = store.files->data(weight);
    }
    store.views.push_back(viewOf(weight, data));
  }
  return {};
}
