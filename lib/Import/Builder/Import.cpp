//===- Import.cpp - import of a model's files as MLIR ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Import/Import.h"

#include "DecoderBuilder.h"
#include "runtime/jinja/TurnEnd.h"
#include "sluice/Import/ImportTokenizer.h"
#include "sluice/Import/Support/Quote.h"
#include "sluice/Support/Diagnostics.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"

#include <filesystem>

using namespace sluice;
using namespace sluice::importer;

namespace fs = std::filesystem;

/// Returns whether the path leads through a process's table of open files, as
/// /dev/stdin does. In another process such a path means another file.
static bool namesOpenFile(const std::string &path) {
  constexpr int maxLinks = 40; // as in Linux
  fs::path current = path;
  for (int links = 0; links < maxLinks; ++links) {
    std::error_code error;
    fs::path folder = current.has_parent_path() ? current.parent_path() : ".";
    folder = fs::canonical(folder, error);
    if (error)
      return false;
    if (folder.filename() == "fd" && folder.native().starts_with("/proc/"))
      return true;
    fs::path target = fs::read_symlink(folder / current.filename(), error);
    if (error)
      return false;
    current = folder / target;
  }
  return false;
}

/// Adds to the model's end-of-text tokens those of the tokenizer and those that
/// end a turn in its chat templates. Ignores errors in templates, which are
/// reported when a template is used.
static void addEndTokens(ir::ModelOp model, const text::Tokenizer &tokenizer) {
  const text::TokenizerSpec &spec = tokenizer.spec();
  llvm::SetVector<int64_t> ends;
  ends.insert_range(model.getEosTokens());
  auto add = [&](text::TokenId id) {
    if (static_cast<uint64_t>(id) < model.getVocabSize())
      ends.insert(id);
  };
  llvm::for_each(spec.endOfText, add);
  for (const std::string *source : {&spec.chatTemplate, &spec.toolTemplate})
    if (Expected<text::ChatTemplate> chat =
            text::ChatTemplate::compile(*source))
      if (std::optional<text::TokenId> end = findTurnEnd(*chat, tokenizer))
        add(*end);
  model.setEosTokens(ends.getArrayRef());
}

/// Reads the module's tokenizer. Removes a tokenizer that cannot be read or
/// run, with a warning; the model then takes and returns token ids.
static void settleTokenizer(ir::ModelOp model, ir::TokenizerOp op) {
  std::vector<std::string> warnings;
  Expected<text::TokenizerSpec> spec = readTokenizer(op, &warnings);
  Expected<text::Tokenizer> tokenizer =
      spec ? text::Tokenizer::create(spec.take()) : spec.status();
  for (const std::string &line : warnings)
    mlir::emitWarning(op.getLoc()) << line;
  if (tokenizer) {
    addEndTokens(model, *tokenizer);
    return;
  }
  mlir::emitWarning(op.getLoc())
      << tokenizer.status().message()
      << "; without its tokenizer, the model takes and gives token ids";
  op.erase();
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
sluice::importModel(const std::string &path, const ImportOptions &options,
                    mlir::MLIRContext *context) {
  std::optional<Format> quantize = parseFormat(options.quantize);
  if (!options.quantize.empty() && quantize != Format::Q8_0 &&
      quantize != Format::Q4_0 && quantize != Format::E4M3)
    return failure("--quantize: ", quote(options.quantize),
                   " is not supported (q8_0, q4_0 and e4m3 are)");
  // The path must be valid later, when the module or its executable opens the
  // files again.
  if (namesOpenFile(path))
    return failure(path, ": is not a place where the model's file can be found "
                         "later: give the path of the file itself");
  Expected<ModelFiles> model = ModelFiles::open(path);
  if (!model)
    return model.status();

  context->loadDialect<ir::SluiceDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  WeightTable weights(*model, quantize, context);
  DecoderBuilder(*model, weights, context).build(*module);
  SLUICE_RETURN_IF_ERROR(weights.finish());
  for (const std::string &line : model->config().warnings)
    mlir::emitWarning(module->getLoc()) << line;
  for (ir::ModelOp op : module->getOps<ir::ModelOp>())
    for (ir::TokenizerOp tokenizer :
         llvm::make_early_inc_range(module->getOps<ir::TokenizerOp>()))
      settleTokenizer(op, tokenizer);
  FirstError firstError(context);
  if (mlir::failed(mlir::verify(*module)))
    return firstError.status("the module does not verify").withContext(path);
  return module;
}
