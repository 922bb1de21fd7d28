//===- GGUFParser.cpp - checks of a GGUF file's bytes ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layout (little-endian; string = uint64 length, bytes):
//   "GGUF" u32 version, u64 tensors, u64 entries
//   entries: string key, u32 type, value; an array is u32 type, u64 count,
//     values
//   tensors: string name, u32 dims, u64 dim..., u32 type, u64 offset
//   padding to the alignment, then tensor data, from which offsets count
//
//===----------------------------------------------------------------------===//

#include "GGUFParser.h"

#include "sluice/Import/Support/Quote.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

using namespace sluice;
using namespace sluice::gguf;

static_assert(std::endian::native == std::endian::little,
              "values are read as they lie in the file");

namespace {

constexpr uint64_t longestKey = 65535;
constexpr uint32_t maxDimensions = 4;
// The fewest bytes of an entry and of a tensor's description.
constexpr uint64_t minEntryBytes = 8 + 1 + 4 + 1;
constexpr uint64_t minTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor type of the file format, with Sluice's format if it is supported.
struct TensorType {
  uint32_t number;
  std::string_view name;
  std::optional<Format> format;
};

constexpr TensorType tensorTypes[] = {
    {0, "f32", Format::F32},       {1, "f16", Format::F16},
    {2, "q4_0", Format::Q4_0},     {3, "q4_1", Format::Q4_1},
    {6, "q5_0", Format::Q5_0},     {7, "q5_1", Format::Q5_1},
    {8, "q8_0", Format::Q8_0},     {9, "q8_1", std::nullopt},
    {10, "q2_k", std::nullopt},    {11, "q3_k", std::nullopt},
    {12, "q4_k", Format::Q4_K},    {13, "q5_k", Format::Q5_K},
    {14, "q6_k", Format::Q6_K},    {15, "q8_k", std::nullopt},
    {16, "iq2_xxs", std::nullopt}, {17, "iq2_xs", std::nullopt},
    {18, "iq3_xxs", std::nullopt}, {19, "iq1_s", std::nullopt},
    {20, "iq4_nl", std::nullopt},  {21, "iq3_s", std::nullopt},
    {22, "iq2_s", std::nullopt},   {23, "iq4_xs", std::nullopt},
    {24, "i8", std::nullopt},      {25, "i16", std::nullopt},
    {26, "i32", std::nullopt},     {27, "i64", std::nullopt},
    {28, "f64", std::nullopt},     {29, "iq1_m", std::nullopt},
    {30, "bf16", Format::BF16},    {34, "tq1_0", std::nullopt},
    {35, "tq2_0", std::nullopt},   {39, "mxfp4", std::nullopt},
};

Expected<Format> tensorFormat(uint32_t number) {
  for (const TensorType &type : tensorTypes) {
    if (type.number != number)
      continue;
    if (type.format)
      return *type.format;
    return failure("tensor type ", number, " (", type.name,
                   ") is not supported");
  }
  return failure("unknown tensor type ", number);
}

} // namespace

Expected<GGUFFile> GGUFFile::open(const std::string &path) {
  Expected<MappedFile> mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.status();
  // Moving the mapping into the file keeps its addresses.
  Expected<GGUFFile> file = parse(path, mapped->bytes());
  if (file)
    file->mapping = mapped.take();
  return file;
}

Expected<GGUFFile> GGUFFile::parse(std::string name,
                                   std::span<const uint8_t> bytes) {
  GGUFFile file;
  file.name = std::move(name);
  file.content = bytes;
  if (Status status = GGUFParser(file).parse(); !status.ok())
    return status.withContext(file.name);
  return file;
}

Status GGUFParser::endsIn(const std::string &what) const {
  return failure(what, " at byte ", position, ": the file ends at byte ",
                 bytes.size());
}

template <typename T>
Status GGUFParser::read(T &value, const std::string &what) {
  if (remaining() < sizeof(T))
    return endsIn(what);
  std::memcpy(&value, bytes.data() + position, sizeof(T));
  position += sizeof(T);
  return {};
}

Status GGUFParser::readString(std::string_view &text, const std::string &what) {
  uint64_t length = 0;
  SLUICE_RETURN_IF_ERROR(read(length, what));
  if (length > remaining())
    return failure(what, " at byte ", position, ": ", length,
                   " bytes long, but the file ends at byte ", bytes.size());
  text = {reinterpret_cast<const char *>(bytes.data() + position), length};
  position += length;
  return {};
}

