// Streams arrays from a dump to a file piece by piece, because they may be larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/file/file_copy.h"
#include "base/result.h"
#include "model/dtype.h"
#include "model/format.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::arrays {

// Returns the bytes of an array in row-major order, piece by piece.
class ArrayPieces {
 public:
  virtual ~ArrayPieces() = default;
  // The next bytes, whole elements; empty at the end. Valid until the next call.
  virtual Result<std::span<const std::byte>> next() = 0;
  // The range of a file or memory that holds all bytes unchanged, if there is one.
  virtual std::optional<FileRange> range() const { return std::nullopt; }
  // True if scatter() can be called instead of next().
  virtual bool can_scatter() const { return false; }
  // Passes on all bytes in any order, from several threads at once, each piece with its offset in the array.
  using Take = std::function<Result<>(std::uint64_t offset, std::span<const std::byte> bytes)>;
  virtual Result<> scatter(const Take& take) {
    (void)take;
    return Error(Code::internal, "these pieces come in order only");
  }
};

struct Array {
  model::DType dtype = model::DType::undefined;  // a type of NumPy's
  model::Shape shape;
  std::unique_ptr<ArrayPieces> pieces;
  // Called with the number of bytes just written, from any thread; may be empty.
  std::function<void(std::uint64_t bytes)> on_written = {};

  void note_written(std::uint64_t bytes) const {
    if (on_written) on_written(bytes);
  }
  std::uint64_t byte_count() const { return model::TensorView{dtype, shape, {}, nullptr}.byte_count(); }
};

// Elements in memory or in a mapped file.
struct Elements {
  model::DType dtype = model::DType::undefined;  // may be packed or a small float
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;  // all of them
  std::optional<FileRange> range;    // where `bytes` are in a file
  bool is_bug_compatible = false;    // 8-bit floats as msaccucmp decodes them
};

// The type of elements of `dtype` in files: math::array_dtype, but float64 for floats of 8 bits and fewer.
model::DType file_dtype(model::DType dtype);

// Converts `count` elements of `kind` at `in`, in whole bytes, to elements of file_dtype(kind.dtype).
void convert_to_file(const Elements& kind, const std::byte* in, std::byte* out, std::uint64_t count);

// Elements in row-major order. With a `view` of other strides (its data is elements.bytes), in its order.
std::unique_ptr<ArrayPieces> make_pieces(Elements elements);
std::unique_ptr<ArrayPieces> make_pieces(const model::TensorView& view, std::optional<FileRange> range);

// A layout conversion, and the part of each dimension that is kept afterwards.
struct LayoutChange {
  model::Format from = model::Format::nd, to = model::Format::nd;
  model::Shape stored;  // in `from`
  model::Shape made;    // in `to`
  model::Shape result;  // no dimension is larger than that of `made`
  std::int64_t groups = 1;
};

// scatter() uses up to `threads` threads. Errors: as math::convert_layout.
Result<std::unique_ptr<ArrayPieces>> change_layout(Elements elements, LayoutChange change, unsigned threads);

}  // namespace opdump::arrays
