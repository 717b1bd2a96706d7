// For test_h5.py only: lets h5py see an HDF5 file of ours, and ours read those of h5py.
//   h5_files write FILE   two calls of an operator, as PyTorch's dumper has them
//   h5_files list FILE    for each dataset: path, dtype, shape, attributes, where it lies, bytes in hex
#include <array>
#include <cstdio>
#include <string>

#include "base/file/file.h"
#include "format/tensors/h5.h"

namespace opdump::format {
namespace {

using model::DType;
using model::TensorView;

Result<> write(const char* path) {
  const std::array<float, 6> floats = {1, 2, 3, 4, 5, 6};
  const std::array<std::int8_t, 3> bytes = {1, -56, 0};  // 200 of uint8
  const std::array<std::int64_t, 2> sizes = {7, -8};
  const auto tensor = [](std::int64_t dtype, std::vector<std::int64_t> strides) {
    return std::array{H5Attribute{"DeviceType", false, {0}}, H5Attribute{"DataType", false, {dtype}},
                      H5Attribute{"FormatType", false, {0}}, H5Attribute{"Type", false, {0}},
                      H5Attribute{"Stride", true, std::move(strides)}};
  };
  const std::array list = {H5Attribute{"Type", false, {2}}};
  OPDUMP_TRY(H5Writer writer, H5Writer::create(path));
  const auto row = [](DType dtype, model::Shape shape, const void* data) {
    return TensorView::row_major(dtype, std::move(shape), data);
  };
  OPDUMP_CHECK_OK(writer.write_dataset("/add_Tensor/1/input/self", row(DType::float32, {2, 3}, floats.data()),
                                       tensor(1, {3, 1})));
  OPDUMP_CHECK_OK(writer.write_dataset("/add_Tensor/1/input/alpha", row(DType::float32, {}, floats.data()),
                                       tensor(1, {})));
  OPDUMP_CHECK_OK(writer.write_dataset("/cat/2/input/tensors/tensors_0", row(DType::int8, {3}, bytes.data()),
                                       tensor(2, {1})));
  OPDUMP_CHECK_OK(writer.write_dataset("/cat/2/input/dims", row(DType::int64, {2}, sizes.data()), list));
  OPDUMP_CHECK_OK(writer.write_dataset("/cat/2/output/result", row(DType::float32, {4, 5}, nullptr),
                                       std::array{H5Attribute{"DeviceType", false, {0}}}));
  OPDUMP_CHECK_OK(writer.make_group("/add_Tensor/1/output"));
  return writer.close();
}

Result<> list(const char* path) {
  OPDUMP_TRY(const H5File file, H5File::open(path));
  OPDUMP_TRY(const MappedFile mapped, MappedFile::open(path));
  for (const H5Dataset& dataset : file.datasets()) {
    std::printf("%s\t%s\t%s\t", dataset.path.c_str(),
                std::string(model::dtype_info(dataset.dtype).name).c_str(),
                model::format_shape(dataset.shape).c_str());
    for (const H5Attribute& attribute : dataset.attributes) {
      std::printf("%s%s=", attribute.name.c_str(), attribute.is_list ? "[]" : "");
      for (const std::int64_t value : attribute.values) std::printf("%lld,", static_cast<long long>(value));
      std::printf(" ");
    }
    std::printf("\t%s\t", dataset.extent ? "mapped" : "read");
    std::string fault = dataset.fault;
    Scratch reply;
    std::span<const std::byte> bytes;
    if (dataset.extent) {
      bytes = mapped.bytes().subspan(dataset.extent->offset, dataset.extent->bytes);
    } else if (auto read = file.read(dataset)) {
      reply = std::move(*read);
      bytes = reply.bytes();
    } else {
      fault = read.error().message();
    }
    for (const std::byte byte : bytes) std::printf("%02x", std::to_integer<unsigned>(byte));
    std::printf("\t%s\n", fault.c_str());
  }
  return ok();
}

}  // namespace
}  // namespace opdump::format

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool is_write = std::string_view(argv[1]) == "write";
  const auto done = is_write ? opdump::format::write(argv[2]) : opdump::format::list(argv[2]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
