// What each scheme writes, the reading half finds; and trees of the original, recognised by what is in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "dump/operator_log.h"
#include "dump/read/dump_set.h"
#include "dump/read/summary_test.h"
#include "dump/read/tree_location.h"
#include "dump/temp_directory_test.h"
#include "dump/write/call_data.h"
#include "dump/write/model_tree.h"
#include "dump/write/rank_tree.h"
#include "format/tensors/dump_data.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Side;
using model::TensorView;
using Lines = std::vector<std::string>;

constexpr std::uint64_t kTime = 1733905446000000;

Lines problems(const DumpSet& set) {
  Lines lines;
  for (const Problem& problem : set.problems())
    lines.push_back(problem.path.filename().string() + ": " + problem.what);
  std::ranges::sort(lines);
  return lines;
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string bytes_of(const StoredTensor& tensor) {
  EXPECT_TRUE(tensor.view().is_contiguous());
  return {reinterpret_cast<const char*>(tensor.view().data), tensor.view().byte_count()};
}

enum class TreeKind { rank_tree, npy, bin, graph_engine_npy, graph_engine_bin };

class TreesTest : public testing::Test {
 protected:
  DumpSet read(const fs::path& path) {
    auto set = DumpSet::open(path);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*set);
  }

  // Two steps of two operators into `root_`, by whatever way the scheme has.
  void record(TreeKind kind, std::uint32_t rank = 1) {
    auto scheme = open(kind, rank);
    auto log = OperatorLogWriter::open(rank_directory(root_, rank));
    ASSERT_TRUE(log);
    for (const model::Operator* op : {&add_, &cast_}) log->add(*op);
    log->add(UndumpedSlot{cast_.name, 5, 6, Side::input, 1, DType::int8, {9}, "view"});
    ASSERT_TRUE(log->flush());
    std::uint64_t time = kTime;
    for (const std::int64_t step : {6, 7}) {
      ASSERT_TRUE(scheme->begin_step(step, true, {}));
      write(*scheme, {{address(add_, step, ++time, Side::input, 0), wide_},
                      {address(add_, step, time, Side::input, 2), wide_},
                      {address(add_, step, time, Side::output, 0), transposed_}});
      write(*scheme, {{address(cast_, step, ++time, Side::input, 0), narrow_},
                      {address(cast_, step, time, Side::output, 0), packed_}});
    }
    ASSERT_TRUE(scheme->write_overflow(address(add_, 7, time, Side::output, 0)));
    ASSERT_TRUE(scheme->flush());
  }

  std::unique_ptr<SchemeWriter> open(TreeKind kind, std::uint32_t rank) {
    Result<std::unique_ptr<SchemeWriter>> scheme = Error(Code::internal, "");
    if (kind == TreeKind::rank_tree) {
      scheme = open_rank_tree({root_, "Net", rank, {"Max Value"}, false});
    } else {
      ModelTreeOptions options;
      options.root = root_;
      options.net_name = "Net";
      options.rank = rank;
      options.device = 3;
      options.statistic_columns = {"Max Value"};
      options.step_first = kind == TreeKind::npy || kind == TreeKind::bin;
      options.is_bin = kind == TreeKind::bin || kind == TreeKind::graph_engine_bin;
      options.time_directory = format_local_time(kTime);
      scheme = open_model_tree(options);
    }
    EXPECT_TRUE(scheme) << scheme.error().message();
    return std::move(*scheme);
  }

  static SlotAddress address(const model::Operator& op, std::int64_t step, std::uint64_t time, Side side,
                             std::uint32_t index) {
    return {.op = &op, .graph_id = 5, .step = step, .timestamp_us = time, .side = side, .index = index};
  }

  void write(SchemeWriter& scheme, const std::vector<SchemeWriter::Member>& members) {
    if (scheme.writes_calls()) {
      ASSERT_TRUE(scheme.write_call(members));
    }
    for (const auto& [address, view] : members) {
      if (!scheme.writes_calls()) {
        ASSERT_TRUE(scheme.write_tensor(address, view));
      }
      StatisticRow row{view.byte_count(), view.dtype, view.shape, {}, ""};
      row.values.max = 3;
      ASSERT_TRUE(scheme.write_statistics(address, row));
    }
  }

  TempDirectory directory_;
  fs::path root_ = directory_.path() / "dump";
  model::Operator add_{
      .type = "aten::add", .name = "Default/a:b/Add-op0", .graph_id = 5, .source_file = {}, .task = 8};
  model::Operator cast_{
      .type = "Cast", .name = "Default/Cast-op1", .graph_id = 5, .source_file = {}, .task = 9};
  const std::vector<float> floats_{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint16_t> halves_{0x3f80, 0x4000, 0xc040};
  const std::vector<std::uint8_t> nibbles_{0x21, 0x0f};
  const TensorView wide_ = TensorView::row_major(DType::float32, {2, 3}, floats_.data());
  const TensorView narrow_ = TensorView::row_major(DType::bfloat16, {3}, halves_.data());
  const TensorView packed_ = TensorView::row_major(DType::int4, {3}, nibbles_.data());
  const TensorView transposed_{DType::float32, {3, 2}, {1, 3}, wide_.data};
};

class EveryTree : public TreesTest, public testing::WithParamInterface<TreeKind> {};

TEST_P(EveryTree, IsReadFromEveryLevel) {
  record(GetParam());
  const bool is_rank_tree = GetParam() == TreeKind::rank_tree;
  const std::string add = is_rank_tree ? "aten::add" : "aten__add";
  Lines all;
  for (const char* step : {"6", "7"}) {
    all.push_back("1/5/" + std::string(step) + " " + add + " Default/a:b/Add-op0: i0fs i2fs o0fs");
    all.push_back("1/5/" + std::string(step) + " Cast Default/Cast-op1: i0fs i1(view) o0fs");
  }
  const DumpSet set = read(root_);
  EXPECT_EQ(summary(set), all);
  EXPECT_EQ(problems(set), Lines{});
  ASSERT_EQ(set.overflows().size(), is_rank_tree ? 0u : 1u);
  if (!is_rank_tree) {
    const Overflow overflow = set.overflows()[0];
    EXPECT_EQ(std::tuple(overflow.rank, overflow.graph_id, overflow.step, overflow.task, overflow.status),
              std::tuple(1u, 5, 7, 8u, 32u));
    EXPECT_EQ(set.runs()[2].task, 8u);
  }
  for (fs::path path = fs::path(set.runs()[3].slots[0].file).parent_path(); path != root_;
       path = path.parent_path()) {
    const Lines lines = summary(read(path));
    EXPECT_TRUE(lines == all || lines == Lines(all.begin() + 2, all.end())) << path;
  }
}

TEST_P(EveryTree, GivesTheSameTensors) {
  record(GetParam());
  const DumpSet set = read(root_);
  const auto tensor = [&](std::size_t run, std::size_t slot) {
    auto stored = StoredTensor::read(set.runs()[run].slots[slot]);
    EXPECT_TRUE(stored) << stored.error().message();
    return std::move(*stored);
  };
  const StoredTensor wide = tensor(0, 0), transposed = tensor(0, 2), packed = tensor(1, 2);
  EXPECT_EQ(wide.view().shape, (model::Shape{2, 3}));
  EXPECT_EQ(bytes_of(wide), std::string(reinterpret_cast<const char*>(floats_.data()), 24));
  EXPECT_EQ(transposed.view().shape, (model::Shape{3, 2}));
  const std::vector<float> columns{1, 4, 2, 5, 3, 6};
  EXPECT_EQ(bytes_of(transposed), std::string(reinterpret_cast<const char*>(columns.data()), 24));
  EXPECT_EQ(set.runs()[1].slots[0].dtype, DType::bfloat16);
  EXPECT_EQ(set.runs()[1].slots[2].dtype, DType::int4);
  EXPECT_EQ(packed.view().dtype, DType::int8);
  EXPECT_EQ(bytes_of(packed), "\1\2\xff");
  const StoredTensor narrow = tensor(1, 0);
  if (narrow.view().dtype == DType::bfloat16) {
    EXPECT_EQ(bytes_of(narrow), std::string(reinterpret_cast<const char*>(halves_.data()), 6));
  } else {
    const std::vector<float> widened{1, 2, -3};
    EXPECT_EQ(bytes_of(narrow), std::string(reinterpret_cast<const char*>(widened.data()), 12));
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, EveryTree,
                         testing::Values(TreeKind::rank_tree, TreeKind::npy, TreeKind::bin,
                                         TreeKind::graph_engine_npy, TreeKind::graph_engine_bin));

TEST_F(TreesTest, SeveralInOneRootAreReadTogether) {
  record(TreeKind::rank_tree);
  record(TreeKind::bin);
  record(TreeKind::graph_engine_npy);
  const DumpSet set = read(root_);
  EXPECT_EQ(set.runs().size(), 12u);
  EXPECT_EQ(problems(set), Lines{});
}

// Two runs that were started at different times share a root.
TEST_F(TreesTest, OfSeveralRecordingsTheLastIsRead) {
  record(TreeKind::bin);
  for (const char* step : {"6", "7"}) {
    const fs::path first = fs::directory_iterator(root_ / step)->path();
    fs::copy(first, root_ / step / "20200101000000", fs::copy_options::recursive);
  }
  std::vector<std::string> lines;
  const auto set = DumpSet::open(root_, [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(set);
  EXPECT_EQ(set->runs().size(), 4u);
  EXPECT_TRUE(set->problems().empty());
  for (const OperatorRun& run : set->runs())
    for (const Slot& slot : run.slots) EXPECT_EQ(slot.file.find("20200101000000"), std::string::npos);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("6/20200101000000 to read that one"), std::string::npos) << lines[0];
  EXPECT_EQ(read(root_ / "6/20200101000000").runs().size(), 2u);
}

TEST_F(TreesTest, SeveralNetworksOfSeveralTimesAreTold) {
  record(TreeKind::bin);
  const fs::path first = fs::directory_iterator(root_ / "6")->path();
  fs::copy(first, root_ / "6/20200101000000", fs::copy_options::recursive);
  fs::rename(root_ / "6/20200101000000/3/Net", root_ / "6/20200101000000/3/Other");
  const DumpSet set = read(root_);
  EXPECT_EQ(set.runs().size(), 6u);
  ASSERT_EQ(set.problems().size(), 1u);
  EXPECT_NE(set.problems()[0].what.find("6/20200101000000/3/Other, 6/20241211"), std::string::npos)
      << set.problems()[0].what;
}

TEST_F(TreesTest, DevicesAreRanksUnlessOneIsAlone) {
  record(TreeKind::bin, 3);
  record(TreeKind::rank_tree, 0);
  const DumpSet set = read(root_);
  for (const OperatorRun& run : set.runs()) EXPECT_EQ(run.rank == 3, run.slots[0].part.has_value());
}

// Shorter by one byte at a time: never more than what is there, and always said.
TEST_F(TreesTest, TornContainers) {
  record(TreeKind::bin);
  DumpSet set = read(root_);
  const fs::path file = set.runs()[0].slots[0].file;
  fs::permissions(file, fs::perms(0600));
  const Slot kept = set.runs()[0].slots[2];
  for (std::uintmax_t size = fs::file_size(file); size-- > 0;) {
    fs::resize_file(file, size);
    set = read(root_);
    ASSERT_EQ(set.problems().size(), 1u) << size;
    EXPECT_EQ(set.problems()[0].path, file);
    for (const OperatorRun& run : set.runs())
      for (const Slot& slot : run.slots) EXPECT_NE(slot.file, file) << size;
  }
  const auto gone = StoredTensor::read(kept);  // shorter now than when it was listed
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::corrupt);
}

TEST_F(TreesTest, HostileTrees) {
  const fs::path step = root_ / "20240101000000/0/Net/1/2";
  format::DumpData data;
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{1ull << 62, 4}, {UINT64_MAX}, {1000}, {2}}) {
    format::DumpTensor& tensor = data.inputs.emplace_back();
    tensor.data_type = 1;
    tensor.shape = shape;
    tensor.size_bytes = 8;
  }
  data.outputs.emplace_back().data_type = 99;
  write_text(step / "A.huge.1.2.3", format::encode_dump_header(data) + std::string(32, 'x'));
  data.inputs[0].size_bytes = UINT64_MAX;
  write_text(step / "A.sum.1.2.3", format::encode_dump_header(data) + std::string(32, 'x'));
  write_text(step / "A.text.1.2.3", "nothing of the kind");
  write_text(step / "Opdebug.Node_OpDebug.1.2.4", format::encode_dump_header(data));
  write_text(step / "Opdebug.Node_OpDebug.1.2.5.output.0.json", "{}");
  write_text(step / "mapping.csv", "77,../../A.out.1.2.3\n78,A.mapped.1.2.3\n");
  data.inputs.resize(1);
  data.inputs[0].shape = {2};
  data.inputs[0].size_bytes = 8;
  data.outputs.clear();
  const std::string good = format::encode_dump_header(data) + std::string(8, 'x');
  write_text(step / "77", good);
  write_text(step / "78", good);
  write_text(directory_.path() / "outside", good);
  fs::create_symlink(directory_.path() / "outside", step / "A.link.1.2.3");
  fs::create_directory_symlink(directory_.path(), root_ / "20240101000001");
  const DumpSet set = read(root_);
  EXPECT_EQ(set.runs().size(), 3u);
  EXPECT_EQ(set.overflows().size(), 0u);
  for (const OperatorRun& run : set.runs())
    for (const Slot& slot : run.slots) EXPECT_TRUE(slot.file.empty() || StoredTensor::read(slot));
  Lines named;
  for (const Problem& problem : set.problems()) named.push_back(problem.path.filename());
  std::ranges::sort(named);
  EXPECT_EQ(named, (Lines{"20240101000001", "A.huge.1.2.3", "A.huge.1.2.3", "A.huge.1.2.3", "A.huge.1.2.3",
                          "A.link.1.2.3", "A.sum.1.2.3", "A.text.1.2.3", "Opdebug.Node_OpDebug.1.2.4",
                          "Opdebug.Node_OpDebug.1.2.5.output.0.json", "mapping.csv"}));
}

