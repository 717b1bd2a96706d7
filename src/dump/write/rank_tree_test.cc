#include "dump/write/rank_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"
#include "format/tables/mapping_csv.h"
#include "format/tensors/npy.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::TensorView;

constexpr std::uint64_t kTime = 1733905446819790;

class RankTreeTest : public testing::Test {
 protected:
  std::unique_ptr<SchemeWriter> open(std::vector<std::string> columns = {"Max Value", "Min Value",
                                                                         "L2Norm Value"}) {
    auto tree = open_rank_tree({directory_.path() / "dump", "Net", 3, std::move(columns), false});
    EXPECT_TRUE(tree) << tree.error().message();
    return std::move(*tree);
  }
  SlotAddress address(std::uint32_t index = 0) const {
    return {.op = &op_,
            .graph_id = 5,
            .step = 7,
            .timestamp_us = kTime,
            .side = model::Side::output,
            .index = index};
  }
  fs::path step_directory() const { return directory_.path() / "dump/rank_3/Net/5/7"; }

  // The bytes after the header of the file that write_tensor made.
  std::string stored(const TensorView& view, DType expected_dtype) {
    auto path = open()->write_tensor(address(), view);
    EXPECT_TRUE(path) << path.error().message();
    if (!path) return {};
    const std::string bytes = *read_file(*path, 1 << 30);
    auto header = format::decode_npy_header(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(header) << header.error().message();
    EXPECT_EQ(header->dtype, expected_dtype);
    EXPECT_EQ(header->shape, view.shape);
    EXPECT_EQ(header->data_offset + header->data_bytes(), bytes.size());
    return bytes.substr(header->data_offset);
  }

  TempDirectory directory_;
  model::Operator op_{
      .type = "Add", .name = "Default/a.b-op0", .graph_id = 5, .stream = 2, .source_file = {}};
};

std::string bytes_of(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

TEST_F(RankTreeTest, PlaceNameAndPermissions) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  auto path = open()->write_tensor(address(1), TensorView::row_major(DType::float32, {2, 3}, values.data()));
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(*path,
            step_directory() / "Add.Default_a_b-op0.0.2.1733905446819790.output.1.DefaultFormat.float32.npy");
  EXPECT_EQ(*read_file(*path, 4096), *format::encode_npy_header(DType::float32, {2, 3}) + bytes_of(values));
  EXPECT_EQ(fs::status(*path).permissions(), fs::perms(0400));
  for (fs::path p = step_directory(); p != directory_.path(); p = p.parent_path())
    EXPECT_EQ(fs::status(p).permissions(), fs::perms(0700)) << p;
}

TEST_F(RankTreeTest, DtypesThatNpyLacks) {
  const std::vector<std::uint16_t> bfloats{0x3F80, 0xC000, 0x7FC1};
  const std::vector<float> widened{1, -2};
  const std::string stored_bfloats =
      stored(TensorView::row_major(DType::bfloat16, {3}, bfloats.data()), DType::float32);
  EXPECT_EQ(stored_bfloats.substr(0, 8), bytes_of(widened));
  EXPECT_EQ(stored_bfloats.substr(8), std::string("\x00\x00\xC1\x7F", 4));

  const std::vector<std::uint8_t> nibbles{0x8F, 0x07};
  EXPECT_EQ(stored(TensorView::row_major(DType::int4, {3}, nibbles.data()), DType::int8),
            std::string("\xFF\xF8\x07", 3));
  const std::vector<std::uint8_t> bits{0xA0, 0x80};
  EXPECT_EQ(stored(TensorView::row_major(DType::uint1, {3, 3}, bits.data()), DType::uint8),
            std::string("\1\0\1\0\0\0\0\0\1", 9));
  auto refused = open()->write_tensor(address(), TensorView::row_major(DType::float8_e4m3, {1}, bits.data()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
}

TEST_F(RankTreeTest, ClassNamesAndScalars) {
  auto tree = open_rank_tree({directory_.path(), "Net", 0, {}, true});
  ASSERT_TRUE(tree);
  const std::uint64_t value = 5;
  auto path = (*tree)->write_tensor(address(), TensorView::row_major(DType::uint64, {}, &value));
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->string().ends_with(".DefaultFormat.UInt64.npy")) << *path;
}

// Every way a view can be cut into pieces, against memory filled by hand.
TEST_F(RankTreeTest, LargeAndStridedViews) {
  const std::int64_t rows = 3, columns = 1000003;
  std::vector<std::int32_t> memory(rows * columns);
  std::iota(memory.begin(), memory.end(), 0);
  EXPECT_EQ(stored(TensorView::row_major(DType::int32, {rows, columns}, memory.data()), DType::int32),
            bytes_of(memory));

  TensorView transposed = TensorView::row_major(DType::int32, {rows, columns}, memory.data());
  transposed.shape = {columns, rows};
  transposed.strides = {1, columns};
  std::vector<std::int32_t> expected;
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) expected.push_back(memory[r * columns + c]);
  EXPECT_EQ(stored(transposed, DType::int32), bytes_of(expected));

  TensorView backward = TensorView::row_major(DType::int32, {rows, columns}, &memory.back());
  backward.strides = {-columns, -1};
  EXPECT_EQ(stored(backward, DType::int32), bytes_of(std::vector(memory.rbegin(), memory.rend())));

  TensorView broadcast = TensorView::row_major(DType::int32, {200000, 2}, memory.data());
  broadcast.strides = {0, 1};
  expected.clear();
  for (int i = 0; i < 200000; ++i) expected.insert(expected.end(), {0, 1});
  EXPECT_EQ(stored(broadcast, DType::int32), bytes_of(expected));

  std::vector<std::uint16_t> narrow(300001);
  std::vector<std::uint32_t> wide(narrow.size());
  for (std::size_t i = 0; i < narrow.size(); ++i) wide[i] = (narrow[i] = static_cast<std::uint16_t>(i)) << 16;
  EXPECT_EQ(stored(TensorView::row_major(DType::bfloat16, {300001}, narrow.data()), DType::float32),
            bytes_of(wide));

  std::vector<std::uint8_t> packed(100001);
  std::string unpacked;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    packed[i] = static_cast<std::uint8_t>(i * 37);
    for (int shift : {0, 4})
      unpacked += static_cast<char>(static_cast<std::int8_t>(packed[i] << (4 - shift)) >> 4);
  }
  EXPECT_EQ(stored(TensorView::row_major(DType::int4, {200002}, packed.data()), DType::int8), unpacked);
}

