#include "dump/read/dump_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "dump/file_name.h"
#include "dump/read/summary_test.h"
#include "dump/temp_directory_test.h"
#include "dump/tensor_names.h"
#include "dump/write/rank_tree.h"
#include "format/tensors/npy.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Side;
using model::TensorView;

constexpr std::uint64_t kTime = 1733905446000000;

model::Operator make_op(std::string type, std::string name) {
  model::Operator op;
  op.type = std::move(type);
  op.name = std::move(name);
  return op;
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string npy_text(const model::Shape& shape = {2}) {
  return *format::encode_npy_header(DType::float32, shape) +
         std::string(4 * *model::element_count(shape), '\0');
}

class DumpSetTest : public testing::Test {
 protected:
  DumpSet read(const fs::path& path) {
    auto set = DumpSet::open(path);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*set);
  }
  // Files of one step by name, each a small tensor.
  void write_files(const fs::path& directory, std::initializer_list<std::string> names) {
    for (const std::string& name : names) write_text(directory / name, npy_text());
  }

  TempDirectory directory_;
  fs::path root_ = directory_.path() / "dump";
  fs::path step_ = root_ / "rank_2/Net/5/7";
};

using Lines = std::vector<std::string>;

// What the writing half makes, the reading half finds, from every level of the tree.
TEST_F(DumpSetTest, ReadsWhatTheRankTreeWrites) {
  const std::vector<float> values{1, 2, 3};
  model::Operator add = make_op("Add", "Default/a-op0");
  model::Operator mul = make_op("Mul", "Default/" + std::string(300, 'x') + "-op1");
  add.graph_id = mul.graph_id = 5;
  add.source_file = "train.py";
  {
    auto tree = open_rank_tree({root_, "Net", 2, {"Max Value"}, false});
    ASSERT_TRUE(tree);
    auto log = OperatorLogWriter::open(root_ / "rank_2");
    ASSERT_TRUE(log);
    log->add(add);
    log->add(mul);
    log->add(UndumpedSlot{mul.name, 5, 6, Side::input, 1, DType::int8, {9}, "view"});
    ASSERT_TRUE(log->flush());
    ASSERT_TRUE(write_status(root_ / "rank_2", RecordingStatus{}));
    std::uint64_t time = kTime;
    for (const std::int64_t step : {7, 6}) {
      for (const model::Operator* op : {&add, &mul}) {
        for (const Side side : {Side::input, Side::output}) {
          const SlotAddress address{
              .op = op, .graph_id = op->graph_id, .step = step, .timestamp_us = ++time, .side = side};
          ASSERT_TRUE(
              (*tree)->write_tensor(address, TensorView::row_major(DType::float32, {3}, values.data())));
          StatisticRow row;
          row.dtype = DType::float32;
          row.shape = {3};
          row.values.max = 3;
          ASSERT_TRUE((*tree)->write_statistics(address, row));
        }
      }
    }
  }
  const Lines all{"2/5/6 Add Default/a-op0: i0fs o0fs", "2/5/6 Mul " + mul.name + ": i0fs i1(view) o0fs",
                  "2/5/7 Add Default/a-op0: i0fs o0fs", "2/5/7 Mul " + mul.name + ": i0fs i1(view) o0fs"};
  for (const fs::path& path : {root_, root_ / "rank_2", root_ / "rank_2/Net", root_ / "rank_2/Net/5"}) {
    const DumpSet set = read(path);
    EXPECT_EQ(summary(set), all) << path;
    EXPECT_TRUE(set.problems().empty()) << set.problems()[0].path << set.problems()[0].what;
    ASSERT_EQ(set.statuses().count(2), 1u);
    EXPECT_EQ(set.statuses().at(2).state, "recording");
  }
  const DumpSet set = read(step_);
  EXPECT_EQ(summary(set), Lines(all.begin() + 2, all.end()));
  const OperatorRun& run = set.runs()[1];
  ASSERT_NE(run.op, nullptr);
  EXPECT_EQ(run.op->name, mul.name);
  const Slot& slot = run.slots[0];
  EXPECT_EQ(slot.format, "DefaultFormat");
  EXPECT_EQ(slot.dtype, DType::float32);
  EXPECT_EQ(slot.shape, (model::Shape{3}));
  EXPECT_EQ(slot.statistics.columns()[0], (std::pair<std::string, std::string>{"Max Value", "3"}));
  auto tensor = StoredTensor::read(slot.file);
  ASSERT_TRUE(tensor) << tensor.error().message();
  EXPECT_EQ(std::memcmp(tensor->view().data, values.data(), 12), 0);
}

