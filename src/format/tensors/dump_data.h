// CANN's binary dump file, cann.md 3.1 and mindspore.md 2.10: the inputs and outputs of one execution.
//   uint64 LE header length | DumpData protobuf of that length | payload
// The payload holds the bytes of inputs, outputs, buffers and spaces, in this order and without gaps; the
// header states their numbers and sizes. Files of version 1 are the message alone, with the bytes inside. All
// fields of the message are kept, also those with unknown meaning. Page:
// docs/formats/dump_data.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::format {

// A part of a file.
struct Extent {
  std::uint64_t offset = 0, bytes = 0;
  bool operator==(const Extent&) const = default;
};

// OriginalOp: the origin of an output before operators were fused.
struct DumpOrigin {
  std::string name;
  std::uint32_t output_index = 0;
  std::int32_t data_type = 0, format = 0;
  bool operator==(const DumpOrigin&) const = default;
};

struct DumpDimRange {
  std::uint64_t start = 0, end = 0;
  bool operator==(const DumpDimRange&) const = default;
};

// OpInput and OpOutput. The numbers of data_type and format are the message's: see dump_names.h.
struct DumpTensor {
  std::int32_t data_type = 0;
  std::int32_t format = 0;
  std::vector<std::uint64_t> shape;                          // of the stored elements
  std::optional<std::vector<std::uint64_t>> original_shape;  // before the device changed the format
  std::uint64_t size_bytes = 0;
  std::int32_t sub_format = 0;  // the groups of a convolution
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // as stated in the file; `data` is where the elements are
  std::uint32_t arg_index = 0;
  std::uint32_t input_type = 0;          // inputs only
  std::optional<DumpOrigin> origin;      // outputs only
  std::vector<DumpDimRange> dim_ranges;  // outputs only
  std::optional<Extent> data;            // not written; on reading nothing if the file is short
  bool operator==(const DumpTensor&) const = default;
};

// OpBuffer (kind 0 is L1) and Workspace (kind 0 is LOG).
struct DumpBlock {
  std::int32_t kind = 0;
  std::uint64_t size_bytes = 0;
  std::optional<Extent> data;  // as of DumpTensor
  bool operator==(const DumpBlock&) const = default;
};

struct DumpAttribute {
  std::string name, value;
  bool operator==(const DumpAttribute&) const = default;
};

struct DumpData {
  std::string version = "2.0";
  std::uint64_t dump_time_us = 0;  // since the Unix epoch
  std::string op_name;             // full scoped name
  std::string dfx_message;
  std::vector<DumpTensor> inputs, outputs;
  std::vector<DumpBlock> buffers, spaces;
  std::vector<DumpAttribute> attributes;

  // Set on reading. Some original files omit the bytes of a tensor whose size they state. It is then unknown
  // which bytes belong to which tensor, so no tensor of a short file has `data`.
  std::uint64_t announced_bytes = 0, payload_bytes = 0;
  bool operator==(const DumpData&) const = default;
};

// Largest header we accept, in bytes, and most tensors, blocks and attributes in it.
inline constexpr std::uint64_t kMaxDumpHeader = 64 << 20;
inline constexpr std::size_t kMaxDumpEntries = 65536;

// The length and the message: all that comes before the payload. Sizes are written as they are given.
std::string encode_dump_header(const DumpData& data);

// Reads the header at the start of `file` (all of the file's bytes; only the header is looked at). Both
// versions are understood. Every Extent in the result lies in the file. Bytes after the announced ones are
// ignored. Errors: corrupt, limit.
Result<DumpData> decode_dump_data(std::span<const std::byte> file);

// A tensor's dtype, shape and bytes in our terms.
struct DumpArray {
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  Extent data;  // exactly the elements
};
// Errors: unsupported (a dtype we have no type for), corrupt (no data; fewer bytes than the shape needs).
Result<DumpArray> read_dump_array(const DumpTensor& tensor);

}  // namespace opdump::format
