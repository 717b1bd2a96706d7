#include "format/tensors/h5.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <numeric>

#include "base/file/file.h"

// libhdf5 leaks the record of a file that it cannot close (AFileThatIsGoneIsALoss).
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

namespace opdump::format {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;
using testing::ElementsAre;

class H5 : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path file(const std::string& name) const { return directory_ / name; }

  // One call of an operator as the dumper of PyTorch writes it.
  void write_sample(const std::filesystem::path& path) const {
    auto writer = H5Writer::create(path);
    ASSERT_TRUE(writer) << writer.error().message();
    const std::array attributes = {H5Attribute{"DeviceType", false, {10}},
                                   H5Attribute{"DataType", false, {1}}, H5Attribute{"FormatType", false, {0}},
                                   H5Attribute{"Type", false, {0}}, H5Attribute{"Stride", true, {3, 1}}};
    const std::array<H5Attribute, 2> scalar = {H5Attribute{"DataType", false, {1}},
                                               H5Attribute{"Stride", true, {}}};
    const std::array only_device = {H5Attribute{"DeviceType", false, {0}}};
    ASSERT_TRUE(writer->write_dataset("/add_Tensor/1/input/self",
                                      TensorView::row_major(DType::float32, {2, 3}, matrix_.data()),
                                      attributes));
    ASSERT_TRUE(writer->write_dataset("/add_Tensor/1/input/other",
                                      TensorView::row_major(DType::float32, {}, matrix_.data()), scalar));
    ASSERT_TRUE(writer->write_dataset("/add_Tensor/1/input/half",
                                      TensorView::row_major(DType::float32, {2}, nullptr), only_device));
    ASSERT_TRUE(writer->make_group("/add_Tensor/1/output"));
    const auto closed = writer->close();
    ASSERT_TRUE(closed) << closed.error().message();
  }

  const std::array<float, 6> matrix_ = {1, 2, 3, 4, 5, 6};

 private:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("opdump_h5_" + std::to_string(::getpid()));
};

const H5Dataset& find(const H5File& file, std::string_view path) {
  const auto found = std::ranges::find(file.datasets(), path, &H5Dataset::path);
  EXPECT_NE(found, file.datasets().end()) << path;
  return *found;
}

TEST_F(H5, WhatIsWrittenIsRead) {
  write_sample(file("a.h5"));
  const auto opened = H5File::open(file("a.h5"));
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_EQ(opened->datasets().size(), 3u);

  const H5Dataset& self = find(*opened, "/add_Tensor/1/input/self");
  EXPECT_EQ(self.dtype, DType::float32);
  EXPECT_EQ(self.shape, (Shape{2, 3}));
  EXPECT_THAT(self.attributes,
              ElementsAre(H5Attribute{"DeviceType", false, {10}}, H5Attribute{"DataType", false, {1}},
                          H5Attribute{"FormatType", false, {0}}, H5Attribute{"Type", false, {0}},
                          H5Attribute{"Stride", true, {3, 1}}));
  EXPECT_EQ(self.find_number("DeviceType"), 10);
  EXPECT_EQ(self.find_number("Stride"), std::nullopt);
  EXPECT_EQ(self.find_number("Absent"), std::nullopt);
  ASSERT_TRUE(self.extent);
  const auto mapped = MappedFile::open(file("a.h5"));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(std::memcmp(mapped->bytes().data() + self.extent->offset, matrix_.data(), sizeof matrix_), 0);
  const auto read = opened->read(self);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->bytes().size(), sizeof matrix_);
  EXPECT_EQ(std::memcmp(read->data(), matrix_.data(), sizeof matrix_), 0);

  const H5Dataset& other = find(*opened, "/add_Tensor/1/input/other");
  EXPECT_EQ(other.shape.rank(), 0u);
  EXPECT_EQ(other.attributes[1], (H5Attribute{"Stride", true, {}}));

  const H5Dataset& half = find(*opened, "/add_Tensor/1/input/half");
  EXPECT_EQ(half.stored_bytes, 0u);
  EXPECT_FALSE(half.extent);
  ASSERT_FALSE(opened->read(half));
  EXPECT_EQ(opened->read(half).error().code(), Code::not_found);
}