TEST_F(RankTreeTest, ManyMebibytesThroughTheWriteBehind) {
  std::vector<std::uint64_t> memory((80 << 20) / 8 + 3);
  std::iota(memory.begin(), memory.end(), 0);
  EXPECT_EQ(
      stored(TensorView::row_major(DType::uint64, {static_cast<std::int64_t>(memory.size())}, memory.data()),
             DType::uint64),
      bytes_of(memory));
}

TEST_F(RankTreeTest, ReplacesFilesAndLinksEqualOnes) {
  const std::vector<float> one{1}, two{2};
  const auto view = [](const std::vector<float>& v) {
    return TensorView::row_major(DType::float32, {1}, v.data());
  };
  auto tree = open();
  auto first = tree->write_tensor(address(0), view(one));
  ASSERT_TRUE(first);
  const fs::path linked =
      step_directory() / "Add.Default_a_b-op0.0.2.1733905446819790.output.1.DefaultFormat.float32.npy";
  ASSERT_TRUE(tree->link_tensor(address(1), DType::float32, {1}, *first));
  EXPECT_EQ(fs::hard_link_count(*first), 2u);
  EXPECT_TRUE(tree->link_tensor(address(1), DType::float32, {1}, *first));  // the link is there already
  EXPECT_TRUE(tree->link_tensor(address(0), DType::float32, {1}, *first));  // and the file itself
  EXPECT_EQ(fs::hard_link_count(*first), 2u);

  ASSERT_TRUE(tree->write_tensor(address(0), view(two)));  // a name is replaced, not the shared bytes
  EXPECT_EQ(read_file(*first, 4096)->substr(128), bytes_of(two));
  EXPECT_EQ(read_file(linked, 4096)->substr(128), bytes_of(one));
  ASSERT_TRUE(tree->link_tensor(address(0), DType::float32, {1}, linked));
  EXPECT_EQ(read_file(*first, 4096)->substr(128), bytes_of(one));

  auto refused = tree->link_tensor(address(2), DType::float32, {1}, step_directory() / "nothing");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::io);
}

