//===- SluiceAttributes.td - attributes of the dialect sluice -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICEATTRIBUTES_TD
#define SLUICE_DIALECT_SLUICE_IR_SLUICEATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "sluice/Dialect/Sluice/IR/SluiceDialect.td"

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Sluice_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::sluice::ir";
}

// The order is that of sluice::Format (runtime/formats/BlockFormat.h), which
// the runtime and the interpreter use; a static_assert keeps them together.
def Sluice_ElementFormat : Sluice_Enum<"ElementFormat",
    "how a weight's elements are stored in a file", [
  I32EnumAttrCase<"F32", 0, "f32">,
  I32EnumAttrCase<"F16", 1, "f16">,
  I32EnumAttrCase<"BF16", 2, "bf16">,
  I32EnumAttrCase<"Q8_0", 3, "q8_0">,
  I32EnumAttrCase<"Q4_0", 4, "q4_0">,
  I32EnumAttrCase<"Q4_1", 5, "q4_1">,
  I32EnumAttrCase<"Q5_0", 6, "q5_0">,
  I32EnumAttrCase<"Q5_1", 7, "q5_1">,
  I32EnumAttrCase<"Q4_K", 8, "q4_k">,
  I32EnumAttrCase<"Q5_K", 9, "q5_k">,
  I32EnumAttrCase<"Q6_K", 10, "q6_k">,
  I32EnumAttrCase<"E4M3", 11, "e4m3">
]>;

def Sluice_ActivationKind : Sluice_Enum<"ActivationKind",
    "an activation function", [
  I32EnumAttrCase<"Silu", 0, "silu">,
  I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Relu", 3, "relu">
]>;

def Sluice_RopeStyle : Sluice_Enum<"RopeStyle",
    "which two features of a head are rotated together", [
  I32EnumAttrCase<"Interleaved", 0, "interleaved">,
  I32EnumAttrCase<"Half", 1, "half">
]>;

def Sluice_QKVLayout : Sluice_Enum<"QKVLayout",
    "how queries, keys and values lie in one fused row", [
  I32EnumAttrCase<"Concat", 0, "concat">,
  I32EnumAttrCase<"Grouped", 1, "grouped">
]>;

def Sluice_EmbedIndex : Sluice_Enum<"EmbedIndex",
    "what picks a row of an embedding table", [
  I32EnumAttrCase<"Token", 0, "token">,
  I32EnumAttrCase<"Position", 1, "position">
]>;

def Sluice_TokenizerSource : Sluice_Enum<"TokenizerSource",
    "where a tokenizer's description comes from", [
  I32EnumAttrCase<"GGUF", 0, "gguf">,
  I32EnumAttrCase<"TokenizerJson", 1, "tokenizer_json">
]>;

def Sluice_Placement : Sluice_Enum<"Placement",
    "where the draft runs", [
  I32EnumAttrCase<"Own", 0, "own">,
  I32EnumAttrCase<"Head", 1, "head">
]>;

def Sluice_FrameKind : Sluice_Enum<"FrameKind",
    "what goes through a channel", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Tokens", 1, "tokens">,
  I32EnumAttrCase<"Guesses", 2, "guesses">
]> {
  let genSpecializedAttr = 0;
}

def Sluice_ValueDomain : Sluice_Enum<"ValueDomain",
    "what a value has one record for", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Outputs", 1, "outputs">
]>;

// What products take instead of rows of floats. A CPU takes q8; a GPU the others,
// in units of whole tiles.
def Sluice_OperandFormat : Sluice_Enum<"OperandFormat",
    "the numbers of the rows that products take", [
  I32EnumAttrCase<"F32", 0, "f32">,
  I32EnumAttrCase<"BF16", 1, "bf16">,
  I32EnumAttrCase<"F16", 2, "f16">,
  I32EnumAttrCase<"Q8", 3, "q8">
]>;

