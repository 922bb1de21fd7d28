//===- TestModels.cpp - small models of two layers ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModels.h"

using namespace sluice::test;

void sluice::test::replaceAll(std::string &text, const std::string &what,
                              const std::string &by) {
  for (size_t at; (at = text.find(what)) != std::string::npos;)
    text.replace(at, what.size(), by);
}

std::string sluice::test::makeWeights(const ModelText &model) {
  std::string text = model.weights;
  for (int layer : {0, 1}) {
    std::string weights = model.layerWeights;
    replaceAll(weights, "@", std::to_string(layer));
    text += weights;
  }
  return text;
}

std::string sluice::test::makeBody(const ModelText &model) {
  std::string text = model.before;
  for (int layer : {0, 1}) {
    std::string body = model.layer;
    replaceAll(body, "$in", "%h" + std::to_string(layer));
    replaceAll(body, "$out", "%h" + std::to_string(layer + 1));
    replaceAll(body, "#", std::to_string(layer));
    text += body;
  }
  return spellOut(text + model.after);
}

std::string sluice::test::spellOut(std::string text) {
  replaceAll(text, "$H", "tensor<?x64xf32>");
  replaceAll(text, "$K", "tensor<?x32xf32>");
  replaceAll(text, "$F", "tensor<?x96xf32>");
  replaceAll(text, "$Q", "tensor<?x128xf32>");
  replaceAll(text, "$C", "!sluice.cache<kv_heads = 2, head_dim = 16>");
  replaceAll(text, "$V", "tensor<64xf32>");
  replaceAll(text, "$B", "xf32>");
  replaceAll(text, "$q8", "x!sluice.block<q8_0>>");
  return text;
}

const ModelText sluice::test::llama = {"embd: 100x64xf32\nnorm: 64xf32\n",
                                       R"(n1@: 64xf32
q@: 64x64x!sluice.block<q8_0>
k@: 32x64x!sluice.block<q8_0>
v@: 32x64x!sluice.block<q8_0>
o@: 64x64x!sluice.block<q8_0>
n2@: 64xf32
gate@: 96x64x!sluice.block<q8_0>
up@: 96x64x!sluice.block<q8_0>
down@: 64x96x!sluice.block<q8_0>
)",
                                       R"(
$out = sluice.layer # (%x = $in) : $H {
  %n1 = sluice.param @n1# : $V
  %wq = sluice.param @q# : tensor<64x64$q8
  %wk = sluice.param @k# : tensor<32x64$q8
  %wv = sluice.param @v# : tensor<32x64$q8
  %wo = sluice.param @o# : tensor<64x64$q8
  %n2 = sluice.param @n2# : $V
  %wg = sluice.param @gate# : tensor<96x64$q8
  %wu = sluice.param @up# : tensor<96x64$q8
  %wd = sluice.param @down# : tensor<64x96$q8
  %c = sluice.layer_cache : $C
  %a = sluice.rms_norm %x, %n1 epsilon 1.0e-5 : $H, $V
  %q = sluice.linear %a, %wq : $H, tensor<64x64$q8 -> $H
  %k = sluice.linear %a, %wk : $H, tensor<32x64$q8 -> $K
  %v = sluice.linear %a, %wv : $H, tensor<32x64$q8 -> $K
  %qr = sluice.rope %q, %batch interleaved heads 4 head_dim 16 rotary_dim 16
    base 10000.0 : $H
  %kr = sluice.rope %k, %batch interleaved heads 2 head_dim 16 rotary_dim 16
    base 10000.0 : $K
  %t = sluice.attend %qr, %kr, %v, %c, %batch heads 4 scale 0.25 : $H, $K, $C
  %o = sluice.linear %t, %wo : $H, tensor<64x64$q8 -> $H
  %x2 = sluice.add %x, %o : $H
  %m = sluice.rms_norm %x2, %n2 epsilon 1.0e-5 : $H, $V
  %g = sluice.linear %m, %wg : $H, tensor<96x64$q8 -> $F
  %u = sluice.linear %m, %wu : $H, tensor<96x64$q8 -> $F
  %f = sluice.gate silu %g, %u : $F
  %d = sluice.linear %f, %wd : $F, tensor<64x96$q8 -> $H
  %x3 = sluice.add %x2, %d : $H
  sluice.yield %x3 : $H
}
)",
                                       R"(