TEST_F(RankTreeTest, NeverWritesThroughSymbolicLinks) {
  const float value = 1;
  const auto view = TensorView::row_major(DType::float32, {1}, &value);
  auto tree = open();
  auto path = tree->write_tensor(address(), view);
  ASSERT_TRUE(path);
  const fs::path victim = directory_.path() / "victim";
  ASSERT_TRUE(write_file_atomic(victim, "precious", 0600));
  fs::remove(*path);
  fs::create_symlink(victim, *path);
  ASSERT_TRUE(tree->write_tensor(address(), view));
  EXPECT_FALSE(fs::is_symlink(*path));
  fs::create_symlink(victim, step_directory() / "statistic.csv");
  EXPECT_FALSE(tree->write_statistics(address(), {}));
  EXPECT_EQ(*read_file(victim, 100), "precious");
}

TEST_F(RankTreeTest, LongNamesGoToTheMapping) {
  const std::vector<float> values{1, 2};
  const auto view = [&](int i) { return TensorView::row_major(DType::float32, {1}, &values[i]); };
  const std::string fixed = "Add..0.2.1733905446819790.output.0.DefaultFormat.float32.npy";
  op_.name = std::string(255 - fixed.size(), 'n');
  auto longest = open()->write_tensor(address(), view(0));
  ASSERT_TRUE(longest) << longest.error().message();
  EXPECT_EQ(longest->filename().string().size(), 255u);
  EXPECT_FALSE(fs::exists(step_directory() / "mapping.csv"));

  op_.name += "/,";
  auto tree = open();
  auto first = tree->write_tensor(address(), view(0));
  auto second = tree->write_tensor(address(), view(1));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  const auto mapping = format::decode_mapping_csv(*read_file(step_directory() / "mapping.csv", 4096));
  EXPECT_EQ(mapping.damaged_lines, 0u);
  const std::string original = "Add." + op_.name.substr(0, op_.name.size() - 2) +
                               "__.0.2.1733905446819790.output.0.DefaultFormat.float32.npy";
  EXPECT_EQ(mapping.originals.at(first->filename()), original);
  EXPECT_EQ(mapping.originals.at(second->filename()), original);
  EXPECT_EQ(first->filename(), std::to_string(kTime % 2147483648) + ".npy");
  EXPECT_EQ(read_file(*second, 4096)->substr(128), bytes_of(std::vector<float>{2}));
  ASSERT_TRUE(tree->link_tensor(address(), DType::float32, {1}, *first));
  EXPECT_EQ(format::decode_mapping_csv(*read_file(step_directory() / "mapping.csv", 4096)).originals.size(),
            3u);
  EXPECT_EQ(fs::hard_link_count(*first), 2u);
}

TEST_F(RankTreeTest, StatisticRows) {
  StatisticRow row{24, DType::float32, {2, 3}, {}, "0123"};
  row.values = {6, 1, 3.5, 9.539392014, 6, 1, 6, 2, 3, 1, 0, 7, 8};
  auto tree = open({"Max Value", "MD5", "Max Value", "Min Value", "Avg Value", "Count", "Negative Zero Count",
                    "Positive Zero Count", "NaN Count", "Negative Inf Count", "Positive Inf Count",
                    "Zero Count", "L2Norm Value"});
  ASSERT_TRUE(tree->write_statistics(address(), row));
  row.values.max = -std::nan("");
  ASSERT_TRUE(tree->write_statistics(address(1), row));
  ASSERT_TRUE(tree->flush());
  const fs::path path = step_directory() / "statistic.csv";
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  tree.reset();
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0400));
  EXPECT_EQ(
      *read_file(path, 4096),
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,MD5,Max "
      "Value,Min "
      "Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive "
      "Inf "
      "Count,Zero Count,L2Norm Value\n"
      "Add,Default_a_b-op0,0,2,1733905446819790,output,0,24,float32,\"(2,3)\",6,0123,6,1,3.5,6,2,3,0,7,8,1,"
      "9.53939,\n"
      "Add,Default_a_b-op0,0,2,1733905446819790,output,1,24,float32,\"(2,3)\",-nan,0123,-nan,1,3.5,6,2,3,0,7,"
      "8,1,"
      "9.53939,\n");
}