// MindSpore's own dumps have no log: the graph beside them has the full names, and counts the convolution's
// gradient once more than the files do.
TEST_F(DumpSetTest, TakesNamesFromGraphs) {
  write_files(
      step_,
      {"ReLU.Default_net-Net_relu-ReLU_ReLU-op0.0.0.1700000000000000.output.0.DefaultFormat.Float32.npy",
       "Conv2DBackpropFilter.Gradients_Default_net-Net_conv-Conv2d_Conv2DBackpropFilter-op0.0.0."
       "1700000000000001.output.0.DefaultFormat.Float32.npy",
       "Parameter.fc_weight.0.0.1700000000000002.output.0.DefaultFormat.Float32.npy"});
  write_text(root_ / "rank_2/graphs/ms_output_trace_code_graph_5.ir",
             "# IR entry: @kernel_graph5\n"
             "# Total subgraph: 1\n\nsubgraph @kernel_graph5(%para1_x) {\n"
             "  %0(CNode_1) = PrimFunc_ReLU(%para1_x)\n"
             "      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)\n"
             "      # Fullname with scope: (Default/net-Net/relu-ReLU/ReLU-op0)\n"
             "      # In file train.py:9, 15~31/        return self.relu(x)/\n"
             "  %1(CNode_2) = Conv2DBackpropFilter(%0, %para1_x)\n"
             "      : (<Tensor[Float32], (2)>, <Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)\n"
             "      # Fullname with scope: (Gradients/Default/net-Net/conv-Conv2d/Conv2DBackpropFilter-op1)\n"
             "  Return(%1)\n"
             "      : (<Tensor[Float32], (2)>)\n"
             "}\n");
  const DumpSet set = read(root_);
  EXPECT_EQ(summary(set), (Lines{"2/5/7 ReLU Default/net-Net/relu-ReLU/ReLU-op0: o0f",
                                 "2/5/7 Conv2DBackpropFilter Gradients/Default/net-Net/conv-Conv2d/"
                                 "Conv2DBackpropFilter-op0: o0f",
                                 "2/5/7 Parameter fc_weight: o0f"}));
  ASSERT_NE(set.runs()[0].op, nullptr);
  EXPECT_EQ(format_source(*set.runs()[0].op), "train.py:9");
  EXPECT_EQ(set.runs()[1].op->phase, model::Phase::backward);
  EXPECT_EQ(set.runs()[2].op, nullptr);
}

// MindSpore numbers operators of files and of graphs on their own, here in another order, too: what tells
// them apart is when they ran and how many elements they have.
TEST_F(DumpSetTest, OperatorsOfAGraphAreThoseThatRanThen) {
  const std::string scope = "Gradients_Default_Grad_MatMul_MatMul-op",
                    end = ".output.0.DefaultFormat.Float32.npy";
  write_files(step_, {"MatMul." + scope + "4.0.0.1700000000000001" + end,
                      "MatMul." + scope + "3.0.0.1700000000000002" + end,
                      "AddN.Default_AddN-op0.0.0.1700000000000003" + end,
                      "AddN.Default_AddN-op1.0.0.1700000000000004" + end});
  const auto node = [](int i, const std::string& type, const std::string& shape, const std::string& name,
                       int line) {
    return "  %" + std::to_string(i) + "(CNode_" + std::to_string(i) + ") = PrimFunc_" + type +
           "(%para1_x)\n      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (" + shape +
           ")>)\n      # Fullname with scope: (" + name +
           ")\n      # In file train.py:" + std::to_string(line) + ", 15~31/        return f(x)/\n";
  };
  const std::string matmul = "Gradients/Default/Grad_MatMul/MatMul-op";
  write_text(root_ / "rank_2/graphs/ms_output_trace_code_graph_5.ir",
             "# IR entry: @kernel_graph5\n\nsubgraph @kernel_graph5(%para1_x) {\n" +
                 node(0, "AddN", "3", "Default/AddN-op8", 8) + node(1, "AddN", "3", "Default/AddN-op7", 7) +
                 node(2, "MatMul", "3", matmul + "3", 3) + node(3, "MatMul", "3", matmul + "2", 2) + "}\n");
  write_text(root_ / "rank_2/execution_order/ms_execution_order_graph_5.csv",
             "NodeExecutionOrder-FullNameWithScope\n" + matmul + "2\n" + matmul +
                 "3\nDefault/AddN-op7\nDefault/AddN-op8\n");
  const DumpSet set = read(root_);
  std::vector<std::string> lines;
  for (const OperatorRun& run : set.runs())
    lines.push_back(run.op ? run.op->name + " " + format_source(*run.op) : run.name);
  EXPECT_THAT(lines, testing::ElementsAre(matmul + "4 train.py:2", matmul + "3 train.py:3",
                                          "Default/AddN-op0 train.py:7", "Default/AddN-op1 train.py:8"));
  EXPECT_FALSE(set.filter().leaves_out());
}

