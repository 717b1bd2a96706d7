// NumPy's .npy: one array in one file (format versions 1.0, 2.0 and 3.0).
// Spec: numpy.lib.format; the header text we write is MindSpore's (mindspore.md 4): a comma after each
// dimension and no blanks in the shape. We write 1.0 unless the header needs more than 65535 bytes. Object
// arrays are refused: they hold pickles, and a dump must never run code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::format {

// Everything a .npy file says before its data.
struct NpyHeader {
  std::string descr;                             // "<f4"
  model::DType dtype = model::DType::undefined;  // of descr; bfloat16 for MindSpore's "<E2"
  model::Shape shape;
  bool fortran_order = false;
  std::size_t data_offset = 0;  // bytes from the start of the file
};

// Largest header we accept, in bytes.
inline constexpr std::size_t kMaxNpyHeader = 64 * 1024;

// The bytes before the data, for a row-major array. Errors: unsupported -- the dtype has no .npy code.
Result<std::string> encode_npy_header(model::DType dtype, const model::Shape& shape);

// Reads the header at the start of `file` (all of the file's bytes). Checks that the data it announces fits,
// so the caller can use the shape without further tests. Errors: corrupt (magic, syntax, size), unsupported
// (object dtype, big endian, version), limit.
Result<NpyHeader> decode_npy_header(std::span<const std::byte> file);

}  // namespace opdump::format