// As MindSpore's devices spell them, mindspore.md 3.4.
TEST_F(RankTreeTest, StatisticsOfADevice) {
  auto tree = open({"Max Value", "Min Value", "Avg Value", "L2Norm Value"});
  const auto row = [&](DType dtype, double max, StatisticSource source) {
    StatisticRow made{8, dtype, {2}, {}, "", "", "", false, source};
    made.values.max = max, made.values.min = 0, made.values.avg = 1234567, made.values.l2norm = 2.5;
    ASSERT_TRUE(tree->write_statistics(address(), made));
  };
  row(DType::float16, 1234567, StatisticSource::device);
  row(DType::float64, 1234567, StatisticSource::device);
  row(DType::int64, 1234567, StatisticSource::device);
  row(DType::int64, 0x1p63, StatisticSource::device);
  row(DType::boolean, 1, StatisticSource::device);
  row(DType::boolean, 1, StatisticSource::device_low);
  row(DType::uint16, 1, StatisticSource::device);
  row(DType::boolean, 1, StatisticSource::host);
  ASSERT_TRUE(tree->flush());
  const std::string text = *read_file(step_directory() / "statistic.csv", 4096);
  std::vector<std::string> found;
  for (std::size_t at = text.find("\"(2)\","); at != std::string::npos; at = text.find("\"(2)\",", at + 1))
    found.push_back(text.substr(at + 6, text.find('\n', at) - at - 6));
  EXPECT_THAT(found,
              testing::ElementsAre("1.23457e+06,0,1.23457e+06,2.5,", "1.23457e+06,0,1.23457e+06,null,",
                                   "1234567,0,1.23457e+06,null,", "9223372036854775807,0,1.23457e+06,null,",
                                   "True,False,null,null,", "null,null,null,null,", "null,null,null,null,",
                                   "1,0,1.23457e+06,2.5,"));
}

TEST_F(RankTreeTest, StatisticsAreAppendedAcrossRuns) {
  const fs::path path = step_directory() / "statistic.csv";
  for (int run = 0; run < 2; ++run) ASSERT_TRUE(open({})->write_statistics(address(), {}));
  fs::permissions(path, fs::perms(0600));
  { fs::resize_file(path, fs::file_size(path) - 4); }  // killed in the middle of a row
  ASSERT_TRUE(open({})->write_statistics(address(), {}));
  const std::string row = "Add,Default_a_b-op0,0,2,1733905446819790,output,0,0,undefined,\"()\",\n";
  EXPECT_EQ(*read_file(path, 4096),
            "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape\n" + row +
                row.substr(0, row.size() - 4) + "\n" + row);
}