TEST_F(DumpSetTest, FilesOfOldReleasesAreNamedByTheLastElement) {
  write_files(step_, {"Conv2D.Conv2D-op12.0.0.1623124369613540.output.0.DefaultFormat.npy"});
  write_text(root_ / "rank_2/graphs/ms_output_trace_code_graph_5.ir",
             "subgraph @kernel_graph_5() {\n"
             "  %0([CNode]449) = Conv2D(%para1_x)\n"
             "      : (<Tensor[Float32]x[const vector][3]>) -> (<Tensor[Float32]x[const vector][3]>)\n"
             "      : (<Float32xNCHW[const vector][3]>) -> (<Float32xNCHW[const vector][3]>)\n"
             "      : (Default/network-WithLossCell/conv3-Conv2d/Conv2D-op12)\n"
             "      # In file alexnet.py(58)/        x = self.conv3(x)/\n}\n");
  const DumpSet set = read(root_);
  ASSERT_EQ(set.runs().size(), 1u);
  ASSERT_NE(set.runs()[0].op, nullptr);
  EXPECT_EQ(set.runs()[0].op->name, "Default/network-WithLossCell/conv3-Conv2d/Conv2D-op12");
  EXPECT_EQ(format_source(*set.runs()[0].op), "alexnet.py:58");
}

OperatorRun make_run(const std::string& type, const std::string& name, bool is_logged = true) {
  OperatorRun run;
  run.type = type;
  run.name = model::sanitise_name(name);
  if (is_logged) run.op = std::make_shared<const LoggedOperator>(make_op(type, name));
  return run;
}

// A filtered dump says so in its configuration, or by what its graphs executed and it does not have.
TEST_F(DumpSetTest, KnowsWhatItWasAskedToLeaveOut) {
  write_files(step_, {"Add.Default_Add-op0.0.0.1700000000000001.output.0.DefaultFormat.Float32.npy"});
  EXPECT_FALSE(read(root_).filter().leaves_out());
  write_text(root_ / "rank_2/graphs/ms_output_trace_code_graph_5.ir",
             "# IR entry: @kernel_graph5\n\nsubgraph @kernel_graph5(%para1_x) {\n}\n");
  write_text(root_ / "rank_2/execution_order/ms_execution_order_graph_5.csv",
             "NodeExecutionOrder-FullNameWithScope\nDefault/Add-op0\nDefault/Mul-op0\n");
  EXPECT_EQ(read(root_).filter().operators, "1 operator of the graphs absent");
  EXPECT_TRUE(read(root_).filter().may_lack(make_run("Mul", "Default/Mul-op3")));
  EXPECT_FALSE(read(root_).filter().may_lack(make_run("Sub", "Default/Sub-op0"))) << "which no graph has";
  EXPECT_TRUE(read(root_).filter().may_lack(make_run("Parameter", "fc_weight"))) << "it has none of them";
  write_files(step_, {"Parameter.fc_bias.0.0.1700000000000002.output.0.DefaultFormat.Float32.npy"});
  EXPECT_FALSE(read(root_).filter().may_lack(make_run("Parameter", "fc_weight")));
  write_text(root_ / "rank_2/.dump_metadata/data_dump.json",
             R"({"common_dump_settings": {"dump_mode": 1, "kernels": ["Add"], "input_output": 2}})");
  const DumpFilter filter = read(root_).filter();
  EXPECT_EQ(filter.operators, R"(kernels ["Add"])");
  EXPECT_TRUE(filter.outputs && !filter.inputs);
  EXPECT_EQ(filter.source.filename(), "data_dump.json");
}