TEST_F(TreesTest, LegacyNames) {
  const fs::path step = root_ / "alexnet/device_2/iteration_4";
  const std::string four(16, '\0');
  write_text(step / "Default--conv3-Conv2d--Conv2D-op308_output_0_shape_2_2_Float32_NCHW.bin", four);
  write_text(step / "Default--conv3-Conv2d--Conv2D-op308_input_1_shape_4_kNumberTypeInt32_FRACTAL_Z.bin",
             four);
  write_text(step / "moments.fc3.bias_output_0_shape_8_Float16_DefaultFormat.bin", four);
  write_text(step / "scalar_output_0_shape__Float64_DefaultFormat.bin", four.substr(0, 8));
  write_text(step / "short_output_0_shape_5_Float32_DefaultFormat.bin", four);
  write_text(step / "odd_output_0_shape_4_Float99_DefaultFormat.bin", four);
  write_text(step / "huge_output_0_shape_4294967296_4294967296_Float32_NCHW.bin", four);
  write_text(step / "no_tensor.bin", four);
  const DumpSet set = read(root_);
  EXPECT_EQ(summary(set),
            (Lines{"2/0/4 Conv2D Default_conv3-Conv2d_Conv2D-op308: i1f o0f",
                   "2/0/4 Parameter huge: o0(torn file: 16 bytes in file, and its name says float32 "
                   "(4294967296,4294967296))",
                   "2/0/4 Parameter moments_fc3_bias: o0f",
                   "2/0/4 Parameter odd: o0(the name says no dtype we know)", "2/0/4 Parameter scalar: o0f",
                   "2/0/4 Parameter short: o0(torn file: 16 bytes in file, and its name says float32 (5))"}));
  EXPECT_EQ(set.problems().size(), 3u);
  EXPECT_EQ(set.runs()[0].slots[0].format, "FRACTAL_Z");
  EXPECT_EQ(set.runs()[0].slots[0].dtype, DType::int32);
  EXPECT_EQ(set.runs()[4].slots[0].shape, model::Shape());
}