%embd = sluice.param @embd : tensor<100x64$B
%h0 = sluice.embed %batch, %embd by token : tensor<100x64$B -> $H
)",
                                       R"(
%s = sluice.select_outputs %h2, %batch : $H
%norm = sluice.param @norm : $V
%e = sluice.rms_norm %s, %norm epsilon 1.0e-5 : $H, $V
%logits = sluice.linear %e, %embd : $H, tensor<100x64$B -> tensor<?x100$B
sluice.return %logits : tensor<?x100$B
)"};

const ModelText sluice::test::parallel = {
    "embd: 100x64xf32\npos: 64x64xf32\nhead: 64x100xf32\n",
    R"(w1@: 64xf32
b1@: 64xf32
w2@: 64xf32
qkv@: 128x64xf32
qkvb@: 128xf32
o@: 64x64xf32
up@: 64x96xf32
down@: 96x64xf32
downb@: 64xf32
)",
    R"(
$out = sluice.layer # (%x = $in) : $H {
  %w1 = sluice.param @w1# : $V
  %b1 = sluice.param @b1# : $V
  %w2 = sluice.param @w2# : $V
  %wqkv = sluice.param @qkv# : tensor<128x64$B
  %bqkv = sluice.param @qkvb# : tensor<128$B
  %wo = sluice.param @o# : tensor<64x64$B
  %wu = sluice.param @up# : tensor<64x96$B
  %wd = sluice.param @down# : tensor<96x64$B
  %bd = sluice.param @downb# : $V
  %c = sluice.layer_cache : $C
  %a = sluice.layer_norm %x, %w1 bias %b1 epsilon 1.0e-5 : $H, $V, $V
  %qkv = sluice.linear %a, %wqkv bias %bqkv
    : $H, tensor<128x64$B, tensor<128$B -> $Q
  %q, %k, %v = sluice.split_qkv %qkv grouped heads 4 kv_heads 2 head_dim 16
    : $Q -> $H, $K, $K
  %qr = sluice.rope %q, %batch half heads 4 head_dim 16 rotary_dim 8
    base 10000.0 : $H
  %kr = sluice.rope %k, %batch half heads 2 head_dim 16 rotary_dim 8
    base 10000.0 : $K
  %t = sluice.attend %qr, %kr, %v, %c, %batch heads 4 scale 0.25 : $H, $K, $C
  %o = sluice.linear %t, %wo : $H, tensor<64x64$B -> $H
  %m = sluice.layer_norm %x, %w2 epsilon 1.0e-5 : $H, $V
  %u = sluice.linear %m, %wu transposed : $H, tensor<64x96$B -> $F
  %f = sluice.activation gelu %u : $F
  %d = sluice.linear %f, %wd bias %bd transposed
    : $F, tensor<96x64$B, $V -> $H
  %s = sluice.add %o, %d : $H
  %y = sluice.add %x, %s : $H
  sluice.yield %y : $H
}
)",
    R"(
%embd = sluice.param @embd : tensor<100x64$B
%pos = sluice.param @pos : tensor<64x64$B
%e = sluice.embed %batch, %embd by token : tensor<100x64$B -> $H
%p = sluice.embed %batch, %pos by position : tensor<64x64$B -> $H
%h0 = sluice.add %e, %p : $H
)",
    R"(
%head = sluice.param @head : tensor<64x100$B
%logits = sluice.linear %h2, %head transposed
  : $H, tensor<64x100$B -> tensor<?x100$B
sluice.return %logits : tensor<?x100$B
)"};

int64_t sluice::test::tokenAt(int64_t sequence, int64_t position) {
  return (sequence * 31 + position * 17 + 5) % vocabSize;
}

TestRow sluice::test::makeRow(int64_t sequence, int64_t position) {
  return {sequence, position, tokenAt(sequence, position), true};
}