TEST(DumpFilter, SaysWhatMayBeAbsent) {
  const auto may_lack = [](std::string_view settings, const OperatorRun& run) {
    const auto filter = decode_filter(settings);
    return filter ? filter->may_lack(run) : false;
  };
  const OperatorRun conv = make_run("Conv2D", "Default/net/conv1-Conv2d/Conv2D-op0"),
                    relu = make_run("ReLU", "Default/net/relu-ReLU/ReLU-op0");
  const std::string_view
      by_type = R"({"common_dump_settings": {"dump_mode": 1, "kernels": ["Conv2D"]}})",
      by_regex = R"j({"common_dump_settings": {"dump_mode": 1, "kernels": ["name-regex(.+ReLU-op\\d+)"]}})j",
      by_module = R"({"opdump_settings": {"module": "net.conv1"}})",
      by_program = R"({"common_dump_settings": {"dump_mode": 2}})",
      by_acl = R"({"dump": {"dump_list": [{"model_name": "m", "layer": ["conv1"]}]}})",
      whole = R"({"common_dump_settings": {"dump_mode": 0, "input_output": 2}})";
  EXPECT_FALSE(may_lack(by_type, conv));
  EXPECT_TRUE(may_lack(by_type, relu));
  EXPECT_TRUE(may_lack(by_regex, conv));
  EXPECT_FALSE(may_lack(by_regex, relu));
  EXPECT_FALSE(may_lack(by_module, conv));
  EXPECT_TRUE(may_lack(by_module, relu));
  EXPECT_TRUE(may_lack(by_program, conv));
  EXPECT_TRUE(may_lack(by_acl, conv));
  EXPECT_FALSE(may_lack(whole, conv));
  const std::string_view by_scope =
      R"j({"common_dump_settings": {"dump_mode": 1, "kernels": ["name-regex(Default/.+)"]}})j";
  EXPECT_FALSE(may_lack(by_scope, make_run("Conv2D", "Default/conv1-Conv2d/Conv2D-op0", false)));
  EXPECT_TRUE(may_lack(by_scope, make_run("Parameter", "bn.moving_mean", false))) << "it has no scope";
  // Without a graph the type is all that is known.
  EXPECT_FALSE(may_lack(by_type, make_run("Conv2D", "Default/net/conv1-Conv2d/Conv2D-op0", false)));
  EXPECT_TRUE(may_lack(by_type, make_run("ReLU", "Default/net/relu-ReLU/ReLU-op0", false)));
}

TEST(DumpFilter, OfConfigurations) {
  const auto operators = [](std::string_view common, std::string_view own = "{}") {
    const auto filter = decode_filter("{\"common_dump_settings\": " + std::string(common) +
                                      ", \"opdump_settings\": " + std::string(own) + "}");
    return filter ? filter->operators : filter.error().message();
  };
  EXPECT_EQ(operators(R"({"dump_mode": 0, "kernels": ["Conv2D"]})"), "");
  EXPECT_EQ(operators(R"({"dump_mode": 1, "kernels": [""]})"), "");
  EXPECT_EQ(operators(R"({"dump_mode": 2})"), "set_dump()");
  EXPECT_EQ(operators(R"({"op_debug_mode": 3})"), "op_debug_mode 3");
  EXPECT_EQ(operators("{}", R"({"ops": "conv|addmm", "module": "layers.3"})"),
            "ops conv|addmm, module layers.3");
  EXPECT_FALSE(decode_filter("[1]"));
  EXPECT_FALSE(decode_filter(R"({"common_dump_settings": {"input_output": 1}})")->outputs);
}