Status GGUFParser::parse() {
  SLUICE_RETURN_IF_ERROR(parseHeader());
  for (uint64_t i = 0; i < entryCount; ++i)
    SLUICE_RETURN_IF_ERROR(parseEntry(i));
  if (const MetadataValue *value = file.find("general.alignment")) {
    std::optional<uint64_t> wanted = value->asUInt();
    if (value->type() != ValueType::UInt32 || !std::has_single_bit(*wanted))
      return failure("general.alignment: not a power of two of type uint32");
    alignment = *wanted;
  }
  for (uint64_t i = 0; i < tensorCount; ++i)
    SLUICE_RETURN_IF_ERROR(parseTensor(i));
  return placeTensors();
}

Status GGUFParser::parseHeader() {
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0)
    return failure("header: not a GGUF file (it does not begin with 'GGUF')");
  position = 4;
  uint32_t version = 0;
  SLUICE_RETURN_IF_ERROR(read(version, "header: version"));
  if ((version & 0xffff) == 0 && version != 0)
    return failure("header: big-endian GGUF files are not supported");
  if (version != 2 && version != 3)
    return failure("header: GGUF version ", version,
                   " is not supported (2 and 3 are)");
  file.formatVersion = version;
  SLUICE_RETURN_IF_ERROR(read(tensorCount, "header: tensor count"));
  SLUICE_RETURN_IF_ERROR(read(entryCount, "header: metadata count"));
  if (entryCount > remaining() / minEntryBytes)
    return failure("header: ", entryCount,
                   " metadata entries do not fit in a file of ", bytes.size(),
                   " bytes");
  if (tensorCount > remaining() / minTensorBytes)
    return failure("header: ", tensorCount, " tensors do not fit in a file of ",
                   bytes.size(), " bytes");
  return {};
}

Status GGUFParser::parseEntry(uint64_t index) {
  std::string place = "metadata entry " + std::to_string(index);
  MetadataEntry entry;
  SLUICE_RETURN_IF_ERROR(readString(entry.key, place + ": key"));
  if (entry.key.empty() || entry.key.size() > longestKey)
    return failure(place, ": a key of ", entry.key.size(),
                   " bytes (1 to 65535 are allowed)");
  if (!file.entryIndex.emplace(entry.key, index).second)
    return failure(place, ": key ", quote(entry.key), " appears twice");
  SLUICE_RETURN_IF_ERROR(parseValue(entry.value, entry.key));
  file.entries.push_back(std::move(entry));
  return {};
}

Status GGUFParser::parseValue(MetadataValue &value, std::string_view key) {
  std::string place = "metadata " + quote(key);
  uint32_t type = 0;
  SLUICE_RETURN_IF_ERROR(read(type, place + ": type"));
  if (type > static_cast<uint32_t>(ValueType::Float64))
    return failure(place, ": unknown value type ", type);
  value.kind = static_cast<ValueType>(type);
  return value.isArray() ? parseArray(value, place) : parseScalar(value, place);
}

Status GGUFParser::parseScalar(MetadataValue &value, const std::string &place) {
  if (value.kind == ValueType::String) {
    std::string_view text;
    SLUICE_RETURN_IF_ERROR(readString(text, place));
    value.payload = bytes.subspan(position - text.size(), text.size());
    return {};
  }
  uint64_t size = valueTypeBytes(value.kind);
  if (remaining() < size)
    return endsIn(place);
  value.payload = bytes.subspan(position, size);
  if (value.kind == ValueType::Bool && value.payload[0] > 1)
    return failure(place, ": a bool of value ", int(value.payload[0]));
  position += size;
  return {};
}

