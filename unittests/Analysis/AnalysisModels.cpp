//===- AnalysisModels.cpp - test modules made from shapes -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnalysisModels.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;
using namespace sluice;

namespace {

/// Writes ops, and the weights that they use.
class Writer {
public:
  Writer(const cluster::ModelShape &shape, const std::string &name)
      : shape(shape), name(name) {}

  std::string module();

private:
  static std::string rows(int64_t width) {
    return "tensor<?x" + std::to_string(width) + "xf32>";
  }
  std::string weight(const std::string &type) {
    std::string symbol = "@" + name + ".w" + std::to_string(count++);
    weights << "sluice.weight " << symbol << " in @" << name
            << ".f at 0 stored f32 : " << type << "\n";
    return symbol;
  }
  std::string matrix(int64_t out, int64_t in) const {
    return "tensor<" + std::to_string(out) + "x" + std::to_string(in) +
           "x!sluice.block<q8_0>>";
  }
  std::string value() { return "%v" + std::to_string(count++); }
  std::string param(const std::string &symbol, const std::string &type) {
    std::string result = value();
    body << result << " = sluice.param " << symbol << " : " << type << "\n";
    return result;
  }
  std::string linear(const std::string &x, int64_t out, int64_t in,
                     std::string symbol = "") {
    std::string type = matrix(out, in);
    if (symbol.empty())
      symbol = weight(type);
    std::string w = param(symbol, type), y = value();
    body << y << " = sluice.linear " << x << ", " << w << " : " << rows(in)
         << ", " << type << " -> " << rows(out) << "\n";
    return y;
  }
  std::string norm(const std::string &x) {
    std::string type = "tensor<" + std::to_string(shape.hidden) + "xf32>";
    std::string w = param(weight(type), type), y = value();
    body << y << " = sluice.rms_norm " << x << ", " << w
         << " epsilon 1.0e-05 : " << rows(shape.hidden) << ", " << type << "\n";
    return y;
  }
  std::string rope(const std::string &x, int64_t heads) {
    std::string y = value();
    body << y << " = sluice.rope " << x << ", %batch half heads " << heads
         << " head_dim " << shape.headDim << " rotary_dim " << shape.headDim
         << " base 10000.0 : " << rows(heads * shape.headDim) << "\n";
    return y;
  }
  std::string add(const std::string &a, const std::string &b) {
    std::string y = value();
    body << y << " = sluice.add " << a << ", " << b << " : "
         << rows(shape.hidden) << "\n";
    return y;
  }
  std::string attention(const std::string &x);
  std::string feedForward(const std::string &x);

  const cluster::ModelShape &shape;
  const std::string &name;
  std::ostringstream weights, body;
  int64_t count = 0;
};

std::string Writer::attention(const std::string &x) {
  int64_t queries = shape.heads * shape.headDim;
  int64_t keys = shape.kvHeads * shape.headDim;
  std::string q = linear(x, queries, shape.hidden);
  std::string k = linear(x, keys, shape.hidden);
  std::string v = linear(x, keys, shape.hidden);
  std::string rq = rope(q, shape.heads), rk = rope(k, shape.kvHeads);
  std::string cache = value(), a = value();
  std::string type =
      "!sluice.cache<kv_heads = " + std::to_string(shape.kvHeads) +
      ", head_dim = " + std::to_string(shape.headDim) + ">";
  body << cache << " = sluice.layer_cache : " << type << "\n"
       << a << " = sluice.attend " << rq << ", " << rk << ", " << v << ", "
       << cache << ", %batch heads " << shape.heads
       << " scale 0.125 : " << rows(queries) << ", " << rows(keys) << ", "
       << type << "\n";
  return linear(a, shape.hidden, queries);
}

std::string Writer::feedForward(const std::string &x) {
  std::string gate = linear(x, shape.feedForward, shape.hidden);
  std::string y = value();
  if (shape.gated) {
    std::string up = linear(x, shape.feedForward, shape.hidden);
    body << y << " = sluice.gate silu " << gate << ", " << up << " : "
         << rows(shape.feedForward) << "\n";
  } else {
    body << y << " = sluice.activation gelu " << gate << " : "
         << rows(shape.feedForward) << "\n";
  }
  return linear(y, shape.hidden, shape.feedForward);
}

std::string Writer::module() {
  std::string tableType = matrix(shape.vocab, shape.hidden);
  std::string table = weight(tableType);
  std::string t = param(table, tableType), h = value();
  body << h << " = sluice.embed %batch, " << t << " by token : " << tableType
       << " -> " << rows(shape.hidden) << "\n";
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    std::string next = value(), x = "%x" + std::to_string(layer);
    body << next << " = sluice.layer " << layer << " (" << x << " = " << h
         << ") : " << rows(shape.hidden) << " {\n";
    std::string y = add(x, attention(norm(x)));
    std::string z = add(y, feedForward(norm(y)));
    body << "sluice.yield " << z << " : " << rows(shape.hidden) << "\n}\n";
    h = next;
  }
  std::string last = value();
  body << last << " = sluice.select_outputs " << h
       << ", %batch : " << rows(shape.hidden) << "\n";
  std::string logits =
      linear(norm(last), shape.vocab, shape.hidden, shape.tied ? table : "");
  body << "sluice.return " << logits << " : " << rows(shape.vocab) << "\n";
  std::ostringstream text;
  text << "sluice.file @" << name << ".f path \"m\" size 1000000000000 "
       << "identity \"0123456789abcdef\"\n"
       << weights.str() << "sluice.model @" << name
       << "(%batch: !sluice.batch) attributes {architecture = \"llama\", "
          "model_name = \"m\", vocab_size = "
       << shape.vocab << ", context_length = 4096} {\n"
       << body.str() << "}\n";
  return text.str();
}

} // namespace

std::string sluice::modelText(const cluster::ModelShape &shape,
                              const std::string &name) {
  return Writer(shape, name).module();
}

OwningOpRef<ModuleOp> sluice::parse(MLIRContext *context,
                                    const std::string &text) {
  context->loadDialect<ir::SluiceDialect, DLTIDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context);
  EXPECT_TRUE(module) << text;
  return module;
}

bool sluice::runPasses(ModuleOp module, const std::string &pipeline) {
  static bool registered = (registerSluiceTransformsPasses(), true);
  (void)registered;
  PassManager passes(module.getContext());
  return succeeded(parsePassPipeline(pipeline, passes)) &&
         succeeded(passes.run(module));
}