// The log says which operator it was; a name that two operators could have is left as it is.
TEST_F(DumpSetTest, WhatOpdumpConverted) {
  const model::Operator add = make_op("Add.int", "Default/a(1).b-op0");
  const model::Operator mul = make_op("Mul", "Default/" + std::string(300, 'x') + "-op1");
  fs::create_directories(root_ / "rank_2");
  auto log = OperatorLogWriter::open(root_ / "rank_2");
  ASSERT_TRUE(log);
  for (const model::Operator& op : {mul, add, make_op("Neg", "c/d"), make_op("Neg", "c.d")}) log->add(op);
  ASSERT_TRUE(log->flush());
  write_files(root_ / "rank_2/graph_0/step_3",
              {"Default_a(1)_b-op0.run1.output.0.npy", "Default_a(1)_b-op0.output.0.npy", "c_d.output.0.npy",
               converted_name(file_op_name(mul)) + ".output.0.npy"});
  const DumpSet set = read(root_);
  EXPECT_TRUE(set.problems().empty());
  EXPECT_EQ(summary(set), (Lines{"2/0/3 Mul " + mul.name + ": o0f", "2/0/3 Add.int " + add.name + ": o0f",
                                 "2/0/3 Add.int " + add.name + ": o0f", "2/0/3  c_d: o0f"}));
  EXPECT_EQ(set.runs()[0].name, file_op_name(mul));
}

TEST_F(DumpSetTest, OlderNamesParametersAndConstants) {
  write_files(
      step_, {"Add.Add-op0.0.0.11.input.0.DefaultFormat.npy", "Add.Add-op0.0.0.12.output.0.DefaultFormat.npy",
              "Parameter.fc1_weight.0.0.13.output.0.DefaultFormat.Float32.npy"});
  write_files(step_.parent_path() / "constants",
              {"Parameter.data-1.0.0.5.output.0.DefaultFormat.float32.npy"});
  const DumpSet set = read(root_);
  EXPECT_EQ(summary(set), (Lines{"2/5/7 Parameter data-1: o0f", "2/5/7 Add Add-op0: i0f o0f",
                                 "2/5/7 Parameter fc1_weight: o0f"}));
  EXPECT_EQ(set.runs()[1].slots[0].dtype, DType::undefined);
  EXPECT_EQ(set.runs()[1].slots[0].shape, (model::Shape{2}));
  EXPECT_EQ(set.runs()[2].slots[0].dtype, DType::float32);
  EXPECT_EQ(set.runs()[0].op, nullptr);
}

TEST_F(DumpSetTest, ExecutionsOfOneStepAreKeptApart) {
  write_files(step_, {"A.n.0.0.10.input.0.F.npy", "A.n.0.0.11.input.1.F.npy", "A.n.0.0.12.output.0.F.npy",
                      "B.n.0.0.13.input.0.F.npy", "A.n.0.0.20.input.0.F.npy", "A.n.0.0.22.output.0.F.npy",
                      "A.n.0.0.30.input.1.F.npy", "A.n.0.0.31.output.0.F.npy"});
  EXPECT_EQ(summary(read(step_)),
            (Lines{"2/5/7 A n: i0f i1f o0f", "2/5/7 B n: i0f", "2/5/7 A n: i0f i1f o0f", "2/5/7 A n: o0f"}));
}

TEST_F(DumpSetTest, StatisticsOnly) {
  write_text(step_ / "statistic.csv",
             "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
             "Sub,b,0,0,5,input,0,24,bfloat16,\"(2,3)\",3,\n"
             "Sub,b,0,0,6,output,0,24,bfloat16,\"(2,3)\",4,\n"
             "Sub,b,0,0,x,output,0,24,bfloat16,\"(2,3)\",4,\n"
             "Add,a,0,0,1,input,0,24,float32,\"()\",1,\nAdd,a,0,0,1,inp");
  const DumpSet set = read(step_);
  EXPECT_EQ(summary(set), (Lines{"2/5/7 Add a: i0s", "2/5/7 Sub b: i0s o0s"}));
  EXPECT_EQ(set.runs()[1].slots[0].dtype, DType::bfloat16);
  EXPECT_EQ(set.runs()[1].slots[0].shape, (model::Shape{2, 3}));
  ASSERT_EQ(set.problems().size(), 1u);
  EXPECT_EQ(set.problems()[0].what, "2 damaged rows");
}