TEST_F(H5, EveryTypeThatIsWritten) {
  const std::array<std::uint64_t, 4> bytes = {1, 2, 3, 4};
  auto writer = H5Writer::create(file("types.h5"));
  ASSERT_TRUE(writer);
  const std::array types = {DType::int8,   DType::int16,  DType::int32,  DType::int64,   DType::uint8,
                            DType::uint16, DType::uint32, DType::uint64, DType::float32, DType::float64};
  for (const DType dtype : types) {
    const std::string path = "/t/" + std::string(model::dtype_info(dtype).name);
    ASSERT_TRUE(writer->write_dataset(path, TensorView::row_major(dtype, {4}, bytes.data()), {})) << path;
  }
  ASSERT_TRUE(writer->close());
  const auto opened = H5File::open(file("types.h5"));
  ASSERT_TRUE(opened);
  for (const DType dtype : types)
    EXPECT_EQ(find(*opened, "/t/" + std::string(model::dtype_info(dtype).name)).dtype, dtype);
}

TEST_F(H5, LargeElementsLieBetweenSmallOnes) {
  std::vector<std::int32_t> numbers(9'000'000);  // more than waits for the disk
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto count = static_cast<std::int64_t>(numbers.size());
  const auto* data = reinterpret_cast<const std::byte*>(numbers.data());
  auto writer = H5Writer::create(file("large.h5"));
  ASSERT_TRUE(writer);
  for (const std::string name : {"/a/small", "/b/large", "/c/small", "/d/large"}) {
    const Shape shape{name.ends_with("large") ? count : 3};
    const H5Attribute attribute{"Type", false, {0}};
    ASSERT_TRUE(writer->write_dataset(name, {DType::int32, shape, {1}, data}, {&attribute, 1}));
  }
  ASSERT_TRUE(writer->close());
  const auto opened = H5File::open(file("large.h5"));
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_EQ(opened->datasets().size(), 4u);
  for (const H5Dataset& dataset : opened->datasets()) {
    const auto elements = opened->read(dataset);
    ASSERT_TRUE(elements) << dataset.path << elements.error().message();
    EXPECT_EQ(std::memcmp(elements->data(), data, elements->bytes().size()), 0) << dataset.path;
    EXPECT_EQ(dataset.find_number("Type"), 0) << dataset.path;
  }
}

TEST_F(H5, WriterRefusesWhatCannotBe) {
  auto writer = H5Writer::create(file("a.h5"));
  ASSERT_TRUE(writer);
  const TensorView view = TensorView::row_major(DType::float32, {2, 3}, matrix_.data());
  for (const char* path : {"", "/", "a", "/a/", "//a", "/a/../b", "/./a"}) {
    const auto written = writer->write_dataset(path, view, {});
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().code(), Code::usage);
  }
  ASSERT_TRUE(writer->write_dataset("/a", view, {}));
  EXPECT_FALSE(writer->write_dataset("/a", view, {}));    // exists
  EXPECT_FALSE(writer->write_dataset("/a/b", view, {}));  // no group
  const auto half =
      writer->write_dataset("/h", TensorView::row_major(DType::float16, {2}, matrix_.data()), {});
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code(), Code::unsupported);
  EXPECT_FALSE(H5Writer::create(file("missing") / "a.h5"));
  EXPECT_FALSE(H5Writer::create(file("")));
}

// A file may not grow, as on a full disk.
TEST_F(H5, AFullDiskIsAnError) {
  const std::vector<float> many(1 << 18);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  auto writer = H5Writer::create(file("full.h5"));
  ASSERT_TRUE(writer);
  rlimit small = before;
  small.rlim_cur = 4096;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto written =
      writer->write_dataset("/x", TensorView::row_major(DType::float32, {1 << 18}, many.data()), {});
  const auto closed = writer->close();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::io);
  EXPECT_THAT(written.error().message(), testing::HasSubstr("File too large"));
  // The library is still of use.
  write_sample(file("a.h5"));
  EXPECT_TRUE(H5File::open(file("a.h5")));
}

TEST_F(H5, CreatingEmptiesTheFile) {
  write_sample(file("a.h5"));
  { ASSERT_TRUE(H5Writer::create(file("a.h5"))); }
  const auto opened = H5File::open(file("a.h5"));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->datasets().empty());
}

H5State state_of(const std::filesystem::path& path) {
  H5State state;
  const auto listed = list_h5(
      path, [](const H5Dataset&) {}, [&](H5State s) { state = std::move(s); });
  EXPECT_TRUE(listed) << listed.error().message();
  return state;
}

