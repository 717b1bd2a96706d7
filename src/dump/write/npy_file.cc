#include "dump/write/npy_file.h"

#include <algorithm>
#include <span>
#include <vector>

#include "dump/write/tensor_stream.h"
#include "format/tensors/npy.h"
#include "math/convert.h"
#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

using model::DType;
using model::TensorView;

DType stored_dtype(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return DType::float32;
    case DType::int4:
      return DType::int8;
    case DType::uint1:
      return DType::uint8;
    default:
      return dtype;
  }
}

Result<> write_packed(StreamWriter& writer, const TensorView& view) {
  const std::uint64_t count = view.element_count();
  const bool is_int4 = view.dtype == DType::int4;
  std::vector<std::int8_t> wide(std::min(count, kBlockCount));
  for (std::uint64_t first = 0; first < count; first += kBlockCount) {
    const std::uint64_t n = std::min(count - first, kBlockCount);
    if (is_int4)
      math::unpack_int4(view.data + first / 2, wide.data(), n);
    else
      math::unpack_uint1(view.data + first / 8, reinterpret_cast<std::uint8_t*>(wide.data()), n);
    OPDUMP_CHECK_OK(writer.write(std::as_bytes(std::span(wide).first(n))));
  }
  return ok();
}

Result<> write_bfloat16(StreamWriter& writer, const TensorView& view) {
  const std::uint64_t count = std::min(view.element_count(), kBlockCount);
  std::vector<std::uint16_t> narrow(count);
  std::vector<float> wide(count);
  return for_each_piece(view, kBlockCount, [&](const TensorView& piece) -> Result<> {
    const std::uint64_t n = piece.element_count();
    math::copy_row_major(piece, std::as_writable_bytes(std::span(narrow).first(n)));
    math::widen_bfloat16(narrow.data(), wide.data(), n);
    return writer.write(std::as_bytes(std::span(wide).first(n)));
  });
}

Result<> write_stored(StreamWriter& writer, const TensorView& view) {
  if (view.element_count() == 0) return ok();
  if (view.dtype == DType::int4 || view.dtype == DType::uint1) return write_packed(writer, view);
  if (view.dtype == DType::bfloat16) return write_bfloat16(writer, view);
  return write_elements(writer, view);
}

}  // namespace

Result<std::string> npy_header_for(const TensorView& view) {
  return format::encode_npy_header(stored_dtype(view.dtype), view.shape);
}

std::uint64_t stored_bytes(const TensorView& view) {
  return view.element_count() * (model::dtype_info(stored_dtype(view.dtype)).bits / 8);
}

Result<> write_npy(const Fd& fd, std::string_view header, const TensorView& view,
                   const std::filesystem::path& path) {
  StreamWriter writer(fd, header, path, header.size() + stored_bytes(view));
  OPDUMP_CHECK_OK(write_stored(writer, view));
  return writer.finish();
}

}  // namespace opdump::dump