TEST_F(DumpSetTest, OperatorsWithoutDataStandWhereTheLogHasThem) {
  write_files(root_ / "rank_0/Net/0/3", {"A.a.0.0.10.output.0.F.npy", "C.c.0.0.10.output.0.F.npy",
                                         "B.b.0.0.10.output.0.F.npy", "Unknown.u.0.0.10.output.0.F.npy"});
  auto log = OperatorLogWriter::open(root_ / "rank_0");
  ASSERT_TRUE(log);
  for (const char* name : {"a", "view", "b", "c", "last"}) {
    std::string type(name);
    if (type.size() == 1) type[0] = static_cast<char>(std::toupper(type[0]));
    log->add(make_op(type, name));
  }
  log->add(UndumpedSlot{"view", 0, 3, Side::output, 0, DType::int8, {}, "view"});
  log->add(UndumpedSlot{"last", 0, 3, Side::output, 0, DType::int8, {}, "view"});
  log->add(UndumpedSlot{"a", 0, 9, Side::input, 0, DType::int8, {}, "elsewhere"});
  log->add(UndumpedSlot{"nobody", 0, 3, Side::input, 0, DType::int8, {}, "unknown"});
  ASSERT_TRUE(log->flush());
  EXPECT_EQ(summary(read(root_)),
            (Lines{"0/0/3 A a: o0f", "0/0/3 view view: o0(view)", "0/0/3 B b: o0f", "0/0/3 C c: o0f",
                   "0/0/3 Unknown u: o0f", "0/0/3 last last: o0(view)"}));
}

TEST_F(DumpSetTest, DamageIsReportedAndTheRestIsRead) {
  write_files(step_, {"A.good.0.0.1.output.0.F.npy", "no_name.npy"});
  write_text(step_ / "A.torn.0.0.2.output.0.F.npy", npy_text().substr(0, 130));
  write_text(step_ / "A.empty.0.0.3.output.0.F.npy", "");
  write_text(step_ / "A.text.0.0.4.output.0.F.npy", "hello, this is not a tensor at all");
  write_text(step_ / "mapping.csv",
             "5.npy,A.long.0.0.5.output.0.F.npy\n6.npy,../../A.out.0.0.5.output.0.F.npy\n");
  write_files(step_, {"5.npy", "6.npy"});
  write_text(root_ / "victim.npy", npy_text());
  fs::create_symlink(root_ / "victim.npy", step_ / "A.link.0.0.7.output.0.F.npy");
  fs::create_directory_symlink(root_, root_ / "rank_2/Net/6");
  ASSERT_EQ(::mkfifo((step_ / "A.fifo.0.0.8.output.0.F.npy").c_str(), 0600), 0);
  write_text(root_ / "rank_2/opdump_status.json", "{");
  write_text(root_ / "rank_2/operators.jsonl", "{\n");
  const DumpSet set = read(root_ / "rank_2");
  EXPECT_EQ(
      summary(set),
      (Lines{"2/5/7 A good: o0f",
             "2/5/7 A torn: o0(torn file: header: 2 elements of 4 bytes announced, 2 bytes in file)",
             "2/5/7 A empty: o0(torn file: not a .npy file: it does not start with \\x93NUMPY and a header "
             "length; it is empty)",
             "2/5/7 A text: o0(torn file: not a .npy file: it does not start with \\x93NUMPY and a header "
             "length; it is text)",
             "2/5/7 A long: o0f"}));
  std::vector<std::string> problems;
  for (const Problem& problem : set.problems()) problems.push_back(problem.path.filename());
  std::ranges::sort(problems);
  EXPECT_EQ(problems, (Lines{"6", "6.npy", "A.empty.0.0.3.output.0.F.npy", "A.link.0.0.7.output.0.F.npy",
                             "A.text.0.0.4.output.0.F.npy", "A.torn.0.0.2.output.0.F.npy", "mapping.csv",
                             "no_name.npy", "opdump_status.json", "operators.jsonl"}));
  EXPECT_TRUE(set.statuses().empty());
}