Status GGUFParser::parseArray(MetadataValue &value, const std::string &place) {
  uint32_t type = 0;
  SLUICE_RETURN_IF_ERROR(read(type, place + ": element type"));
  if (type > static_cast<uint32_t>(ValueType::Float64))
    return failure(place, ": unknown element type ", type);
  value.element = static_cast<ValueType>(type);
  if (value.element == ValueType::Array)
    return failure(place, ": arrays of arrays are not supported");
  SLUICE_RETURN_IF_ERROR(read(value.count, place + ": array length"));

  bool isStrings = value.element == ValueType::String;
  uint64_t size = isStrings ? 8 : valueTypeBytes(value.element);
  if (value.count > remaining() / size)
    return failure(place, ": an array of ", value.count, " ",
                   valueTypeName(value.element),
                   " values does not fit before the end of the file at byte ",
                   bytes.size());
  if (!isStrings) {
    value.payload = bytes.subspan(position, value.count * size);
    if (value.element == ValueType::Bool &&
        std::ranges::any_of(value.payload, [](uint8_t b) { return b > 1; }))
      return failure(place, ": a bool of a value other than 0 and 1");
    position += value.payload.size();
    return {};
  }
  value.strings.reserve(value.count);
  for (uint64_t i = 0; i < value.count; ++i) {
    std::string_view text;
    // The string's number is added only on failure, since there are many
    // strings.
    if (Status s = readString(text, place); !s.ok())
      return failure(s.message(), " (string ", i, ")");
    value.strings.push_back(text);
  }
  return {};
}

Status GGUFParser::parseTensor(uint64_t index) {
  TensorInfo info;
  std::string place = "tensor " + std::to_string(index);
  SLUICE_RETURN_IF_ERROR(readString(info.name, place + ": name"));
  if (info.name.empty() || info.name.size() > longestKey)
    return failure(place, ": a name of ", info.name.size(),
                   " bytes (1 to 65535 are allowed)");
  place = "tensor " + quote(info.name);
  if (!tensorNames.insert(info.name).second)
    return failure(place, ": the name appears twice");
  SLUICE_RETURN_IF_ERROR(parseDimensions(info, place));
  uint32_t type = 0;
  SLUICE_RETURN_IF_ERROR(read(type, place + ": type"));
  Expected<Format> format = tensorFormat(type);
  if (!format)
    return format.status().withContext(place);
  info.format = *format;
  SLUICE_RETURN_IF_ERROR(read(info.offset, place + ": offset"));

  std::optional<uint64_t> row = rowBytes(info.format, info.dims[0]);
  if (!row)
    return failure(place, ": rows of ", info.dims[0],
                   " values are not whole blocks of ",
                   formatInfo(info.format).name);
  info.bytes = *row;
  for (size_t i = 1; i < info.dims.size(); ++i)
    if (__builtin_mul_overflow(info.bytes, uint64_t(info.dims[i]), &info.bytes))
      return failure(place, ": its size overflows");
  file.infos.push_back(std::move(info));
  return {};
}

Status GGUFParser::parseDimensions(TensorInfo &info, const std::string &place) {
  uint32_t dimensions = 0;
  SLUICE_RETURN_IF_ERROR(read(dimensions, place + ": dimensions"));
  if (dimensions < 1 || dimensions > maxDimensions)
    return failure(place, ": ", dimensions,
                   " dimensions (1 to 4 are supported)");
  int64_t elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t dim = 0;
    SLUICE_RETURN_IF_ERROR(read(dim, place + ": dimensions"));
    if (dim == 0)
      return failure(place, ": dimension ", i, " is zero");
    if (dim > uint64_t(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(elements, int64_t(dim), &elements))
      return failure(place, ": its dimensions overflow");
    info.dims.push_back(static_cast<int64_t>(dim));
  }
  return {};
}

/// Makes offsets absolute and checks that tensors do not share bytes.
Status GGUFParser::placeTensors() {
  if (file.infos.empty())
    return {};
  uint64_t start = (position + alignment - 1) / alignment * alignment;
  for (TensorInfo &info : file.infos) {
    std::string place = "tensor " + quote(info.name);
    if (info.offset % alignment != 0)
      return failure(place, ": offset ", info.offset,
                     " is not a multiple of the alignment ", alignment);
    if (__builtin_add_overflow(info.offset, start, &info.offset) ||
        info.offset > bytes.size() || info.bytes > bytes.size() - info.offset)
      return failure(place, ": its ", info.bytes, " bytes at byte ",
                     info.offset, " reach past the end of the file at byte ",
                     bytes.size());
  }
  std::vector<const TensorInfo *> sorted;
  sorted.reserve(file.infos.size());
  for (const TensorInfo &info : file.infos)
    sorted.push_back(&info);
  std::ranges::sort(sorted, {}, &TensorInfo::offset);
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->bytes)
      return failure("tensor ", quote(sorted[i]->name), ": overlaps tensor ",
                     quote(sorted[i - 1]->name));
  return {};
}
