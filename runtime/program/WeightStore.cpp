//===- WeightStore.cpp - a program's weights, ready for its kernels -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightStore.h"

#include "runtime/program/Progress.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

using namespace sluice;

namespace {

PackedKey keyOf(const ProgramDescriptor &program) {
  return {program.cpu, program.packingHash()};
}

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

std::string sluice::packedCachePath(const std::string &executable) {
  return executable + ".weights";
}

Expected<WeightStore> WeightStore::load(const ProgramDescriptor &program,
                                        const WeightLoadOptions &options) {
  WeightStore store;
  auto note = [&options](const std::string &line) {
    if (options.note)
      options.note(line);
  };
  if (program.embedded) {
    if (Status s = store.loadEmbedded(program, options); !s.ok())
      return s;
    return store;
  }
  Expected<ModelFiles> files = ModelFiles::open(program, options.search);
  if (!files)
    return files.status();
  store.files = files.take();

  std::string path = packedCachePath(options.search.executable);
  std::string reason;
  if (store.loadCached(program, path, reason)) {
    store.source = Origin::Cached;
    if (Status s = populate(store.packedFile->bytes(), options.packing);
        !s.ok())
      return s;
    return store;
  }
  if (!reason.empty())
    note(path + ": " + reason + "; packing the weights again");

  bool fileFailed = false;
  Status status = store.packToFile(program, options, path, fileFailed);
  if (!status.ok() && fileFailed) {
    note(status.message() + "; the packed weights stay in memory and the next "
                            "start packs them again");
    status = store.packToMemory(program, options);
  }
  if (!status.ok())
    return status;
  return store;
}

Status WeightStore::loadEmbedded(const ProgramDescriptor &program,
                                 const WeightLoadOptions &options) {
  const std::string &path = options.search.executable;
  Expected<MappedFile> executable = MappedFile::open(path);
  if (!executable)
    return executable.status();
  std::optional<std::span<const uint8_t>> bytes =
      findEmbeddedPackedFile(executable->bytes());
  if (!bytes)
    return failure(path, ": the embedded weights are missing; was the file "
                         "stripped or cut short?");
  Expected<PackedLayout> layout =
      readPackedHeader(*bytes, keyOf(program), program.weights.size());
  if (!layout)
    return failure(path, ": embedded weights: ", layout.status().message());
  source = Origin::Embedded;
  packedFile = executable.take();
  if (Status s = populate(*bytes, options.packing); !s.ok())
    return s;
  return bind(program, *layout, bytes->data()).withContext(path);
}

bool WeightStore::loadCached(const ProgramDescriptor &program,
                             const std::string &path, std::string &reason) {
  if (::access(path.c_str(), F_OK) != 0)
    return false;
  Expected<MappedFile> cache = MappedFile::open(path);
  if (!cache) {
    reason = "cannot be read";
    return false;
  }
  Expected<PackedLayout> layout =
      readPackedHeader(cache->bytes(), keyOf(program), program.weights.size());
  if (!layout) {
    reason = layout.status().message();
    return false;
  }
  Status bound = bind(program, *layout, cache->bytes().data());
  if (!bound.ok()) {
    reason = bound.message();
    return false;
  }
  packedFile = cache.take();
  return true;
}

Status WeightStore::packToFile(const ProgramDescriptor &program,
                               const WeightLoadOptions &options,
                               const std::string &path, bool &fileFailed) {
  Expected<AtomicFile> out = AtomicFile::create(path);
  if (!out) {
    fileFailed = true;
    return out.status();
  }
  if (Status s = writePackedFile(program, *files, PackedContents::NotInFiles,
                                 options.packing, *out, &fileFailed);
      !s.ok())
    return s;
  if (Status s = out->commit(); !s.ok()) {
    fileFailed = true;
    return s;
  }
  std::string reason;
  if (!loadCached(program, path, reason)) {
    // Another process may have replaced or removed the file meanwhile.
    fileFailed = true;
    return failure(path, ": cannot be read back");
  }
  source = Origin::Packed;
  return {};
}

Status WeightStore::packToMemory(const ProgramDescriptor &program,
                                 const WeightLoadOptions &options) {
  Expected<PackedLayout> layout =
      planPackedFile(program, PackedContents::NotInFiles);
  if (!layout)
    return layout.status();
  Expected<cpu::ZeroedMemory> allocated =
      cpu::ZeroedMemory::allocate(layout->totalBytes, "packed weights");
  if (!allocated)
    return allocated.status();
  memory = allocated.take();
  auto *base = reinterpret_cast<uint8_t *>(memory.floats());
  if (Status s =
          packIntoMemory(program, *files, *layout, options.packing, base);
      !s.ok())
    return s;
  source = Origin::InMemory;
  return bind(program, *layout, base);
}

Status WeightStore::bind(const ProgramDescriptor &program,
                         const PackedLayout &layout, const uint8_t *base) {
  Expected<PackedLayout> needed = planPackedFile(
      program, files ? PackedContents::NotInFiles : PackedContents::Everything);
  if (!needed)
    return needed.status();
  views.clear();
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightDescriptor &weight = program.weights[i];
    const PackedSection &section = layout.sections[i];
    if (section.bytes != needed->sections[i].bytes)
      return failure("was packed by another version");
    const uint8_t *data = base + section.offset;
    switch (weight.use) {
    case WeightUse::Linear:
      views.emplace_back(cpu::packedWeight(linearSpec(weight), data));
      break;
    case WeightUse::Rows:
      if (section.bytes == 0)
        data = files->data(weight);
      views.emplace_back(
          cpu::RowTable{weight.format, data, weight.rows, weight.cols});
      break;
    case WeightUse::Vector:
      views.emplace_back(std::span<const float>(
          reinterpret_cast<const float *>(data), size_t(weight.cols)));
      break;
    }
  }
  return {};
}