TEST_F(DumpSetTest, ATornFileKeepsItsStatistics) {
  write_text(step_ / "A.a.0.0.2.output.0.F.npy", "");
  write_text(step_ / "statistic.csv",
             "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
             "A,a,0,0,2,output,0,24,float32,\"(2,3)\",3,\n");
  const DumpSet set = read(step_);
  EXPECT_EQ(summary(set), Lines{"2/5/7 A a: o0s"});
  EXPECT_EQ(set.problems().size(), 1u);
}

TEST_F(DumpSetTest, SeveralNetsAreTold) {
  write_files(root_ / "rank_0/One/0/0", {"A.a.0.0.1.output.0.F.npy"});
  write_files(root_ / "rank_0/Two/0/0", {"A.a.0.0.2.output.0.F.npy"});
  const DumpSet set = read(root_);
  EXPECT_EQ(summary(set), (Lines{"0/0/0 A a: o0f", "0/0/0 A a: o0f"}));
  ASSERT_EQ(set.problems().size(), 1u);
  EXPECT_NE(set.problems()[0].what.find("rank_0/One, rank_0/Two"), std::string::npos);
  for (int i = 0; i < 30; ++i)
    write_files(root_ / "rank_0" / std::to_string(i) / "0/0", {"A.a.0.0.1.output.0.F.npy"});
  const DumpSet many = read(root_);
  ASSERT_EQ(many.problems().size(), 1u);
  EXPECT_NE(many.problems()[0].what.find("rank_0/0, rank_0/1, "), std::string::npos);
  EXPECT_TRUE(many.problems()[0].what.ends_with(" and 12 more"));
}

TEST_F(DumpSetTest, UnreadableDirectory) {
  write_files(step_, {"A.a.0.0.1.output.0.F.npy"});
  fs::create_directories(root_ / "rank_2/Net/5/8");
  fs::permissions(root_ / "rank_2/Net/5/8", fs::perms(0));
  fs::permissions(directory_.path(), fs::perms(0755));
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may read anything
  }
  auto set = DumpSet::open(root_);
  auto closed = DumpSet::open(root_ / "rank_2/Net/5/8");
  ASSERT_EQ(::seteuid(user), 0);
  fs::permissions(root_ / "rank_2/Net/5/8", fs::perms(0700));
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(summary(*set), Lines{"2/5/7 A a: o0f"});
  ASSERT_EQ(set->problems().size(), 1u);
  EXPECT_NE(set->problems()[0].what.find("Permission denied"), std::string::npos);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), Code::io);
}

TEST_F(DumpSetTest, OtherPlacesAreNotDumps) {
  fs::create_directories(root_ / "some/where");
  write_text(root_ / "file.txt", "x");
  EXPECT_EQ(DumpSet::open(root_).error().code(), Code::not_found);
  EXPECT_EQ(DumpSet::open(root_ / "file.txt").error().code(), Code::not_found);
  EXPECT_EQ(DumpSet::open(root_ / "nothing").error().code(), Code::not_found);
  fs::create_directories(root_ / "rank_0");
  EXPECT_TRUE(DumpSet::open(root_));  // nothing was recorded
}

