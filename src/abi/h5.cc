// The C door to HDF5 files.
#include "opdump/opdump_h5.h"

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/call.h"
#include "base/file/file.h"
#include "format/tensors/h5.h"

using opdump::Code;
using opdump::Error;
using opdump::Result;
namespace format = opdump::format;
namespace model = opdump::model;

struct opdump_h5 {
  std::optional<format::H5Writer> writer;
  std::optional<format::H5File> file;  // with what follows
  std::optional<opdump::MappedFile> bytes;
  std::vector<std::vector<opdump_h5_attribute>> attributes;  // of those that were asked for
  std::vector<std::optional<opdump::Scratch>> elements;      // of those that do not lie in `bytes`
};

namespace {

Error usage(std::string_view what) { return {Code::usage, std::string(what)}; }

std::vector<format::H5Attribute> to_attributes(std::span<const opdump_h5_attribute> attributes) {
  std::vector<format::H5Attribute> result;
  for (const opdump_h5_attribute& from : attributes)
    result.push_back({from.name, from.is_list != 0, {from.values, from.values + from.count}});
  return result;
}

Result<> write(opdump_h5* file, const opdump_h5_dataset* from) {
  if (!file || !file->writer || !from || from->size < sizeof *from || !from->path)
    return usage("opdump_h5_write: a file that is written and a dataset with its size and path are needed");
  if (from->dtype == OPDUMP_DTYPE_UNDEFINED) return file->writer->make_group(from->path);
  if (from->dtype > OPDUMP_FLOAT8_E5M2) return usage("opdump_h5_write: no dtype of this number");
  model::TensorView view;
  view.dtype = static_cast<model::DType>(from->dtype);
  view.shape = model::Shape(std::span(from->shape, from->rank));
  view.strides = model::row_major_strides(view.shape);
  view.data = static_cast<const std::byte*>(from->data);
  return file->writer->write_dataset(from->path, view,
                                     to_attributes({from->attributes, from->attribute_count}));
}

Result<> open(const char* path, opdump_h5** result) {
  if (!path || !result) return usage("opdump_h5_open: path and file must not be NULL");
  *result = nullptr;
  OPDUMP_TRY(auto file, format::H5File::open(path));
  OPDUMP_TRY(auto bytes, opdump::MappedFile::open(std::string(path)));
  const std::size_t count = file.datasets().size();
  *result = new opdump_h5{std::nullopt, std::move(file), std::move(bytes),
                          std::vector<std::vector<opdump_h5_attribute>>(count),
                          std::vector<std::optional<opdump::Scratch>>(count)};
  return opdump::ok();
}

// Where the elements are; null if there are none.
Result<const std::byte*> find_elements(opdump_h5& file, std::size_t index) {
  const format::H5Dataset& dataset = file.file->datasets()[index];
  const auto all = file.bytes->bytes();
  if (!dataset.fault.empty() || dataset.stored_bytes == 0) return static_cast<const std::byte*>(nullptr);
  if (dataset.extent && dataset.extent->offset + dataset.extent->bytes <= all.size())
    return all.data() + dataset.extent->offset;
  if (!file.elements[index]) {
    OPDUMP_TRY(file.elements[index], file.file->read(dataset));
  }
  return static_cast<const std::byte*>(file.elements[index]->data());
}

Result<> find_dataset(opdump_h5* file, std::size_t index, opdump_h5_dataset* to) {
  if (!file || !file->file || !to || to->size < sizeof *to || index >= file->file->datasets().size())
    return usage("opdump_h5_at: no dataset of this number");
  const format::H5Dataset& from = file->file->datasets()[index];
  OPDUMP_TRY(const std::byte* const data, find_elements(*file, index));
  auto& attributes = file->attributes[index];
  attributes.clear();
  for (const format::H5Attribute& a : from.attributes)
    attributes.push_back(
        {a.name.c_str(), a.is_list, static_cast<std::uint32_t>(a.values.size()), a.values.data()});
  to->dtype = static_cast<std::uint32_t>(from.fault.empty() ? from.dtype : model::DType::undefined);
  to->path = from.path.c_str();
  to->rank = static_cast<std::uint32_t>(from.shape.rank());
  to->shape = from.shape.dims().data();
  to->attribute_count = static_cast<std::uint32_t>(attributes.size());
  to->attributes = attributes.data();
  to->data = data;
  return opdump::ok();
}

}  // namespace

opdump_status opdump_h5_create(const char* path, opdump_h5** file) {
  return opdump::abi::call([&]() -> Result<> {
    if (!path || !file) return usage("opdump_h5_create: path and file must not be NULL");
    *file = nullptr;
    OPDUMP_TRY(auto writer, format::H5Writer::create(path));
    *file = new opdump_h5{std::move(writer), std::nullopt, std::nullopt, {}, {}};
    return opdump::ok();
  });
}

opdump_status opdump_h5_write(opdump_h5* file, const opdump_h5_dataset* dataset) {
  return opdump::abi::call([&] { return write(file, dataset); });
}

opdump_status opdump_h5_flush(opdump_h5* file) {
  return opdump::abi::call([&]() -> Result<> {
    if (!file || !file->writer) return usage("opdump_h5_flush: a file that is written is needed");
    return file->writer->flush();
  });
}

opdump_status opdump_h5_lose(opdump_h5* file, const char* what) {
  return opdump::abi::call([&]() -> Result<> {
    if (!file || !file->writer || !what)
      return usage("opdump_h5_lose: a file that is written and a text are needed");
    file->writer->lose(what);
    return opdump::ok();
  });
}

opdump_status opdump_h5_open(const char* path, opdump_h5** file) {
  return opdump::abi::call([&] { return open(path, file); });
}

opdump_status opdump_h5_at(opdump_h5* file, size_t index, opdump_h5_dataset* dataset) {
  return opdump::abi::call([&] { return find_dataset(file, index, dataset); });
}

opdump_status opdump_h5_close(opdump_h5* file) {
  if (!file) return OPDUMP_OK;
  const opdump_status status =
      opdump::abi::call([&]() -> Result<> { return file->writer ? file->writer->close() : opdump::ok(); });
  delete file;
  return status;
}