def Sluice_RowSemantics : Sluice_Enum<"RowSemantics",
    "what a row of an op's result depends on", [
  I32EnumAttrCase<"RowWise", 0, "row_wise">,
  I32EnumAttrCase<"PerSequence", 1, "per_sequence">,
  I32EnumAttrCase<"Structural", 2, "structural">
]> {
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Sluice_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Sluice_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// A double that prints as the shortest text that reads back the same.
class Sluice_Double<string desc> : AttrOrTypeParameter<"::llvm::APFloat", desc> {
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
  let parser = [{ [&]() -> ::mlir::FailureOr<::llvm::APFloat> {
    double value;
    if (::mlir::failed($_parser.parseFloat(value)))
      return ::mlir::failure();
    return ::llvm::APFloat(value);
  }() }];
  let printer = "$_printer.printFloat($_self)";
}

// Floats that print as the shortest texts that read back the same.
class Sluice_Floats<string desc>
    : AttrOrTypeParameter<"::mlir::DenseF32ArrayAttr", desc> {
  let parser = "parseFloats($_parser)";
  let printer = "printFloats($_printer, $_self)";
}

def Sluice_LinearScalingAttr : Sluice_Attr<"LinearScaling", "linear_scaling"> {
  let summary = "positions divided by a factor (position interpolation)";
  let description = [{
    Every inverse frequency is divided by `factor`. Chen et al., *Extending
    context window of large language models via positional interpolation*,
    arXiv 2306.15595.

    ```mlir
    #sluice.linear_scaling<factor = 2.0>
    ```

    Constraints:
    - (C1) `factor` is finite and positive.
  }];
  let parameters = (ins Sluice_Double<"the divisor">:$factor);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sluice_Llama3ScalingAttr : Sluice_Attr<"Llama3Scaling", "llama3_scaling"> {
  let summary = "frequency-dependent scaling as in Llama 3.1";
  let description = [{
    Wavelengths above `original_context / low_freq_factor` are stretched by
    `factor`, those below `original_context / high_freq_factor` stay, those
    between are blended linearly.

    ```mlir
    #sluice.llama3_scaling<factor = 8.0, low_freq_factor = 1.0,
                           high_freq_factor = 4.0, original_context = 8192>
    ```

    Constraints:
    - (C1) the three factors are finite and positive.
    - (C2) `low_freq_factor` is below `high_freq_factor`.
    - (C3) `original_context` is positive.
  }];
  let parameters = (ins
    Sluice_Double<"how far long wavelengths are stretched">:$factor,
    Sluice_Double<"bounds the wavelengths that are stretched">:$low_freq_factor,
    Sluice_Double<"bounds the wavelengths that stay">:$high_freq_factor,
    "int64_t":$original_context);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sluice_YarnScalingAttr : Sluice_Attr<"YarnScaling", "yarn_scaling"> {
  let summary = "YaRN's scaling";
  let description = [{
    Interpolated and unchanged frequencies are blended by a ramp between the
    dimensions that turn `beta_fast` and `beta_slow` times within
    `original_context`; cosines and sines are multiplied by
    `attention_factor`. Peng et al., *YaRN*, arXiv 2309.00071, section 3.
    `truncate` rounds the ramp's ends to whole dimensions, as most
    implementations do.

    ```mlir
    #sluice.yarn_scaling<factor = 4.0, original_context = 4096,
                         beta_fast = 32.0, beta_slow = 1.0,
                         attention_factor = 1.138629436111989, truncate = true>
    ```

    Constraints:
    - (C1) `factor`, `beta_fast`, `beta_slow` and `attention_factor` are finite
      and positive.
    - (C2) `original_context` is positive.
  }];
  let parameters = (ins
    Sluice_Double<"the context's growth">:$factor,
    "int64_t":$original_context,
    Sluice_Double<"turns above which nothing changes">:$beta_fast,
    Sluice_Double<"turns below which all is interpolated">:$beta_slow,
    Sluice_Double<"multiplies cosines and sines">:$attention_factor,
    "bool":$truncate);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sluice_RopeScaling : AnyAttrOf<[
    Sluice_LinearScalingAttr, Sluice_Llama3ScalingAttr, Sluice_YarnScalingAttr],
    "a scaling of rotary embeddings">;

def Sluice_PlaceAttr : Sluice_Attr<"Place", "place"> {
  let summary = "a device of the cluster";
  let description = [{
    Where a stage or rank runs: the node by its name in the cluster's
    description, and the number of the device on it.

    ```mlir
    #sluice.place<node = "n0", device = 0>
    ```

    Constraints:
    - (C1) `node` is not empty.
    - (C2) `device` is not negative.
  }];
  let parameters = (ins StringRefParameter<"the node's name">:$node,
                        "int64_t":$device);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sluice_OperandAttr : Sluice_Attr<"Operand", "operand"> {
  let summary = "records that products take instead of rows of floats";
  let description = [{
    How the features of a row are rounded, and how many floats the record of a
    row takes. What lies where in a record is a matter of the target whose
    kernels write and read it.

    ```mlir
    !sluice.buffer<rows, 64, <q8, floats = 48>>
    ```

    Constraints:
    - (C1) a record takes memory.
  }];
  let parameters = (ins EnumParameter<Sluice_OperandFormat>:$format,
                        "int64_t":$floats);
  let assemblyFormat = "`<` $format `,` `floats` `=` $floats `>`";
  let genVerifyDecl = 1;
}

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICEATTRIBUTES_TD
