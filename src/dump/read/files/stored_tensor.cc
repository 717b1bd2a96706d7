#include <algorithm>
#include <cstring>

#include "dump/read/dump_set.h"
#include "dump/read/files/slot_file.h"
#include "format/tensors/h5.h"
#include "format/tensors/npy.h"
#include "format/tensors/npz.h"
#include "format/tensors/onnx_tensor.h"
#include "format/tensors/polygraphy.h"
#include "math/convert.h"
#include "math/layout/strided_copy.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;  // elements or bytes that are copied at a time
constexpr std::uint64_t kLargeBytes = 64 << 20;

// Strides of an array stored column by column.
model::Shape column_major_strides(const model::Shape& shape) {
  model::Shape strides = shape;
  std::int64_t step = 1;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    strides.dims()[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

// The elements of a packed view, each in a byte of its own.
Result<Scratch> unpack(const model::TensorView& packed) {
  const std::uint64_t count = packed.element_count();
  OPDUMP_TRY(Scratch bytes, Scratch::make(count));
  for (std::uint64_t at = 0; at < count; at += kPiece) {
    const std::uint64_t piece = std::min(kPiece, count - at);
    const std::byte* in = packed.data + at / 8 * model::dtype_info(packed.dtype).bits;
    if (packed.dtype == model::DType::int4)
      math::unpack_int4(in, reinterpret_cast<std::int8_t*>(bytes.data() + at), piece);
    else
      math::unpack_uint1(in, reinterpret_cast<std::uint8_t*>(bytes.data() + at), piece);
  }
  return bytes;
}

// A copy of the elements at an aligned address; nothing if they are aligned where they lie.
Result<Scratch> align(std::span<const std::byte> elements, std::size_t element_bytes) {
  if (reinterpret_cast<std::uintptr_t>(elements.data()) % element_bytes == 0) return Scratch();
  OPDUMP_TRY(Scratch copy, Scratch::make(elements.size()));
  for (std::uint64_t at = 0; at < elements.size(); at += kPiece) {
    const std::uint64_t piece = std::min<std::uint64_t>(kPiece, elements.size() - at);
    std::memcpy(copy.data() + at, elements.data() + at, piece);
  }
  return copy;
}

// Returns the type of the elements in the file.
model::DType stored_dtype(const Slot& slot) {
  return slot.stored_dtype == model::DType::undefined ? slot.dtype : slot.stored_dtype;
}

}  // namespace

Result<StoredTensor> StoredTensor::read(const Slot& slot, Alignment alignment) {
  if (slot.packing == Packing::hdf5) return read_hdf5(slot);
  if (slot.packing == Packing::onnx) {
    const auto [offset, size] = slot.part.value_or(format::Extent());
    OPDUMP_TRY(MappedFile mapped,
               slot.part ? MappedFile::open_part(slot.file, offset, size) : MappedFile::open(slot.file));
    return read_numbers(std::move(mapped));
  }
  const bool is_npy = slot.packing == Packing::npy || (!slot.part && slot.packing == Packing::none);
  const auto [offset, size] = slot.part.value_or(format::Extent());
  OPDUMP_TRY(MappedFile part,
             slot.part ? MappedFile::open_part(slot.file, offset, size) : map_slot_file(slot));
  const auto bytes = part.bytes();
  auto tensor = is_npy                              ? read_npy(std::move(part), bytes)
                : slot.packing == Packing::deflated ? read_deflated(slot, std::move(part))
                : slot.packing == Packing::base64   ? read_base64(slot, std::move(part))
                : slot.packing == Packing::strided  ? read_strided(slot, std::move(part))
                                                    : read_part(slot, std::move(part), alignment);
  if (!tensor) return tensor.take_error().within(slot.file);
  return tensor;
}

Result<StoredTensor> StoredTensor::read(const std::filesystem::path& file) {
  OPDUMP_TRY(MappedFile mapped, MappedFile::open(file));
  const auto bytes = mapped.bytes();
  auto tensor = read_npy(std::move(mapped), bytes);
  if (!tensor) return tensor.take_error().within(file.string());
  return tensor;
}

Result<StoredTensor> StoredTensor::read_npy(MappedFile file, std::span<const std::byte> npy) {
  OPDUMP_TRY(const format::NpyHeader header, format::decode_npy_header(npy));
  const auto data = npy.subspan(header.data_offset, header.data_bytes());
  auto view = model::TensorView::row_major(header.dtype, header.shape, data.data());
  if (header.fortran_order) view.strides = column_major_strides(header.shape);
  OPDUMP_TRY(Scratch copy, align(data, model::dtype_info(header.dtype).bits / 8));
  if (copy) view.data = copy.data();
  return StoredTensor(std::move(file), std::move(copy), std::move(view));
}

Result<> StoredTensor::straighten() {
  const std::uint64_t bytes = view_.byte_count();
  if (view_.is_contiguous() || bytes <= kLargeBytes) return ok();
  OPDUMP_TRY(Scratch rows, Scratch::make(bytes));
  math::copy_row_major(view_, rows.bytes());
  view_ = model::TensorView::row_major(view_.dtype, view_.shape, rows.data());
  copy_ = std::move(rows);
  return ok();
}

Result<StoredTensor> StoredTensor::read_part(const Slot& slot, MappedFile part, Alignment alignment) {
  const model::DType dtype = stored_dtype(slot);
  model::TensorView view = model::TensorView::row_major(dtype, slot.shape.value_or(model::Shape()), nullptr);
  if (part.bytes().size() < view.byte_count())
    return Error(Code::corrupt, "it is shorter than when the dump was opened");
  const std::size_t bits = model::dtype_info(dtype).bits;
  if (bits == 0) return Error(Code::unsupported, "elements of an unknown dtype");
  view.data = part.bytes().data();
  Scratch copy;
  if (bits < 8) {
    OPDUMP_TRY(copy, unpack(view));
  } else if (alignment == Alignment::natural) {
    OPDUMP_TRY(copy, align(part.bytes(), bits / 8));
  }
  if (bits < 8) view.dtype = dtype == model::DType::int4 ? model::DType::int8 : model::DType::uint8;
  if (copy) view.data = copy.data();
  return StoredTensor(std::move(part), std::move(copy), std::move(view));
}

Result<StoredTensor> StoredTensor::read_strided(const Slot& slot, MappedFile part) {
  const model::DType dtype = stored_dtype(slot);
  OPDUMP_TRY(const Scratch copy, align(part.bytes(), model::dtype_info(dtype).bits / 8));
  const model::TensorView stored{dtype, slot.shape.value_or(model::Shape()),
                                 slot.strides.value_or(model::Shape()),
                                 copy ? copy.data() : part.bytes().data()};
  OPDUMP_TRY(Scratch rows, Scratch::make(stored.byte_count()));
  math::copy_row_major(stored, rows.bytes());
  model::TensorView view = model::TensorView::row_major(stored.dtype, stored.shape, rows.data());
  return StoredTensor(std::move(part), std::move(rows), std::move(view));
}

Result<StoredTensor> StoredTensor::read_deflated(const Slot& slot, MappedFile part) {
  OPDUMP_TRY(Scratch npy, format::inflate(part.bytes(), slot.unpacked_bytes));
  OPDUMP_TRY(StoredTensor tensor, read_npy(std::move(part), npy.bytes()));
  if (!tensor.copy_) tensor.copy_ = std::move(npy);  // the view points into it
  return tensor;
}

Result<StoredTensor> StoredTensor::read_base64(const Slot& slot, MappedFile part) {
  const std::string_view text(reinterpret_cast<const char*>(part.bytes().data()), part.bytes().size());
  OPDUMP_TRY(const std::uint64_t bytes, format::base64_bytes(text));
  if (bytes != slot.unpacked_bytes)
    return Error(Code::corrupt, "it is another one than when the dump was opened");
  OPDUMP_TRY(Scratch npy, Scratch::make(bytes));
  OPDUMP_CHECK_OK(format::decode_base64(text, npy.bytes()));
  OPDUMP_TRY(StoredTensor tensor, read_npy(std::move(part), npy.bytes()));
  if (!tensor.copy_) tensor.copy_ = std::move(npy);  // the view points into it
  return tensor;
}

Result<StoredTensor> StoredTensor::read_numbers(MappedFile file) {
  OPDUMP_TRY(const format::OnnxTensor tensor, format::decode_onnx_tensor(file.bytes()));
  OPDUMP_TRY(auto elements, format::read_onnx_elements(file.bytes(), tensor));
  model::TensorView view = model::TensorView::row_major(tensor.dtype, tensor.shape, elements.data());
  if (model::dtype_info(tensor.dtype).bits < 8) {
    OPDUMP_TRY(Scratch bytes, unpack(view));
    view.dtype = model::DType::int8;
    view.data = bytes.data();
    elements = std::move(bytes);
  }
  return StoredTensor(std::move(file), std::move(elements), std::move(view));
}

Result<StoredTensor> StoredTensor::read_hdf5(const Slot& slot) {
  format::H5Dataset dataset;
  dataset.path = slot.member;
  dataset.dtype = stored_dtype(slot);
  dataset.shape = slot.shape.value_or(model::Shape());
  dataset.stored_bytes = slot.part ? slot.part->bytes : 0;
  OPDUMP_TRY(Scratch elements, format::read_h5_elements(slot.file, dataset));
  OPDUMP_TRY(MappedFile file, MappedFile::open(slot.file));
  model::TensorView view = model::TensorView::row_major(dataset.dtype, dataset.shape, elements.data());
  return StoredTensor(std::move(file), std::move(elements), std::move(view));
}

}  // namespace opdump::dump
