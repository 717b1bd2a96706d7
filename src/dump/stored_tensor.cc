#include <algorithm>
#include <cstring>

#include "dump/dump_set.h"
#include "format/npy.h"
#include "math/convert.h"

namespace opdump::dump {
namespace {

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
std::unique_ptr<std::byte[]> unpack(const model::TensorView& packed) {
  const std::uint64_t count = packed.element_count();
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(count);
  if (packed.dtype == model::DType::int4)
    math::unpack_int4(packed.data, reinterpret_cast<std::int8_t*>(bytes.get()), count);
  else
    math::unpack_uint1(packed.data, reinterpret_cast<std::uint8_t*>(bytes.get()), count);
  return bytes;
}

// A copy of the elements at an aligned address; nothing if they are aligned where they lie.
std::unique_ptr<std::byte[]> align(std::span<const std::byte> elements, std::size_t offset,
                                   std::size_t element_bytes) {
  if (offset % element_bytes == 0) return nullptr;
  auto copy = std::make_unique_for_overwrite<std::byte[]>(elements.size());
  std::memcpy(copy.get(), elements.data(), elements.size());
  return copy;
}

}  // namespace

Result<StoredTensor> StoredTensor::read(const Slot& slot) {
  if (!slot.part) return read(slot.file);
  OPDUMP_TRY(MappedFile mapped, MappedFile::open(slot.file));
  const auto [offset, bytes] = *slot.part;
  model::TensorView view =
      model::TensorView::row_major(slot.dtype, slot.shape.value_or(model::Shape()), nullptr);
  if (offset > mapped.bytes().size() || bytes > mapped.bytes().size() - offset || bytes < view.byte_count())
    return Error(Code::corrupt, slot.file.string() + ": it is shorter than when the dump was opened");
  const std::size_t bits = model::dtype_info(slot.dtype).bits;
  if (bits == 0) return Error(Code::unsupported, slot.file.string() + ": elements of an unknown dtype");
  const auto elements = mapped.bytes().subspan(offset, bytes);
  view.data = elements.data();
  auto copy = bits < 8 ? unpack(view) : align(elements, offset, bits / 8);
  if (bits < 8) view.dtype = slot.dtype == model::DType::int4 ? model::DType::int8 : model::DType::uint8;
  if (copy) view.data = copy.get();
  return StoredTensor(std::move(mapped), std::move(copy), std::move(view));
}

Result<StoredTensor> StoredTensor::read(const std::filesystem::path& file) {
  OPDUMP_TRY(MappedFile mapped, MappedFile::open(file));
  auto header = format::decode_npy_header(mapped.bytes());
  if (!header) return header.take_error().within(file.string());
  const auto data = mapped.bytes().subspan(header->data_offset, header->data_bytes());
  auto view = model::TensorView::row_major(header->dtype, header->shape, data.data());
  if (header->fortran_order) view.strides = column_major_strides(header->shape);
  auto copy = align(data, header->data_offset, model::dtype_info(header->dtype).bits / 8);
  if (copy) view.data = copy.get();
  return StoredTensor(std::move(mapped), std::move(copy), std::move(view));
}

}  // namespace opdump::dump