// A tensor as the original's reader printed it: of a long one the first and the last bytes.
struct PrintedTensor {
  std::string node;  // the last piece of its name
  std::uint32_t slot = 0;
  std::string first, last;
  std::uint64_t bytes = 0;
};

std::string parse_bytes(const std::string& text) {
  std::istringstream numbers(text);
  std::string bytes;
  for (int number; numbers >> number;) bytes += static_cast<char>(number);
  return bytes;
}

std::vector<PrintedTensor> printed_tensors(const fs::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto after = [&](std::string_view key, std::size_t from, char end) {
    const std::size_t start = text.find(key, from) + key.size();
    return text.substr(start, text.find(end, start) - start);
  };
  std::vector<PrintedTensor> tensors;
  for (std::size_t at = 0; (at = text.find("node name =", at)) != std::string::npos; ++at) {
    PrintedTensor& tensor = tensors.emplace_back();
    const std::string name = after("node name =", at, '\n'), data = after("[", text.find("uint8)", at), ']');
    tensor.node = name.substr(name.rfind('/') + 1);
    tensor.slot = static_cast<std::uint32_t>(std::stoul(after("slot =", at, '\n')));
    tensor.bytes = std::stoul(after("size in bytes =", at, '\n'));
    const std::size_t gap = data.find("...");
    tensor.first = parse_bytes(data.substr(0, gap));
    if (gap != std::string::npos) tensor.last = parse_bytes(data.substr(gap + 3));
  }
  return tensors;
}