TEST_F(H5, AFileThatWasNotClosedIsBeingRecorded) {
  const TensorView matrix = TensorView::row_major(DType::float32, {2, 3}, matrix_.data());
  {
    auto writer = H5Writer::create(file("a.h5"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write_dataset("/a", matrix, {}));
    ASSERT_TRUE(writer->flush());
  }
  EXPECT_EQ(state_of(file("a.h5")).state, "recording");

  auto whole = H5Writer::create(file("b.h5"));
  ASSERT_TRUE(whole && whole->write_dataset("/a", matrix, {}) && whole->close());
  EXPECT_EQ(state_of(file("b.h5")).state, "complete");
  EXPECT_FALSE(state_of(file("b.h5")).version.empty());

  auto lossy = H5Writer::create(file("c.h5"));
  ASSERT_TRUE(lossy);
  lossy->lose("/mm/3: " + std::string(1000, 'x'));
  lossy->lose("/add/4: another one");
  ASSERT_TRUE(lossy->close());
  EXPECT_EQ(state_of(file("c.h5")).state, "incomplete");
  EXPECT_EQ(state_of(file("c.h5")).loss.substr(0, 8), "/mm/3: x");
}

// The numbers of the descriptors that lead to a file.
std::vector<int> descriptors_of(const std::filesystem::path& path) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(entry.path(), closed) == path)
      found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

// os.closerange, and files of the program's own under the same numbers.
TEST_F(H5, AHostThatTakesTheDescriptorKeepsItsFile) {
  const std::vector<float> many(1 << 19, 3);
  const TensorView large = TensorView::row_major(DType::float32, {1 << 19}, many.data());
  const TensorView small = TensorView::row_major(DType::float32, {2, 3}, matrix_.data());
  auto writer = H5Writer::create(file("a.h5"));
  ASSERT_TRUE(writer && writer->write_dataset("/before", small, {}));
  const std::vector<int> taken = descriptors_of(file("a.h5"));
  ASSERT_FALSE(taken.empty());
  const Fd own(::open(file("own").c_str(), O_RDWR | O_CREAT, 0600));
  for (const int descriptor : taken) ASSERT_EQ(::dup2(own.get(), descriptor), descriptor);
  EXPECT_TRUE(writer->write_dataset("/small", small, {}));
  EXPECT_TRUE(writer->write_dataset("/large", large, {}));
  EXPECT_TRUE(writer->flush());
  EXPECT_TRUE(writer->close());
  EXPECT_EQ(std::filesystem::file_size(file("own")), 0u);
  for (const int descriptor : taken) EXPECT_EQ(::close(descriptor), 0) << "it is not the program's any more";
  EXPECT_EQ(state_of(file("a.h5")).state, "complete");
  const auto opened = H5File::open(file("a.h5"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->datasets().size(), 3u);
}

// Nothing can be written any more, and the program's file is left alone.
TEST_F(H5, AFileThatIsGoneIsALoss) {
  const TensorView small = TensorView::row_major(DType::float32, {2, 3}, matrix_.data());
  auto writer = H5Writer::create(file("a.h5"));
  ASSERT_TRUE(writer);
  std::ofstream(file("b.h5")) << "another file";
  for (const int descriptor : descriptors_of(file("a.h5"))) ::close(descriptor);
  std::filesystem::rename(file("b.h5"), file("a.h5"));
  EXPECT_FALSE(writer->write_dataset("/small", small, {}));
  EXPECT_FALSE(writer->close());
  EXPECT_EQ(std::filesystem::file_size(file("a.h5")), 12u);
}

TEST_F(H5, OtherFilesAreRefused) {
  EXPECT_EQ(H5File::open(file("missing.h5")).error().code(), Code::not_found);
  EXPECT_EQ(H5File::open(file("")).error().code(), Code::io);
  std::ofstream(file("text.h5")) << "no HDF5 at all";
  EXPECT_EQ(H5File::open(file("text.h5")).error().code(), Code::corrupt);
  std::ofstream(file("empty.h5")) << "";
  EXPECT_EQ(H5File::open(file("empty.h5")).error().code(), Code::corrupt);
}

// Whatever the bytes say: an answer or an error, and no extent beyond the file.
TEST_F(H5, DamagedFilesGiveErrors) {
  write_sample(file("a.h5"));
  const auto whole = read_file(file("a.h5"), 1 << 20);
  ASSERT_TRUE(whole);
  const auto look = [&](const std::string& bytes) {
    std::ofstream(file("damaged.h5"), std::ios::binary) << bytes;
    const auto opened = H5File::open(file("damaged.h5"));
    if (!opened) return;
    for (const H5Dataset& dataset : opened->datasets()) {
      if (dataset.extent) {
        EXPECT_LE(dataset.extent->offset + dataset.extent->bytes, bytes.size());
      }
      if (dataset.stored_bytes > 0) [[maybe_unused]]
        const auto read = opened->read(dataset);
    }
  };
  for (std::size_t size = 0; size < whole->size(); size += 611) look(whole->substr(0, size));
  for (std::size_t at = 0; at < whole->size(); at += at < 400 ? 7 : 97) {
    std::string bytes = *whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xFF);
    look(bytes);
  }
}

}  // namespace
}  // namespace opdump::format
