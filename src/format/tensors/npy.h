// NumPy's .npy: one array in one file (format versions 1.0, 2.0 and 3.0).
// Spec: numpy.lib.format; the header text of dumps is MindSpore's (mindspore.md 4): a comma after each
// dimension and no blanks in the shape. We write 1.0 only: no practical shape needs a longer header.
// Object arrays are rejected: they hold pickles, and a dump must never run code. Page: docs/formats/npy.md.
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

  // Bytes of the elements.
  std::uint64_t data_bytes() const;
};

// Largest header we accept, in bytes.
inline constexpr std::size_t kMaxNpyHeader = 64 * 1024;

// How a shape is spelled: "(2,3,)" or, as numpy.save does, "(2, 3)" with room behind it for the first
// dimension to grow.
enum class NpySpelling : std::uint8_t { mindspore, numpy };

// The bytes before the data, for a row-major array. Errors: unsupported -- the dtype has no .npy code;
// limit -- the shape has thousands of dimensions.
Result<std::string> encode_npy_header(model::DType dtype, const model::Shape& shape,
                                      NpySpelling spelling = NpySpelling::mindspore);

// Reads the header at the start of `file` (all of the file's bytes). Checks that the data it announces fits,
// so the caller can use the shape without further tests. Bytes after the data are ignored, as NumPy does.
// Errors: corrupt (magic, syntax, size), unsupported (object dtype, big endian, version), limit.
Result<NpyHeader> decode_npy_header(std::span<const std::byte> file);

// The same when only the first bytes of a file of `file_bytes` are at hand. A header that ends beyond `start`
// is corrupt: give 12 + kMaxNpyHeader bytes to see any header we accept.
Result<NpyHeader> decode_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes);

}  // namespace opdump::format