TEST_F(RankTreeTest, DescriptorsStayBounded) {
  const auto open_descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_descriptors();
  auto tree = open({});
  for (std::int64_t step = 0; step < 200; ++step) {
    SlotAddress a = address();
    a.step = step;
    ASSERT_TRUE(tree->write_statistics(a, {}));
  }
  EXPECT_LE(open_descriptors() - before, 66);  // 32 steps with a directory and a file each, root and rank
  SlotAddress again = address();
  again.step = 0;
  ASSERT_TRUE(tree->write_statistics(again, {}));
  ASSERT_TRUE(tree->flush());
  tree.reset();
  EXPECT_EQ(open_descriptors() - before, 0);
  const std::string text = *read_file(step_directory().parent_path() / "0/statistic.csv", 4096);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(RankTreeTest, ManyThreads) {
  auto tree = open();
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> values(8);
  for (std::uint32_t t = 0; t < values.size(); ++t) {
    threads.emplace_back([&, t] {
      values[t].assign(100, static_cast<float>(t));
      for (std::int64_t step = 0; step < 50; ++step) {
        SlotAddress a = address(t);
        a.step = step;
        EXPECT_TRUE(tree->write_tensor(a, TensorView::row_major(DType::float32, {100}, values[t].data())));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::int64_t step = 0; step < 50; ++step)
    EXPECT_EQ(std::distance(fs::directory_iterator(step_directory().parent_path() / std::to_string(step)),
                            fs::directory_iterator()),
              8);
}

TEST_F(RankTreeTest, RemovedDirectoryIsOneClearError) {
  const float value = 1;
  const auto view = TensorView::row_major(DType::float32, {1}, &value);
  auto tree = open();
  ASSERT_TRUE(tree->write_tensor(address(), view));
  fs::remove_all(directory_.path() / "dump");
  auto written = tree->write_tensor(address(), view);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::io);
  EXPECT_EQ(written.error().message(),
            step_directory().string() + ": the directory was removed while recording");
  auto row = tree->write_statistics(address(), {});
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code(), Code::io);
}

TEST_F(RankTreeTest, MovedTreeIsNotBegunAnew) {
  const float value = 1;
  const auto view = TensorView::row_major(DType::float32, {1}, &value);
  auto tree = open();
  ASSERT_TRUE(tree->write_tensor(address(), view));
  fs::rename(directory_.path() / "dump", directory_.path() / "elsewhere");
  SlotAddress next = address();
  ++next.step;
  EXPECT_FALSE(tree->write_tensor(next, view));
  EXPECT_FALSE(tree->flush());
  EXPECT_FALSE(fs::exists(directory_.path() / "dump"));
}

TEST_F(RankTreeTest, FullDiskLeavesNoTornTensor) {
  std::vector<float> values(1 << 20);
  const auto view = TensorView::row_major(DType::float32, {1 << 20}, values.data());
  auto tree = open();
  ASSERT_TRUE(tree->write_statistics(address(), {}));
  // A limit on the size of files fails writes at any byte, like a disk that is full.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  for (const rlim_t limit : {rlim_t{0}, rlim_t{100}, rlim_t{128}, rlim_t{4096}, rlim_t{(4 << 20) + 127}}) {
    const rlimit small{limit, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    auto written = tree->write_tensor(address(), view);
    auto rows = tree->flush();
    ::setrlimit(RLIMIT_FSIZE, &old);
    ASSERT_FALSE(written) << limit;
    EXPECT_EQ(written.error().code(), Code::io);
    EXPECT_NE(written.error().message().find("File too large"), std::string::npos)
        << written.error().message();
    EXPECT_EQ(std::distance(fs::directory_iterator(step_directory()), fs::directory_iterator()), 1);
    EXPECT_EQ(static_cast<bool>(rows), limit != 0);
  }
  EXPECT_TRUE(tree->write_tensor(address(), view));
}

TEST_F(RankTreeTest, UnwritableDirectory) {
  const fs::path root = directory_.path() / "closed";
  ASSERT_TRUE(make_directories(root, 0500));
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }  // root may write anywhere
  auto tree = open_rank_tree({root, "Net", 0, {}, false});
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), Code::io);
  EXPECT_NE(tree.error().message().find("Permission denied"), std::string::npos) << tree.error().message();
}

TEST_F(RankTreeTest, OptionsAreChecked) {
  EXPECT_EQ(open_rank_tree({directory_.path(), "a/b", 0, {}, false}).error().code(), Code::usage);
  EXPECT_EQ(open_rank_tree({directory_.path(), "", 0, {}, false}).error().code(), Code::usage);
  EXPECT_EQ(open_rank_tree({directory_.path(), "n", 0, {"max"}, false}).error().code(), Code::usage);
}

TEST_F(RankTreeTest, MovesAStepToTheGraphItTurnedOutToBe) {
  const auto scheme = open();
  const std::vector<float> values{1, 2, 3};
  const auto view = TensorView::row_major(DType::float32, model::Shape{3}, values.data());
  StatisticRow row;
  row.dtype = DType::float32;
  const auto record = [&](std::int64_t graph_id, std::uint32_t index) {
    SlotAddress at = address(index);
    at.graph_id = graph_id;
    EXPECT_TRUE(scheme->write_tensor(at, view));
    EXPECT_TRUE(scheme->write_statistics(at, row));
  };
  record(5, 0);
  ASSERT_TRUE(scheme->move_step(7, 5, 6));
  EXPECT_FALSE(fs::exists(directory_.path() / "dump/rank_3/Net/5"));
  // A second recording of the step joins what is there.
  record(5, 1);
  ASSERT_TRUE(scheme->move_step(7, 5, 6));
  record(6, 2);
  ASSERT_TRUE(scheme->flush());
  const fs::path moved = directory_.path() / "dump/rank_3/Net/6/7";
  EXPECT_EQ(std::distance(fs::directory_iterator(moved), fs::directory_iterator()), 4);
  const std::string table = *read_file(moved / "statistic.csv", 1 << 20);
  EXPECT_EQ(std::ranges::count(table, '\n'), 4);  // one header, three rows
  EXPECT_TRUE(table.starts_with("Op Type,"));
  EXPECT_TRUE(scheme->move_step(8, 5, 6)) << "a step without files";
}

}  // namespace
}  // namespace opdump::dump
