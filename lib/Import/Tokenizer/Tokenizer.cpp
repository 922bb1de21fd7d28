//===- Tokenizer.cpp - reader of a module's tokenizer ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FileIdentity.h"
#include "runtime/base/MappedFile.h"
#include "sluice/Import/GGUF/GGUFFile.h"
#include "sluice/Import/GGUF/GGUFTokenizer.h"
#include "sluice/Import/HuggingFace/TokenizerJson.h"
#include "sluice/Import/ImportTokenizer.h"

#include "llvm/Support/Path.h"

using namespace sluice;

/// Fails if the file is not the one from which the module was imported.
static Status checkUnchanged(ir::FileOp file) {
  Expected<MappedFile> mapped = MappedFile::open(file.getAbsolutePath());
  if (!mapped)
    return mapped.status();
  if (mapped->bytes().size() != file.getSize() ||
      fileIdentity(mapped->bytes()) != file.getIdentity())
    return failure(file.getAbsolutePath(),
                   ": has changed since the model was imported");
  return {};
}

Expected<text::TokenizerSpec>
sluice::readTokenizer(ir::TokenizerOp op, std::vector<std::string> *warnings) {
  auto file = mlir::SymbolTable::lookupNearestSymbolFrom<ir::FileOp>(
      op, op.getFileAttr());
  SLUICE_RETURN_IF_ERROR(checkUnchanged(file));
  std::string path = file.getAbsolutePath();
  if (op.getSource() == ir::TokenizerSource::TokenizerJson)
    return hf::readTokenizerJson(llvm::sys::path::parent_path(path).str(),
                                 warnings);
  Expected<gguf::GGUFFile> model = gguf::GGUFFile::open(path);
  if (!model)
    return model.status();
  return gguf::readTokenizer(*model, warnings);
}