TEST_F(TreesTest, LegacyFilesOfTheOriginal) {
  const fs::path data = fs::path(OPDUMP_SOURCE_DIR) /
                        "../shared/testdata/mindspore/mindspore-r1.3/tests/ut/data/dump/gpu_dumps";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is not here";
  for (const std::string kind : {"sync_trans_true", "sync_trans_false"}) {
    const DumpSet set = read(data / kind);
    EXPECT_EQ(problems(set), Lines{});
    const auto printed = printed_tensors(data / "golden" / (kind + "_read_tensors.expected"));
    EXPECT_GE(printed.size(), 3u);
    for (const PrintedTensor& want : printed) {
      const std::string name = model::sanitise_name(want.node);
      const auto run = std::ranges::find_if(
          set.runs(), [&](const OperatorRun& r) { return r.name == name || r.name.ends_with("_" + name); });
      ASSERT_NE(run, set.runs().end()) << kind << " " << name;
      const std::vector<Slot> slots = (*run).slots;
      const auto slot = std::ranges::find(slots, want.slot, &Slot::index);
      ASSERT_NE(slot, slots.end());
      const auto tensor = StoredTensor::read(*slot);
      ASSERT_TRUE(tensor) << tensor.error().message();
      const std::string bytes = bytes_of(*tensor);
      EXPECT_EQ(bytes.size(), want.bytes) << kind << " " << name;
      EXPECT_TRUE(bytes.starts_with(want.first) && bytes.ends_with(want.last)) << kind << " " << name;
    }
  }
}