TEST_F(DumpSetTest, StoredTensorsInEveryOrderAndAlignment) {
  const auto read_numbers = [&](const std::string& dictionary) {
    std::vector<std::int32_t> data{0, 1, 2, 3, 4, 5};
    std::string text("\x93NUMPY\1\0", 8);
    text += static_cast<char>(dictionary.size());
    text += '\0';
    text += dictionary + std::string(reinterpret_cast<const char*>(data.data()), 24);
    write_text(root_ / "a.npy", text);
    auto tensor = StoredTensor::read(root_ / "a.npy");
    EXPECT_TRUE(tensor) << tensor.error().message();
    const TensorView& view = tensor->view();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 4, 0u);
    std::vector<std::int32_t> rows;
    for (std::int64_t i = 0; i < view.shape[0]; ++i)
      for (std::int64_t j = 0; j < view.shape[1]; ++j)
        rows.push_back(
            reinterpret_cast<const std::int32_t*>(view.data)[i * view.strides[0] + j * view.strides[1]]);
    return rows;
  };
  for (std::size_t blanks = 0; blanks < 4; ++blanks) {
    const std::string end = ", 'shape': (2, 3)}" + std::string(blanks, ' ');
    EXPECT_EQ(read_numbers("{'descr': '<i4', 'fortran_order': False" + end),
              (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(read_numbers("{'descr': '<i4', 'fortran_order': True" + end),
              (std::vector<std::int32_t>{0, 2, 4, 1, 3, 5}));
  }
  EXPECT_EQ(StoredTensor::read(root_ / "nothing.npy").error().code(), Code::not_found);
  write_text(root_ / "torn.npy", npy_text().substr(0, 133));
  auto torn = StoredTensor::read(root_ / "torn.npy");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().message(),
            (root_ / "torn.npy").string() + ": header: 2 elements of 4 bytes announced, 5 bytes in file");
}

TEST_F(DumpSetTest, RanksOfTwoRunsAreNotTakenForOne) {
  RecordingStatus first, second;
  first.run_id = "aaaaaaaaaaaaaaaa";
  first.started_us = 100;
  first.ended_us = 200;
  second = first;
  second.run_id = "bbbbbbbbbbbbbbbb";
  const auto problems = [&] {
    EXPECT_TRUE(make_directories(root_ / "rank_0", 0700) && make_directories(root_ / "rank_1", 0700));
    EXPECT_TRUE(write_status(root_ / "rank_0", first) && write_status(root_ / "rank_1", second));
    return read(root_).problems().size();
  };
  EXPECT_EQ(problems(), 0u) << "each was started by itself, at one time";
  second.started_us = 201;
  second.ended_us = 300;
  EXPECT_EQ(problems(), 1u);
  second.run_id = first.run_id;
  EXPECT_EQ(problems(), 0u);
}

// Programs of CANN may share a dump_path: each directory of a time is a recording of its own.
TEST_F(DumpSetTest, ARunThatRecordedThereAtOnceIsNoLackOfTheOneThatIsRead) {
  const std::string times[] = {"20260101000000", "20260101000001"};
  for (unsigned number = 1; const std::string& time : times) {
    RecordingStatus status;
    status.state = "complete";
    status.run_id = std::string(16, number == 1 ? 'a' : 'b');
    status.time_directory = time;
    ASSERT_TRUE(make_directories(root_ / "rank_0", 0700));
    ASSERT_TRUE(write_status(root_ / "rank_0", status, status_file_name("", number++)));
    write_files(root_ / time / "0/net/0/0",
                {"Add.Default_a-op0.0.0.1735689600000000.output.0.ND.float32.npy"});
  }
  for (const auto& [path, run] : {std::pair(root_, 'b'), std::pair(root_ / times[0], 'a')}) {
    const DumpSet set = read(path);
    ASSERT_EQ(set.statuses().size(), 1u);
    const RecordingStatus& status = set.statuses().begin()->second;
    EXPECT_EQ(status.run_id, std::string(16, run)) << path;
    EXPECT_EQ(status.state, "complete") << path;
    EXPECT_TRUE(set.problems().empty()) << set.problems()[0].what;
  }
}

// The last one of two times of a device is read: nothing may be said of the rank that recorded the other one.
TEST_F(DumpSetTest, ARecordingThatIsNotReadIsAProblem) {
  RecordingStatus first, second;
  first.time_directory = "20260101000000";
  second.time_directory = "20260101000001";
  for (const auto& [rank, status] : {std::pair("rank_0", &first), std::pair("rank_1", &second)}) {
    ASSERT_TRUE(make_directories(root_ / rank, 0700));
    ASSERT_TRUE(write_status(root_ / rank, *status));
    ASSERT_TRUE(make_directories(root_ / status->time_directory / "0/net/0/0", 0700));
  }
  const DumpSet set = read(root_);
  ASSERT_EQ(set.problems().size(), 1u);
  EXPECT_EQ(set.problems()[0].path, root_ / "20260101000000/0/net");
}

}  // namespace
}  // namespace opdump::dump
