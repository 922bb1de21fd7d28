//===- MappedModelFiles.cpp - the files that a program was compiled from --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/MappedModelFiles.h"

#include "runtime/base/FileIdentity.h"
#include "runtime/base/InputFiles.h"

#include <unistd.h>

using namespace sluice;

namespace {

std::string fileNameOf(const std::string &path) {
  return path.substr(path.rfind('/') + 1);
}

bool exists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Returns the file's path, which may not exist in `modelDir`, or an empty
/// string if the file is not found.
std::string find(const ModelFile &file, const FileSearch &search) {
  std::string name = fileNameOf(file.path);
  if (!search.modelDir.empty())
    return search.modelDir + "/" + name;
  if (exists(file.path))
    return file.path;
  std::string beside = folderOf(search.executable) + "/" + name;
  return exists(beside) ? beside : "";
}

Status checkSame(const MappedFile &opened, const ModelFile &recorded) {
  if (opened.bytes().size() != recorded.size)
    return failure(opened.path(), ": has ", opened.bytes().size(),
                   " bytes; the program was compiled from a file of ",
                   recorded.size);
  if (fileIdentity(opened.bytes()) != recorded.identity)
    return failure(opened.path(),
                   ": has changed since the program was compiled from it");
  // For each sample the kernel may have mapped some MiB.
  opened.releasePages();
  return {};
}

} // namespace

Expected<MappedFile> sluice::openModelFile(const ModelFile &file,
                                           const FileSearch &search) {
  std::string path = find(file, search);
  if (path.empty())
    return failure(file.path, ": the model's file is missing, also in the "
                              "program's folder; --model-dir says where it is");
  Expected<MappedFile> opened = MappedFile::open(path);
  if (!opened)
    return opened;
  SLUICE_RETURN_IF_ERROR(checkSame(*opened, file));
  return opened;
}

void sluice::noteModelFiles(std::span<const ModelFile> files,
                            const FileSearch &search) {
  noteInput(search.executable);
  for (const ModelFile &file : files)
    noteInput(find(file, search));
}

void MappedModelFiles::releasePages() const {
  for (const std::optional<MappedFile> &file : files)
    if (file)
      file->releasePages();
}

std::string sluice::folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

MappedModelFiles MappedModelFiles::random(RandomWeights weights) {
  MappedModelFiles all;
  all.made = std::move(weights);
  return all;
}

Expected<MappedModelFiles>
MappedModelFiles::open(std::span<const ModelFile> files,
                       const ProgramDescriptor &program,
                       const FileSearch &search) {
  std::vector<bool> needed(files.size());
  for (const WeightDescriptor &weight : program.weights) {
    needed[weight.file] = true;
    if (weight.scales)
      needed[weight.scales->file] = true;
  }
  MappedModelFiles all;
  all.files.resize(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (!needed[i])
      continue;
    Expected<MappedFile> opened = openModelFile(files[i], search);
    if (!opened)
      return opened.status();
    all.files[i] = opened.take();
  }
  return all;
}