TEST(TreeLocationTest, NamesOfDirectories) {
  const auto at = [](std::string_view path, std::size_t first_inside) {
    std::vector<std::string> trail;
    for (const fs::path& name : fs::path(path)) trail.push_back(name.string());
    const Location l = locate(trail, first_inside);
    return std::to_string(static_cast<int>(l.scheme)) + " " + std::to_string(l.rank) + "/" +
           std::to_string(l.graph_id) + "/" + std::to_string(l.step) + " " + std::to_string(l.root_length);
  };
  EXPECT_EQ(at("d/rank_2/Net/5/7", 1), "0 2/5/7 1");
  EXPECT_EQ(at("d/7/20240101000000/3/Net/5/0", 1), "1 3/5/7 1");
  EXPECT_EQ(at("d/7/20240101000000/3/Net/5/7", 7), "1 3/5/7 1");
  EXPECT_EQ(at("d/7/20240101000000/3/Net/5/0", 7), "2 3/5/0 2");  // a number above may be anything
  EXPECT_EQ(at("d/20240101000000/3/Net/5/4", 1), "2 3/5/4 1");
  EXPECT_EQ(at("d/7/20240101000000/3", 1), "1 3/0/7 1");
  EXPECT_EQ(at("20240101000000/3/Net/5", 0), "2 3/5/0 0");
  EXPECT_EQ(at("d/20240101000000/rank_1/Net/5/4", 1), "0 1/5/4 2");
  EXPECT_EQ(at("d/net/device_1/iteration_9", 1), "3 1/0/9 1");
  EXPECT_EQ(at("", 0), "0 0/0/0 0");
  EXPECT_EQ(at("20240101000000", 0), "0 0/0/20240101000000 0");
}

}  // namespace
}  // namespace opdump::dump
