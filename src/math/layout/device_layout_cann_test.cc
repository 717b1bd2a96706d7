// The layouts against what the original converter wrote for the same dumps, to the byte.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "math/layout/device_layout.h"
#include "math/layout/strided_copy.h"

namespace opdump::math {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Format;
using model::Shape;
using model::TensorView;

const fs::path kData = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The one output of a dump file.
struct Output {
  DType dtype = DType::undefined;
  Format format = Format::nchw;
  Shape shape, original_shape;
  std::int64_t groups = 0;
  std::string data;
};

Shape read_shape(protozero::pbf_reader reader) {
  std::vector<std::int64_t> dims;
  while (reader.next(1))
    for (const std::uint64_t dim : reader.get_packed_uint64()) dims.push_back(static_cast<std::int64_t>(dim));
  return Shape(std::span<const std::int64_t>(dims));
}

Output read_output(const fs::path& path) {
  const std::string file = read_file(path);
  std::uint64_t length;
  std::memcpy(&length, file.data(), sizeof length);
  protozero::pbf_reader dump(file.data() + 8, length);
  Output output;
  EXPECT_TRUE(dump.next(3));
  protozero::pbf_reader reader = dump.get_message();
  while (reader.next()) {
    if (reader.tag() == 1) {
      const std::int32_t number = reader.get_int32();
      output.dtype = number == 1 ? DType::float32 : number == 2 ? DType::float16 : DType::int8;
    } else if (reader.tag() == 2) {
      output.format = static_cast<Format>(reader.get_int32());
    } else if (reader.tag() == 3) {
      output.shape = read_shape(reader.get_message());
    } else if (reader.tag() == 7) {
      output.original_shape = read_shape(reader.get_message());
    } else if (reader.tag() == 8) {
      output.groups = reader.get_int32();
    } else {
      reader.skip();
    }
  }
  output.data = file.substr(8 + length);
  return output;
}

// "…output.0.2x20x3x5.npy"
Shape shape_in_name(const fs::path& path) {
  std::string text = path.stem().extension().string().substr(1);
  std::vector<std::int64_t> dims;
  for (std::size_t at = 0; at != std::string::npos && at <= text.size();) {
    dims.push_back(std::stoll(text.substr(at)));
    at = text.find('x', at);
    if (at != std::string::npos) ++at;
  }
  return Shape(std::span<const std::int64_t>(dims));
}

// What the original writes: everything, cut at the end of each dimension.
std::string converted(const Output& output, Format to, const Shape& cut) {
  const auto in = TensorView::row_major(output.dtype, output.shape, output.data.data());
  const auto padded = convert_shape(output.shape, output.format, to, {{}, output.groups});
  const bool is_matrix = output.format == Format::fractal_nz;
  const Shape shape = padded && !is_matrix ? *padded : cut;
  const std::size_t size = model::dtype_info(output.dtype).bits / 8;
  std::string whole(*model::element_count(shape) * size, 'x'), result(*model::element_count(cut) * size, 'x');
  const auto done =
      convert_layout(in, output.format, to, shape, output.groups, std::as_writable_bytes(std::span(whole)));
  EXPECT_TRUE(done) << done.error().message();
  TensorView view = TensorView::row_major(output.dtype, shape, whole.data());
  view.shape = cut;
  copy_row_major(view, std::as_writable_bytes(std::span(result)));
  return result;
}

std::string payload_of(const fs::path& npy) {
  const std::string file = read_file(npy);
  return file.substr(file.find('\n') + 1);
}

TEST(DeviceLayoutCann, WritesTheBytesOfTheOriginal) {
  if (!fs::exists(kData)) GTEST_SKIP() << "no reference data";
  int compared = 0;
  for (const char* version : {"expected_new", "expected_81"})
    for (const fs::directory_entry& folder : fs::directory_iterator(kData / version)) {
      const std::string name = folder.path().filename().string();
      if (!name.starts_with("fmt_")) continue;
      const auto to = model::find_format(name.substr(4));
      ASSERT_TRUE(to);
      for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
        const std::string file = entry.path().filename().string();
        if (entry.path().extension() != ".npy") continue;
        SCOPED_TRACE(name + "/" + file);
        const Output output = read_output(kData / "synthetic/formats" / file.substr(0, file.find(".output")));
        EXPECT_TRUE(converted(output, *to, shape_in_name(entry.path())) == payload_of(entry.path()));
        ++compared;
      }
    }
  EXPECT_GE(compared, 66);
}

TEST(DeviceLayoutCann, CutsWithTheShapeOption) {
  const fs::path folder = kData / "expected_new/shape_opt";
  if (!fs::exists(folder)) GTEST_SKIP() << "no reference data";
  const Output output = read_output(kData / "synthetic/formats/T.nz2d.1.2.1700000000001006");
  for (const char* shape : {"19x33", "20x40"}) {
    const fs::path npy = folder / ("T.nz2d.1.2.1700000000001006.output.0." + std::string(shape) + ".npy");
    EXPECT_TRUE(converted(output, Format::nd, shape_in_name(npy)) == payload_of(npy)) << shape;
  }
}

}  // namespace
}  // namespace opdump::math
