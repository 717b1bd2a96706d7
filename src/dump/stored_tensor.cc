#include <algorithm>
#include <cstring>

#include "dump/dump_set.h"
#include "format/npy.h"

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

}  // namespace

Result<StoredTensor> StoredTensor::read(const std::filesystem::path& file) {
  OPDUMP_TRY(MappedFile mapped, MappedFile::open(file));
  auto header = format::decode_npy_header(mapped.bytes());
  if (!header) return header.take_error().within(file.string());
  const auto data = mapped.bytes().subspan(header->data_offset, header->data_bytes());
  auto view = model::TensorView::row_major(header->dtype, header->shape, data.data());
  if (header->fortran_order) view.strides = column_major_strides(header->shape);

  std::unique_ptr<std::byte[]> copy;
  const std::size_t element_bytes = model::dtype_info(header->dtype).bits / 8;
  if (header->data_offset % element_bytes != 0) {
    copy = std::make_unique_for_overwrite<std::byte[]>(data.size());
    std::memcpy(copy.get(), data.data(), data.size());
    view.data = copy.get();
  }
  return StoredTensor(std::move(mapped), std::move(copy), std::move(view));
}

}  // namespace opdump::dump
